#!/usr/bin/env bats
# `convshim simulate`: programs on a GPU that is not installed. Its output equals the report of a plain run on the
# simulated device.
load ../system/helper
# shellcheck source=tests/support/simulate.bash
. "$ROOT/tests/support/simulate.bash"

# bats test_tags=quick
@test "figures are those of plain runs on the device, to the byte" {
    export SIMDEV_MODE=account CONVSHIM_CONFIG="workspace=4MiB;max_slowdown=off"
    plain "$APPS/vae_decoder" "${decoder[@]}"
    CONVSHIM_SUMMARY=json:run.json shimmed "$APPS/vae_decoder" "${decoder[@]}"
    unset SIMDEV_MODE
    simulate --format csv --device h200 -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    local run side
    for run in plain shimmed; do
        side=$([ $run = plain ] && echo without || echo with)
        expect_equal "peak, $run" "$(figure device_peak "$side")" "$(device $run peak_bytes)"
        expect_equal "bytes, $run" "$(figure tensor_bytes "$side")" "$(device $run tensor_bytes)"
    done
    expect_equal "convolutions" "$(figure calls with)" "$(device plain conv_launches)"
    expect_equal "workspace, untiled" "$(figure largest_workspace without)" "$(device plain largest_workspace_used)"
    expect_true "workspace that is reported" "$(figure largest_workspace with) >= $(device shimmed largest_workspace_used)"
    expect_equal "extra launches" "$(figure extra_launches with)" \
        $(($(device shimmed conv_launches) - $(device plain conv_launches)))
    expect_true "tiled" "$(figure tiled with) > 0"
    expect_equal "predicted times" "$(figure predicted_ns without),$(figure predicted_ns with)" \
        "$(python3 -c 'import json; totals = json.load(open("run.json"))["totals"]; print(totals["untiled_ns"], totals["predicted_ns"], sep=",")')"
}

# bats test_tags=quick
@test "the text names program, device and cuDNN, the course of the run, and unknown figures" {
    simulate --device rtx3060 --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_line simulate.out "^program     $APPS/vae_decoder --csv"
    expect_line simulate.out '^device      NVIDIA GeForce RTX 3060 with 11.61 GiB, simulated$'
    expect_line simulate.out "^sizes       by cuDNN 9\.[0-9.]*, in $CUDNN\$"
    expect_line simulate.out '^  device peak +[0-9.]+ MiB +[0-9.]+ MiB +-[0-9.]+ %$'
    expect_line simulate.out '^without     Runs without '
    expect_line simulate.out '^with        Runs without '
    expect_line simulate.out '^  with the context +[0-9.]+ MiB +[0-9.]+ MiB +-[0-9.]+ %$'
    expect_line simulate.out 'context takes 130.4 MiB of'
    expect_line simulate.out 'not computed, .*Reads: vae_decoder 1\.$'
    expect_no_word
}

@test "one side alone; --preset and options of the library are those of the run with it" {
    simulate --only without --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_equal "with" "$(figure device_peak with)" ""
    echo 'workspace = 16MiB' >small.ini
    simulate --only with --preset ./small.ini --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    local small
    small=$(figure largest_workspace with)
    expect_true "within the preset's limit" "$small <= 16 * 1048576"
    simulate --only with --preset ./small.ini --workspace 2MiB --max-slowdown off --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_true "within the option's" "$(figure largest_workspace with) <= 2 * 1048576"
    expect_equal "without" "$(figure device_peak without)" ""
    simulate --preset look --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_equal "reported by policy off" "$(figure largest_workspace with)" "$(figure largest_workspace without)"
    CONVSHIM_WORKSPACE=1MiB simulate --only with --workspace 8MiB --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_true "its own variable has less to say" "$(figure largest_workspace with) > 2 * 1048576"
}

@test "the user's own LD_PRELOAD is kept, except for the library in the run without it" {
    LD_PRELOAD=$PRELOAD simulate --format json --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    python3 - <<'END' || fail "the library was in the run without it"
import json
run = json.load(open("simulate.out"))
assert run["with"]["tiled"] > 0 and run["with"]["extra_launches"] > 0
assert "tiled" not in run["without"] and run["without"]["convolution_launches"] < run["with"]["convolution_launches"]
END
}

