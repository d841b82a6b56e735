#!/usr/bin/env bats
# Runs of `convshim simulate` that are forked from one process: each equals a separate run.
load ../system/helper
# shellcheck source=tests/support/simulate.bash
. "$ROOT/tests/support/simulate.bash"

# alone: the figures of both sides, each from a separate process.
alone()
{
    local side
    for side in without with; do
        simulate --format csv --only $side "$@"
        expect_status 0
        figures $side >"$side.csv"
    done
}

# expect_alone: that the figures of both together are these. The run with convshim predicts the times of both.
expect_alone()
{
    local side
    for side in without with; do
        diff <(figures $side | grep -v '^predicted_') <(grep -v '^predicted_' "$side.csv") ||
            fail "the run $side differs from a separate run"
    done
}

@test "forked runs: the same figures as separate processes" {
    alone --workspace 4MiB -- "$APPS/vae_decoder" "${decoder[@]}"
    simulate --format csv --workspace 4MiB --keep kept -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_alone
    expect_equal "processes that runs are forked from" "$(find kept -maxdepth 1 -name 'forked-from-*' | wc -l)" 1
    simulate --format csv --workspace 4MiB --capacity 100GiB -- "$APPS/vae_decoder" "${decoder[@]}"
    expect_status 0
    expect_alone
    expect_no_word
}

@test "a program that uses cuDNN before the GPU is run without the library all the same" {
    cat >early.py <<'END'
import ctypes
at, tensor = ctypes.c_void_p(), ctypes.c_void_p()
assert ctypes.CDLL("libcudnn.so.9").cudnnBackendCreateDescriptor(18, ctypes.byref(tensor)) == 0
assert ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(at), ctypes.c_size_t(3 << 20)) == 0
END
    alone --cuda 13 -- python3 early.py
    simulate --format csv --cuda 13 --keep kept -- python3 early.py
    expect_status 0
    expect_alone
    expect_equal "separate processes" "$(find kept -maxdepth 1 -name 'with*' | wc -l)" 2
}

@test "a library that uses the GPU in its constructor is not forked there: the loader holds its lock" {
    cat >loaded.c <<'END'
extern int cudaMalloc(void **, unsigned long);
__attribute__((constructor)) static void load(void)
{
    void *at;
    cudaMalloc(&at, 3 << 20);
}
END
    gcc -w -shared -fPIC -o loaded.so loaded.c -L"$SIMDEV_DIR" -l:libcudart.so.13
    simulate --format csv --keep kept --cuda 13 -- python3 -c 'import ctypes; ctypes.CDLL("./loaded.so"); ctypes.CDLL(None)'
    expect_status 0
    expect_equal "device peak" "$(figure device_peak without) $(figure device_peak with)" "$((3 << 20)) $((3 << 20))"
}

@test "each forked run has its own files, variables and options" {
    cat >forked.py <<'END'
import ctypes, os
lines = open("lines")
assert lines.readline() == "first\n"
log = open("log", "a")
runtime = ctypes.CDLL("libcudart.so.13")
pointer = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 20)) == 0
assert lines.readline() == "second\n", "another run has read it"
log.write("a run\n")
print("printed")
END
    printf 'first\nsecond\n' >lines
    seq 100000 >>lines # more than is read ahead
    simulate --device t4,h200 --keep kept --only without --cuda 13 -- python3 -c 'exec(open("forked.py").read())'
    expect_status 0
    expect_equal "runs" "$(written log | grep -c 'a run')" 2
    expect_equal "outputs" "$(cat kept/without-*/output | grep -c printed)" 2
    expect_equal "of one process" "$(find kept -maxdepth 1 -name 'forked-from-*' | wc -l)" 1
}

# bats test_tags=quick
@test "a failed program's traceback is shown, even if libraries print after it" {
    cat >fails.py <<'END'
import atexit
atexit.register(lambda: print("\n".join("leaked %d" % i for i in range(50))))
{}["the key"]
END
    simulate --only without --cuda 13 -- python3 -u fails.py
    expect_status 3
    expect_line simulate.err "^KeyError: 'the key'\$"
    expect_line simulate.err '^leaked 49$'
    ! grep -q 'leaked 20' simulate.err || fail "all is shown"
}

# bats test_tags=quick
@test "a program that cannot be forked: starts again for each run" {
    cat >threads.c <<'END'
#include <pthread.h>
#include <unistd.h>
extern int cudaMalloc(void **, unsigned long);
static void *sleep_long(void *p) { pause(); return p; }
int main(void) { pthread_t t; void *m; pthread_create(&t, 0, sleep_long, 0); return cudaMalloc(&m, 1 << 20); }
END
    gcc -w -pthread -o threads threads.c -L"$SIMDEV_DIR" -l:libcudart.so.13
    simulate --device t4,h200 --keep kept --only without -- ./threads
    expect_status 0
    expect_equal "processes" "$(find kept -name 'output' | wc -l)" 2
    expect_equal "rows" "$(grep -cE '^(t4|h200) .* yes$' simulate.out)" 2
}

# bats test_tags=quick
@test "children that use the GPU: all of them are in both runs" {
    cat >children.py <<'END'
import ctypes, subprocess, sys, time
if len(sys.argv) > 1:
    assert ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(int(sys.argv[1]) << 20)) == 0
    time.sleep(1)
    sys.exit()
children = [subprocess.Popen([sys.executable, __file__, size]) for size in ("3", "5")]
sys.exit(sum(child.wait() for child in children))
END
    simulate --cuda 13 -- python3 children.py
    expect_status 0
    expect_line simulate.out '^  device peak +8 MiB +8 MiB '
    expect_equal "lists" "$(grep -c '^processes   2 used the device with' simulate.out)" 2
}

@test "a child uses the GPU before its parent: the parent is in the same run" {
    cat >later.py <<'END'
import ctypes, subprocess, sys
if len(sys.argv) == 1:
    assert subprocess.call([sys.executable, __file__, "3"]) == 0
take = int(sys.argv[-1]) if len(sys.argv) > 1 else 5
assert ctypes.CDLL("libcudart.so.13").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(take << 20)) == 0
END
    simulate --cuda 13 -- python3 later.py
    expect_status 0
    expect_line simulate.out '^  device peak +5 MiB +5 MiB '
}
