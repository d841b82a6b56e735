#!/usr/bin/env bats
# Rewritten calls in CUDA graphs: captured in every mode, replayed concurrently with eager calls, destroyed and made
# again.
load helper

plan_quickly

# told_by_traffic WHAT: a number of the program's last line.
told_by_traffic()
{
    sed -nE "s/^traffic: .* ([0-9]+) $1\b.*/\1/p" shimmed.out | grep . || fail "traffic does not tell $1"
}

# The first tiled call of the process is captured: streams, events and memory have to be made inside the capture.
mode()
{
    local backing
    for backing in client own; do
        traffic "$SIX;lanes=2;backing=$backing" --seeds "1:$(few 12)" --capture-first --mode "$1"
        expect_true "captures" "$(told_by_traffic captures) >= $(few 24)"
        expect_true "replays" "$(told_by_traffic replays) >= $(few 24)"
        expect_equal "calls on the fallback plan" "$(counted fallback)" 0
    done
}

@test "captures of the global mode, the first call inside one" {
    mode global
}

@test "captures of the thread-local mode, the first call inside one" {
    mode thread-local
}

@test "captures of the relaxed mode, the first call inside one" {
    mode relaxed
}

@test "as in nvshare 22: three threads capture at once, and the library's calls invalidate no capture" {
    traffic "$SIX;lanes=2;backing=own" --seeds "1:$(few 12)" --threads 3 --capture-first --mode global
    traffic "$SIX;lanes=2;backing=own;arena=400KiB" --seeds "1:$(few 12)" --threads 3 --mode global
}

@test "captures on two devices and in two contexts" {
    SIMDEV_DEVICES=2 traffic "$SIX;lanes=2;backing=own" --seeds "1:$(few 8)" --threads 2 --devices 2 --capture-first
    traffic "$SIX;lanes=2;backing=own" --seeds "1:$(few 8)" --threads 2 --contexts 2 --capture-first
}

# Each seed drops its graphs at its end. If their scratch were not freed, a hundred seeds would need far more than the
# scratch of four graphs, which is all that the arena holds.
@test "the scratch of destroyed graphs and of invalid captures is freed" {
    CONVSHIM_CONFIG="$SIX;lanes=2;backing=own;arena=3MiB" shimmed "$APPS/traffic" --seeds 1:300
    expect_status 0
    expect_no_violation shimmed
    expect_true "captures" "$(told_by_traffic captures) > 600"
    expect_true "spoilt captures" "$(told_by_traffic spoilt) > 60"
    expect_equal "calls on the fallback plan" "$(counted fallback)" 0
    expect_equal "held at most" "$(summary 's["own"]["peak"]')" "$((2 << 20))"
    expect_equal "held by graphs when there are none" "$(summary 's["own"]["captured"]')" 0
}

@test "an arena too small for graphs: the fallback plan is captured, results are right" {
    traffic "$SIX;lanes=2;backing=own;arena=40KiB" --seeds "1:$(few 20)"
    expect_true "calls on the fallback plan" "$(counted fallback) > 0"
}

# A client that builds a graph may change the addresses of its nodes, and does not report its scratch.
@test "a plan put into a graph by the client: tiles in its workspace, the fallback plan without one" {
    export SIMDEV_NATIVE_GRAPHS=1
    CONVSHIM_CONFIG="$SIX;lanes=2;backing=client" shimmed "$CLIENTS/plans" populate
    expect_status 0
    expect_no_violation shimmed
    expect_equal "tiled calls" "$(counted tiled)" 1
    local mode
    # The fallback plan of a graph's second plan is not finalized before it runs.
    for mode in populate populate_second; do
        CONVSHIM_CONFIG="$SIX;lanes=2;backing=own" shimmed "$CLIENTS/plans" "$mode"
        expect_status 0
        expect_no_violation shimmed
        expect_equal "calls on the fallback plan" "$(counted fallback)" 1
        expect_line shimmed.out '^told 0$'
        expect_equal "workspace used" "$(device shimmed largest_workspace_used)" 0
    done
}

# bats test_tags=quick
@test "a plan whose first execution is captured and replayed twice: lanes and scratch of the library" {
    SIMDEV_RACES=1 CONVSHIM_CONFIG="$SIX;lanes=2;backing=own" shimmed "$CLIENTS/plans" captured
    expect_status 0
    expect_no_violation shimmed
    expect_equal "tiled calls" "$(counted tiled)" 1
}