@test "a program that went on without an allocation is compared with one that had it" {
    # The program chooses another plan if a workspace cannot be allocated.
    simulate --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    local peak
    peak=$(figure device_peak without)
    simulate --capacity $((peak - 1)) --context 0 --only without -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_line simulate.out '^without     Runs under memory pressure: [1-9][0-9]* failed allocations, [1-9][0-9]* convolutions? on (an)?other engines?\.'
}

@test "nothing is gained: the tensors at the peak and the reasons of the convolutions" {
    simulate --workspace 1GiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_line simulate.out "^no gain     The peak is [0-9.]+ [KMG]iB.*: $(reason_text SMALL)\."
    simulate --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    ! grep -q '^no gain' simulate.out || fail "something was gained: $(grep '^no gain' simulate.out)"
}

# bats test_tags=quick
@test "sizes that no real cuDNN planned: a prominent warning, and status 3, also if the process is killed" {
    SIMDEV_PLANNING=rule simulate -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 3
    expect_line simulate.out '^without     NO REAL cuDNN WAS USED: the sizes are from rule of thumb'
    cat >killed.py <<END
import ctypes, os, signal
work, state = ctypes.CDLL("$CLIENTS/libwork.so"), ctypes.c_void_p()
assert work.work_open(0, ctypes.byref(state)) == 0 and work.work_run(state) == 0
os.kill(os.getpid(), signal.SIGKILL)
END
    SIMDEV_PLANNING=rule simulate --only without --cuda 13 -- sh -c 'python3 killed.py; true'
    expect_status 3
    expect_line simulate.out '^without     NO REAL cuDNN WAS USED: the sizes are from rule of thumb'
}

@test "a failing program: its output, its status, and the functions it called that are not simulated" {
    cat >missing.c <<'END'
#include <stdio.h>
extern int cudaMalloc(void **, unsigned long), cudnnCreate(void **), cudnnSetStream(void *, void *), cudnnMultiHeadAttnForward(void);
int main(void) { void *memory; cudaMalloc(&memory, 64); cudnnMultiHeadAttnForward(); puts("a bad day"); return 7; }
END
    gcc -w -o missing missing.c -L"$SIMDEV_DIR" -l:libcudart.so.13 -l:libcudnn.so.9
    simulate --only without -- ./missing
    expect_status 3
    expect_line simulate.out '^without     Failed .*7, '
    expect_line simulate.out 'They did nothing: cudnnMultiHeadAttnForward 1'
    expect_line simulate.err '^a bad day$'
}

# bats test_tags=quick
@test "a program without CUDA, and one that is not there" {
    simulate -- true
    expect_status 3
    expect_line simulate.out '^with        Ended without a call of CUDA'
    simulate -- python3 -c 'import ctypes; ctypes.CDLL("libcudart.so.13").cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))'
    expect_status 3
    expect_line simulate.out '^without     Found the GPU, but ran on the CPU'
    grep -q '^sizes' simulate.out && fail "sizes of what nothing planned: $(grep '^sizes' simulate.out)"
    true
    simulate -- ./no-such-program
    expect_status 3
    expect_line simulate.err 'no-such-program: not found'
    simulate --device list
    expect_status 0
    expect_line simulate.out '^h200 '
}

# bats test_tags=quick
@test "a server that is stopped, and processes that are killed: the figures until then, and how they ended" {
    cat >ends.py <<'END'
import ctypes, os, signal, subprocess, sys
if len(sys.argv) == 2:
    child = subprocess.run([sys.executable, __file__, sys.argv[1], "child"])
    sys.exit(sys.argv[1] not in ("quietly", "late") and child.returncode != 0)
assert ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(5 << 20)) == 0
if sys.argv[1] == "late":
    libc = ctypes.CDLL(None)
    libc.__cxa_atexit(ctypes.cast(libc.abort, ctypes.c_void_p), None, None)
    sys.exit()
if sys.argv[1] == "uvicorn":
    signal.raise_signal(signal.SIGTERM)
