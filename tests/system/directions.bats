#!/usr/bin/env bats
# By name the mistakes that other tilers made with results. Random problems of all directions: tests/sweeps/random.sh.
load helper

plan_quickly

# tiled CONFIG [conv_random options]: the same results without and with the library, every integer as a plain host loop
# has it.
tiled()
{
    same "$1" "$APPS/conv_random" "${@:2}" --check
    # A legacy query has no beta: if a tile needs more than the reported size because of it, the fallback plan runs.
    expect_true "calls on the fallback plan" "50 * $(counted fallback) <= $(counted calls)"
    expect_accounts_agree
}

# The comparison itself: a worse result must not pass.
@test "a comparison with float64 that finds the tiled result worse fails" {
    local problem="direction=filter x=4x8x9x9 w=8x8x3x3 pre=1"
    plain "$APPS/conv_random" --data normal --problem "$problem" --dump single.bin --reference exact.bin
    plain "$APPS/conv_random" --data normal --seed 2 --problem "$problem" --dump other.bin
    "$APPS/compare" --reference exact.bin single.bin single.bin
    run "$APPS/compare" --reference exact.bin single.bin other.bin
    [ "$status" = 1 ]
    run "$APPS/compare" --reference exact.bin other.bin single.bin
    [ "$status" = 0 ]
}

# bats test_tags=quick
@test "transposed convolutions, strides over the kernel, last rows in no window" {
    tiled "$EVERYTHING" --api both --direction data \
        --problem "direction=data dtype=f16 x=2x16x32x32 w=16x16x4x4 stride=2 pre=1" \
        --problem "direction=data dtype=bf16 x=2x16x31x33 w=16x16x4x4 stride=2 pre=1 beta=1" \
        --problem "direction=data dtype=f16 x=2x16x23x17 w=16x16x2x2 stride=3" \
        --problem "direction=data dtype=f16 x=1x16x25x17 w=16x16x3x3 stride=4 beta=-0.5" \
        --problem "direction=data dtype=f32 x=3x16x24x18 w=16x16x5x5 stride=4x2 pre=2 alpha=2"
    expect_true "tiled calls" "$(counted tiled) >= 7"
}

# on_axis AXIS [conv_random options]: all of it in tiles, some along the axis.
on_axis()
{
    local axis=$1
    shift
    tiled "$EVERYTHING" --api both "$@"
    expect_equal "tiled calls" "$(counted tiled)" "$(counted calls)"
    expect_axis "$axis" "[23]"
}

@test "as in µ-cuDNN: a filter gradient summed over parts of the batch keeps all parts, beta 0" {
    tiled "$EVERYTHING" --api both --problem "direction=filter x=8x1x3x3 w=1x1x3x3"
    expect_equal "tiled calls" "$(counted tiled)" 2
    expect_equal "launches beyond one a call" "$(counted extra)" 4
}

# bats test_tags=quick
@test "as in µ-cuDNN: a filter gradient summed over parts of the batch takes beta once" {
    tiled "$EVERYTHING" --api both --problem "direction=filter x=8x1x3x3 w=1x1x3x3 beta=1" \
        --problem "direction=filter x=9x1x3x3 w=1x1x3x3 beta=-0.5 alpha=2" \
        --problem "direction=filter x=9x1x3x3 w=1x1x3x3 beta=2 alpha=0.5"
    expect_equal "tiled calls" "$(counted tiled)" 6
    expect_equal "launches beyond one a call" "$(counted extra)" 12
}

@test "as in ooc_cuDNN: each tile of output channels has its own filters" {
    on_axis K --problem "dtype=f16 x=1x16x3x3 w=32x16x3x3" --problem "dtype=bf16 x=1x24x5x5 w=40x24x5x5 beta=1"
}

@test "as in ooc_cuDNN: each tile of a filter gradient has its own channels" {
    tiled "workspace=128KiB" --api both --problem "direction=filter dtype=f16 x=1x64x24x24 w=64x64x3x3 pre=1" \
        --problem "direction=filter dtype=bf16 x=1x64x24x24 w=64x64x3x3 pre=1 beta=1"
    expect_equal "tiled calls" "$(counted tiled)" 4
    expect_axis "(K|C|KC)"
}

# Each thread has its own stream and workspace, and its operands arrive on the stream just before the call.
@test "as in ooc_cuDNN: streams share no workspace, tiles wait for the caller's stream, and all memory is freed" {
    plain "$APPS/threads" --threads 3 --calls "$(few 300)" --seed 5 --direction all
    expect_status 0
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$APPS/threads" --threads 3 --calls "$(few 300)" --seed 5 --direction all
    expect_status 0
    expect_no_violation plain shimmed
    expect_accounts_agree
    expect_true "tiled calls" "$(counted tiled) >= $(few 200)"
    expect_equal "streams" "$(device shimmed streams)" "$(device plain streams)"
    expect_equal "bytes left" "$(device shimmed live_bytes)" 0
}

@test "as in ooc_cuDNN: tiles of fewer rows than the padding read inside their operands" {
    tiled "$FIXED;tiles=1024;threshold=0" --problem "dtype=f16 x=1x8x6x6 w=8x8x7x7 pre=6" \
        --problem "dtype=f16 x=1x8x6x6 w=8x8x5x5 pre=4x0 post=1x3 stride=2x1" \
        --problem "direction=data dtype=bf16 x=1x16x12x9 w=16x16x5x5 pre=4" \
        --problem "direction=data dtype=f16 x=1x16x7x9 w=16x16x5x5 pre=4x2 post=0x3 stride=2x1"
    expect_equal "tiled calls" "$(counted tiled)" 4
    expect_true "launches beyond one a call" "$(counted extra) >= 24"
}

