#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# The library's plans with a real cuDNN, and the same size for each kind of client.
load helper

layers=$ROOT/tests/data/conv_layers.csv
limit=$((64 << 20))
no_cudnn="no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"

# table NAME API: the reported sizes of all layers, as name.csv.
table()
{
    "$1" "$APPS/plan_layers" --csv "$layers" --api "$2"
    expect_status 0
    planned_by_cudnn "$1" || cannot_run "$no_cudnn"
    mv "$1.out" "$1.csv"
    expect_equal "layers of $1.csv" "$(grep -cv '^model,' "$1.csv")" "$(wc -l <"$layers")"
}

# over FILE: the layers whose reported size exceeds the limit.
over()
{
    awk -F, -v limit="$limit" '$7 + 0 > limit { print $1 "," $2 }' "$1"
}

all_under_limit()
{
    export CONVSHIM_CONFIG="workspace=64MiB"
    table plain "$1"
    table shimmed "$1"
    expect_true "layers over 64 MiB without the library" "$(over plain.csv | wc -l) > 20"
    diff <(cut -d, -f1-6 plain.csv) <(cut -d, -f1-6 shimmed.csv) >difference.out ||
        fail "engine or status of a layer changed"
    over shimmed.csv >over.out
    expect_equal "layers told more than 64 MiB" "$(cat over.out)" "$2"
}

@test "every layer of the list under 64 MiB, graph API; engine configs and plans report the same" {
    all_under_limit graph ""
}

@test "every layer of the list under 64 MiB, legacy API" {
    all_under_limit legacy ""
}

@test "layers that require at most 16 MiB: cuDNN's size is reported" {
    table plain graph
    table shimmed graph
    awk -F, -v limit=$((16 << 20)) 'NR == FNR { if ($7 + 0 <= limit) small[$1 "," $2] = $7; next }
        ($1 "," $2) in small && small[$1 "," $2] != $7' plain.csv shimmed.csv >changed.out
    expect_empty changed.out
}

@test "a second run reports the same bytes" {
    table shimmed graph
    mv shimmed.csv first.csv
    table shimmed graph
    cmp first.csv shimmed.csv || fail "the second run told something else"
}

# planned MODE [CONFIG]: a client whose own checks must hold. Then shimmed.out contains `told` bytes.
planned()
{
    CONVSHIM_CONFIG=${2:-workspace=64KiB} shimmed "$CLIENTS/plans" "$1"
    expect_status 0
    expect_no_violation shimmed
}

bytes()
{
    sed -n 's/^told //p' "$1"
}

expect_tiled()
{
    expect_true "bytes told <= limit" "$(bytes shimmed.out) <= 65536"
    expect_equal "calls tiled" "$(counted tiled)" "$1"
    expect_equal "calls" "$(counted calls)" "$1"
}

# bats test_tags=quick
@test "plan and engine config report the same, with and without an element count" {
    plain "$CLIENTS/plans" channels
    expect_status 0
    expect_true "bytes without the library" "$(bytes plain.out) > 65536"
    planned channels
    expect_tiled 1
}

@test "queried before a plan exists, the engine config reports the size of its plans" {
    planned config_first
    expect_true "bytes told <= limit" "$(bytes shimmed.out) <= 65536"
}

@test "descriptors that are initialized again" {
    planned initialized
    expect_tiled 1
}

@test "plans with a kernel cache" {
    planned cached
    expect_tiled 1
}

@test "dynamic shapes pass through" {
    plain "$CLIENTS/plans" dynamic
    [ "$status" = 0 ] || cannot_run "this cuDNN has no engine for dynamic shapes here" # 9.11
    CONVSHIM_CONFIG=workspace=64KiB shimmed "$CLIENTS/plans" dynamic
    expect_equal "status" "$status" 0
    expect_equal "bytes told" "$(bytes shimmed.out)" "$(bytes plain.out)"
    expect_equal "calls not tiled" "$(not_tiled_because DYNAMIC)" 1
}

# The attributes are newer than some cuDNN that this runs with, so that the device plans by itself.
@test "shapes that may be overridden (cuDNN 9.21) pass through" {
    export SIMDEV_CUDNN_DIR=
    plain "$CLIENTS/plans" overriding
    CONVSHIM_CONFIG=workspace=64KiB shimmed "$CLIENTS/plans" overriding
    expect_status 0
    expect_equal "bytes told" "$(bytes shimmed.out)" "$(bytes plain.out)"
    expect_equal "calls not tiled" "$(not_tiled_because DYNAMIC)" 1
}

@test "a graph that names its pattern (cuDNN 9.23) is tiled" {
    export SIMDEV_CUDNN_DIR=
    planned hinting
    expect_tiled 1
}

@test "a plan rebuilt from engine index and knobs on a new graph reports the same size" {
    planned rebuilt
    expect_tiled 1
}

@test "a plan runs tiled after all that it was made of is destroyed" {
    planned orphan
    expect_tiled 1
}

@test "descriptor addresses reused for other objects: same sizes, right results" {
    planned reused
    expect_tiled 30
}

@test "a variant pack that is older than the plan" {
    planned early_pack
    expect_tiled 1
}

@test "a variant pack without workspace: scratch of the library's own, else the fallback plan; right results" {
    planned no_workspace
    expect_true "bytes told <= limit" "$(bytes shimmed.out) <= 65536"
    expect_tiled 1
    expect_true "scratch of the library's own" "$(summary 's["own"]["peak"]') > 0"
    planned no_workspace 'workspace=64KiB;backing=client'
    expect_equal "calls by fallback plan" "$(counted fallback)" 1
}

