#!/usr/bin/env bats
# The policy fast: the same results, chosen by how long the device is predicted to take.
load helper

decode()
{
    local program=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f32)
    plain "${program[@]}" --dump plain.bin
    expect_status 0
    CONVSHIM_CONFIG=$1 CONVSHIM_LOG=debug shimmed "${program[@]}" --dump shimmed.bin
    expect_status 0
    expect_no_violation plain shimmed
    expect_same --float32 --rel 1e-5 --abs 1e-5
}

@test "the VAE decoder under 12 MiB: the same picture" {
    decode "policy=fast;workspace=12MiB;min_saving=0"
    expect_accounts_agree
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_true "largest workspace reported" "$(counted reported) <= 12582912"
}

# bats test_tags=quick
@test "what saves less than min_saving is not tiled, by name" {
    decode "policy=fast;workspace=12MiB;min_saving=1GiB"
    expect_equal "tiled calls" "$(counted tiled)" 0
    expect_true "calls not worth it" "$(not_tiled_because NO_GAIN) > 0"
    expect_equal "largest workspace used" "$(device shimmed largest_workspace_used)" "$(device plain largest_workspace_used)"
}

@test "the profile of the device arrives, once" {
    decode "policy=fast;workspace=12MiB;min_saving=0"
    expect_line shimmed.err ': predictions for NVIDIA H200: capability 900, 132 multiprocessors at 1980000 kHz, memory of 6144 bits at 3201000 kHz, L2 62914560 bytes$'
}

@test "another GPU, another profile" {
    SIMDEV_PROFILE=$ROOT/conf/devices/rtx4090.json decode "policy=fast;workspace=12MiB;min_saving=0"
    expect_line shimmed.err ': predictions for NVIDIA GeForce RTX 4090: capability 890, 128 multiprocessors at .* memory of 384 bits'
}

@test "a device that is only described: predicted and told the same as with a handle" {
    local layers=layers.csv
    grep -E '^model,|^sd15-vae-512,mid' "$ROOT/tests/data/conv_layers.csv" >$layers
    CONVSHIM_CONFIG="policy=fast;workspace=4MiB;min_saving=0" CONVSHIM_LOG=debug \
        SIMDEV_PROFILE=$ROOT/conf/devices/l4.json shimmed "$BUILD/gpu/gpu_facts" --csv $layers --dir fwd
    expect_status 0
    expect_equal "plans told otherwise" "$(grep -c '"equal": false' shimmed.out)" 0
    expect_true "plans" "$(grep -c '"equal": true' shimmed.out) > 3"
    grep ': predictions for NVIDIA L4:' shimmed.err >predictions.out || fail "nothing was predicted"
    expect_true "predictions" "$(wc -l <predictions.out) >= 2"
    expect_equal "different devices" "$(sort -u predictions.out | wc -l)" 1
}

random_problems()
{
    local program=("$APPS/conv_random" --api "$1" --count "$(few 80)" --seed 36 --dtype all --data integers)
    plain "${program[@]}" --dump plain.bin
    expect_status 0
    CONVSHIM_CONFIG="policy=fast;workspace=16KiB;min_saving=0;threshold=0" shimmed "${program[@]}" --dump shimmed.bin
    expect_status 0
    expect_no_violation plain shimmed
    expect_accounts_agree
    expect_same --exact
    expect_true "tiled calls" "$(counted tiled) >= $(few 6)"
}

@test "random problems, graph API: equal to the bit" {
    random_problems graph
}

@test "random problems, legacy API: equal to the bit" {
    random_problems legacy
}
