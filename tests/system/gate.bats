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
}

# take_turns THREADS CONFIG: a thread in its stage, and others that hold what they hold between stages, are far below as
# many threads in their stages. One thread alone has the peak of a stage. Threads that did not happen to meet try again.
take_turns()
{
    local threads=$1 config=$2 alone
    decode 1 "interleave=off"
    alone=$peak
    for _ in 1 2 3 4 5; do
        decode "$threads" "interleave=stage;interleave.timeout=60000;$config"
        expect_equal "waits that timed out" "$(summary 's["gate"]["timed_out"]')" 0
        (($(summary 's["gate"]["waits"]') == 0)) || break
    done
    expect_true "waits" "$(summary 's["gate"]["waits"]') > 0"
    expect_true "peak of $threads threads with turns <= 0.7 of as many alone" "10 * $peak <= 7 * $threads * $alone"
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
    WORKSPACE=256KiB PX=192 decode 1 "interleave=stage"
    expect_equal "waits" "$(summary 's["gate"]["waits"]')" 0
}
