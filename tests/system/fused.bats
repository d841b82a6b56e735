#!/usr/bin/env bats
# Convolutions fused with pointwise operations, in the forms that frameworks build.
load helper

plan_quickly

# fused LEAST [conv_random options]: the same results without and with the library, near a plain host loop; at least
# LEAST problems that cuDNN takes, all of them in tiles.
fused()
{
    same "$EVERYTHING" "$APPS/conv_random" "${@:2}" --check
    expect_accounts_agree
    expect_true "tiled calls" "$(counted tiled) >= $1"
    expect_equal "calls on the fallback plan" "$(counted fallback)" 0
}

# The programs that follow run on an Ampere GPU: cuDNN fuses operations on the filter there only.
ampere()
{
    sed 's/"deviceVer": *900/"deviceVer": 800/' "$ROOT/conf/devices/h200.json" >ampere.json
    export SIMDEV_PROFILE=$PWD/ampere.json
}

@test "PyTorch: convolution, sum with z, bias, ReLU; z also in place with alpha2 0" {
    fused 5 --fused residual --count 7 --seed 4 --dtype f16
    grep -aq '0\*[0-9]*(result)' plain.bin || fail "no problem in place"
}

@test "XLA: convolution, scale, side input, bias, activation" {
    fused 2 --fused scaled --count 2 --seed 7
}

@test "ONNX Runtime and cudnn-frontend: convolution, bias, activation" {
    fused 3 --fused activation --count 3 --seed 5
}

@test "operands that are broadcast along some dimensions" {
    fused 2 --fused broadcast --count 2 --seed 4
}

@test "a scale or ReLU before the convolution" {
    fused 1 --fused input --count 2 --seed 4
}

@test "a scale or ReLU of the filter before the convolution" {
    ampere
    fused 10 --fused filter --count 24 --seed 4 --dtype f16
}

# bats test_tags=quick
@test "cudnnConvolutionBiasActivationForward: ReLU and identity, z in place or not, alpha2 0 or not" {
    local words count
    count=$(($(few 60) > 12 ? $(few 60) : 12)) # the first 12 have one of each
    same "$EVERYTHING" "$APPS/conv_random" --fused legacy --count "$count" --seed 4 --dtype all --check
    expect_true "tiled calls" "$(counted tiled) >= $(share 25)"
    # A part of the problems may not contain every form.
    [ "$LOAD" -ge 100 ] || return 0
    for words in 'identity' 'relu' '(result)' ',0\*' ',2\*'; do
        grep -a 'status=ok' plain.bin | grep -aq -- "$words" || fail "no problem with $words was run"
    done
}