os.kill(os.getpid(), signal.SIGKILL if sys.argv[1] == "quietly" else getattr(signal, sys.argv[1]))
END
    local end
    for end in SIGKILL SIGSEGV; do
        simulate --only without --cuda 13 -- python3 ends.py $end
        expect_status 3
        expect_line simulate.out '^  device peak +5 MiB$'
        expect_line simulate.out '^without     Failed with status 1'
    done
    simulate --only without --cuda 13 -- python3 ends.py quietly
    expect_line simulate.out '^  device peak +5 MiB$'
    expect_line simulate.out '^without     .*so it wrote no report'
    simulate --only without --cuda 13 -- python3 ends.py late
    expect_line simulate.out '^without     Runs without memory pressure\.$'
    simulate --only without --cuda 13 -- python3 ends.py uvicorn server
    expect_status 0
    expect_line simulate.out '^without     Stopped by signal 15\. Until then: Runs without memory pressure\.$'
    simulate --only without --cuda 13 -- python3 ends.py SIGTERM server
    expect_status 0
    expect_line simulate.out '^  device peak +5 MiB$'
    expect_line simulate.out '^without     Stopped by signal 15\. Until then: Runs'
}

@test "several processes on one GPU: the peak of their sum, without a killed one's bytes, and one capacity for all" {
    cat >several.py <<'END'
import ctypes, os, signal, subprocess, sys
def take(mebibytes):
    return ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(mebibytes << 20))
if len(sys.argv) > 1:
    print("child", take(5), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
print("parent", take(3), flush=True)
for _ in range(2):
    subprocess.run([sys.executable, __file__, "child"])
print("parent", take(4), flush=True)
END
    simulate --only without --cuda 13 --keep kept -- python3 several.py
    expect_status 0
    expect_line simulate.out '^  device peak +8 MiB$'
    expect_line simulate.out '^processes   3 used the device without convshim'
    expect_equal "killed children" "$(grep -cE '^  [0-9]+ +5 MiB, 0 convolutions launched, killed or ended by _exit$' simulate.out)" 2
    expect_line simulate.out '^  [0-9]+ +7 MiB, 0 convolutions launched$'
    simulate --only without --cuda 13 --capacity 7MiB --context 0 --keep small -- python3 several.py
    expect_equal "refused" "$(sort small/without-h200-*/output | xargs)" "child 2 child 2 parent 0 parent 0"
}

# bats test_tags=quick
@test "a limit of the framework: its message, and status 3; the verdict is in the CSV" {
    cat >limit.py <<'END'
import ctypes
assert ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(5 << 20)) == 0
raise RuntimeError("bfc_arena: Available memory of 5 is smaller than requested bytes of 7")
END
    simulate --only without --cuda 13 --format csv -- python3 limit.py
    expect_status 3
    expect_line simulate.out '"Failed with status 1, and the GPU refused no allocation\."'
    expect_line simulate.err 'smaller than requested bytes of 7$'
    expect_equal "status" "$(figure status without)" 1
}

# A PyTorch reduced to the functions that the hook calls, with the real libcudart that Python loads.
fake_torch()
{
    mkdir -p packages/torch/cuda
    cat >packages/torch/__init__.py <<'END'
import types
__version__ = "9.9.9+fake"
_C = types.SimpleNamespace(_cuda_resetPeakMemoryStats=lambda device: cuda.reset(device))
from . import cuda
END
    cat >packages/torch/cuda/__init__.py <<'END'
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
now, peak, calls = 0, 0, []

def _lazy_call(function):
    calls.append(function)

def use(size):
    global now, peak
    while calls:
        calls.pop()()
    pointer = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    now, peak = now + size, max(peak, now + size)
    return pointer, size

def give_back(pointer, size):
    global now
    runtime.cudaFree(pointer)
    now -= size

def reset(device):
    global peak
    peak = now

is_initialized = lambda: True
device_count = lambda: 1
memory_stats = lambda device: {"allocated_bytes.all.peak": peak, "reserved_bytes.all.peak": peak + 512, "num_alloc_retries": 2, "num_ooms": 1}
END
}

@test "PyTorch's own peaks are shown, also if the program resets them; the user's sitecustomize runs" {
    fake_torch
    echo 'open("own", "w").write("ran")' >packages/sitecustomize.py
    cat >program.py <<'END'
import torch
torch.cuda.give_back(*torch.cuda.use(3 << 20))
torch._C._cuda_resetPeakMemoryStats(0)
torch.cuda.use(1 << 20)
END
    PYTHONPATH=$PWD/packages simulate --keep kept --only without --cuda 13 -- python3 program.py
    expect_status 0
    expect_line simulate.out '^  allocated peak +3 MiB$'
    expect_line simulate.out '^  reserved peak +3 MiB$'
    expect_line simulate.out '^  allocation retries +2$'
    expect_line simulate.out '^without     Runs under memory pressure: 2 allocation retries, 1 failed allocation\.$'
    expect_equal "the user's sitecustomize" "$(written own)" ran
}

