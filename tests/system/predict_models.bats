#!/usr/bin/env bats
# convshim predict: the layers of models, compared byte by byte with directly built plans and with the library's own
# reports.
load helper
load predict

readonly GPUS=(t4 a100 rtx3060 rtx4090 h200 b200 rtx5090)

# planned NAME GPU OPTION...: plan_layers on a GPU, without (plain) or with (shimmed) the library, as NAME.csv:
# model/layer, engine (empty: none), workspace.
planned()
{
    local name=$1 gpu=$2
    shift 2
    local SAN_RT=${SAN_RT:+$SAN_RT:}$CUBLAS PRELOAD=$PRELOAD:$CUBLAS
    SIMDEV_PROFILE=$ROOT/conf/devices/$gpu.json "$name" "$APPS/plan_layers" --csv "$LAYERS" "$@"
    expect_status 0
    planned_by_cudnn "$name" || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
    awk -F, 'NR > 1 { print $1 "/" $2 "," ($6 == "ok" ? $5 "," $7 : ",") }' "$name.out" >"$name.csv"
}

# predicted GPU COLUMN OPTION...: the same of predict, of one of its columns.
predicted()
{
    local gpu=$1 at=$2 wanted=0
    shift 2
    [ "$gpu" != t4 ] || wanted=1 # no engine for bf16
    expect_predicted $wanted --layers "$LAYERS" --device "$gpu" --format csv "$@"
    awk -F, -v name="$at" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
        { print $1 "/" $2 "," $5 "," $at }' predict.out >predict.csv
}

# One layer may differ: cuDNN 9.19 reads a value that it did not set when it finalizes an engine configuration (valgrind:
# EngineConfig::finalize_internal), so its heuristics leave an engine out at random.
same_bytes()
{
    expect_equal "layers" "$(wc -l <"$1.csv")" "$(wc -l <"$LAYERS")"
    diff "$1.csv" predict.csv >difference.out || [ "$(grep -c '^<' difference.out)" -le 1 ] || fail "bytes differ"
}

@test "every layer on seven GPUs: engine and workspace are cuDNN's own, to the byte" {
    for gpu in "${GPUS[@]}"; do
        planned plain "$gpu"
        predicted "$gpu" workspace_bytes
        same_bytes plain
    done
}

@test "gradients and channels-last, too" {
    planned plain a100 --direction data
    predicted a100 workspace_bytes --dir dgrad
    same_bytes plain
    planned plain h200 --direction filter
    predicted h200 workspace_bytes --dir wgrad
    same_bytes plain
    planned plain h200 --layout nhwc
    predicted h200 workspace_bytes --layout nhwc
    same_bytes plain
}

@test "with convshim: the bytes that the library reports to a program" {
    CONVSHIM_CONFIG="workspace=64MiB;max_slowdown=3" planned shimmed h200
    predicted h200 tiled_workspace_bytes --workspace 64MiB
    same_bytes shimmed
    expect_true "layers with less" "$(awk -F, 'NR > 1 && $13 < $9' predict.out | wc -l) > 20"
}

@test "with convshim: the same on other GPUs, of gradients and with other options" {
    CONVSHIM_CONFIG="workspace=8MiB;max_slowdown=off" planned shimmed rtx4090
    predicted rtx4090 tiled_workspace_bytes --workspace 8MiB --max-slowdown off
    same_bytes shimmed
    CONVSHIM_CONFIG="$FIXED;tiles=3;lanes=2" planned shimmed a100 --direction filter
    printf 'tiles = 3\nlanes = 2\n' >fixed.ini
    predicted a100 tiled_workspace_bytes --dir wgrad --policy fixed --config "$PWD/fixed.ini"
    same_bytes shimmed
    CONVSHIM_CONFIG="workspace=32MiB;threshold=48MiB;max_slowdown=off" planned shimmed t4 --direction data
    echo 'threshold = 48MiB' >threshold.ini
    predicted t4 tiled_workspace_bytes --dir dgrad --workspace 32MiB --max-slowdown off --config "$PWD/threshold.ini"
    same_bytes shimmed
    CONVSHIM_CONFIG="workspace=16MiB;threshold=256MiB;max_slowdown=3" planned shimmed h200
    echo 'threshold = 256MiB' >threshold.ini
    predicted h200 tiled_workspace_bytes --workspace 16MiB --config "$PWD/threshold.ini"
    same_bytes shimmed
}

