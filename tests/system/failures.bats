#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# If cuDNN or CUDA fails: the right result or the program's own error handling, never a wrong result.
load helper

plan_quickly

# Calls of both APIs, most of them cut into three tiles, planned and run one after the other.
program=("$APPS/conv_random" --api both --count 5 --seed 36 --dtype f32)

reference()
{
    plain "${program[@]}" --dump plain.bin
    expect_status 0
    CONVSHIM_CONFIG=$EVERYTHING shimmed "${program[@]}" --dump shimmed.bin
    expect_status 0
    expect_true "tiled calls" "$(counted tiled) > 4"
}

# failing FUNCTION:N: the program ends with status 0 and the same result, or prints the failure and ends with status
# 1.
failing()
{
    SIMDEV_FAIL=$1 CONVSHIM_CONFIG=$EVERYTHING shimmed "${program[@]}" --dump shimmed.bin
    if [ "$status" = 0 ]; then
        "$APPS/compare" --exact plain.bin shimmed.bin >compare.out 2>&1 || fail "$1: status 0, but another result"
    else
        expect_status 1
        grep -qE '^record=|^tests/support/apps|not everything was run' shimmed.err || fail "$1: status 1 without a word"
    fi
    expect_no_violation shimmed
}

@test "plans that fail to build: every result is right" {
    local n tried=0 finalized=0
    reference
    for n in $(some 1 2 3 4 5 6 7 8 9 10 15 40 90); do
        failing "cudnnBackendFinalize:$n"
        tried=$((tried + 1))
        [ "$status" != 0 ] || finalized=$((finalized + 1))
    done
    expect_true "of $tried runs those that went well" "$finalized >= $tried - 1"
}

# Its size may have been stored, so it does not run with more.
@test "all plans from the second on fail to build: a plan that names its engine is refused" {
    local n fail=
    reference
    for n in {2..400}; do
        fail+="cudnnBackendFinalize:$n,"
    done
    SIMDEV_FAIL=${fail%,} CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/plans" channels
    expect_status 1
    expect_line shimmed.err 'A plan is refused, because it cannot run in the workspace that was reported for it'
}

# bats test_tags=quick
@test "a tile that fails to launch: the fallback plan computes the right result" {
    local n
    for n in 1 2 3; do
        SIMDEV_FAIL=cudnnBackendExecute:$n CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/plans" channels
        expect_status 0
        expect_no_violation shimmed
        expect_equal "calls by fallback plan" "$(counted fallback)" 1
    done
}

@test "a tile and the fallback plan fail: the program gets cuDNN's status" {
    SIMDEV_FAIL=cudnnBackendExecute:2,cudnnBackendExecute:3 CONVSHIM_CONFIG=$EVERYTHING \
        shimmed "$CLIENTS/plans" channels
    expect_status 1
    expect_line shimmed.err 'CUDNN_STATUS_EXECUTION_FAILED'
    expect_equal "failed calls" "$(counted failed)" 1
}

@test "calls that fail to launch: no result is wrong" {
    local n
    reference
    for n in $(some 1 2 3 4 5 8 13 18); do
        failing "cudnnBackendExecute:$n"
    done
}

@test "no device memory at the n-th allocation: as without the library" {
    local n
    for n in $(some 1 2 3 4 5); do
        SIMDEV_FAIL=cudaMalloc:$n plain "$CLIENTS/plans" channels
        local alone=$status
        SIMDEV_FAIL=cudaMalloc:$n CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/plans" channels
        expect_equal "status with cudaMalloc:$n" "$status" "$alone"
        expect_no_violation shimmed
    done
}

@test "failed builds: engine config and plan report the same workspace" {
    local n
    for n in {2..16}; do
        SIMDEV_FAIL=cudnnBackendFinalize:$n CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/plans" channels
        [ "$status" = 0 ] || fail "with cudnnBackendFinalize:$n"
        expect_no_violation shimmed
    done
}

# told MODE: in turn, each range of plans fails to build; some ranges include all plans that fit the reported size.
# The program goes on to its next plan.
told()
{
    local first fail refused=0 right=0
    for first in {2..12}; do
        fail=$(seq -s, -f 'cudnnBackendFinalize:%g' "$first" "$((first + 5))")
        SIMDEV_PLANNING=rule SIMDEV_FAIL=$fail CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/told" "$1"
        [ "$status" = 0 ] || fail "status $status with $fail"
        expect_no_violation shimmed
        ! grep -q 'right$' shimmed.out || right=$((right + 1))
        ! grep -q 'cannot run in the workspace that was reported for it' shimmed.err || refused=$((refused + 1))
    done
    expect_true "right results" "$right > 0"
    expect_true "refused plans" "$refused > 0"
}

@test "a reported size is used or the plan is refused, whichever plans fail to build" {
    told keep
}

