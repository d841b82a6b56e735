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
    expect_true "rewritten calls" "$(counted tiled) >= $(few "$4")"
}

@test "eight threads, both APIs, everything in tiles: every result right" {
    threads both "$EVERYTHING" 41 150
}

@test "eight threads, both APIs, fit under 16 KiB: every result right" {
    threads both "workspace=16KiB" 42 10
}
