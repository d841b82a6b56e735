#!/usr/bin/env bats
# Unmodified frameworks in `convshim simulate`: programs that decide by small values. The Python is that of an environment of
# scripts/frameworks, or CONVSHIM_FRAMEWORK_PYTHON.
load helper

CANDIDATES=("${CONVSHIM_FRAMEWORK_PYTHON:-}" "$ROOT"/build/frameworks/*/venv/bin/python)

# need PACKAGE...: a Python that has PyTorch and these, in $PYTHON.
need()
{
    local python packages
    packages=$(printf ', %s' "$@")
    for python in "${CANDIDATES[@]}"; do
        if [ -x "$python" ] && "$python" -c "import importlib.util as i; exit(not all(map(i.find_spec, '${packages:2}'.split(', '))))"; then
            PYTHON=$python
            return
        fi
    done
    cannot_run "no installed framework: scripts/frameworks torch-2.15 installs one, or set CONVSHIM_FRAMEWORK_PYTHON"
}

# simulate ARGUMENT...: a Python program, without the library, on $GPUS GPUs. Leaves simulate.out, and the program's output in program.out.
simulate()
{
    status=0
    "$BUILD/convshim" simulate --device h200 --gpus "${GPUS:-1}" --keep kept --only without -- "$PYTHON" "$@" >simulate.out 2>simulate.err ||
        status=$?
    expect_status 0
    cp kept/without-*/output program.out
}

@test "schedulers of diffusers take the steps that they take on the host" {
    need torch diffusers
    cat >program.py <<'END_PROGRAM'
import sys
import torch
import diffusers
device = sys.argv[1]
model = torch.nn.Conv2d(4, 4, 3, padding=1).to(device)
with torch.no_grad():
    for kind in "EulerDiscreteScheduler", "TCDScheduler", "DPMSolverMultistepScheduler", "UniPCMultistepScheduler":
        scheduler = getattr(diffusers, kind)()
        scheduler.set_timesteps(4, device=device)
        latent = torch.randn(1, 4, 32, 32, device=device)
        for step in scheduler.timesteps:
            latent = scheduler.step(model(scheduler.scale_model_input(latent, step)), step, latent).prev_sample
            print(kind, int(step), scheduler.step_index)
END_PROGRAM
    "$PYTHON" program.py cpu >host.out 2>host.err || fail "the program does not run on the host"
    simulate program.py cuda
    expect_equal "lines" "$(wc -l <program.out)" 16
    diff host.out program.out || fail "other steps"
}

@test "Mask R-CNN of torchvision chooses boxes" {
    need torch torchvision
    cat >program.py <<'END_PROGRAM'
import torch
import torchvision
model = torchvision.models.detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, min_size=128, max_size=128)
with torch.no_grad():
    found, = model.to("cuda").eval()([torch.rand(3, 128, 128, device="cuda")])
print(found["boxes"].shape[1], found["masks"].dim())
END_PROGRAM
    simulate program.py
    expect_line program.out '^4 4$'
    expect_line simulate.out 'use values that were not computed, so they may decide otherwise on a GPU: nonzero at .*/boxes\.py:[0-9]+ remove_small_boxes 1'
}

@test "operations on small tensors: the results of the host, in the memory that the program provides" {
    need torch
    cat >program.py <<'END_PROGRAM'
import sys
import torch
device = sys.argv[1]
x = torch.arange(12.0, device=device).reshape(3, 4) % 5
kept = torch.empty(0, dtype=torch.int64, device=device)
print((10000 ** x).tolist(), (x.long() % 3).tolist(), torch.nn.functional.logsigmoid(x).mean().item())
print(torch.nonzero(x > 3, out=kept).tolist(), kept.shape[0], x.to_sparse()._nnz())
y = torch.arange(1440.0, device=device).reshape(8, 20, 3, 3).to(memory_format=torch.channels_last)
print(y.stride(), y.transpose(0, 1).sum((0, 2)).tolist(), y[:, 3:9, :, 1].neg().flatten().tolist())
END_PROGRAM
    "$PYTHON" program.py cpu >host.out
    simulate program.py cuda
    diff host.out program.out || fail "other results"
}

