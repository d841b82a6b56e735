#!/usr/bin/env bats
# Convolutions are tiled only at the program's peak (docs/memory.md). The quick part imitates PyTorch's allocator
# (tests/support/clients/torch). tests/frameworks/allocator_uses.py runs PyTorch's own, if it is installed.
load helper

CHEAP="threshold=0;price=100000;lanes=1"

# level WORD...: the imitation's program, with the library. Its results are right and its reports complete.
level()
{
    CONVSHIM_CONFIG="$CHEAP${OPTIONS:+;$OPTIONS}" shimmed "$CLIENTS/level" "$@"
    [ "$status" = 0 ] || fail "level $*: $(tail -n 3 shimmed.out shimmed.err)"
    grep -q '^right, .*, reports complete$' shimmed.out || fail "level $*: $(cat shimmed.out)"
    expect_no_violation shimmed
}

peaks() { sed -n 's/^right, peaks \(.*\), reports.*/\1/p' shimmed.out; }

# expect_ways UNTILED TILED WORD...: UNTILED calls run untiled below the peak, and TILED calls as tiles. The peaks are those
# of a run without scratch, which tiles every call.
expect_ways()
{
    local untiled=$1 tiled=$2 with
    shift 2
    level "$@"
    expect_equal "calls untiled below the peak: $*" "$(not_tiled_because ROOM)" "$untiled"
    expect_equal "tiled calls: $*" "$(counted tiled)" "$tiled"
    with=$(peaks)
    rm -f shimmed.*.summary
    level refuse "$@"
    expect_equal "calls untiled without scratch: $*" "$(not_tiled_because ROOM)" 0
    expect_equal "peaks: $*" "$with" "$(peaks)"
    rm -f shimmed.*.summary
}

# bats test_tags=quick
@test "below the peak untiled, at the peak as planned, in both APIs" {
    expect_ways 3 0 peak 40 run 3
    expect_ways 0 2 hold 40 run 2
    expect_ways 2 1 graph run 1 peak 40 run 2
}

# bats test_tags=quick
@test "doubts: several streams, refused scratch, memory that was returned" {
    expect_ways 2 2 graph peak 40 run 2 stream run 2
    expect_ways 0 2 graph peak 40 refuse run 2
    expect_ways 0 2 graph peak 40 empty run 2
}

# The pool has as much memory as the program alone would give it.
@test "a pool of the driver: below the peak untiled, at the peak and with several streams as planned" {
    local peaks
    level pool peak 40
    peaks=$(peaks)
    for api in "" graph; do
        rm -f shimmed.*.summary
        level pool $api peak 40 run 3
        expect_equal "calls untiled below the peak $api" "$(not_tiled_because ROOM)" 3
        expect_equal "peaks $api" "$(peaks)" "$peaks"
    done
    rm -f shimmed.*.summary
    level pool hold 40 run 2
    expect_equal "tiled calls at the peak" "$(counted tiled)" 2
    rm -f shimmed.*.summary
    level pool graph peak 40 run 2 stream run 2
    expect_equal "tiled calls with two streams" "$(counted tiled)" 2
}

# With KEEP_POOL the client leaves its pool as it is, as PyTorch does.
@test "the summary shows the peaks of the program's allocator" {
    local allocated reserved
    for words in "graph hold 40 run 2" "pool graph hold 40 run 2" "graph run 2 peak 90" "pool graph run 2 peak 90"; do
        rm -f shimmed.*.summary
        # shellcheck disable=SC2086 # words of the client
        CONVSHIM_CONFIG=$CHEAP KEEP_POOL=1 shimmed "$CLIENTS/level" $words
        grep -q '^right, .*, reports complete$' shimmed.out || fail "$words: $(cat shimmed.out)"
        read -r allocated reserved < <(peaks)
        expect_equal "allocated: $words" "$(summary 's["totals"]["allocated_with"]')" "$allocated"
        expect_equal "reserved: $words" "$(summary 's["totals"]["reserved"]')" "$reserved"
        expect_true "without convshim: $words" "$(summary 's["totals"]["allocated_without"]') >= $allocated"
    done
    expect_equal "without convshim: the peak between convolutions" "$(summary 's["totals"]["allocated_without"]')" "$allocated"
}

@test "CONVSHIM=0: the reports pass" {
    CONVSHIM=0 shimmed "$CLIENTS/level" peak 40 run 1
    expect_equal "status" "$status" 0
    grep -q 'reports complete$' shimmed.out || fail "$(cat shimmed.out)"
}

@test "memory: a size that suffices leaves every call untiled" {
    OPTIONS=memory=200MiB level graph hold 40 run 2
    expect_equal "tiled calls" "$(counted tiled)" 0
    rm -f shimmed.*.summary
    OPTIONS=memory=card level graph hold 40 run 2
    expect_equal "tiled calls" "$(counted tiled)" 0
    rm -f shimmed.*.summary
    OPTIONS=memory=50MiB level graph hold 40 run 2
    expect_equal "tiled calls" "$(counted tiled)" 2
}