@test "JAX, which looks for a GPU in /dev and removes its devices at exit: it has the GPU and its peaks are shown" {
    mkdir -p packages/jax/_src
    cat >packages/jax/__init__.py <<'END'
from jax._src import api, hardware_utils, xla_bridge
__version__ = "9.9.9"
local_devices = xla_bridge.local_devices
END
    echo 'has_visible_nvidia_gpu = lambda: False' >packages/jax/_src/hardware_utils.py
    cat >packages/jax/_src/xla_bridge.py <<'END'
import ctypes, types
from jax._src import hardware_utils
backends = []
peak = 0

def local_devices():
    if not backends:
        assert hardware_utils.has_visible_nvidia_gpu(), "no GPU in /dev"
        backends.append(ctypes.CDLL("libcudart.so.13"))
    stats = {"peak_bytes_in_use": peak, "peak_pool_bytes": 2 * peak}
    return [types.SimpleNamespace(id=0, memory_stats=lambda: stats)]

def use(size):
    global peak
    local_devices()
    assert backends[0].cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(2 * size)) == 0
    peak += size

backends_are_initialized = lambda: bool(backends)
END
    cat >packages/jax/_src/api.py <<'END'
import atexit
from jax._src import xla_bridge

@atexit.register
def clean_up():
    xla_bridge.backends.clear()
    xla_bridge.peak = 0
END
    printf 'import jax\njax._src.xla_bridge.use(3 << 20)\n' >program.py
    PYTHONPATH=$PWD/packages simulate --only without --cuda 13 -- python3 program.py
    expect_status 0
    expect_line simulate.out '^  allocated peak +3 MiB$'
    expect_line simulate.out '^  reserved peak +6 MiB$'
    expect_line simulate.out '^  device peak +6 MiB$'
    # Who only imports it is given no device.
    echo 'import jax; open("backends", "w").write(repr(jax._src.xla_bridge.backends))' >program.py
    PYTHONPATH=$PWD/packages simulate --keep kept --only without --cuda 13 -- python3 program.py
    expect_equal "backends" "$(written backends)" '[]'
    grep -q 'allocated peak' simulate.out && fail "peaks of a device that was not used"
    true
}

@test "a program that starts the one with the GPU: each run has its own starter, which sees its end" {
    cat >starter.py <<'END'
import os, subprocess, sys
child = subprocess.run([sys.executable, "-c", """
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(5 << 20)) == 0
print("worked", flush=True)
"""])
with open("ends", "a") as ends:
    ends.write(f"{os.getpid()} {child.returncode}\n")
END
    simulate --keep kept --cuda 13 -- python3 starter.py
    expect_status 0
    expect_line simulate.out '^  device peak +5 MiB +5 MiB '
    expect_equal "starters" "$(written ends | cut -d' ' -f1 | sort -u | wc -l)" 2
    expect_equal "starters whose program ended well" "$(written ends | grep -c ' 0$')" 2
}

# bats test_tags=quick
@test "--keep: keeps the collected files" {
    simulate --keep kept --only with --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_equal "report" "$(find kept/with-h200-1 -name 'report.*.json' | wc -l)" 1
    expect_equal "summary" "$(find kept/with-h200-1 -name 'summary.*.json' | wc -l)" 1
    expect_line kept/with-h200-1/output 'vae_decoder: sd15-vae-512 api graph'
}

@test "--keep with a folder in use or a file: a line, and status 3" {
    local kept
    mkdir kept
    touch kept/mine
    for kept in kept kept/mine; do
        simulate --keep "$kept" -- true
        expect_status 3
        expect_line simulate.err "^convshim: --keep $kept: not an empty folder"
    done
}

@test "CONVSHIM=0 in the environment does not switch the run with the library off" {
    CONVSHIM=0 simulate --only with --workspace 4MiB --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_true "tiled" "$(figure tiled with) > 0"
}