@test "truth values of results that were not computed: those of zeros, and reported as not computed" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
x = torch.nn.functional.conv2d(torch.ones(1, 1, 8, 8, device="cuda"), torch.ones(1, 1, 3, 3, device="cuda"))
print(bool((x >= 0).all()), bool(torch.isnan(x).any()), (x == 0).nonzero().shape[0], float(x.sum()))
END_PROGRAM
    simulate program.py
    expect_line program.out '^True False 36 0\.0$'
    expect_line simulate.out 'use values that were not computed, so they may decide otherwise on a GPU: .*local_scalar_dense at .*program.py:3'
}

@test "values that were not computed: zeros, followed through elementwise operations at any size" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
for n in 8, 256:
    x = torch.nn.functional.conv2d(torch.rand(1, 4, n, n, device="cuda"), torch.ones(4, 4, 1, 1, device="cuda"))
    rows = x.flatten(1).softmax(1).sum(1)
    print(x.exp().mean().item(), bool(torch.isfinite(x).all()), torch.allclose(x, x), bool(x.eq(x).all()), round(rows.item(), 5), end=" ")
    print(torch.stack([x + 1, x + 1], -1).min().item(), x[x == 0].numel() / x.numel(), (x > 0).nonzero().shape[0], end=" ")
    print(x.mul_(2).add_(1).clamp_min(3).half().max().item(), torch.full((n, n), 2.5, device="cuda").t().clone()[0, 1].item())
q = torch.distributions.Normal(x, (x / 2).exp())
print(torch.distributions.Categorical(logits=x.flatten(2)).sample().shape[0])
END_PROGRAM
    simulate program.py
    expect_equal "lines" "$(sort program.out | uniq -c | sed 's/^ *//')" $'1 1\n2 1.0 True True True 1.0 1.0 1.0 0 3.0 2.5'
}

@test "columns that are written one by one from values that were not computed, in any order" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
x = torch.nn.functional.conv2d(torch.rand(1, 3, 64, 64, device="cuda"), torch.ones(3, 3, 1, 1, device="cuda"))
z = torch.empty_like(x)
for k in *range(0, 64, 2), *range(63, 0, -2):
    z[..., k] = x[..., k] + k
print(z.sum().item(), z[0, 2, 63].tolist() == list(range(64)), z[0, :, 7, 9].tolist())
END_PROGRAM
    simulate program.py
    expect_line program.out '^387072\.0 True \[9\.0, 9\.0, 9\.0\]$'
}

@test "forward-mode differentiation runs: its zero tensors have no memory" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
zero = torch._efficientzerotensor((3,), device="cuda")
print((zero * 2).sum().item(), torch.func.jvp(torch.nn.Conv2d(8, 8, 3).cuda(), (torch.randn(4, 8, 16, 16, device="cuda"),),
                                               (torch.ones(4, 8, 16, 16, device="cuda"),))[1].shape[2])
END_PROGRAM
    simulate program.py
    expect_line program.out '^0\.0 14$'
}

@test "two ranks of NCCL exchange small values, and large buffers of the right size" {
    need torch
    cat >program.py <<'END_PROGRAM'
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, store):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method="file://" + store, rank=rank, world_size=2, device_id=torch.device("cuda", rank))
    x = torch.tensor([1.0 + rank, 5.0], device="cuda")
    dist.all_reduce(x)
    objects = [None, None]
    dist.all_gather_object(objects, "r" * (rank + 1))
    part = torch.empty(1, device="cuda")
    dist.reduce_scatter_tensor(part, x)
    half = dist.new_group([1])
    large = torch.empty(2 << 20, device="cuda")
    dist.all_gather_into_tensor(large, torch.ones(1 << 20, device="cuda"))
    line = (rank, x.tolist(), objects, part.item(), large.sum().item() >= 0, half is not None)
    os.write(1, (" ".join(map(str, line)) + "\n").encode())  # whole, since the ranks share the file
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(work, (os.path.abspath("store"),), 2)
END_PROGRAM
    GPUS=2 simulate program.py
    expect_equal "ranks" "$(sort program.out)" "0 [3.0, 10.0] ['r', 'rr'] 6.0 True True
1 [3.0, 10.0] ['r', 'rr'] 20.0 True True"
}

@test "a tensor in another process: CUDA IPC with both kinds of segments, counted once" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch, torch.multiprocessing as mp
def child(given, answers):
    tensor = given.get()
    free, total = torch.cuda.mem_get_info()
    answers.put((tensor.numel(), 4 << 30 <= total - free < 6 << 30))
