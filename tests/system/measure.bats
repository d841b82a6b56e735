#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# Policy measure: a first run times tiles on the device, later runs reuse these times. The simulated device's times
# have no meaning. The tests check that times are taken, stored and reused.
load helper

# Sizes do not matter here, and planning by rule of thumb starts faster.
export SIMDEV_PLANNING=rule

CONFIG="policy=measure;workspace=16KiB"
program=("$APPS/conv_random" --api both --count 12 --seed 36 --dtype f32)

# Runs under the policy, with a line for each measurement, and the same results as without the library.
measure()
{
    CONVSHIM_LOG=debug CONVSHIM_CONFIG=$CONFIG shimmed "${program[@]}" --dump shimmed.bin
    expect_status 0
    expect_no_violation shimmed
    [ ! -f plain.bin ] || expect_same --rel 1e-5 --abs 2e-4
    expect_equal "device memory that stays" "$(device shimmed live_bytes)" 0
}

reference()
{
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    plans=$XDG_CACHE_HOME/convshim/plans-1
    plain "${program[@]}" --dump plain.bin
    expect_status 0
}

# times WHAT: how often a line of this begins in the log.
times()
{
    grep -cE "^convshim\[[0-9]+\]: $1: " shimmed.err || true
}

records()
{
    grep -cE '^[0-9a-f]{32} ' "$plans" || true
}

# The reported size and the tiles of each convolution.
decisions()
{
    summary '"\n".join("%s %s %s" % (p["id"], p["reported"], p["decision"]) for p in s["sites"] if p["decision"])'
}

expect_first_run()
{
    measure
    expect_true "ways measured" "$(times measured) >= 4"
    expect_true "times taken" "$(device shimmed cuEventElapsedTime) >= 4 * $(times measured)"
    expect_equal "contests without a measurement" "$(times 'not measured')" 0
    expect_true "records" "$(records) >= 2"
    expect_true "tiled calls" "$(counted tiled) > 0"
}

expect_later_run()
{
    measure
    expect_equal "ways measured" "$(times measured)" 0
    expect_equal "contests without a measurement" "$(times 'not measured')" 0
}

# bats test_tags=quick
@test "the first run measures, the second reuses the times: same results, same tiles" {
    reference
    expect_first_run
    local first kept
    first=$(decisions) kept=$(cat "$plans")
    expect_later_run
    expect_equal "decisions" "$(decisions)" "$first"
    expect_equal "the file" "$(cat "$plans")" "$kept"
}

@test "other policies: no measurement and no file" {
    reference
    CONVSHIM_LOG=debug CONVSHIM_CONFIG="policy=fit;workspace=16KiB" shimmed "${program[@]}"
    expect_status 0
    expect_equal "ways measured" "$(times measured)" 0
    [ ! -e "$XDG_CACHE_HOME" ] || fail "$XDG_CACHE_HOME was made"
}

@test "another limit: measures again" {
    reference
    expect_first_run
    local before
    before=$(records)
    CONFIG="policy=measure;workspace=20KiB"
    measure
    expect_true "ways measured" "$(times measured) >= 2"
    expect_true "records" "$(records) > $before"
}

@test "a file with other contents is renamed with one line" {
    reference
    mkdir -p "${plans%/*}"
    echo 'workspace = 64MiB' >"$plans"
    expect_first_run
    expect_line shimmed.err "plans-1 is damaged: it was renamed to plans-1.corrupt-1,"
    expect_equal "what was there" "$(cat "$plans.corrupt-1")" 'workspace = 64MiB'
    expect_later_run
}

@test "a record that was changed is measured again" {
    reference
    expect_first_run
    local first
    first=$(decisions)
    sed -i -E '0,/^([0-9a-f]{32} )[0-9]+ /s//\19 /' "$plans"
    measure
    expect_true "ways measured" "$(times measured) >= 2"
    expect_equal "calls" "$(decisions | wc -l)" "$(wc -l <<<"$first")"
    expect_later_run
}

@test "no folder to write to: one line, the run measures for itself" {
    need_permissions
    reference
    mkdir -p "$XDG_CACHE_HOME"
    chmod 555 "$XDG_CACHE_HOME"
    CONVSHIM_LOG=debug CONVSHIM_CONFIG=$CONFIG shimmed "${AS_USER[@]}" "${program[@]}" --dump shimmed.bin
    expect_status 0
    expect_true "ways measured" "$(times measured) >= 4"
    expect_line shimmed.err "cannot save measured times and records"
    [ ! -e "${plans%/*}" ] || fail "${plans%/*} was made"
}

@test "no home: the run measures for itself" {
    unset XDG_CACHE_HOME
    reference
    unset XDG_CACHE_HOME HOME
    measure
    expect_true "ways measured" "$(times measured) >= 4"
}

@test "a failing call during a measurement: right results, and no record is stored" {
    local call n failed=0
    reference
    for call in cuEventCreate cuStreamCreateWithPriority cuEventRecord cuStreamWaitEvent cuMemAlloc_v2 cuMemsetD8Async \
        cuEventSynchronize cuEventElapsedTime cudnnSetStream cuThreadExchangeStreamCaptureMode cuDeviceGetName; do
        for n in 1 2; do
            rm -f "$plans"
            SIMDEV_FAIL=$call:$n measure
            [ "$(times 'not measured')" = 0 ] || failed=$((failed + 1))
            # A measurement that failed is repeated in the next run.
            measure
            expect_equal "contests without a measurement, after $call $n" "$(times 'not measured')" 0
        done
    done
    expect_true "runs in which measuring failed" "$failed >= 14"
}

@test "captures and threads, under the race check: no capture is invalidated" {
    local options
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    unset SIMDEV_PLANNING
    for options in "--threads 3" "--threads 3 --capture-first --mode global" "--capture-first --mode relaxed"; do
        rm -rf "$XDG_CACHE_HOME"
        # shellcheck disable=SC2086 # several words
        SIMDEV_RACES=1 CONVSHIM_LOG=debug CONVSHIM_CONFIG="policy=measure;workspace=64KiB" \
            shimmed "$APPS/traffic" --seeds 1:6 $options
        expect_status 0
        expect_no_violation shimmed
        expect_equal "failed calls" "$(counted failed)" 0
        expect_true "ways measured" "$(times measured) >= 2"
    done
}

@test "several processes at once agree in a later run" {
    local i pids=()
    reference
    for i in 1 2 3 4; do
        CONVSHIM_CONFIG=$CONFIG LD_PRELOAD='' timeout "$HANGS" "$ROOT/scripts/with-simdev" -- \
            env LD_PRELOAD="$PRELOAD" "${program[@]}" --dump "many$i.bin" >"many$i.out" 2>&1 &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || fail "one of them ended with an error"
    done
    for i in 1 2 3 4; do
        "$APPS/compare" --rel 1e-5 --abs 2e-4 plain.bin "many$i.bin" >compare.out 2>&1 || fail "another result"
    done
    expect_later_run
}