@test "the same when another handle is destroyed after the question" {
    told destroy
}

# queried MODE OPTIONS [failures]: a plain query reports less than required, and for the next call neither tiles nor a
# fallback plan can be built.
queried()
{
    SIMDEV_FAIL=$(seq -s, -f 'cudnnBackendFinalize:%g' 7 80)${3:-} CONVSHIM_CONFIG="$EVERYTHING;$2" shimmed "$CLIENTS/queried" "$1"
    expect_status 0
    grep -q 'cannot run in the workspace that was reported for it' shimmed.err || fail "no plan was refused"
}

@test "a legacy call with the size of a plain query runs untiled in lent scratch if no plan fits" {
    local mode backing
    plain "$CLIENTS/queried" fused
    expect_line plain.out '^reported 135696: 0, right$'
    for mode in fused sum; do
        for backing in auto own; do
            queried "$mode" "backing=$backing"
            expect_no_violation shimmed
            expect_line shimmed.out ': 0, right$'
            expect_true "scratch lent" "$(device shimmed peak_bytes) >= $(device plain peak_bytes)"
        done
    done
}

@test "a legacy query under a limit of the program gets the same size, and its call runs" {
    local fails
    # Tiles; tiles that fail to build before and after each decision, and scratch of the library instead.
    for fails in '' 12 20 40 60; do
        [ -z "$fails" ] || fails=$(seq -s, -f 'cudnnBackendFinalize:%g' "$fails" 200)
        SIMDEV_FAIL=$fails CONVSHIM_CONFIG='workspace=64KiB;threshold=0;arena=1MiB' shimmed "$CLIENTS/queried" limited 16384
        expect_status 0
        expect_no_violation shimmed
        expect_line shimmed.out '^reported ([0-9]+), under a limit \1, then \1: 0, right$'
    done
}

@test "a legacy call that provides all that cuDNN requires runs untiled" {
    CONVSHIM_CONFIG="$EVERYTHING" shimmed "$CLIENTS/queried" whole 135696
    expect_status 0
    expect_line shimmed.out '^reported 53776: 0, right$'
    expect_equal "tiled calls" "$(counted tiled)" 0
    expect_equal "for its workspace" "$(not_tiled_because PROVIDED)" 1
}

@test "without scratch to lend, or a byte less than reported: cuDNN's refusal, and no result" {
    local mode
    plain "$CLIENTS/queried" small
    expect_line plain.out '^reported 135696: 2000, untouched$'
    queried small backing=auto
    expect_line shimmed.out '^reported 53776: 2000, untouched$'
    for mode in fused sum; do
        queried "$mode" backing=client
        expect_line shimmed.out '^reported 53776: 2000, untouched$'
        queried "$mode" backing=auto "$(seq -s '' -f ',cuMemAlloc_v2:%g' 1 20)"
        expect_line shimmed.out '^reported 53776: 2000, untouched$'
    done
}

@test "a GPU just too small: out of memory without the library, the right result with it" {
    plain "$CLIENTS/plans" channels
    expect_status 0
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/plans" channels
    expect_status 0
    expect_true "peak, with < without" "$(device shimmed peak_bytes) < $(device plain peak_bytes)"
    export SIMDEV_CAPACITY=$(($(device plain peak_bytes) - 1))
    plain "$CLIENTS/plans" channels
    expect_status 1
    expect_line plain.err 'cudaMalloc.*out of memory'
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/plans" channels
    expect_status 0
    expect_no_violation shimmed
}

@test "calls that cuDNN refuses for their arguments: its status, and no result" {
    plain "$CLIENTS/bad_arguments"
    expect_status 0
    CONVSHIM_CONFIG="$EVERYTHING" shimmed "$CLIENTS/bad_arguments"
    expect_status 0
    diff plain.out shimmed.out >difference.out || fail "statuses differ"
    expect_equal "calls refused" "$(grep -c ' [1-9][0-9]*, untouched$' shimmed.out)" 7
    expect_equal "calls run" "$(grep -c ' 0, written$' shimmed.out)" 1
    expect_equal "calls not tiled for it" "$(not_tiled_because ARGUMENTS)" 7
}

@test "unlike HAMi-core 312: queries that cuDNN refuses keep its status and leave their output untouched" {
    plain "$CLIENTS/refused"
    expect_status 0
    CONVSHIM_CONFIG="$EVERYTHING" shimmed "$CLIENTS/refused"
    expect_status 0
    diff plain.out shimmed.out >difference.out || fail "answers differ"
    expect_true "answers that were refused" "$(grep -c '[1-9][0-9]*, untouched$' shimmed.out) >= 6"
    expect_true "answers that were given" "$(grep -c ': 0, written$' shimmed.out) >= 6"
    expect_equal "refused and written" "$(grep -v ': 0, ' shimmed.out | grep -c 'written$')" 0
}
