#!/usr/bin/env bats
# Legacy descriptors of tensors that are too large for one.
load helper

# Tensors of two images (4096 elements) are taken, those of four are not.
large()
{
    export SIMDEV_PLANNING=rule SIMDEV_MAX_SPAN=5000
}

@test "the setter refuses oversized tensors without the library and with CONVSHIM=0" {
    large
    plain "$CLIENTS/large" refused
    expect_status 0
    CONVSHIM=0 shimmed "$CLIENTS/large" refused
    expect_status 0
    plain "$CLIENTS/large" forward
    expect_status 1
}

# bats test_tags=quick
@test "whole convolutions: as two halves" {
    large
    local direction
    for direction in forward data filter; do
        shimmed "$CLIENTS/large" "$direction"
        expect_status 0
        expect_no_violation shimmed
        expect_equal "failed calls" "$(counted failed)" 0
        expect_equal "calls on the fallback plan" "$(counted fallback)" 1
    done
}

@test "tiles of convolutions: as two halves" {
    large
    local direction tiles
    for direction in forward data filter; do
        for tiles in 2 4; do
            CONVSHIM_CONFIG="$FIXED;tiles=$tiles;threshold=0;workspace=1MiB;huge=5001" shimmed "$CLIENTS/large" "$direction"
            expect_status 0
            expect_no_violation shimmed
            expect_true "launches beyond one a call, in $tiles tiles" "$(counted extra) >= $tiles - 1"
        done
    done
}

@test "getters answer from the note, setting and destroying drop it, other functions refuse" {
    large
    shimmed "$CLIENTS/large" life
    expect_status 0
}

@test "two threads, and a fork" {
    large
    shimmed "$CLIENTS/large" threads
    expect_status 0
    shimmed "$CLIENTS/large" fork
    expect_status 0
}
