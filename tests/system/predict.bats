#!/usr/bin/env bats
# convshim predict: one convolution, and refusals of the command.
load helper
load predict

# bats test_tags=quick
@test "the commands: help, version, a wrong name" {
    "$COMMAND" --help | grep -q '^  predict '
    "$COMMAND" --version | grep -qE '^convshim [0-9]+\.[0-9]+\.[0-9]+$'
    "$COMMAND" help predict | diff - <("$COMMAND" predict --help)
    "$COMMAND" help --help | diff - <("$COMMAND" help)
    status=0
    "$COMMAND" predct 2>command.err || status=$?
    expect_status 2
    expect_line command.err "'predict'"
}

# Engines that cuDNN compiles at run time, which it plans only with a driver.
@test "predict: a tensor of 2^31 elements, the engine's workspace as on the simulated device" {
    echo '1x128x256x256x256 -> 128 k3x3x3 p1 f16, one, huge' >huge.csv
    SIMDEV_PROFILE=$ROOT/conf/devices/a100.json plain "$APPS/plan_layers" --csv huge.csv --api graph
    expect_status 0
    planned_by_cudnn plain || cannot_run "no real cuDNN"
    expect_predicted 0 --layers huge.csv --device a100 --format csv
    expect_equal "workspace" "$(column workspace_bytes)" "$(tail -n 1 plain.out | cut -d, -f7)"
    expect_true "workspace of an engine with tensor cores" "$(column workspace_bytes) > 8 << 30"
    expect_true "peak with convshim" "$(column tiled_peak_bytes) < (8 << 30) * 106 / 100"
}

# The rows of an odd width begin where engine 71 refuses views.
@test "predict: a tensor of 2^31 elements and an odd width, packed tiles" {
    expect_predicted 0 '1x64x362x370x251 -> 32 k3x3x3 p1' --device a100 --format csv
    tensors=$(($(column input_bytes) + $(column filter_bytes) + $(column output_bytes)))
    expect_true "workspace" "$(column workspace_bytes) > $tensors - (1 << 20)"
    expect_true "peak with convshim" "$(column tiled_peak_bytes) < $tensors * 107 / 100"
}

@test "the spike of a channels-first convolution, without and with convshim" {
    expect_predicted 0 "${SPIKE[@]}" --format csv
    expect_equal header "$(head -n 1 predict.out)" "$HEADER"
    expect_equal "input" "$(column input_bytes)" $((512 * 512 * 512 * 2))
    expect_equal "filter" "$(column filter_bytes)" $((512 * 512 * 9 * 2))
    expect_equal "output" "$(column output_bytes)" $((512 * 512 * 512 * 2))
    tensors=$((2 * 512 * 512 * 512 * 2 + 512 * 512 * 9 * 2))
    expect_equal "peak" "$(column peak_bytes)" $((tensors + $(column workspace_bytes)))
    expect_equal "peak with convshim" "$(column tiled_peak_bytes)" $((tensors + $(column tiled_workspace_bytes)))
    expect_true "workspace as large as the tensors" "$(column workspace_bytes) >= $tensors"
    expect_true "workspace with convshim" "$(column tiled_workspace_bytes) <= 128 << 20"
    expect_true "tiles" "$(column tiles) > 1"
    expect_equal "axis, the outer one if there are two" "$(column tiled_axis | cut -c 1)" H
}

# 96 channels are 12 units of 8, which no power of two divides down to one; channels and columns are a pair, too.
# bats test_tags=quick
@test "the text of a convolution: options provide the omitted parts, and config explains the same text" {
    expect_predicted 0 "${SPIKE[@]}" --format csv
    cp predict.out by_options
    expect_predicted 0 '1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw' --format csv
    expect_equal "as by options" "$(<predict.out)" "$(<by_options)"
    command_of 0 config --explain '1x512x512x512 -> 512 k3x3 s1 p1 f16 nchw'
    expect_line config.out '^no rule applies$'
    expect_predicted 2 '1x512x512x512 -> 512 k3x3 q9'
    expect_line predict.err '^convshim: predict: "q9" .*k3x3'
}

@test "constants measured on a GPU, from its profile: one time instead of a range" {
    sed 's/{/{"kernelNanoseconds":20000,"laneGainPercent":0,/' "$ROOT/conf/devices/h200.json" >measured.json
    expect_predicted 0 "${SPIKE[@]}" --device h200 --format csv
    tiles=$(column tiles)
    most=$(column predicted_slowdown_most)
    expect_predicted 0 "${SPIKE[@]}" --device ./measured.json --format csv
    expect_equal "one time, no range" "$(column predicted_slowdown_most)" "$(column predicted_slowdown)"
    slowdown=$(column predicted_slowdown)
    expect_true "a slow kernel" "${slowdown/./} > ${most/./}"
    expect_equal "no size depends on them: tiles" "$(column tiles)" "$tiles"
}

