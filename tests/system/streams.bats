#!/usr/bin/env bats
# Several streams and threads share scratch: never more than allowed, no errors, and no new objects in the steady state.
load helper

# Without scratch nothing is tiled.
traffic()
{
    any_traffic "$@"
}

# held: the largest memory that the library had on the device, by the device's own accounting. The program has all of
# its memory from the beginning to the end, and reports its size.
held()
{
    local own
    own=$(sed -nE 's/^traffic: .* ([0-9]+) bytes$/\1/p' shimmed.out | grep .) || fail "traffic does not tell its bytes"
    echo $(($(device shimmed peak_bytes) - own))
}

@test "own scratch is never above arena, on one device and on two" {
    traffic "$SIX;lanes=2;backing=own;arena=1MiB" --seeds "1:$(few 10)" --threads 3
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_true "bytes of scratch" "$(held) > 0"
    expect_true "bytes of scratch <= arena" "$(held) <= 1048576"
    SIMDEV_DEVICES=2 traffic "$SIX;lanes=2;backing=own;arena=1MiB" --seeds "11:$(few 10)" --threads 4 --devices 2
    expect_true "bytes of scratch <= arena" "$(held) <= 1048576"
}

@test "an arena is never exceeded, however small" {
    local kib
    for kib in $(some 40 10 64 100 333); do
        traffic "$SIX;lanes=2;backing=own;arena=${kib}KiB" --seeds 1:4 --threads 3
        expect_true "bytes of scratch" "$(held) > 0"
        expect_true "bytes of scratch <= $kib KiB" "$(held) <= 1024 * $kib"
    done
}

# Model 0 needs 25 KiB on two lanes and half of that on one.
@test "scratch for fewer lanes than intended: fewer lanes" {
    traffic "$SIX;lanes=2;backing=own;arena=20KiB" --seeds 1:4 --no-capture --model 0
    expect_equal "tiled calls" "$(counted tiled)" "$(counted calls)"
    expect_equal "lanes" "$(counted lanes)" 1
    traffic "$SIX;lanes=2;backing=own;arena=26KiB" --seeds 1:4 --no-capture --model 0
    expect_equal "tiled calls" "$(counted tiled)" "$(counted calls)"
    expect_equal "lanes" "$(counted lanes)" 2
}

@test "scratch for one call at a time: the device waits, the host does not" {
    traffic "$SIX;lanes=2;backing=own;arena=20KiB" --seeds "1:$(few 10)" --no-capture --model 0
    expect_equal "calls on the fallback plan" "$(counted fallback)" 0
    expect_true "scratch passed between streams" "$(summary 's["own"]["handed_over"]') > 0"
}

# bats test_tags=quick
@test "no scratch at all: the fallback plan, right results" {
    traffic "$SIX;lanes=2;backing=own;arena=0" --seeds 1:6 --threads 3
    expect_true "calls on the fallback plan" "$(counted fallback) > 0"
    expect_equal "bytes of scratch" "$(held)" 0
}

@test "a device without free memory: the fallback plan, right results" {
    local bytes
    CONVSHIM_CONFIG="$SIX;lanes=2;backing=own;arena=0" shimmed "$APPS/traffic" --seeds 1:2
    expect_status 0
    bytes=$(device shimmed peak_bytes)
    SIMDEV_CAPACITY=$((bytes + 1024)) traffic "$SIX;lanes=2;backing=own" --seeds 1:4
    expect_true "calls on the fallback plan" "$(counted fallback) > 0"
}

@test "calls without a workspace: scratch of the library, right results" {
    traffic "$SIX;lanes=2;backing=auto" --seeds "1:$(few 10)" --empty-handed
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_true "bytes of scratch" "$(held) > 0"
    CONVSHIM_CONFIG="$SIX;lanes=2;backing=client" shimmed "$APPS/traffic" --seeds 1:4 --empty-handed
    expect_equal "bytes of scratch with backing client" "$(held)" 0
}

@test "in the steady state no memory is allocated and no wait occurs" {
    local lanes backing
    for lanes in 1 2 4; do
        for backing in client own; do
            CONVSHIM_CONFIG="$SIX;lanes=$lanes;backing=$backing" shimmed "$APPS/traffic" --seeds "1:$(few 10)" --steady
            expect_status 0
            expect_true "tiled calls" "$(counted tiled) > 0"
        done
    done
    CONVSHIM_CONFIG="$SIX;lanes=2;backing=own" shimmed "$APPS/traffic" --seeds "1:$(few 10)" --steady --threads 3
    expect_status 0
}

# The check itself: every call requests memory that cannot be allocated.
@test "a program that allocates memory in the steady state is noticed" {
    SIMDEV_FAIL=$(seq -s , -f 'cuMemAlloc_v2:%g' 3000) CONVSHIM_CONFIG="$SIX;lanes=2;backing=own" \
        shimmed "$APPS/traffic" --seeds 1:1 --steady
    expect_status 1
    expect_line shimmed.err '^traffic: [1-9][0-9]* calls of cuMemAlloc_v2 in the steady state$'
}
