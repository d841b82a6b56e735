#!/usr/bin/env bats
# Policy budget: the sizes told of all call sites together stay within a total, that later runs divide better than the first.
load helper

# Sizes do not matter here, and planning by rule of thumb starts faster.
export SIMDEV_PLANNING=rule

program=("$APPS/conv_random" --api graph --count 30 --seed 41 --dtype f32)

reference()
{
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    plans=$XDG_CACHE_HOME/convshim/plans-1
    plain "${program[@]}" --dump plain.bin
    expect_status 0
}

# budget TOTAL [option]: the program under the policy; results as without the library.
budget()
{
    CONVSHIM_LOG=debug CONVSHIM_CONFIG="policy=budget;budget.total=$1" \
        shimmed "${program[@]}" --dump shimmed.bin "${@:2}"
    expect_status 0
    expect_no_violation shimmed
    expect_same --rel 1e-5 --abs 2e-4
    expect_equal "failed calls" "$(counted failed)" 0
}

# What was reported for each convolution, and its tiles.
decisions()
{
    summary '"\n".join("%s %s %s" % (p["id"], p["reported"], p["decision"]) for p in s["sites"])' | sort -u
}

# Bytes reported for all of them, and required by their own plans.
reported()
{
    summary 'total(s["sites"], "reported")'
}

required()
{
    summary 'total(s["sites"], "required")'
}

# bats test_tags=quick
@test "the first run keeps to the total, later runs use it better and agree" {
    local first launches again
    reference
    budget 160KiB
    expect_true "required beyond the total" "$(required) > 320 << 10"
    expect_true "reported in all" "$(reported) <= 160 << 10"
    first=$(counted extra)
    grep -q 'convolutions of earlier runs share' shimmed.err && fail "the first run knew something"
    budget 160KiB
    expect_line shimmed.err 'budget: [0-9]+ convolutions of earlier runs share [0-9]+ of 163840 bytes'
    expect_true "reported in all" "$(reported) <= 160 << 10"
    launches=$(counted extra)
    expect_true "extra launches, $first at first" "$launches < $first"
    again=$(decisions)
    budget 160KiB
    expect_equal "decisions" "$(decisions)" "$again"
    expect_equal "extra launches" "$(counted extra)" "$launches"
}

@test "enough for all: nothing is cut" {
    reference
    budget 1GiB
    budget 1GiB
    expect_equal "calls tiled" "$(counted tiled)" 0
}

@test "a total that is too small: one line, results right" {
    reference
    for _ in 1 2; do
        budget 1KiB
        expect_line shimmed.err "budget.total, 1 KiB, .*: some convolutions go beyond it"
    done
    expect_line shimmed.err "is less than all of them need at the least"
}

@test "another command is another program" {
    local before
    reference
    budget 160KiB
    before=$(grep -cE '^[0-9a-f]{32} ' "$plans")
    cp "$APPS/conv_random" other
    program[0]=./other
    budget 160KiB
    ! grep -q 'convolutions of earlier runs share' shimmed.err || fail "it took the other's sites"
    expect_equal "records" "$(grep -cE '^[0-9a-f]{32} ' "$plans")" "$((2 * before))"
}

@test "no file to remember in: every run is a first one" {
    reference
    mkdir -p "$XDG_CACHE_HOME"
    touch "$XDG_CACHE_HOME/convshim"
    budget 160KiB
    budget 160KiB
    expect_true "reported in all" "$(reported) <= 160 << 10"
    ! grep -q 'convolutions of earlier runs share' shimmed.err || fail "it remembers"
}
