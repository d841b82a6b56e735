#!/usr/bin/env bats
# Tiles on side streams: the same results, in every order that streams and events allow.
load helper

# How many lanes the summary has seen at most.
lanes()
{
    counted lanes
}

# driver_calls FUNCTION: of the driver API, by the library.
driver_calls()
{
    sed -nE "s/^[[:space:]]*\"$1\":[[:space:]]*([0-9]+),?\$/\1/p" shimmed.json | grep . || echo 0
}

@test "the traffic of the lanes' tests is free of races without the library" {
    SIMDEV_RACES=1 plain "$APPS/traffic" --seeds "1:$(few 20)" --threads 3
    expect_status 0
    expect_no_violation plain
}

# Large enough for eight lanes within the workspace of the untiled convolution.
problems=(--problem "dtype=f16 x=1x16x64x64 w=16x16x3x3 pre=1" --problem "dtype=f16 x=2x16x64x32 w=16x16x3x3 pre=1 beta=-1"
    --problem "direction=data dtype=bf16 x=1x16x64x64 w=16x16x3x3 pre=1"
    --problem "direction=filter dtype=f16 x=1x64x8x8 w=256x64x3x3 pre=1")

@test "one to eight lanes, all directions, both APIs: equal to the bit" {
    local n
    plain "$APPS/conv_random" --api both "${problems[@]}" --dump plain.bin
    expect_status 0
    for n in $(some 2 1 3 4 5 6 7 8); do
        SIMDEV_SEED=$n SIMDEV_RACES=1 CONVSHIM_CONFIG="$FIXED;tiles=16;threshold=0;lanes=$n" \
            shimmed "$APPS/conv_random" --api both "${problems[@]}" --dump shimmed.bin
        expect_status 0
        expect_no_violation shimmed
        expect_accounts_agree
        expect_equal "tiled calls" "$(counted tiled)" "$(counted calls)"
        expect_equal "lanes" "$(lanes)" "$n"
        "$APPS/compare" --exact plain.bin shimmed.bin >compare.out 2>&1 || fail "lanes=$n: the results differ"
    done
}

@test "two lanes on every kind of stream: right results, no race" {
    traffic "$SIX;lanes=2" --seeds "1:$(few 30)" --no-capture
    expect_equal "lanes" "$(lanes)" 2
    expect_accounts_agree
}

@test "three and four lanes, tiles on scratch of the library: right results, no race" {
    traffic "$FIXED;tiles=16;threshold=0;lanes=3;backing=own" --seeds "31:$(few 15)"
    expect_equal "lanes" "$(lanes)" 3
    traffic "$FIXED;tiles=16;threshold=0;lanes=4;backing=own" --seeds "46:$(few 15)"
    expect_equal "lanes" "$(lanes)" 4
}

@test "lanes chosen by the library if a plan gains by them: right results, no race" {
    traffic "workspace=16KiB" --seeds "1:$(few 20)"
}

@test "three threads: right results, no race" {
    traffic "$SIX;lanes=2;backing=own" --seeds "1:$(few 12)" --threads 3
    traffic "$SIX;lanes=2" --seeds "13:$(few 12)" --threads 3
}

@test "two devices: right results, no race" {
    SIMDEV_DEVICES=2 traffic "$SIX;lanes=2" --seeds "1:$(few 10)" --threads 2 --devices 2
    SIMDEV_DEVICES=2 traffic "$SIX;lanes=2;backing=own" --seeds "11:$(few 10)" --threads 2 --devices 2
    expect_equal "lanes" "$(lanes)" 2
}

@test "one thread that switches devices: right results, no race" {
    SIMDEV_DEVICES=2 traffic "$SIX;lanes=2;backing=own" --seeds "1:$(few 10)" --threads 2 --devices 2 --in-turn
}

@test "two contexts of one device: right results, no race" {
    traffic "$SIX;lanes=2" --seeds "1:$(few 10)" --threads 2 --contexts 2
    traffic "$SIX;lanes=2;backing=own" --seeds "11:$(few 10)" --threads 2 --contexts 2
    traffic "$SIX;lanes=2;backing=own" --seeds "21:$(few 10)" --threads 2 --contexts 2 --in-turn
}

@test "streams and events are made once" {
    local streams events
    # All at any load: fewer seeds have fewer captures at once.
    CONVSHIM_CONFIG="$SIX;lanes=2" shimmed "$APPS/traffic" --seeds 1:100
    expect_status 0
    streams=$(driver_calls cuStreamCreateWithPriority) events=$(driver_calls cuEventCreate)
    expect_true "side streams" "$streams > 0"
    CONVSHIM_CONFIG="$SIX;lanes=2" shimmed "$APPS/traffic" --seeds 1:300
    expect_status 0
    expect_equal "side streams of three times the calls" "$(driver_calls cuStreamCreateWithPriority)" "$streams"
    expect_equal "events of three times the calls" "$(driver_calls cuEventCreate)" "$events"
}

# bats test_tags=quick
@test "one lane: no stream, no event, no wait" {
    CONVSHIM_CONFIG="$SIX;lanes=1;backing=client" shimmed "$APPS/traffic" --seeds "1:$(few 10)"
    expect_status 0
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_equal "side streams" "$(driver_calls cuStreamCreateWithPriority)" 0
    expect_equal "events" "$(driver_calls cuEventCreate)" 0
    expect_equal "waits" "$(driver_calls cuStreamWaitEvent)" 0
}

# removals CONFIG WAITS RECORDS [options]: at least this number of waits and records are left out in turn, and each
# omission must be noticed.
removals()
{
    local config=$1 least_waits=$2 least_records=$3 waits records
    shift 3
    SIMDEV_RACES=1 CONVSHIM_CONFIG=$config shimmed "$APPS/traffic" --removals "$@"
    expect_status 0
    waits=$(sed -nE 's/.*cuStreamWaitEvent: ([0-9]+) calls, .*, 0 not missed$/\1/p' shimmed.out)
    records=$(sed -nE 's/.*cuEventRecord: ([0-9]+) calls, .*, 0 not missed$/\1/p' shimmed.out)
    expect_true "waits left out" "${waits:-0} >= $least_waits"
    expect_true "records left out" "${records:-0} >= $least_records"
}

@test "lanes: each wait and each record is necessary" {
    removals "$SIX;lanes=2;backing=client" 18 16 all
    removals "$FIXED;tiles=16;threshold=0;lanes=4;backing=client" 12 6 all
}

@test "streams that pass scratch on: each wait and each record is necessary" {
    removals "$SIX;lanes=1;backing=own;arena=20KiB" 10 10 independent --model 0
}

# One call at a time fails, whichever: streams, events, waits, memory. The program must not notice.
@test "objects for lanes and scratch cannot be created: right results" {
    local what n
    for what in cuStreamCreateWithPriority cuEventCreate cuMemAlloc_v2 cuGraphRetainUserObject cuUserObjectCreate \
        cuStreamGetCaptureInfo_v2 cuStreamGetId cuCtxGetId; do
        for n in 1 2; do
            SIMDEV_FAIL=$what:$n SIMDEV_RACES=1 CONVSHIM_CONFIG="$SIX;lanes=2;backing=own" \
                shimmed "$APPS/traffic" --seeds 1:4
            expect_status 0
            expect_no_violation shimmed
            expect_equal "failed calls" "$(counted failed)" 0
        done
    done
}
