#!/usr/bin/env bats
# Legacy convolutions whose descriptors change between query and call, after other convolutions needed more than the
# limit. The program checks every result and status itself. Without JSON, because the library would otherwise describe
# every call.
load helper

# shellcheck disable=SC2034 # helper.bash uses it
SUMMARY=text

# reshape PART CALLS REWRITTEN: one image needs 9 KiB, eight need 65 KiB.
reshape()
{
    export SIMDEV_PLANNING=rule
    CONVSHIM_CONFIG="workspace=32KiB;$CONFIG" shimmed "$CLIENTS/reshape" "$1"
    expect_status 0
    expect_no_violation shimmed
    expect_equal "calls" "$(counted calls)" "$2"
    expect_equal "tiled calls" "$(counted tiled)" "$3"
}

# bats test_tags=quick
@test "set to another shape and back: the queried shape is tiled without a new query" {
    reshape place 10 4
    expect_line shimmed.err " 5 $(reason_text SMALL)( \\(threshold .*\\))?\$"
    expect_line shimmed.err "  1 $(reason_text PROVIDED)\$" # looked at, although cuDNN takes it as it is
    expect_equal "rows of the one shape in both tables" "$(grep -cE ' [0-9]+x8x16x16 -> ' shimmed.err)" 2
    reshape address 9 4
}

@test "threads: queries of another thread count for their own shape alone" {
    reshape threads 103 5
}

@test "a shape without a query, in a larger reported size: in tiles, although cuDNN refuses the untiled call" {
    reshape unasked 2 2
    SIMDEV_PLANNING=rule plain "$CLIENTS/reshape" unasked
    expect_status 1
}

@test "calls that cuDNN refuses for other reasons stay refused, and count once" {
    reshape refused 1 0
    plain "$CLIENTS/reshape" refused
    expect_status 0
}

@test "the same if every call is described, and if the scratch is the library's own" {
    local CONFIG
    for CONFIG in "summary=json:summary.json" "backing=own"; do
        export SIMDEV_PLANNING=rule
        for part in place address unasked threads; do
            CONVSHIM_CONFIG="workspace=32KiB;$CONFIG" shimmed "$CLIENTS/reshape" "$part"
            expect_status 0
            expect_no_violation shimmed
        done
    done
}
