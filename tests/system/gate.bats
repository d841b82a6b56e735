#!/usr/bin/env bats
# Threads that decode concurrently take turns with their high-memory stage.
load helper

# Images of which a sanitizer is done in time.
WORKSPACE=1MiB PX=384
[ -z "$SAN_RT" ] || WORKSPACE=256KiB PX=192
# The last processor on which this process may run.
CORE=$(taskset -pc $$ | sed -E 's/.*[ ,-]//')

# A saturated GPU, which does one thing at a time. It has one core, because the simulation's work for the copies of
# one thread would otherwise overlap with another's arithmetic at no cost. The device's peak is that of a process
# whose threads have warmed up one after the other.
decode()
{
    local threads=$1 config=$2
    export SIMDEV_COMPUTE=1
    CONVSHIM_CONFIG="workspace=$WORKSPACE;$config" shimmed taskset -c "$CORE" "$APPS/decoders" --threads "$threads" --images 3 --steps 20 \
        --px "$PX" --thin 16 --csv "$ROOT/tests/data/conv_layers.csv"
    expect_status 0
    expect_no_violation shimmed
    expect_accounts_agree
    peak=$(device shimmed peak_bytes)
    rate=$(sed -nE 's/.* ([0-9]+)\.([0-9]{3}) images\/s.*/\1\2/p' shimmed.out)
    expect_true "images in 1000 s" "10#$rate > 0"
}

larger()
{
    echo $(($1 > $2 ? $1 : $2))
}

expect_turns()
{
    expect_true "waits" "$(summary 's["gate"]["waits"]') > 0"
    expect_equal "waits that timed out" "$(summary 's["gate"]["timed_out"]')" 0
}

# take_turns THREADS CONFIG: once, and again where threads without turns happened not to meet or other processes
# disturbed too much; the best rate is the program's own, its highest peak the one that it may have.
take_turns()
{
    local threads=$1 config=$2 free=0 free_rate=0 held=0 held_rate=0
    for _ in $(some 1 2 3 4 5); do
        decode "$threads" "interleave=off"
        expect_equal "waits" "$(summary 's["gate"]["waits"]')" 0
        free=$(larger "$free" "$peak") free_rate=$(larger "$free_rate" "$((10#$rate))")
        decode "$threads" "interleave=stage;interleave.timeout=60000;$config"
        expect_turns
        held=$(larger "$held" "$peak") held_rate=$(larger "$held_rate" "$((10#$rate))")
        ((10 * held > 7 * free || 10 * held_rate < 4 * free_rate)) || break
    done
    echo "# $threads threads${config:+, $config}: peak $((held >> 10)) KiB, without turns $((free >> 10)) KiB" \
        "($((100 * held / free)) %); $((100 * held_rate / free_rate)) % of the throughput" >&3
    expect_true "peak with turns <= 0.7 of that without" "10 * $held <= 7 * $free"
    # No measurement: threads that stood still for their time-outs would be far below this.
    expect_true "throughput with turns >= 0.4 of that without" "10 * $held_rate >= 4 * $free_rate"
}

@test "two threads" {
    take_turns 2 ""
}

@test "four threads" {
    take_turns 4 ""
}

@test "two threads with one budget for all scratch" {
    # Of a smaller image the library's own scratch, which is no smaller for that, would be too much of the peak.
    WORKSPACE=1MiB PX=384 take_turns 2 "interleave.budget=4MiB"
    expect_true "own scratch, at most and limit" "$(summary 's["own"]["peak"]') <= 4 << 20 && $(summary 's["own"]["limit"]') == 4 << 20"
}

# bats test_tags=quick
@test "one thread never waits" {
    decode 1 "interleave=stage"
    expect_equal "waits" "$(summary 's["gate"]["waits"]')" 0
}
