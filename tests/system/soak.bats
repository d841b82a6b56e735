#!/usr/bin/env bats
# A program with constantly new shapes: the library's memory must not grow with them. A cuDNN and a driver without
# effects keep no memory. The simulated device and the real planner keep some for every shape, so there the program is
# compared with itself without the library.

bats_require_minimum_version 1.5.0
load helper

# The cuDNN and the driver without effects, which `make tests-built` builds.
need_null_cudnn()
{
    [ -x "$BUILD/bench/libcudnn.so.9" ] || fail "$BUILD/bench/libcudnn.so.9 is missing: make tests-built"
}

# grown NAME: by how many bytes the largest heap of the second half exceeds that of the first.
grown()
{
    local first second
    first=$(sed -nE 's/.*"first_half_bytes": ([0-9]+).*/\1/p' "$1.out")
    second=$(sed -nE 's/.*"second_half_bytes": ([0-9]+).*/\1/p' "$1.out")
    [[ $first && $second ]] || fail "no figures in $1.out"
    echo $((second - first))
}

# The legacy API's memory of shapes is full in the first half: see src/intercept/legacy/plan_cache.c.
@test "the heap grows no faster with the library than without" {
    plain "$APPS/soak" --calls 2400 --repeat 1
    expect_status 0
    CONVSHIM_CONFIG='workspace=8KiB;backing=own' shimmed "$APPS/soak" --calls 2400 --repeat 1
    expect_status 0
    expect_no_violation plain shimmed
    expect_true "growth, with <= without + 4 MiB" "$(grown shimmed) <= $(grown plain) + 4194304"
}

# Memory is the whole heap of the process: the library's, and a few KiB of the program's.
@test "a million calls of fifty thousand shapes: the heap of the second half is that of the first" {
    need_null_cudnn
    local backing calls=${SOAK_CALLS:-1000000}
    for backing in own client; do
        status=0
        LD_LIBRARY_PATH=$BUILD/bench:$BUILD/simdev CONVSHIM_CONFIG="workspace=8KiB;max_slowdown=off;backing=$backing" \
            LD_PRELOAD=$PRELOAD "$APPS/soak" --calls "$calls" >shimmed.out 2>shimmed.err || status=$?
        expect_status 0
        expect_true "tiled calls" "$(counted_in_text tiled shimmed.err) > $calls / 4"
        expect_true "growth <= 256 KiB" "$(grown shimmed) <= 262144"
    done
}

# As many handles as threads, each with a memory of shapes, which the first half fills. SOAK_THREADS, SOAK_PASSED: 64
# and 10^8 in `make soak`.
soak_threads()
{
    local config=$1
    shift
    need_null_cudnn
    status=0
    LD_LIBRARY_PATH=$BUILD/bench:$BUILD/simdev CONVSHIM_CONFIG=$config LD_PRELOAD=$PRELOAD \
        "$APPS/soak" --threads "${SOAK_THREADS:-8}" "$@" >shimmed.out 2>shimmed.err || status=$?
    expect_status 0
}

# Each handle forgets all its shapes from time to time, whenever it is full.
@test "many threads, calls in tiles: the heap of the second half is that of the first" {
    local backing calls=$((${SOAK_CALLS:-1000000} * ${SOAK_THREADS:-8} / 64)) least=$((${SOAK_THREADS:-8} * 8192))
    [ "$calls" -ge "$least" ] || calls=$least
    for backing in own client; do
        soak_threads "workspace=8KiB;max_slowdown=off;backing=$backing" --calls "$calls" --repeat 4
        expect_true "growth <= a tenth" \
            "10 * $(grown shimmed) <= $(sed -nE 's/.*"first_half_bytes": ([0-9]+).*/\1/p' shimmed.out)"
    done
}

@test "many threads, calls that are passed on: the heap of the second half is that of the first" {
    local calls=${SOAK_PASSED:-2000000}
    soak_threads "workspace=1TiB" --calls "$calls" --repeat $((calls / 1000))
    expect_true "growth <= 256 KiB" "$(grown shimmed) <= 262144"
}
