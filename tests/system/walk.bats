#!/usr/bin/env bats
# Random walks through both APIs, in and out of turn, without and with the library: every status, everything that is
# read and every result is the same, but for the sizes of workspaces.
# shellcheck disable=SC2030,SC2031 # each test is a separate process
load helper

plan_quickly

# walk API SEED COUNT CONFIG [sizes]
walk()
{
    plain "$CLIENTS/walk" "$1" "$2" "$3" "${@:5}"
    expect_status 0
    CONVSHIM_CONFIG="untileable=run;summary=text;$4" shimmed "$CLIENTS/walk" "$1" "$2" "$3" "${@:5}"
    expect_status 0
    cmp plain.out shimmed.out || fail "$(diff plain.out shimmed.out | head -n 5)"
    expect_true "walks to their ends" "$(grep -c 'ended: 0$' plain.out) * 10 >= $3 * 8"
    grep -qE '^(execute|run) 0$' plain.out || fail "nothing was run"
}

# bats test_tags=quick
@test "backend API, three tiles of everything: all results equal" {
    walk graph 1120 "$((9 + $(few 40)))" "$EVERYTHING"
    grep -qE '; [1-9][0-9]* of [0-9]+ calls tiled' shimmed.err || fail "nothing was tiled"
}

@test "backend API, tiles on two streams, in captures and as nodes of CUDA graphs" {
    export SIMDEV_NATIVE_GRAPHS=1
    walk graph 2000 "$((20 + $(few 40)))" "$EVERYTHING;lanes=2"
    grep -qE '; [1-9][0-9]* of [0-9]+ calls tiled' shimmed.err || fail "nothing was tiled"
    grep -qx 'update 0' plain.out || fail "no node was updated"
}

# The walk of this seed adds a node to the graph that a plan has populated, and updates that.
# bats test_tags=quick
@test "backend API, a graph with a second root" {
    export SIMDEV_NATIVE_GRAPHS=1
    SIMDEV_PLANNING=rule walk graph 9038 1 "$EVERYTHING;lanes=2"
    grep -qx 'empty node 0' plain.out || fail "no node was added"
}

# The walk of this seed sets no mode of the convolution.
@test "backend API, unset attributes: cuDNN's defaults" {
    SIMDEV_PLANNING=rule walk graph 9246 1 "$EVERYTHING"
}

@test "backend API, nothing tiled: all results and sizes equal" {
    walk graph 1000 "$((9 + $(few 40)))" workspace=1TiB sizes
}

@test "legacy API, three tiles of everything: all results equal" {
    walk legacy 1000 "$((9 + $(few 40)))" "$EVERYTHING"
    grep -qE '; [1-9][0-9]* of [0-9]+ calls tiled' shimmed.err || fail "nothing was tiled"
}

@test "legacy API, nothing tiled: all results and sizes equal" {
    walk legacy 1000 "$((9 + $(few 40)))" workspace=1TiB sizes
}
