#!/usr/bin/env bats
# Programs that call cuDNN in the order of a framework. The results are the same to the bit. No framework gets more
# workspace than the limit, in whichever way it queries, searches and chooses. Each program checks its own results,
# and that repeated queries report the same size.
load helper

plan_quickly

LIMIT=3145728

# framework PROGRAM OPTIONS...: without and with the library.
framework()
{
    both "workspace=$LIMIT" "$BUILD/clients/frameworks/$1" "${@:2}"
    cmp plain.bin shimmed.bin >/dev/null || fail "the results differ"
}

# largest NAME: the largest workspace that the program allocated for its convolutions.
largest()
{
    sed -n 's/^largest workspace \([0-9]*\)$/\1/p' "$1.out" | grep . || fail "$1.out does not tell the workspace"
}

# Without the library, the programs would run plans that need more than the limit.
expect_limited()
{
    expect_true "workspace without the library" "$(largest plain) > $LIMIT"
    expect_true "workspace with the library" "$(largest shimmed) <= $LIMIT"
    expect_true "tiled calls" "$(counted tiled) > 0"
}

# The same, and no call used more, for each source of workspace.
expect_limited_everywhere()
{
    expect_limited
    expect_true "largest workspace used" "$(device shimmed largest_workspace_used) <= $LIMIT"
}

# Every call exceeded the limit.
expect_all_tiled()
{
    expect_limited_everywhere
    expect_equal "tiled calls" "$(counted tiled)" "$(counted calls)"
    expect_accounts_agree
}

# bats test_tags=quick
@test "PyTorch, backend API: the first plan that works, cached without its graph" {
    framework pytorch_v8
    expect_all_tiled
}

@test "PyTorch, backend API, benchmark: one workspace of the largest of all plans" {
    framework pytorch_v8 --mode benchmark
    expect_limited_everywhere
}

@test "PyTorch, legacy API: the memory field is the workspace" {
    framework pytorch_v7
    expect_all_tiled
}

@test "PyTorch, legacy API, benchmark: FindEx, the fastest" {
    framework pytorch_v7 --mode benchmark
    expect_limited_everywhere
}

@test "PyTorch, legacy API, deterministic: fixed algorithms and workspace queries" {
    framework pytorch_v7 --mode deterministic
    expect_all_tiled
}

@test "OpenCV: one workspace for the net, deconvolution, activation and residual" {
    framework opencv
    expect_all_tiled
}

@test "dlib: Find, the fastest, other extents with the workspace of a larger image" {
    framework dlib
    expect_limited_everywhere
}

# The chosen algorithm needs no workspace: the search alone causes the peak.
@test "dlib, smallest: Find does not spike" {
    framework dlib --mode smallest
    expect_equal "workspace without the library" "$(largest plain)" 0
    expect_true "largest workspace of the search, without" "$(device plain largest_workspace_used) > $LIMIT"
    expect_true "largest workspace of the search, with" "$(device shimmed largest_workspace_used) <= $LIMIT"
    expect_true "peak without - peak with >= what was too much" \
        "$(device plain peak_bytes) - $(device shimmed peak_bytes) >= $(device plain largest_workspace_used) - $LIMIT"
}

@test "CTranslate2: 1-D, an algorithm without workspace" {
    framework ctranslate2
    expect_equal "tiled calls" "$(counted tiled)" 0
    expect_equal "calls" "$(counted calls)" "$(device shimmed conv_launches)"
}

@test "CTranslate2: 1-D, with bias and identity" {
    framework ctranslate2 --mode fused
    expect_all_tiled
}

@test "XLA: rebuilt on a new graph, in a static buffer between red zones" {
    framework xla
    expect_all_tiled
}

@test "ONNX Runtime: sizes by engine config, asymmetric padding, other extents" {
    framework onnxruntime
    expect_all_tiled
}

@test "ONNX Runtime: bias fused" {
    framework onnxruntime --mode fuse_bias
    expect_all_tiled
}

@test "PaddlePaddle, legacy API" {
    framework paddle
    expect_all_tiled
}

@test "PaddlePaddle, backend API" {
    framework paddle --mode frontend
    expect_all_tiled
}

@test "PaddlePaddle keeps algorithms under its limit that it would filter out" {
    framework paddle --limit 3500000
    expect_equal "workspace without the library" "$(largest plain)" 0
    expect_true "workspace with the library" "$(largest shimmed) <= $LIMIT"
    expect_equal "tiled calls" "$(counted tiled)" "$(counted calls)"
}

@test "CuPy 13: FindEx in 8 MiB, the first within it" {
    framework cupy13
    expect_limited
}

@test "Julia, legacy API: FindEx in a large buffer, the smallest of the fastest" {
    framework julia_legacy
    expect_limited
}

@test "TensorFlow: the fastest, and one without scratch" {
    framework tensorflow
    expect_limited_everywhere
}