@test "a program that was made for CUDA 12 gets that device" {
    cat >twelve.c <<'END'
extern int cudaRuntimeGetVersion(int *), cudaMalloc(void **, unsigned long);
#include <stdio.h>
int main(void) { int version; void *memory; cudaMalloc(&memory, 64); cudaRuntimeGetVersion(&version); return version / 1000; }
END
    gcc -w -o twelve twelve.c -L"$SIMDEV_DIR/cuda12" -l:libcudart.so.12
    simulate --only without -- ./twelve
    expect_line simulate.out '^without     Failed with status 12,'
}

@test "--smallest: runs there, and not with 2 % less" {
    simulate --smallest --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    local side smallest engines
    for side in without with; do
        smallest=$(figure smallest_capacity $side)
        engines=$(figure smallest_capacity_same_engines $side)
        expect_true "order, $side" "$smallest <= $engines"
        expect_true "no more than its peak, $side" "$engines <= $(figure needed $side)"
        cp simulate.out smallest.csv
        simulate --only $side --capacity "$smallest" -- "$APPS/vae_decoder" "${decoder[@]}"
        expect_status 0
        simulate --only $side --capacity $((smallest - 4 * 1048576 - smallest / 50)) -- "$APPS/vae_decoder" "${decoder[@]}"
        expect_status 1
        simulate --only $side --capacity "$engines" -- "$APPS/vae_decoder" "${decoder[@]}"
        expect_true "engines, $side" "$(grep -c '^with.* Runs .*memory pressure' simulate.out) == 1 && $(grep -c 'on other engines\|on another engine' simulate.out) == 0"
        cp smallest.csv simulate.out
    done
}

@test "--device with several names: a row for each, the same as each alone" {
    simulate --device t4,rtx4090 --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_equal "rows" "$(wc -l <simulate.out)" 3
    cp simulate.out devices.csv
    local device
    for device in t4 rtx4090; do
        simulate --device $device --format csv -- "$APPS/vae_decoder" "${decoder[@]}"
        python3 - $device <<'END' || fail "the row of $device is not what it is alone"
import csv, sys
row = next(row for row in csv.DictReader(open("devices.csv")) if row["name"] == sys.argv[1])
assert row == next(csv.DictReader(open("simulate.out"))), row
END
    done
}

@test "--html: a page with both curves, and the held memory at the peaks by layer" {
    simulate --html page.html --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_line simulate.err 'simulate: page in page.html$'
    show_page
    expect_line page.dom '<dt>largest workspace</dt><dd>[0-9.]+ [KM]iB → [0-9.]+ [KM]iB<small>-[0-9.]+ %</small>'
    expect_equal "the peaks of both curves" "$(grep -oE 'Held at the peak (without|with convshim): [0-9.]+ MiB' page.dom | sed 's/.*: //' | xargs)" \
        "$(sed -nE 's/^  device peak +([0-9.]+ MiB) +([0-9.]+ MiB) .*/\1 \2/p' simulate.out)"
    expect_equal "curves" "$(grep -oE '<path class="[a-z ]*"' page.dom | cut -d'"' -f2 | paste -sd,)" 'saved,held,curve,curve after'
    expect_equal "workspaces of layers" "$(grep -oE '<tr><td>workspace</td><td>[^<]*k3x3' page.dom | wc -l)" 2
    simulate --html no/such/folder/page.html -- touch "$PWD/it-ran"
    expect_status 2
    [ ! -e it-ran ] || fail "refused after the program"
}

@test "nvidia-smi answers the queries of programs that choose a GPU by it" {
    cat >asks.sh <<'END'
nvidia-smi --query-gpu=memory.free --format=csv,noheader,nounits
nvidia-smi --query-gpu=index,name,memory.used,compute_cap --format=csv -i 0
nvidia-smi -L
nvidia-smi --no-such-option; echo $?
END
    simulate --only without --cuda 13 --device rtx4090 --keep kept -- sh asks.sh
    expect_equal "answers" "$(cat kept/without-*/output)" "24072
index, name, memory.used [MiB], compute_cap
0, NVIDIA GeForce RTX 4090, 0 MiB, 8.9
GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-00000000-0000-0000-0000-000000000000)
nvidia-smi of the simulated GPU: option --no-such-option is not supported
2"
}
