#!/usr/bin/env bats
# Switched off, the library changes nothing.
# shellcheck disable=SC2030,SC2031 # each test is a separate process
load helper

program=("$APPS/conv_random" --api both --count 20 --seed 35)

# The program printed and computed the same, and the device counted the same, to the byte.
expect_unchanged()
{
    expect_status 0
    cmp plain.bin shimmed.bin || fail "the results differ"
    diff plain.out shimmed.out || fail "it printed something else"
    diff plain.json shimmed.json || fail "the device counted something else"
}

# Removes from the counts of a run the functions that only read properties of the device, or set how the calling thread's
# calls affect captures while a plan is made.
drop_queries()
{
    sed -i -E '/"cu(CtxGetCurrent|CtxGetDevice|CtxGetId|DeviceGetAttribute|DeviceGetName|DeviceTotalMem_v2|ThreadExchangeStreamCaptureMode)":/d; s/,$//' "$1"
}

run_plain()
{
    plain "${program[@]}" --dump plain.bin
    expect_status 0
}

# bats test_tags=quick
@test "CONVSHIM=0: same calls, same memory, no message" {
    run_plain
    CONVSHIM=0 CONVSHIM_CONFIG="$EVERYTHING;workspace=nonsense" shimmed "${program[@]}" --dump shimmed.bin
    expect_unchanged
    diff plain.err shimmed.err || fail "it said something else"
}

@test "policy=off: same calls, same memory, and the possible savings" {
    run_plain
    export CONVSHIM_CONFIG="policy=off;workspace=16KiB"
    CONVSHIM_SUMMARY=text shimmed "${program[@]}" --dump shimmed.bin
    drop_queries plain.json && drop_queries shimmed.json
    expect_unchanged
    shimmed "${program[@]}"
    expect_equal "calls" "$(counted calls)" "$(device plain conv_launches)"
    expect_equal "calls not tiled" "$(counted not_tiled)" "$(counted calls)"
    expect_equal "calls tiled" "$(counted tiled)" 0
    expect_true "calls that could be tiled" "$(not_tiled_because REPORT_ONLY) > 0"
}

@test "policy=off: the summary contains the bytes that could be saved" {
    CONVSHIM_SUMMARY=text CONVSHIM_CONFIG="policy=off;workspace=64KiB" shimmed "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_line shimmed.err 'largest workspace [1-9][0-9.]* KiB, [0-9.]+ KiB if policy '"$DEFAULT_POLICY"' is used; 1 of 1 call would be tiled$'
    # More than the limit before, less after.
    expect_true "rows of both tables" "$(grep -cE ' [1-9][0-9]{2}(\.[0-9])? KiB +possible: [1-6]?[0-9](\.[0-9])? KiB, [NDHW] x [0-9]+' shimmed.err) == 2"
}

@test "policy=off: the possible saving equals the saving of the default policy, to the byte" {
    local options program=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 384)
    local -x SIMDEV_MODE=account
    for options in "" "price=50" "max_slowdown=1.2;price=50"; do
        CONVSHIM_CONFIG="policy=off;$options" shimmed "${program[@]}"
        expect_status 0
        expect_equal "calls tiled" "$(counted tiled)" 0
        local promised
        promised="$(counted required_max) $(counted possible_max) $(counted required_sum) $(counted possible_sum)"
        expect_equal "reported with policy off" "$(counted reported_max) $(counted reported_sum)" \
            "$(counted required_max) $(counted required_sum)"
        CONVSHIM_CONFIG=$options shimmed "${program[@]}"
        expect_equal "required and reported with '$options'" \
            "$(counted required_max) $(counted reported_max) $(counted required_sum) $(counted reported_sum)" "$promised"
    done
    expect_true "calls tiled" "$(counted tiled) > 0"
}

@test "policy=off does more than nothing when it is another policy" {
    run_plain
    CONVSHIM_CONFIG="workspace=16KiB" shimmed "${program[@]}" --dump shimmed.bin
    ! diff plain.json shimmed.json >/dev/null || fail "the default policy changed nothing either: the tests above cannot fail"
}

@test "summary=off: tiled without a message" {
    run_plain
    CONVSHIM_CONFIG="workspace=16KiB" CONVSHIM_SUMMARY=off shimmed "${program[@]}" --dump shimmed.bin
    expect_status 0
    expect_true "launches" "$(device shimmed conv_launches) > $(device plain conv_launches)"
    diff plain.err shimmed.err || fail "it said something"
}
