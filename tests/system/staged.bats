#!/usr/bin/env bats
# Tiles that work on packed copies of tensors that a cut leaves in pieces.
load helper

export RACES=1

ALWAYS="$EVERYTHING;staged=always"

random()
{
    same "$ALWAYS" "$APPS/conv_random" --count "$(few 120)" --seed 41 --dtype all --data integers "$@"
    expect_accounts_agree
    expect_true "tiled calls" "$(counted tiled) >= $(few 20)"
    expect_true "copies" "$(device shimmed copies) > $(device plain copies) + $(few 20)"
}

@test "forward, graph API, staged: equal to the bit" {
    random --api graph
}

@test "forward, legacy API, staged: equal to the bit" {
    random --api legacy
}

# bats test_tags=quick
@test "backward-data, staged: equal to the bit" {
    random --api graph --direction data
}

@test "backward-filter, staged: equal to the bit" {
    random --api graph --direction filter
}

# One spatial tile in each of four kinds of graph; the scratch is the client's, the copies are nodes.
@test "a staged plan is populated as copies and tiles, updated and run" {
    SIMDEV_NATIVE_GRAPHS=1 CONVSHIM_CONFIG="$FIXED;tiles=6;threshold=0;staged=always;backing=client" \
        SIMDEV_RACES=1 shimmed "$CLIENTS/plans" populate
    expect_status 0
    expect_no_violation shimmed
    expect_equal "calls on the fallback plan" "$(counted fallback)" 0
    expect_true "copies" "$(device shimmed copies) > 10"
}

# The size reported to a legacy caller of a fused convolution does not include its addend. Its copy may not fit, and
# then the fallback plan runs.
@test "staged tiles on lanes, captured and replayed, in orders from seeds" {
    local lanes
    for lanes in 1 2; do
        traffic "$FIXED;tiles=6;threshold=0;staged=always;lanes=$lanes;backing=own" --seeds "1:$(few 10)"
        expect_equal "calls on the fallback plan" "$(counted fallback)" 0
        traffic "$FIXED;tiles=6;threshold=0;staged=always;lanes=$lanes;backing=client" --seeds "1:$(few 10)" --mode global
    done
}

@test "staged = never: no packed copies, results equal to the bit" {
    same "$EVERYTHING;staged=never" "$APPS/conv_random" --api graph --count 20 --seed 43 --data integers
    expect_equal "copies" "$(device shimmed copies)" "$(device plain copies)"
}
