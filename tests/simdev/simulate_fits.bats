#!/usr/bin/env bats
# `convshim simulate`: whether a program fits into the memory of a GPU, on each of several GPUs, and for several values.
load ../system/helper
# shellcheck source=tests/support/simulate.bash
. "$ROOT/tests/support/simulate.bash"

# A program that allocates 100 MiB and 10 MiB for each unit of its argument; the driver refuses more than there is.
linear()
{
    cat >linear.py <<'END'
import ctypes, sys
sys.exit(ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(100 + 10 * int(sys.argv[1]) << 20)))
END
}

@test "--fits: the status, and a line with the reason; the program needs one size more without convshim" {
    simulate --format csv --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    local without with
    without=$(figure needed without) with=$(figure needed with)
    expect_equal "context" "$((without - $(figure device_peak without)))" "$((with - $(figure device_peak with)))"
    simulate --fits "$((without + without / 10))" --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_line simulate.out '^without     Yes: needs [0-9.]+ MiB with the context of [0-9.]+ MiB\. The GPU has [0-9.]+ MiB, [0-9.]+ MiB spare\.$'
    simulate --fits "$with" --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_line simulate.out '^does it fit in [0-9.]+ MiB\?$'
    # The program takes other engines if a workspace cannot be allocated, so it runs.
    expect_line simulate.out '^without     May fail\. Runs under memory pressure: .* With enough memory it takes [0-9.]+ MiB\. Fragmentation '
    expect_line simulate.out '^with        May fail: needs ([0-9.]+ MiB) with the context of [0-9.]+ MiB\. The GPU has ([0-9.]+ MiB), 0 B spare\. Above 95 %'
    simulate --fits "$with" --only without -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    simulate --fits 1MiB --workspace 4MiB --format json -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 1
    python3 -c 'import json; run = json.load(open("simulate.out")); assert run["with"]["fits"] is False and run["with"]["answer"] == "no" and "too little" in run["with"]["fits_why"], run["with"]["fits_why"]' ||
        fail "not in the JSON"
}

# bats test_tags=quick
@test "--fits card: the memory of that GPU, which includes the context; more than it has is not simulated" {
    cat >takes.py <<'END'
import ctypes, sys
runtime, free, total = ctypes.CDLL("libcudart.so.13"), ctypes.c_size_t(), ctypes.c_size_t()
assert runtime.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total)) == 0
open("memory", "w").write(f"{free.value} {total.value}")
sys.exit(runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(int(float(sys.argv[1]) * 2**30))))
END
    simulate --device "Tesla T4" --fits card --keep kept --only without -- python3 takes.py 13.5
    expect_status 0
    expect_line simulate.out '^without     Yes: needs 13\.62 GiB with the context of 125\.8 MiB\. Tesla T4 has 14\.56 GiB, [0-9.]+ MiB spare\.$'
    expect_equal "free, total" "$(written memory)" "$((15633678336 - 32 * 1048576 - 40 * 1024 * 2400)) 15633678336"
    simulate --device t4 --fits card --only without -- python3 takes.py 14
    expect_status 0
    expect_line simulate.out '^without     May fail: '
    simulate --device t4 --fits 16GiB --only without -- python3 takes.py 15
    expect_status 1
    expect_line simulate.err 'Tesla T4 has 14\.56 GiB of usable memory, less than --fits'
    expect_line simulate.out '^without     No: .* Tesla T4 has 14\.56 GiB'
    simulate --device t4 --fits card --context 1GiB --only without -- python3 takes.py 13.75
    expect_status 1
}

# bats test_tags=quick
@test "--fits without an answer: status 3, and null in the JSON" {
    simulate --fits 8GiB --format json -- ls
    expect_status 3
    python3 -c 'import json; run = json.load(open("simulate.out")); assert run["with"]["fits"] is None and run["with"]["answer"] == "no answer"' ||
        fail "not in the JSON"
    simulate --fits card -- python3 -c 'import ctypes; ctypes.CDLL("libcudart.so.13").cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))'
    expect_status 3
    expect_line simulate.out '^with        No answer\. (Ended without a call of CUDA|Found the GPU)'
    simulate --fits card -- sh -c 'exit 5'
    expect_status 3
    expect_line simulate.out '^with        No answer\. Failed with status 5, and the GPU refused no allocation\.$'
}

