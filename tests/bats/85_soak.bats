#!/usr/bin/env bats
# A program that goes through ever new shapes: what the library holds must not grow with them. cuDNN and the simulated
# device keep something for every shape, so it is compared with the same program without the library.

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

# The legacy API's memory of shapes is full in the first half: see src/cudnn/legacy.c.
@test "the heap grows no faster with the library than without" {
    plain "$APPS/soak" --calls "${SOAK_CALLS:-2400}" --repeat 1
    expect_status 0
    CONVSHIM_CONFIG='workspace=8KiB;backing=own' shimmed "$APPS/soak" --calls "${SOAK_CALLS:-2400}" --repeat 1
    expect_status 0
    expect_no_violation plain shimmed
    expect_true "growth, with <= without + 4 MiB" "$(grown shimmed) <= $(grown plain) + 4194304"
}
