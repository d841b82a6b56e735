# Shared functions of the tests of `convshim predict`.
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables that the tests use

COMMAND=$BUILD/convshim
readonly LAYERS=$ROOT/tests/data/conv_layers.csv
readonly HEADER=model,layer,dir,device,engine,input_bytes,filter_bytes,output_bytes,workspace_bytes,peak_bytes,tiled_axis,tiles,tiled_workspace_bytes,tiled_peak_bytes,read_again_bytes,predicted_slowdown,predicted_slowdown_most,reason,free_bytes,raised

# The convolution of cudnn-facts.md whose workspace is as large as its tensors.
readonly SPIKE=('1x512x512x512 -> 512 k3x3 p1')

# cuBLASLt as predict has it. A program without cuBLASLt is not offered all engines.
CUBLAS=$BUILD/stand_ins/libcublasLt.so.13

CUDNN=$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")

# Memory that the real cuDNN loads, loses and unloads cannot be distinguished from a leak of the command.
need_cudnn()
{
    [ -r "$CUDNN/libcudnn.so.9" ] || cannot_run "no real cuDNN in CUDNN_LIB of build/config.mk"
    export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
}

# predict_as NAME OPTION...: leaves $status, NAME.out and NAME.err.
predict_as()
{
    local name=$1
    shift
    status=0
    LD_PRELOAD='' timeout "$HANGS" "$COMMAND" predict "$@" >"$name.out" 2>"$name.err" || status=$?
}

# predict OPTION...: the same as predict.out, with the cuDNN that was installed for the tests.
predict()
{
    need_cudnn
    predict_as predict --cudnn "$CUDNN" "$@"
}

# expect_predicted STATUS OPTION...
expect_predicted()
{
    local wanted=$1
    shift
    predict "$@"
    expect_status "$wanted"
}

# column NAME: of predict.out in its CSV form, which quotes nothing in these tests.
column()
{
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' predict.out
}

# Hides every cuDNN: the loader finds a file that is none, python3 has no package, and the command is outside its tree.
hide_cudnn()
{
    mkdir -p hidden installed/bin installed/share
    cp "$BUILD/convshim" installed/bin/
    ln -s "$ROOT/conf" installed/share/convshim
    COMMAND=$PWD/installed/bin/convshim
    : >hidden/libcudnn.so.9
    printf '#!/bin/sh\nexit 1\n' >hidden/python3
    chmod +x hidden/python3
    export LD_LIBRARY_PATH=$PWD/hidden PATH=$PWD/hidden:$PATH
}