# bats test_tags=quick
@test "a child that runs out of memory and a parent that fails: no, also if the parent holds more" {
    cat >parent.py <<'END'
import ctypes, subprocess, sys
take = lambda gib: ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(gib << 30))
if len(sys.argv) > 1:
    sys.exit(take(2) or take(2))
sys.exit(take(4) or subprocess.run([sys.executable, __file__, "child"]).returncode)
END
    simulate --fits 7GiB --context 0 -- python3 parent.py
    expect_status 1
    expect_line simulate.out '^with        No: needs 8192 MiB .* The GPU has 7168 MiB, 1024 MiB too little\.$'
}

# bats test_tags=quick
@test "--gpus: the peaks of each GPU, and the answer for the one that needs most" {
    cat >two.py <<'END'
import ctypes, sys
runtime, count = ctypes.CDLL("libcudart.so.13"), ctypes.c_int()
assert runtime.cudaGetDeviceCount(ctypes.byref(count)) == 0
sizes = sys.argv[1:]
for device, size in enumerate(sizes[:count.value]):
    assert runtime.cudaSetDevice(device) == 0
    assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(int(size) << 20)) == 0
END
    simulate --gpus 2 --context 1MiB --fits 10MiB --only without -- python3 two.py 3 7
    expect_status 0
    expect_line simulate.out '^device      2 times NVIDIA H200 with 10 MiB'
    expect_equal "peaks" "$(sed -nE 's/^  device peak //p; s/^(GPU [01]) .*/\1/p' simulate.out | xargs)" "7 MiB GPU 0 3 MiB GPU 1 7 MiB"
    expect_line simulate.out '^without     Yes: needs 8 MiB '
    simulate --gpus 2 --context 1MiB --fits 8191KiB --only without -- python3 two.py 3 7
    expect_status 1
    expect_line simulate.out '^without     No: needs 8 MiB .* 1 KiB too little'
}

@test "a CUDA runtime inside of a program or library: simulated, unless the file is stripped" {
    cat >inside.c <<'END'
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
volatile int failed = 500;
static __attribute__((noipa)) int cudaGetDeviceCount(int *count)
{
    const void *table;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int (*get)(const void **, const char *) = dlsym(driver, "cuGetExportTable");
    int (*retain)(void **, int) = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *count = retain(&context, 0) + get(&table, "sixteen bytes id");
    return failed;
}
static __attribute__((noipa)) int cudaMalloc(void **at, size_t size) { *at = NULL; return size > 0 ? failed : 0; }
__attribute__((constructor)) static void load(void)
{
    void *at;
    int count;
    if (cudaGetDeviceCount(&count) != 0 || cudaMalloc(&at, 5 << 20) != 0)
        exit(9);
}
#ifdef PROGRAM
int main(void) { return 0; }
#endif
END
    gcc -O1 -DPROGRAM -o inside inside.c
    gcc -O1 -shared -fPIC -o inside.so inside.c
    local program=(python3 -c 'import ctypes; ctypes.CDLL("./inside.so")')
    for command in ./inside "${program[*]@Q}"; do
        eval "simulate --only without --format csv -- $command"
        expect_status 0
        expect_equal "$command" "$(figure device_peak without)" $((5 << 20))
    done
    strip inside inside.so
    for command in ./inside "${program[*]@Q}"; do
        eval "simulate --only without -- $command"
        expect_status 3
        expect_line simulate.out '^without     Cannot be simulated: .* contains its own CUDA runtime, and is stripped '
    done
}

@test "a program that selects a GPU beyond --gpus: no answer, and the number of GPUs that it needs" {
    cat >third.py <<'END'
import ctypes
runtime = ctypes.CDLL("libcudart.so.13")
assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20)) == 0
assert runtime.cudaSetDevice(2) == 0
END
    simulate --gpus 2 --fits card --only without -- python3 third.py
    expect_status 3
    expect_line simulate.out '^without     Failed: the program selects GPU 2, .* Add --gpus 3\.$'
    expect_line simulate.out '^without     No answer\. Failed: the program selects GPU 2, .* Add --gpus 3\.$'
    simulate --gpus 3 --only without -- python3 third.py
    expect_status 0
}

