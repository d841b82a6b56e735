#!/usr/bin/env bats
# Dilated convolutions of stride 1 are cut by phase: a tile is every n-th row of input and output, with an n-th of the
# dilation.
# Nothing is read twice, and the results stay the same to the bit.
load helper

export RACES=1

# by_phase [CONDITION]: calls that ran as tiles along an axis of phases
by_phase()
{
    summary "sum(p['tiled'] for p in s['sites'] if p['decision'] and set(p['decision']['axis']) & set('dhw') and (${1:-True}))"
}

# random LEAST CONFIG OPTIONS...: of 600 random dilated problems at least LEAST run by phase. Planned by the rule of
# thumb, whose engine accepts all views.
random()
{
    local least=$1 config=$2
    shift 2
    export SIMDEV_PLANNING=rule
    same "$config" "$APPS/conv_random" --dilated --count "$(few 600)" --seed 71 --dtype all --data integers "$@"
    expect_accounts_agree
    expect_true "tiled by phase" "$(by_phase) >= $(few "$least")"
}

# bats test_tags=quick
@test "forward, graph API: equal to the bit" {
    random 120 "$EVERYTHING" --api graph
    expect_true "channels last by phase" "$(by_phase "p['problem']['layout'] == 'nhwc'") >= $(few 20)"
    expect_true "packed channels by phase" "$(by_phase "p['problem']['layout'] == 'nchw'") >= $(few 20)"
    expect_true "16 bits by phase" "$(by_phase "p['problem']['dtype'] != 'f32'") >= $(few 20)"
}

@test "forward, legacy API: equal to the bit" {
    random 120 "$EVERYTHING" --api legacy
}

@test "backward-data, graph API: equal to the bit" {
    random 120 "$EVERYTHING" --api graph --direction data
}

@test "backward-data, legacy API: equal to the bit" {
    random 120 "$EVERYTHING" --api legacy --direction data
}

# Sums of f32 alone.
@test "backward-filter, both APIs: equal to the bit" {
    random 50 "$EVERYTHING" --api both --direction filter
    expect_equal "16 bits by phase" "$(by_phase "p['problem']['dtype'] != 'f32'")" 0
}

@test "packed copies of phases: equal to the bit" {
    local direction
    for direction in forward data filter; do
        random 20 "$EVERYTHING;staged=always" --api graph --direction "$direction"
        expect_true "packed by phase" "$(by_phase "p['decision']['staged']") >= $(few 20)"
    done
}

@test "on two lanes: equal to the bit" {
    random 60 "$SIX;lanes=2" --api graph --direction all
    expect_true "by phase on lanes" "$(by_phase "p['decision']['lanes'] == 2") >= $(few 30)"
}

@test "within a small workspace, products of phases among them: equal to the bit" {
    random 20 "workspace=2KiB" --api graph --direction all
    expect_true "products" "$(by_phase "len(p['decision']['axis']) == 2") >= $(few 12)"
}

# Engines take few views of every n-th row.
@test "as cuDNN plans: equal to the bit" {
    same "$EVERYTHING" "$APPS/conv_random" --dilated --count "$(few 300)" --seed 73 --dtype all --data integers --direction all
    expect_accounts_agree
    planned_by_cudnn plain || cannot_run "no real cuDNN"
    expect_true "tiled by phase" "$(by_phase) >= $(few 40)"
}

# layer DIRECTION TYPE LAYOUT: of a segmentation head of rate 12, tiled under 512 KiB
layer()
{
    same "workspace=512KiB" "$APPS/conv_random" --data integers --problem "record=0 direction=$1 dtype=$2 \
layout=$3 x=2x64x64x64 w=32x64x3x3 pre=12x12 post=12x12 dilation=12x12 stride=1x1"
    planned_by_cudnn plain || cannot_run "no real cuDNN"
    expect_equal "tiled calls" "$(counted tiled)" 1
    expect_equal "by phase" "$(by_phase)" 1
    expect_equal "calls on the fallback plan" "$(counted fallback)" 0
    expect_true "workspace reported" "$(counted reported) <= 512 << 10"
}

@test "layers of a segmentation head, as cuDNN plans, within workspace" {
    layer forward f16 nchw
    layer data f16 nchw
    layer forward f32 nchw
    layer data f32 nchw
    layer forward f32 nhwc
    layer data f32 nhwc
    layer filter f32 nchw
    layer filter f32 nhwc
}

@test "the summary names phases" {
    export SIMDEV_PLANNING=rule
    local head=(--data integers --problem "record=0 dtype=f16 layout=nchw x=1x64x64x64 w=32x64x3x3 pre=12x12 post=12x12 \
dilation=12x12 stride=1x1")
    CONVSHIM_CONFIG="workspace=512KiB" CONVSHIM_SUMMARY=text shimmed "$APPS/conv_random" "${head[@]}"
    expect_status 0
    grep -Eq '1x64x64x64 -> 32 k3x3 s1 p12 d12 f16 nchw .* h x [0-9]+ by phase' shimmed.err || fail "not named in the summary"
}
