#!/usr/bin/env bats
# Tiles that work on packed copies of tensors that a cut leaves in pieces, and tensors that are too large for cuDNN's
# engines.
load helper

ALWAYS="$EVERYTHING;staged=always"

# same CONFIG PROGRAM OPTIONS...: the same results to the bit without and with the library, copies and all
same()
{
    local config=$1
    shift
    plain "$@" --dump plain.bin
    expect_status 0
    CONVSHIM_CONFIG=$config SIMDEV_RACES=1 shimmed "$@" --dump shimmed.bin
    expect_status 0
    expect_no_violation plain shimmed
    expect_same --exact
}

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

# 64 channels of 64 x 48 pixels are 196608 elements: tensors of two images are too large for the engines.
HUGE="record=0 api=graph direction=forward dtype=f16 layout=nchw \
x=2x64x1x64x48:196608,3072,3072,48,1+0/786432 w=64x64x1x3x3:576,9,9,3,1+0/73728 \
y=2x64x1x64x48:196608,3072,3072,48,1+0/786432 \
stride=1x1x1 dilation=1x1x1 pre=0x1x1 post=0x1x1 groups=1 alpha=1 beta=0"
huge()
{
    local config=$1
    export SIMDEV_PLANNING=rule SIMDEV_MAX_SPAN=$2
    same "$config" "$APPS/conv_random" --data integers --problem "$HUGE"
}

@test "huge tensors are tiled only if the user asks for it" {
    huge "workspace=1MiB" 100000
    expect_equal "tiled calls" "$(counted tiled)" 0
    huge "workspace=1MiB;huge=400000" 100000
    expect_equal "tiled calls" "$(counted tiled)" 0
}

@test "huge tensors run as packed tiles within workspace, with another engine" {
    huge "workspace=1MiB;huge=100001" 100000
    expect_equal "tiled calls" "$(counted tiled)" 1
    expect_equal "calls on the fallback plan" "$(counted fallback)" 0
    expect_true "tiles" "$(counted extra) >= 3"
    expect_true "copies" "$(device shimmed copies) > $(device plain copies)"
    expect_true "workspace reported" "$(counted reported) > 100000 && $(counted reported) <= 1048576"
    local limit previous
    for limit in 320KiB 192KiB 128KiB; do
        previous=$(counted extra)
        huge "workspace=$limit;huge=100001;max_slowdown=off" 100000
        expect_equal "tiled calls under $limit" "$(counted tiled)" 1
        expect_true "more tiles under $limit" "$(counted extra) > $previous"
    done
}

@test "tiles of huge tensors that are still large: not tiled if they do not fit" {
    huge "workspace=4KiB;huge=100001" 100000
    expect_equal "tiled calls" "$(counted tiled)" 0
}

@test "a huge filter gradient in 16 bits: cut along channels on both sides, with another engine within workspace" {
    echo '1x128x4096x4096 -> 128 k3x3 p1 f16, one, huge' >huge.csv
    plain "$APPS/plan_layers" --csv huge.csv --direction filter
    expect_status 0
    planned_by_cudnn plain || cannot_run "no real cuDNN"
    CONVSHIM_LOG=info CONVSHIM_CONFIG="workspace=1GiB;huge=2147483648" shimmed "$APPS/plan_layers" --csv huge.csv --direction filter
    expect_status 0
    expect_line plain.out '^huge,one,f16,nchw,0,ok,0$'
    expect_line shimmed.err 'engine 0: .*, KC x [0-9]+' # nothing is run, so that there is no summary
    expect_true "workspace reported" "$(tail -n 1 shimmed.out | cut -d, -f7) <= 1 << 30"
}

@test "staged = never: no packed copies, results equal to the bit" {
    same "$EVERYTHING;staged=never" "$APPS/conv_random" --api graph --count 20 --seed 43 --data integers
    expect_equal "copies" "$(device shimmed copies)" "$(device plain copies)"
}