@test "as in patch_conv: the summary contains the reason if no memory is saved" {
    CONVSHIM_CONFIG="workspace=64MiB" shimmed "$APPS/conv_random" --direction all --count 10
    expect_status 0
    expect_equal "tiled calls" "$(counted tiled)" 0
    expect_equal "calls not tiled for their size" "$(not_tiled_because SMALL)" 30
}

# answers plain|shimmed: all that autotuning is offered, as MODEL,LAYER,DTYPE,LAYOUT,ENGINE,STATUS,BYTES.
answers()
{
    echo "1024x1x1024x1024 -> 1 k1x1 f16 dgrad, 31500, pytorch" >layer.csv
    CONVSHIM_CONFIG="workspace=64MiB;max_slowdown=3" "$1" "$APPS/plan_layers" --csv layer.csv --direction data --all
    expect_status 0
}

@test "pytorch 31500: a transposed convolution goes from gigabytes to under the limit, for each autotuning choice" {
    answers plain
    planned_by_cudnn plain || cannot_run "no real cuDNN"
    expect_true "answers over 4 GiB without" "$(awk -F, '$7 > 4294967296' plain.out | wc -l) >= 3"
    answers shimmed
    expect_equal "answers" "$(wc -l <shimmed.out)" "$(wc -l <plain.out)"
    expect_equal "answers over 64 MiB with" "$(awk -F, 'NR > 1 && $7 > 67108864' shimmed.out | wc -l)" 0
}

@test "pytorch 22741: a filter gradient in 16 bits under the limit, equal to the bit" {
    local problem="direction=filter dtype=f16 x=1x128x168x64 w=128x128x3x3 pre=1"
    tiled "workspace=2MiB" --api both --problem "$problem"
    expect_equal "tiled calls" "$(counted tiled)" 2
    expect_true "reported <= limit" "$(counted reported) <= 2097152"
}

# Images of one tile's size, of which only channels can be cut, in both layouts, with and without strides and sums.
# Then filters that need more than the limit by themselves.
data_channels()
{
    tiled "$1" --direction data \
        --problem "direction=data dtype=f16 x=1x24x1x1 w=512x24x3x3 pre=1" \
        --problem "direction=data dtype=f16 layout=nhwc x=1x36x2x2 w=100x36x4x4 pre=1 stride=2 beta=-0.5" \
        --problem "direction=data dtype=bf16 x=1x24x2x2x2 w=16x24x3x3x3 pre=1 stride=2 beta=2" \
        --problem "direction=data dtype=f32 x=6x128x16x16 w=128x128x3x3 pre=1 beta=1" \
        --problem "direction=data dtype=f32 x=1x128x32x16 w=128x128x3x3 pre=1 alpha=2"
}

@test "backward-data cut along its channels alone: equal to the bit" {
    data_channels "$EVERYTHING"
    expect_axis C 3
    expect_true "problems cut along C in 3" "$(grep -cx 'C x 3' axes.out) >= 3"
}

@test "backward-data cut along channels and images for the filter's sake, on lanes and packed: equal to the bit" {
    export SIMDEV_PROFILE=$ROOT/conf/devices/t4.json
    local staged
    for staged in $(some never auto always); do
        tiled "workspace=2000KiB;lanes=3;staged=$staged" --direction data \
            --problem "direction=data dtype=f32 x=6x512x16x16 w=128x512x3x3 pre=1 beta=1"
        planned_by_cudnn plain || cannot_run "no real cuDNN"
        expect_true "reported <= limit" "$(counted reported) <= 2000 * 1024"
        expect_axis CN
    done
}

@test "cudnn.torch 262: a width of 201 and one of 202 under the limit, equal to the bit" {
    local problems=(--problem "x=1x164x17x201 w=256x164x3x1" --problem "x=1x164x17x202 w=256x164x3x1")
    tiled "workspace=2MiB" --api both "${problems[@]}"
    expect_equal "tiled calls" "$(counted tiled)" 4
    expect_true "reported <= limit" "$(counted reported) <= 2097152"
}

# Every convolution of both runs a true one, by a library in front of the other.
flipped()
{
    local problems=(--api both --direction all --count "$(few 60)" --seed 71 --dtype all)
    plain "$APPS/conv_random" "${problems[@]}" --dump straight.bin
    expect_status 0
    on_device plain env LD_PRELOAD="${SAN_RT:+$SAN_RT:}$CLIENTS/libflip.so" "$APPS/conv_random" "${problems[@]}" --dump plain.bin
    expect_status 0
    ! "$APPS/compare" --exact straight.bin plain.bin >straight.out 2>&1 || fail "nothing was flipped"
    CONVSHIM_CONFIG=$1 on_device shimmed env LD_PRELOAD="${SAN_RT:+$SAN_RT:}$CLIENTS/libflip.so:$LIBRARY" \
        "$APPS/conv_random" "${problems[@]}" --dump shimmed.bin
    expect_status 0
    expect_no_violation plain shimmed
    expect_equal "failed calls" "$(counted failed)" 0
    expect_same --exact
    expect_true "tiled calls" "$(counted tiled) >= $(few 100)"
}

@test "true convolutions, all directions, both APIs, three tiles of everything: equal to the bit" {
    flipped "$EVERYTHING"
}

@test "true convolutions, all directions, both APIs, six tiles on two lanes, packed: equal to the bit" {
    flipped "$SIX;lanes=2;staged=always"
}
