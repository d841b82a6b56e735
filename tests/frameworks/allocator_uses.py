"""Ways to use PyTorch's allocator, with calls below the peak and with every call as planned: the same peaks?

    allocator_uses.py [--conf CONF] [SCENE...]   runs each scene twice on a simulated RTX 4090, and prints a row of a table.
                                                 Status 1 if a peak is more than a page higher, except with threads. CONF: PYTORCH_CUDA_ALLOC_CONF
    allocator_uses.py --one SCENE [planned]      runs one scene on this machine's GPU, and prints a line of JSON. planned: no
                                                 scratch is taken below the peak, so every call runs as it was planned
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import threading

import torch
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
import convshim  # noqa: E402

STEPS = 4
MIB = 1 << 20
PAGE = 20  # MiB by which PyTorch's allocator grows
RESULT = []  # what a scene reports besides its memory


class Network(nn.Module):
    """A U-Net whose largest convolutions are at the end, behind its peak in the middle."""

    def __init__(self, channels):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in ((3, channels), (channels, 2 * channels)))
        self.middle = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1)
        self.up = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in ((4 * channels, channels), (2 * channels, channels)))

    def forward(self, x):
        kept = []
        for layer in self.down:
            x = torch.relu(layer(x))
            kept.append(x)
        x = torch.relu(self.middle(x))
        for layer in self.up:
            x = torch.relu(layer(torch.cat((x, kept.pop()), 1)))
        return x


def make(device="cuda", dtype=torch.float16, channels=64, size=512, train=False):
    model = Network(channels).to(device, dtype)
    x = torch.zeros(2, 3, size, size, device=device, dtype=dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3) if train else None

    def step():
        if not train:
            with torch.no_grad():
                return model(x)
        optimizer.zero_grad(set_to_none=False)
        model(x).sum().backward()
        optimizer.step()
        return None
    return step


def plain():
    yield from repeated(make())


def train():
    yield from repeated(make(train=True))


def repeated(step):
    for _ in range(STEPS):
        step()
        yield


def streams():
    """Three streams by hand."""
    step, lanes = make(), [torch.cuda.Stream() for _ in range(3)]
    for i in range(STEPS):
        for lane in lanes:
            with torch.cuda.stream(lane):
                step()
        torch.cuda.synchronize()
        yield


def in_threads(count, own_stream):
    steps = [make(channels=32) for _ in range(count)]

    def work(step):
        with torch.cuda.stream(torch.cuda.Stream()) if own_stream else contextlib.nullcontext():
            step()
    for _ in range(STEPS):
        threads = [threading.Thread(target=work, args=(step,)) for step in steps]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.cuda.synchronize()
        yield


def threads_with_streams():
    yield from in_threads(4, True)


def eight_threads():
    yield from in_threads(8, False)


def benchmark():
    torch.backends.cudnn.benchmark = True
    yield from repeated(make())


def graph(train):
    step = make(train=train)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step()
    torch.cuda.current_stream().wait_stream(side)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        step()
    yield from repeated(recorded.replay)


def forward_graph():
    yield from graph(False)


def step_graph():
    """A whole training step as a graph."""
    yield from graph(True)


def pool():
    """Every other step in a memory pool of the program."""
    step, own = make(), torch.cuda.MemPool()
    for i in range(STEPS):
        with torch.cuda.use_mem_pool(own) if i % 2 else contextlib.nullcontext():
            step()
        yield


def emptied():
    step = make(train=True)
    for _ in range(STEPS):
        step()
        torch.cuda.empty_cache()
        yield


def compiled():
    step = torch.compile(make(), backend="aot_eager")
    yield from repeated(step)


def two_gpus():
    steps = [make("cuda:0"), make("cuda:1", channels=48)]
    for _ in range(STEPS):
        for step in steps:
            step()
        yield


def failing():
    """The allocator fails in the first step; the program goes on with smaller images."""
    torch.cuda.set_per_process_memory_fraction(0.05)
    large, small = make(size=2048), make(size=256)
    for _ in range(STEPS):
        try:
            large()
            RESULT.append("ran")
        except torch.OutOfMemoryError:
            RESULT.append("failed")
            torch.cuda.empty_cache()
            small()
        yield


def profiled():
    """The profiler sees each allocation of a step, the first one after the plans are built."""
    step = make()
    step()
    step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    RESULT.append(len(events))
    yield


SCENES = {scene.__name__: scene for scene in (plain, train, streams, threads_with_streams, eight_threads, benchmark, forward_graph,
                                              step_graph, pool, emptied, compiled, two_gpus, failing, profiled)}
VARYING = ("threads_with_streams", "eight_threads")  # threads allocate in another order in each run, so peaks are not judged


def run_one(scene, planned):
    rows, before = [], 0
    devices = range(torch.cuda.device_count())
    with convshim.limit(1 << 10) if planned else contextlib.nullcontext():
        for _ in SCENES[scene]():
            tiled = convshim.stats()["totals"]["tiled"]
            rows.append({"allocated": [torch.cuda.max_memory_allocated(i) // MIB for i in devices],
                         "reserved": [torch.cuda.max_memory_reserved(i) // MIB for i in devices], "tiled": tiled - before})
            before = tiled
            for i in devices:
                torch.cuda.reset_peak_memory_stats(i)
    print("SCENE " + json.dumps({"rows": rows, "result": RESULT}))


def simulate(scene, conf, words):
    environment = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=conf, CONVSHIM_SUMMARY="off",
                       SIMDEV_DEVICES="2" if scene == "two_gpus" else "1")
    run = subprocess.run([ROOT / "scripts/with-simdev", "--account", "--profile", ROOT / "conf/devices/rtx4090.json", "--", "env",
                          f"LD_PRELOAD={ROOT / 'build/libconvshim.so'}", sys.executable, __file__, "--one", scene, *words],
                         env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    lines = [line for line in run.stdout.splitlines() if line.startswith("SCENE ")]
    if run.returncode != 0 or not lines:
        sys.exit(f"{scene} ended with status {run.returncode}: {run.stderr[-400:]}")
    return json.loads(lines[-1][len("SCENE "):])


def peak(result, name):
    """The largest value of each GPU."""
    return [max(values) for values in zip(*(row[name] for row in result["rows"]))]


def compare(scene, conf):
    """Prints a row. False if a peak is higher, or if the scene has another result."""
    planned, level = simulate(scene, conf, ["planned"]), simulate(scene, conf, [])
    cells = [f"{', '.join(map(str, peak(planned, name)))} / {', '.join(map(str, peak(level, name)))}" for name in ("allocated", "reserved")]
    tiled = [f"{result['rows'][0]['tiled']}, {result['rows'][-1]['tiled']}" for result in (planned, level)]
    print("|", " | ".join([f"`{scene}`", *cells, *tiled]), "|", flush=True)
    return scene in VARYING or planned["result"] == level["result"] and all(
        now <= before + PAGE for name in ("allocated", "reserved") for before, now in zip(peak(planned, name), peak(level, name)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--conf", default="")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    if options.one:
        run_one(options.words[0], options.words[1:] == ["planned"])
        return 0
    print("| Scene | Allocated, planned / now | Reserved, planned / now | Tiled as planned, first and last step | Tiled now |")
    print("|---|---|---|---|---|")
    return 0 if all([compare(scene, options.conf) for scene in options.words or SCENES]) else 1


if __name__ == "__main__":
    sys.exit(main())
