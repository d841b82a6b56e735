#!/usr/bin/env bats
# Many threads, each with its own handle and stream.
load helper

# The program compares every result itself.
threads()
{
    CONVSHIM_CONFIG=$2 shimmed "$APPS/threads" --threads 8 --calls "$(few 400)" --seed "$3" --api "$1"
    expect_status 0
    expect_no_violation shimmed
    expect_accounts_agree
    expect_equal "calls" "$(counted calls)" "$(few 400)"
    expect_true "tiled calls" "$(counted tiled) >= $(few "$4")"
}

@test "eight threads, both APIs, everything in tiles: every result right" {
    threads both "$EVERYTHING" 41 150
}

# bats test_tags=quick
@test "eight threads, both APIs, under 16 KiB: every result right" {
    threads both "workspace=16KiB" 42 10
}

# small_stack [API]: plans and runs in a thread with a stack of 64 KiB; cuDNN alone takes 48.
small_stack()
{
    [ -z "$SAN_RT" ] || cannot_run "sanitizers take more than a small stack"
    SIMDEV_PLANNING=rule CONVSHIM_CONFIG="workspace=60KiB" shimmed "$CLIENTS/small_stack" 64 "$@"
    expect_status 0
    expect_line shimmed.out 'right$'
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_no_violation shimmed
}

@test "a thread with a small stack, both APIs" {
    small_stack
    small_stack legacy
}

@test "threads that may be cancelled anywhere are: the others' descriptors are served" {
    [ -z "$SAN_RT" ] || cannot_run "sanitizers do not survive it"
    shimmed "$CLIENTS/cancelled" "$(few 300)"
    expect_status 0
    expect_line shimmed.out '^[0-9]+ rounds, 0 failed$'
}
