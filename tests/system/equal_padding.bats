#!/usr/bin/env bats
# Engines that take only padding which is equal on both sides: the first and the last tile compute elements too many in packed
# copies, and the results stay the same to the bit.
load helper

export RACES=1

plan_quickly

# For the converting engine of the rule of thumb, which accepts only equal padding.
equal_only()
{
    export SIMDEV_PLANNING=rule SIMDEV_REFUSE=padding
}

# Convolutions whose tiles have equal padding.
equal_padding()
{
    summary 'sum(p["tiled"] for p in s["sites"] if p["decision"] and p["decision"]["equal_padding"])'
}

random()
{
    equal_only
    same "$EVERYTHING" "$APPS/conv_random" --count "$(few 600)" --seed 61 --dtype all --data integers "$@"
    expect_accounts_agree
    expect_true "tiled with equal padding" "$(equal_padding) >= $(few 12)"
}

# bats test_tags=quick
@test "forward, legacy API: equal to the bit" {
    random --api legacy
}

@test "backward-data, legacy API: equal to the bit" {
    random --api legacy --direction data
}

@test "fused forms: equal to the bit" {
    equal_only
    same "$EVERYTHING" "$APPS/conv_random" --fused all --count "$(few 150)" --seed 62 --dtype all --data integers
    expect_true "tiled with equal padding" "$(equal_padding) >= $(few 10)"
}

@test "on lanes, captured and replayed, in orders from seeds" {
    local lanes
    equal_only
    for lanes in 1 2; do
        traffic "$FIXED;tiles=6;threshold=0;lanes=$lanes;backing=own" --seeds "1:$(few 8)"
        traffic "$FIXED;tiles=6;threshold=0;lanes=$lanes;backing=client" --seeds "1:$(few 8)" --mode global
    done
}

@test "staged = never: these convolutions stay untiled" {
    equal_only
    same "$EVERYTHING;staged=never" "$APPS/conv_random" --api graph --count 40 --seed 61 --data integers
    expect_equal "tiled with equal padding" "$(equal_padding)" 0
}

# 128 channels of 64 x 64 in f32, channels last: Winograd on a T4, and the data gradient's engine there.
T4="api=graph dtype=f32 layout=nhwc x=1x128x64x64:524288,1,8192,128+0/2097152 w=128x128x3x3:1152,1,384,128+0/589824 \
y=1x128x64x64:524288,1,8192,128+0/2097152 stride=1x1 dilation=1x1 pre=1x1 post=1x1 groups=1 alpha=1 beta=0"

@test "cuDNN's own engines for channels-last f32 on a T4, within workspace" {
    local direction
    export SIMDEV_PROFILE=$ROOT/conf/devices/t4.json
    unset SIMDEV_PLANNING
    for direction in forward data; do
        same "workspace=3MiB" "$APPS/conv_random" --data integers --problem "record=0 direction=$direction $T4"
        planned_by_cudnn plain || cannot_run "no real cuDNN"
        expect_equal "tiled calls" "$(counted tiled)" 1
        expect_equal "tiled with equal padding" "$(equal_padding)" 1
        expect_equal "calls on the fallback plan" "$(counted fallback)" 0
        expect_true "workspace reported" "$(counted reported) <= 3 << 20"
    done
}