# bats test_tags=quick
@test "--vary with values: a row for each, as each alone, and one start for both runs" {
    linear
    simulate --vary n=1,20 --format csv --keep kept --context 0 -- python3 linear.py '{n}'
    expect_status 0
    expect_equal "device peaks" "$(cut -d, -f1,7,8 simulate.out | tail -n +2 | xargs)" \
        "1,$((110 << 20)),$((110 << 20)) 20,$((300 << 20)),$((300 << 20))"
    expect_equal "starts" "$(find kept -maxdepth 1 -name 'forked-from-*' | wc -l)" 2
    simulate --vary n=1,20 --fits 200MiB --html page.html --only without -- python3 linear.py '{n}'
    expect_status 1
    show_page
    expect_equal "bars" "$(sed -nE 's/.*class="name">(.*)<\/small>.*/\1/p' page.dom | xargs)" '1<small>does not fit 20<small>does not fit'
    simulate --vary n=1,x --html page.html -- python3 linear.py '{n}'
    expect_status 3
    expect_line simulate.err 'n=x without: No answer\. Failed with status 1'
    show_page
    expect_equal "bars" "$(sed -nE 's/.*class="name">(.*)<\/small>.*/\1/p' page.dom | sort | xargs)" '1<small>fits x<small>no answer'
}

@test "--vary with a range: the largest value that fits, as single runs find it" {
    linear
    simulate --vary n=1..64 --fits 300MiB --context 37MiB --keep kept --only without -- python3 linear.py '{n}'
    expect_status 0
    expect_line simulate.out '^largest n that fits in 300 MiB without: 14; up to 16 it may fail$'
    expect_true "few starts" "$(find kept -maxdepth 1 -name 'forked-from-*' | wc -l) <= 8"
    simulate --fits 300MiB --context 37MiB --only without -- python3 linear.py 14
    expect_line simulate.out '^without     Yes: '
    simulate --fits 300MiB --context 37MiB --only without -- python3 linear.py 16
    expect_status 0
    expect_line simulate.out '^without     May fail: '
    simulate --fits 300MiB --context 37MiB --only without -- python3 linear.py 17
    expect_status 1
    simulate --vary n=1..4 --fits 300MiB --context 37MiB --only without -- python3 linear.py '{n}'
    expect_line simulate.out ': 4, the end of the range$'
    simulate --vary n=40..50 --fits 300MiB --context 37MiB --only without -- python3 linear.py '{n}'
    expect_status 1
    expect_line simulate.out ': none, 40 does not fit$'
    simulate --vary n=4..44:8 --fits 300MiB --context 37MiB --only without --html page.html -- python3 linear.py '{n}'
    show_page
    expect_equal "values" "$(sed -nE 's/.*class="name">([0-9]+)<small>.*/\1/p' page.dom | sort -n | xargs)" "4 12 20 28 44"
}

# bats test_tags=quick
@test "--baseline: status 1 and the layer whose workspace grew, 0 within the tolerance" {
    simulate --format json --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    cp simulate.out base.json
    simulate --baseline base.json --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_line simulate.out '^No peak has grown by more than 1 %\.$'
    simulate --baseline base.json --tolerance 2% --workspace 1GiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 1
    expect_line simulate.out '^  device peak    [0-9.]+ MiB -> [0-9.]+ MiB, \+[0-9.]+ %: GROWN$'
    grep -qE '^    \+[0-9.]+ [KM]iB +workspace of .*k3x3' simulate.out || fail "no layer: $(tail -20 simulate.out)"
    simulate --baseline base.json --workspace 1GiB --format json -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 1
    python3 -c 'import json; assert json.load(open("simulate.out"))["baseline"]["grown"] is True' || fail "not in the JSON"
    simulate --baseline base.json -- true
    expect_status 3
}
