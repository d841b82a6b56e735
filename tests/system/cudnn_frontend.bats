#!/usr/bin/env bats
# NVIDIA's cudnn-frontend, by its Python package. Every program compares its results with float64's itself. The order of calls of
# its C++ builders is that of tests/support/clients/frameworks/pytorch_v8.c and onnxruntime.c.
load helper

frontend=$(sed -n 's/^FRONTEND := //p' "$ROOT/build/config.mk")
sources=$ROOT/tests/support/clients/frontend
limit=$((576 << 10)) config=workspace=576KiB
# Its own path, since a wrapper may depend on HOME.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || python=python3
# A sanitizer must find the C++ library when the program starts. Python does not link it.
# shellcheck disable=SC2034 # used by shimmed
[ -z "$SAN_RT" ] || SAN_RT+=:libstdc++.so.6 PRELOAD=$SAN_RT:$LIBRARY
export PYTHONPATH=$frontend PYTHONNOUSERSITE=1 PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1

# The rule of thumb that replaces cuDNN's planning has no engine for the frontend.
need_frontend()
{
    local cudnn=${SIMDEV_CUDNN_DIR-$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")}
    [ -n "$frontend" ] || cannot_run "there is no cudnn-frontend package for this Python"
    [ -r "$cudnn/libcudnn_graph.so.9" ] || cannot_run "there is no real cuDNN"
}

# The last two runs gave the same bytes, and were clean.
expect_pair()
{
    cmp plain.bin shimmed.bin || fail "the results differ"
    expect_no_violation plain shimmed
}

# Convolutions that were tiled ran in tiles.
expect_tiles()
{
    expect_true "calls tiled" "$(counted tiled) > 0"
    expect_equal "calls that ran on the fallback plan" "$(counted fallback)" 0
    expect_equal "failed calls" "$(counted failed)" 0
}

# in_python MODE FORM...: without and with the library.
in_python()
{
    local name
    need_frontend
    for name in plain shimmed; do
        CONVSHIM_CONFIG=$config "$name" "$python" "$sources/convolve.py" "$@" --limit "$limit" --dump "$name.bin"
        expect_status 0
    done
    expect_pair
}

# column FILE NAME: the numbers after that word, one a line.
column()
{
    awk -v name="$2" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }' "$1"
}

# largest FILE [EXCEPT]: workspace of the lines that do not match.
largest()
{
    column <(grep -vE "^${2:-$}" "$1") workspace | sort -n | tail -n 1
}

# Without the library some plan needs more than the limit. With it, none does, and these convolutions ran in tiles. In
# lines that match the pattern, plans without a tiling may stay untiled.
expect_capped()
{
    local small none
    expect_accounts_agree
    expect_tiles
    expect_true "largest workspace without the library" "$(largest plain.out) > limit"
    expect_true "largest workspace with the library" "$(largest shimmed.out "${1-}") <= limit"
    small=$(not_tiled_because SMALL) none=$(not_tiled_because NO_TILING)
    expect_equal "calls not tiled" "$(counted not_tiled)" "$((small + none))"
    if [ -z "${1-}" ]; then
        expect_equal "calls without a tiling" "$none" 0
        expect_true "largest workspace on the device" "$(device shimmed largest_workspace_used) <= limit"
    fi
}

# In both types the heuristics' first plan needs more than the limit.
first_choice()
{
    in_python first "$1"
    expect_capped
    expect_equal "calls tiled" "$(counted tiled)" 2
}

@test "Python: forward" {
    first_choice forward
}

@test "Python: forward with bias and ReLU" {
    first_choice bias_relu
}

@test "Python: backward data" {
    first_choice data
}

@test "Python: backward filter" {
    first_choice filter
}

@test "Python: forward with scale, add and ReLU, in tiles that an engine compiles" {
    config=$EVERYTHING in_python first scale_add_relu --type f16
    expect_tiles
    expect_equal "calls tiled" "$(counted tiled)" 1
}

@test "Python: every plan that there is, one after the other, in one workspace" {
    in_python every forward bias_relu data
    expect_capped
    diff <(column plain.out plans) <(column shimmed.out plans) >difference.out || fail "there are other plans"
}

# Plans that add up parts of the filter gradient need the same workspace for a slice of it, and f16 is only cut into
# slices.
split="filter f16 (benchmark )?workspace"

@test "Python: every plan of a filter gradient" {
    in_python every filter
    expect_capped "$split"
    diff <(column plain.out plans) <(column shimmed.out plans) >difference.out || fail "there are other plans"
}

@test "Python: plans over a limit are deselected by the sizes of their configurations, none has to be" {
    in_python limited forward bias_relu data filter
    mv shimmed.out limited.out
    CONVSHIM_CONFIG=$config shimmed "$python" "$sources/convolve.py" every forward bias_relu data filter
    expect_status 0
    diff <(grep -vE "$split" limited.out) <(grep -vE "$split" shimmed.out) >difference.out || fail "plans were deselected"
    paste -d ' ' <(column limited.out plans) <(column plain.out plans) >plans.out
    expect_equal "types of forms with more plans than without" "$(awk '$1 > $2' plans.out | wc -l)" 8
}

@test "Python: plans written to JSON and read back keep the reported size and run in tiles" {
    in_python json forward
    # cudnn-frontend runs a plan that it reads once with the same address for all tensors: on the fallback plan.
    expect_equal "calls tiled" "$(counted tiled)" 2
    expect_equal "calls that ran on the fallback plan" "$(counted fallback)" 2
    expect_equal "failed calls" "$(counted failed)" 0
    expect_equal "calls not tiled as JSON" "$(not_tiled_because FROM_JSON)" 0
    expect_true "largest workspace without the library" "$(largest plain.out) > limit"
    expect_true "largest workspace with the library" "$(largest shimmed.out) <= limit"
}

@test "Python: plans in CUDA graphs, updated" {
    export SIMDEV_NATIVE_GRAPHS=1
    in_python cuda_graph forward bias_relu data filter
    expect_true "largest workspace without the library" "$(largest plain.out) > limit"
    expect_true "largest workspace with the library" "$(largest shimmed.out) <= limit"
    expect_true "largest workspace on the device" "$(device shimmed largest_workspace_used) <= limit"
    expect_true "convolutions that the device ran" "$(device shimmed conv_launches) > $(device plain conv_launches)"
}
