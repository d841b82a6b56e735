#!/usr/bin/env bats
# The simulated device in account mode: a program takes the same memory as when it is computed, and its planning is told of.
load helper

decoder()
{
    plain "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
}

# word FILE KEY: a text of the device's accounting.
word()
{
    sed -n "s/^[[:space:]]*\"$2\":[[:space:]]*\"\(.*\)\",*\$/\1/p" "$1" | head -n 1
}

@test "a program that is counted takes the memory of one that is computed" {
    decoder
    expect_status 0
    expect_equal "mode" "$(word plain.json mode)" compute
    mv plain.json computed.json
    SIMDEV_MODE=account decoder
    expect_status 0
    expect_equal "mode" "$(word plain.json mode)" account
    expect_no_violation plain
    local key
    for key in peak_bytes live_bytes allocations frees largest_workspace_used conv_launches other_launches; do
        expect_equal "$key" "$(device plain $key)" "$(device computed $key)"
    done
    expect_true "reads of what the program did not compute" "$(device plain reads) > 0"
}

# bats test_tags=quick
@test "the same with the library" {
    export CONVSHIM_CONFIG="workspace=4MiB;policy=fit"
    shimmed "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
    expect_status 0
    mv shimmed.json computed.json
    SIMDEV_MODE=account shimmed "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
    expect_status 0
    expect_no_violation shimmed
    local key
    for key in peak_bytes allocations largest_workspace_used conv_launches; do
        expect_equal "$key" "$(device shimmed $key)" "$(device computed $key)"
    done
}

@test "sizes that no cuDNN planned are told, unless they are asked for" {
    export SIMDEV_CUDNN_DIR=
    decoder
    expect_status 0
    expect_line plain.err 'simdev: no real cuDNN plans'
    SIMDEV_PLANNING=rule decoder
    expect_status 0
    expect_empty plain.err
}

@test "and refused where a real cuDNN is required" {
    export SIMDEV_CUDNN_DIR= SIMDEV_REQUIRE_PLANNING=real
    decoder
    expect_true "status" "$status != 0"
    expect_line plain.err 'violation: SIMDEV_REQUIRE_PLANNING=real'
}

@test "settings that mean nothing are refused" {
    SIMDEV_MODE=quick decoder
    expect_true "status" "$status != 0"
    expect_line plain.err 'violation: SIMDEV_MODE quick: not compute or account'
    SIMDEV_TIME=sundial decoder
    expect_true "status" "$status != 0"
    expect_line plain.err 'violation: SIMDEV_TIME sundial: not model or clock'
}

@test "with-simdev preloads the device in account mode, behind what the user preloads" {
    "$ROOT/scripts/with-simdev" --account -- sh -c 'echo "$LD_PRELOAD"' >preload.out
    expect_line preload.out "^$SIMDEV_DIR/libcuda.so.1:.*libcudart.so.13.*libcudnn.so.9"
    "$ROOT/scripts/with-simdev" -- sh -c 'echo "[$LD_PRELOAD]"' >preload.out
    expect_line preload.out '^\[\]$'
    "$ROOT/scripts/with-simdev" --cuda 12 -- sh -c 'echo "$LD_LIBRARY_PATH"' >path.out
    expect_line path.out "^$SIMDEV_DIR/cuda12"
}