@test "JSON: a loaded plan keeps the reported size and the tiles, here and in another process" {
    plain "$CLIENTS/plans" json
    planned_by_cudnn plain || cannot_run "$no_cudnn"
    expect_status 0
    planned orphan
    cp shimmed.out planned.out
    planned json
    expect_equal "bytes reported of the loaded plan" "$(bytes shimmed.out)" "$(bytes planned.out)"
    expect_tiled 1
    planned json_of_file
    expect_equal "bytes reported in another process" "$(bytes shimmed.out)" "$(bytes planned.out)"
    expect_tiled 1
}

@test "JSON: other options keep the reported size" {
    planned json
    planned_by_cudnn shimmed || cannot_run "$no_cudnn"
    cp shimmed.out planned.out
    planned json_of_file 'policy=off'
    expect_equal "bytes reported" "$(bytes shimmed.out)" "$(bytes planned.out)"
    expect_equal "calls by fallback plan" "$(counted fallback)" 1
}

@test "JSON: a plan of a process without the library loads as cuDNN reports it, and the other way round" {
    plain "$CLIENTS/plans" json
    planned_by_cudnn plain || cannot_run "$no_cudnn"
    cp plain.out cudnns.out
    planned json_of_file
    expect_equal "bytes reported" "$(bytes shimmed.out)" "$(bytes cudnns.out)"
    expect_equal "calls not tiled as JSON" "$(not_tiled_because FROM_JSON)" 1
    planned json
    plain "$CLIENTS/plans" json_of_file
    expect_equal "bytes reported without the library" "$(bytes plain.out)" "$(bytes cudnns.out)"
}

@test "a tiled plan becomes a child graph for each tile in a CUDA graph, and its addresses can be changed" {
    SIMDEV_NATIVE_GRAPHS=1 plain "$CLIENTS/plans" populate
    expect_status 0
    SIMDEV_NATIVE_GRAPHS=1 planned populate
    expect_true "bytes told <= limit" "$(bytes shimmed.out) <= 65536"
    expect_true "launches" "$(device shimmed conv_launches) >= 2 * $(device plain conv_launches)"
    expect_equal "calls tiled" "$(counted tiled)" 1
}

@test "a plan that is not tiled is put into a CUDA graph unchanged" {
    SIMDEV_NATIVE_GRAPHS=1 plain "$CLIENTS/plans" populate
    SIMDEV_NATIVE_GRAPHS=1 planned populate workspace=1MiB
    expect_equal "launches" "$(device shimmed conv_launches)" "$(device plain conv_launches)"
}

@test "an engine that has no graph nodes refuses with and without the library" {
    plain "$CLIENTS/plans" populate
    expect_status 1
    shimmed "$CLIENTS/plans" populate
    expect_status 1
    grep -q 'cudnnBackendPopulateCudaGraph' plain.err && grep -q 'cudnnBackendPopulateCudaGraph' shimmed.err
}

@test "a tiled plan whose first execution is captured, and replayed" {
    plain "$CLIENTS/plans" captured
    expect_status 0
    planned captured
    expect_tiled 1
    expect_true "launches" "$(device shimmed conv_launches) >= 2 * $(device plain conv_launches)"
}

# told_of OPTIONS: the bytes reported for one layer, as $workspace, on the GPU with the most expensive tiles.
told_of()
{
    echo '8x64x512x512 -> 64 k3x3 p1 f32, wide, x' >wide.csv
    SIMDEV_PROFILE=$ROOT/conf/devices/b200.json CONVSHIM_LOG=info CONVSHIM_CONFIG=$1 \
        shimmed "$APPS/plan_layers" --csv wide.csv --api graph
    expect_status 0
    planned_by_cudnn shimmed || cannot_run "$no_cudnn"
    workspace=$(awk -F, 'NR > 1 { print $7 }' shimmed.out)
}

@test "a written workspace is a limit; auto weighs time against bytes" {
    told_of "workspace=64MiB"
    expect_true "a written limit: $workspace" "$workspace <= $limit"
    told_of ""
    expect_true "auto: $workspace" "$workspace < 512 << 20"
    priced=$workspace
    told_of "price=100000"
    expect_true "a higher price, less workspace: $workspace" "$workspace <= $priced"
    told_of "max_slowdown=1.01"
    expect_true "less time, more workspace: $workspace" "$workspace >= $priced"
    told_of "$FIXED;tiles=16"
    expect_line shimmed.err "reported, H x 16\$"
}

@test "a limit that no tiles reach: a tiling of at most 1.5 times the untiled time" {
    told_of "workspace=1KiB"
    expect_true "raised: $workspace" "$workspace > 1024 && $workspace < 512 << 20"
    expect_line shimmed.err ', raised'
}

@test "engines that cuDNN compiles: account mode describes their plans, and compiles none" {
    head -n 1 "$layers" >one.csv
    SIMDEV_MODE=account LD_DEBUG=files LD_DEBUG_OUTPUT=loaded plain "$APPS/plan_layers" --csv one.csv --all --mode fallback
    expect_status 0
    planned_by_cudnn plain || cannot_run "$no_cudnn"
    grep -Eq ',ok,[0-9]+,[0-9a-f]*[13579bdf][0-9a-f]{8}$' plain.out || cannot_run "this cuDNN offers no such engine for this GPU"
    ! grep -q 'generating link map.*nvrtc-builtins\|file=libnvrtc-builtins' loaded.* || fail "cuDNN compiled a kernel"
}