if __name__ == "__main__":
    mp.set_start_method("spawn")
    given, answers = mp.Queue(), mp.Queue()
    process = mp.Process(target=child, args=(given, answers))
    process.start()
    tensor = torch.ones(1 << 30, device="cuda")
    given.put(tensor)
    print(*answers.get(timeout=500), flush=True)
    process.join()
END_PROGRAM
    local segments
    for segments in True False; do
        rm -rf kept
        PYTORCH_CUDA_ALLOC_CONF=expandable_segments:$segments simulate program.py
        expect_line program.out '^1073741824 True$'
    done
}

@test "cudaMallocAsync: JSON and --baseline, although PyTorch cannot record it; allocated <= reserved <= device; free memory within the card" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
layer = torch.nn.Conv2d(64, 64, 3, padding=1).cuda().half()
with torch.no_grad():
    y = layer(torch.randn(1, 64, 512, 512, device="cuda").half())
del y
free, total = torch.cuda.mem_get_info()
stats = torch.cuda.memory_stats()
assert free + stats["reserved_bytes.all.current"] - stats["active_bytes.all.current"] <= total
END_PROGRAM
    PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync "$BUILD/convshim" simulate --device rtx4060 --format json -- "$PYTHON" program.py >first.json 2>err || fail "$(<err)"
    "$PYTHON" - first.json <<'END_PROGRAM' || fail "$(<first.json)"
import json, sys
runs = json.load(open(sys.argv[1]))
for run in runs["without"], runs["with"]:
    assert run["status"] == 0 and run["allocated_peak"] <= run["reserved_peak"] <= run["device_peak"]
assert any(part["what"] == "workspace" for part in runs["without"]["peak"])
END_PROGRAM
    PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync "$BUILD/convshim" simulate --device rtx4060 --baseline first.json -- "$PYTHON" program.py >second 2>err || fail "$(<err)"
    expect_line second 'No peak has grown by more than 1 %'
}

# Each of three calls needs the memory at its last convolution.
@test "cudaMallocAsync: calls below the pool's peak run untiled, and the pool does not grow" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
layers = torch.nn.Sequential(*[torch.nn.Conv2d(64, 64, 3, padding=1) for _ in range(4)]).cuda().half()
last = torch.nn.Conv2d(64, 64, 3, padding=1).cuda().half()
with torch.no_grad():
    for _ in range(3):
        y = last(torch.randn(1, 64, 1024, 1024, device="cuda").half())
        layers(torch.randn(1, 64, 512, 512, device="cuda").half())
        del y
END_PROGRAM
    export PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
    "$BUILD/convshim" simulate --device rtx4060 --format json -- "$PYTHON" program.py >first.json 2>err || fail "$(<err)"
    "$PYTHON" - first.json <<'END_PROGRAM' || fail "$(<first.json)"
import json, sys
runs = json.load(open(sys.argv[1]))
assert runs["with"]["reserved_peak"] <= runs["without"]["reserved_peak"] and 0 < runs["with"]["tiled"] <= 3 < runs["with"]["calls"], runs["with"]
END_PROGRAM
}

@test "lengths that depend on values, of small, large and very large tensors" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
y = torch.nn.Conv2d(1, 2, 1).cuda()
for n in 64, 512, 3072:
    k = y(torch.randn(1, 1, n, n, device="cuda")).argmax(1)
    ones = torch.ones(n * n, dtype=torch.long, device="cuda")
    _, inverse, counts = torch.unique(k, return_inverse=True, return_counts=True)
    print(torch.unique(k).numel(), inverse.numel() == n * n, counts.sum().item() == n * n, torch.unique_consecutive(k).numel(),
          torch.unique(k[0], dim=1).shape[1] <= 1, torch.mode(k[0], 1)[0].shape[0] == n, torch.repeat_interleave(ones).numel() == n * n,
          torch.bincount(k.flatten(), minlength=3).sum().item() == n * n, (k == k).nonzero().shape[0] == n * n, k[k > 9].numel())
labels = torch.arange(1 << 18).remainder(7).cuda()
print(torch.unique(labels).tolist(), torch.randperm(1 << 18, device="cuda").unique().numel() == 1 << 18)
END_PROGRAM
    simulate program.py
    expect_equal "lines" "$(sort program.out | uniq -c | sed 's/^ *//')" $'3 1 True True 1 True True True True True 0
