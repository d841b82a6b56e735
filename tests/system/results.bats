#!/usr/bin/env bats
# The same results with less workspace, and counters that equal the device's.
load helper

# both CONFIG PROGRAM OPTIONS...: runs it without and with the library, each with a dump.
both()
{
    local config=$1
    shift
    plain "$@" --dump plain.bin
    expect_status 0
    CONVSHIM_CONFIG=$config shimmed "$@" --dump shimmed.bin
    expect_status 0
    expect_no_violation plain shimmed
    expect_accounts_agree
    expect_equal "what it printed" "$(wc -l <shimmed.out)" "$(wc -l <plain.out)"
}

expect_same_result()
{
    expect_same "$@"
}

integers()
{
    both "$2" "$APPS/conv_random" --api "$1" --count "$(few 120)" --seed 33 --dtype all --data integers
    expect_same_result --exact
    expect_true "tiled calls" "$(counted tiled) >= $(few "$3")"
    expect_true "launches beyond one a call" "$(counted extra) > 0"
}

# bats test_tags=quick
@test "graph API, three tiles of everything: equal to the bit" {
    integers graph "$EVERYTHING" 100
}

@test "graph API, under 16 KiB: equal to the bit" {
    integers graph "workspace=16KiB" 5
}

@test "legacy API, three tiles for each call with a workspace: equal to the bit" {
    integers legacy "$EVERYTHING" 20
}

# bats test_tags=quick
@test "legacy API, under 16 KiB: equal to the bit" {
    integers legacy "workspace=16KiB" 5
}

# Tiles may add up in another order. f32: n products of about one, n up to a thousand, some n^(1/2) units of 2^-24 each;
# f16 and bf16: the same before one rounding, so a unit in the last place, 2^-10 or 2^-7 of the value.
real_numbers()
{
    both "$EVERYTHING" "$APPS/conv_random" --api "$1" --count "$(few 60)" --seed 34 --dtype "$2" --data normal
    expect_same_result --rel "$3" --abs 2e-4
    expect_true "tiled calls" "$(counted tiled) > 0"
}

@test "real numbers, graph API: equal within the arithmetic of f32" {
    real_numbers graph f32 1e-5
}

@test "real numbers, graph API: equal within a rounding of f16" {
    real_numbers graph f16 9.8e-4
}

@test "real numbers, graph API: equal within a rounding of bf16" {
    real_numbers graph bf16 7.9e-3
}

@test "real numbers, legacy API: equal within the arithmetic of f32" {
    real_numbers legacy f32 1e-5
}

# Of 35 layers each may round an intermediate of about one the other way: 35 half units of 2^-10 or 2^-7. f32: 1e-5.
decoder()
{
    both "workspace=$3" "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --api "$1" --px 96 --dtype "$2"
    expect_same_result --float32 --rel "$4" --abs "$4"
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_true "largest workspace, with < without" \
        "$(device shimmed largest_workspace_used) < $(device plain largest_workspace_used)"
    expect_true "peak, with < without" "$(device shimmed peak_bytes) < $(device plain peak_bytes)"
    expect_true "reported <= limit" "$(counted reported) <= $5"
}

@test "VAE decoder, graph API, f32: same picture, lower peak" {
    decoder graph f32 12MiB 1e-5 12582912
}

@test "VAE decoder, graph API, f16: same picture, lower peak" {
    decoder graph f16 6MiB 0.017 6291456
}

@test "VAE decoder, graph API, bf16: same picture, lower peak" {
    decoder graph bf16 6MiB 0.14 6291456
}

@test "VAE decoder, legacy API, f32: same picture, lower peak" {
    decoder legacy f32 12MiB 1e-5 12582912
}

@test "VAE decoder, legacy API, f16: same picture, lower peak" {
    decoder legacy f16 6MiB 0.017 6291456
}

@test "VAE decoder, legacy API, bf16: same picture, lower peak" {
    decoder legacy bf16 6MiB 0.14 6291456
}
