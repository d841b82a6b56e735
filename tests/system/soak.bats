#!/usr/bin/env bats
# A program that goes through ever new shapes: what the library holds must not grow with them. A cuDNN and a driver that do
# nothing keep nothing themselves. The simulated device and the real planner do for every shape: there it is compared with
# the same program without the library.

bats_require_minimum_version 1.5.0
load helper

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
    local backing calls=${SOAK_CALLS:-1000000}
    for backing in own client; do
        status=0
        LD_LIBRARY_PATH=$BUILD/bench:$BUILD/simdev CONVSHIM_CONFIG="workspace=8KiB;backing=$backing" \
            LD_PRELOAD=$PRELOAD "$APPS/soak" --calls "$calls" >shimmed.out 2>shimmed.err || status=$?
        expect_status 0
        expect_true "tiled calls" "$(counted_in_text tiled shimmed.err) > $calls / 4"
        expect_true "growth <= 256 KiB" "$(grown shimmed) <= 262144"
    done
}