1 [0, 1, 2, 3, 4, 5, 6] True'
}

@test "random samples are never 0, and integers stay in their range" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
F, n = torch.nn.functional, 512
new = lambda: torch.empty(n, n, device="cuda")
logits = torch.nn.Conv2d(1, 2, 1).cuda()(torch.randn(1, 1, n, n, device="cuda"))
print(bool(F.gumbel_softmax(logits, dim=1).isfinite().all()), bool(torch.rand(n, n, device="cuda").log().isfinite().all()),
      bool(new().exponential_().log().isfinite().all()), 2 <= new().uniform_(2, 3).min().item() < 3,
      3 <= torch.randint(3, 9, (n, n), device="cuda").min().item() < 9, new().bernoulli_(.5).sum().item() > 0,
      F.dropout(new().fill_(1), .5).sum().item(), logits.std().item())
state = torch.get_rng_state()
F.dropout(new(), .5)
print(bool((state == torch.get_rng_state()).all()))
END_PROGRAM
    simulate program.py
    expect_equal "output" "$(<program.out)" 'True True True True True True 524288.0 1.0
True'
}

@test "the README of the simulated device lists each operator whose shape or result depends on values" {
    need torch
    cat >program.py <<'END_PROGRAM'
import sys, torch
page, tags = open(sys.argv[1]).read(), {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output, torch.Tag.nondeterministic_seeded}
for name in torch._C._dispatch_get_all_op_names():
    base, _, overload = name.removeprefix("aten::").partition(".")
    if name.startswith("aten::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, "CUDA"):
        operation = getattr(getattr(torch.ops.aten, base), overload or "default")
        if tags & set(operation.tags) and f"`{base}`" not in page and f"`{base.removesuffix('_')}`" not in page:
            print(base)
END_PROGRAM
    "$PYTHON" program.py "$ROOT/src/simdev/README.md" >missing
    expect_equal "missing operators" "$(<missing)" ""
}

@test "a CUDA graph of PyTorch with cudaMallocAsync: its allocations are nodes, and it is replayed" {
    need torch
    cat >program.py <<'END_PROGRAM'
import torch
layer = torch.nn.Sequential(*[torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(2)]).cuda()
x, side, graph = torch.randn(1, 16, 256, 256, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
side.wait_stream(torch.cuda.current_stream())
with torch.no_grad():
    with torch.cuda.stream(side):
        layer(x)
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        y = layer(x)
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
print(tuple(y.shape), torch.cuda.mem_get_info()[0] < torch.cuda.mem_get_info()[1])
END_PROGRAM
    PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync simulate program.py
    expect_line program.out '^\(1, 16, 256, 256\) True$'
}

@test "gallery: the page is that of its rows" {
    "$ROOT/scripts/gallery" --page >page.md || fail "scripts/gallery --page"
    diff "$ROOT/docs/gallery.md" page.md || fail "docs/gallery.md is not the page of docs/results/gallery.csv"
}

# The need of a size depends on PyTorch and cuDNN. With those of the rows it is equal to the byte.
@test "gallery: a size that fits needs the bytes of its row, by the command of the page" {
    need torch torchvision
    "$BUILD/convshim" simulate --device rtx4060 --fits card --format json -- "$PYTHON" "$ROOT/tests/frameworks/gallery.py" \
        resnet50-training:160 >cell.json 2>cell.err || fail "$(cat cell.err)"
    "$PYTHON" - "$ROOT/docs/results/gallery.csv" <<'END_PROGRAM' || fail "another need than in the row"
import csv
import json
import sys
from importlib.metadata import version

result = json.load(open("cell.json"))
row = next(row for row in csv.DictReader(open(sys.argv[1]))
           if (row["model"], row["device"], row["size"]) == ("resnet50-training", "rtx4060", "160"))
same = f"torch {version('torch')}, " in row["versions"]
for side in "without", "with":
    found, expected = result[side]["needed"], int(row[f"needed_{side}"])
    print(side, found, expected, result[side]["answer"])
    if result[side]["answer"] != "yes" or abs(found - expected) > (0 if same else expected // 10):
        sys.exit(1)
END_PROGRAM
}