# program NAME: sets `words` to a program that runs the convolutions of one model.
program()
{
    local decoder=("$APPS/vae_decoder" --csv "$LAYERS") each=()
    case $1 in
        sd15) words=("${decoder[@]}" --model sd15-vae-512) ;;
        sd15-f32) words=("${decoder[@]}" --model sd15-vae-512-f32 --px 384) ;;
        sdxl) words=("${decoder[@]}" --model sdxl-vae-1024) ;;
        sdxl-bf16) words=("${decoder[@]}" --model sdxl-vae-1024-bf16 --px 640) ;;
        sd15-legacy) words=("${decoder[@]}" --model sd15-vae-512 --px 768 --api legacy) ;;
        sdxl-nhwc) words=("${decoder[@]}" --model sdxl-vae-1024 --px 512 --layout nhwc) ;;
        unet3d) each=("direction="{forward,filter}" dtype=f16 x=1x32x64x64x64 w=32x32x3x3x3 pre=1" "dtype=f16 x=1x32x64x64x64 w=64x32x2x2x2 stride=2") ;;
        training) each=("direction="{forward,data,filter}" dtype=f32 x=2x32x256x256 w=64x32x3x3 pre=1") ;;
        upscaler) each=("dtype=bf16 x=1x64x360x360 w="{32,64,96}"x64x3x3 pre=1" "direction=data dtype=bf16 x=1x16x720x720 w=64x16x4x4 stride=2 pre=1") ;;
    esac
    [ ${#each[@]} = 0 ] || words=("$APPS/conv_random" "${each[@]/#/--problem=}")
}

# The summary contains the record by which the program's convolutions were decided.
@test "with convshim: workspaces and predicted times of the convolutions of nine models, from the summaries of their programs" {
    local SAN_RT=${SAN_RT:+$SAN_RT:}$CUBLAS PRELOAD=$PRELOAD:$CUBLAS name words
    need_cudnn
    for name in $(some sd15 training sd15-f32 unet3d sdxl upscaler sd15-legacy sdxl-bf16 sdxl-nhwc); do
        program "$name"
        SIMDEV_PROFILE=$ROOT/conf/devices/rtx3060.json SIMDEV_MODE=account CONVSHIM_SUMMARY=json:run.json shimmed "${words[@]}"
        expect_status 0
        planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
        expect_predicted 0 --summary run.json --device rtx3060 --format csv
        python3 - <<'EOF' || fail "predict differs from the program $name"
import csv, json
sites = [site for site in json.load(open("run.json"))["sites"] if site["calls"]]
layers = list(csv.DictReader(open("predict.out")))
assert len(layers) == len(sites) >= 3
assert any(site["reported"] < site["required"] for site in sites)
for site, layer in zip(sites, layers):
    found = int(layer["workspace_bytes"]), int(layer["tiled_workspace_bytes"])
    assert found == (site["required"], site["reported"]), (site["problem"]["text"], found, site["required"], site["reported"])
    ratio = site["predicted_ns"] / site["untiled_ns"]
    assert abs(ratio - float(layer["predicted_slowdown"] or 1)) < 0.0051, (site["problem"]["text"], ratio, layer["predicted_slowdown"])
EOF
    done
}

# Filters of 16 bits cannot be summed over tiles, so their gradients are cut along channels alone.
@test "at most one of the forward convolutions or data gradients stays over 64 MiB, in either layout, and few filter gradients" {
    local gpu layout direction most
    for gpu in $(some "${GPUS[@]}"); do
        for layout in nchw nhwc; do
            for direction in fwd dgrad wgrad; do
                most=1
                [ $layout-$direction != nchw-wgrad ] || most=45
                predicted "$gpu" tiled_workspace_bytes --layout $layout --dir $direction --workspace 64MiB
                expect_true "layers" "$(grep -c , predict.csv) > 200"
                expect_true "layers over" "$(awk -F, '$3 > 64 * 2^20' predict.csv | wc -l) <= $most"
            done
        done
    done
}

# Engine 73 on a B200 accepts few widths of tiles, and none that is guessed.
@test "dilated forward convolutions and data gradients: only one known layer stays over 64 MiB, in either layout" {
    local gpu layout direction
    need_cudnn
    for gpu in $(some "${GPUS[@]}"); do
        for layout in nchw nhwc; do
            for direction in fwd dgrad; do
                expect_predicted 0 --layers "$ROOT/tests/data/dilated_layers.csv" --device "$gpu" --layout $layout --dir $direction \
                    --workspace 64MiB --format csv
                python3 - $layout $direction "$gpu" <<'END'
import csv, sys
layers = [l for l in csv.DictReader(open("predict.out")) if int(l["workspace_bytes"] or 0) > 64 << 20]
left = [l["model"] + " " + l["layer"] for l in layers if int(l["tiled_workspace_bytes"]) > 64 << 20]
phases = [l for l in layers if set(l["tiled_axis"]) & set("dhw")]
print(*sys.argv[1:], len(layers), "over,", len(left), "left,", len(phases), "by phase")
known = ["dac-44khz-10s-n16 decoder2.res.d3"] if sys.argv[1:] == ["nchw", "fwd", "b200"] else []
assert left == known, left
assert sys.argv[1:3] != ["nchw", "fwd"] or phases
assert all(l["read_again_bytes"] == "0" for l in phases if len(l["tiled_axis"]) == 1)
END
            done
        done
    done
}

# many COUNT: as many convolutions, no two alike.
many()
{
    awk -v count="$1" 'BEGIN { for (i = 0; i < count; i++)
        printf "%dx%dx%dx%d -> %d k3x3 p1 %s %s, layer%d, many\n", 1 + i % 4, 64 * (1 + i % 5), 40 + i, 32 + i % 97, 64 * (1 + i % 3),
            i % 2 ? "f16" : "f32", i % 3 ? "fwd" : i % 2 ? "dgrad" : "wgrad", i }'
}

# bats test_tags=quick
@test "a thousand layers in ten seconds of processor time" {
    need_cudnn
    many 1000 >many.csv
    expect_equal "layers that differ" "$(cut -d, -f1 many.csv | sort -u | wc -l)" 1000
    expect_cpu 10 expect_predicted 0 --layers many.csv --format csv
    expect_equal "rows" "$(wc -l <predict.out)" 1001
}
