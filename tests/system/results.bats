#!/usr/bin/env bats
# Results of real numbers and of a whole model with less workspace, and counters that equal the device's. Random integers:
# tests/sweeps/random.sh.
load helper

# Tiles may add up in another order. f32: n products of about one, n up to a thousand, some n^(1/2) units of 2^-24 each;
# f16 and bf16: the same before one rounding, so a unit in the last place, 2^-10 or 2^-7 of the value.
real_numbers()
{
    both "$EVERYTHING" "$APPS/conv_random" --api "$1" --count "$(few 60)" --seed 34 --dtype "$2" --data normal
    expect_accounts_agree
    expect_same --rel "$3" --abs 2e-4
    expect_true "tiled calls" "$(counted tiled) > 0"
}

# bats test_tags=quick
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
    expect_accounts_agree
    expect_same --float32 --rel "$4" --abs "$4"
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_true "largest workspace, with < without" \
        "$(device shimmed largest_workspace_used) < $(device plain largest_workspace_used)"
    expect_true "peak, with < without" "$(device shimmed peak_bytes) < $(device plain peak_bytes)"
    expect_true "reported <= limit" "$(counted reported) <= $5"
}

@test "VAE decoder, graph API, f32: same picture, lower peak" {
    decoder graph f32 12MiB 1e-5 12582912
}

@test "VAE decoder, graph API, bf16: same picture, lower peak" {
    decoder graph bf16 6MiB 0.14 6291456
}

@test "VAE decoder, legacy API, f16: same picture, lower peak" {
    decoder legacy f16 6MiB 0.017 6291456
}