# Winograd's workspace does not shrink with the first guesses.
@test "a limit that the first guesses do not keep: no tiles of many times the time" {
    need_cudnn
    expect_predicted 0 '1x128x512x512 -> 128 k3x3 p1' --dtype f32 --device a100 --workspace 64MiB --format json
    python3 -c 'import json; l = json.load(open("predict.out"))["layers"][0]; assert 1 < l["tiles"] < 100 and l["predicted_slowdown"] < 2, l'
}

# bats test_tags=quick
@test "an engine that the GPU lacks: a message, status 1" {
    expect_predicted 1 '1x64x64x64 -> 64 k3x3 p1' --dtype bf16 --device t4
    expect_line predict.out 'cuDNN has no engine for this convolution on this GPU'
}

@test "heuristics without engines: the fallback list counts, as in frameworks" {
    expect_predicted 0 '1x7x10x10x10 -> 14 k9x9x9 p8 d2 g7' --dir wgrad --device b200
    expect_line predict.out 'engine [0-9]+'
}

@test "options without effect are reported; - and _ are equal" {
    local one=(--cudnn "$CUDNN" '1x64x256x256 -> 64 k3x3')
    need_cudnn
    echo 'tiles = 2' >tiles.ini
    predict_as predict "${one[@]}" --config tiles.ini
    expect_status 0
    expect_line predict.err '^convshim: predict: tiles.ini:1: tiles .*'"${FIXED/=/ = }"'$'
    predict_as predict "${one[@]}" --config tiles.ini --policy "${FIXED#*=}"
    expect_empty predict.err
    for name in max-slowdown max_slowdown; do
        predict_as predict "${one[@]}" --policy fixed --$name 2
        expect_status 0
        expect_line predict.err '^convshim: predict: max_slowdown .* used only with a policy other than fixed$'
    done
}

@test "the list of devices has every profile with its source" {
    predict_as predict --device list --format csv
    expect_status 0
    expect_equal "devices" "$(($(wc -l <predict.out) - 1))" "$(find "$ROOT/conf/devices" -name '*.json' | wc -l)"
    for name in t4 a100 rtx3060 rtx4090 h200 b200 rtx5090; do
        expect_line predict.out "^$name,.+,[0-9]+\.[0-9],[0-9]+,.+"
    done
    mkdir none
    predict_as predict --device list --devices none
    expect_equal "lines" "$(wc -l <predict.out)" 1
}

@test "a profile that cuDNN does not accept: refused" {
    echo '{"deviceName": "a GPU", "deviceVer": 900, "totalGlobalMem": 8589934592}' >mine.json
    expect_predicted 2 "${SPIKE[@]}" --device mine.json
    expect_line predict.err 'cuDNN cannot plan for this device profile'
    expect_empty predict.out
}

@test "without any cuDNN: status 3, and how to get one" {
    hide_cudnn
    predict_as predict "${SPIKE[@]}"
    expect_status 3
    expect_empty predict.out
    expect_line predict.err 'no usable cuDNN'
    expect_line predict.err 'pip install nvidia-cudnn'
}

@test "in a source tree: the cuDNN that bootstrap found; with the same program installed: none" {
    need_cudnn
    hide_cudnn
    echo "CUDNN_LIB := $CUDNN" >installed/bin/config.mk
    predict_as predict "${SPIKE[@]}" --format csv
    expect_status 0
    expect_empty predict.err
    rm installed/bin/config.mk
    predict_as predict "${SPIKE[@]}"
    expect_status 3
}

@test "cuDNN as a Python package" {
    need_cudnn
    hide_cudnn
    local site
    site=$(HOME=$PWD PATH=${PATH#*:} python3 -I -c 'import site; print(site.getusersitepackages())')
    mkdir -p "$site/nvidia/cudnn"
    ln -s "$CUDNN" "$site/nvidia/cudnn/lib"
    PATH=${PATH#*:} HOME=$PWD predict_as predict "${SPIKE[@]}" --format csv
    expect_status 0
    expect_empty predict.err
    expect_true "engine" "$(column engine) >= 0"
}

@test "convshim preloaded into the command itself: same output" {
    expect_predicted 0 "${SPIKE[@]}" --format csv
    LD_PRELOAD=$PRELOAD "$COMMAND" predict --cudnn "$CUDNN" "${SPIKE[@]}" --format csv >preloaded.out 2>preloaded.err
    diff predict.out preloaded.out
    expect_empty preloaded.err
}
