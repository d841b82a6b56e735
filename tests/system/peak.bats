#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a process of its own
# Policy peak: what a run shows of its memory lets the next one tile less, at no higher a peak.
load helper

# Sizes of 64 MiB and more, which nothing needs to compute.
export SIMDEV_PLANNING=rule SIMDEV_MODE=account

program=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 1024 --dtype f16 --slab 4096)

# decode POLICY [OPTION...]: one decode, whose activations share memory as in a framework's cache.
decode()
{
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    mkdir -p "$XDG_CACHE_HOME"
    CONVSHIM_POLICY=$1 shimmed "${program[@]}" --json decode.json "${@:2}"
    expect_status 0
    expect_no_violation shimmed
    expect_equal "failed calls" "$(counted failed)" 0
}

# Bytes that activations and workspaces took at once.
peak()
{
    python3 -c 'import json; print(json.load(open("decode.json"))["peak"])'
}

# twice [OPTION...]: under fit, and under peak until it knows.
twice()
{
    decode fit "$@"
    fit_peak=$(peak) fit_tiled=$(counted tiled) fit_extra=$(counted extra)
    decode peak "$@"
    expect_equal "peak of the first run" "$(peak)" "$fit_peak"
    expect_equal "calls tiled by the first run" "$(counted tiled)" "$fit_tiled"
    decode peak "$@"
}

# bats test_tags=quick
@test "the second run tiles less, at the same peak, and all later ones do the same" {
    local tiled known
    twice
    tiled=$(counted tiled) known=$(summary 's["known"]')
    expect_true "known to the second run" "$known > 5"
    expect_true "peak" "$(peak) <= $fit_peak"
    expect_true "calls tiled, $fit_tiled by fit" "2 * $tiled <= $fit_tiled && $tiled > 0"
    expect_true "launches, $fit_extra by fit" "$(counted extra) < $fit_extra"
    decode peak
    expect_equal "calls tiled by the third run" "$(counted tiled)" "$tiled"
    expect_equal "known to the third run" "$(summary 's["known"]')" "$known"
    expect_true "peak of the third run" "$(peak) <= $fit_peak"
    CONVSHIM_POLICY=peak CONVSHIM_SUMMARY=text shimmed "${program[@]}"
    expect_line shimmed.err "convshim .*, policy peak \\($known convolutions known\\), built-in defaults"
}

@test "the legacy API shows the same" {
    twice --api legacy
    expect_true "peak" "$(peak) <= $fit_peak"
    expect_true "calls tiled, $fit_tiled by fit" "2 * $(counted tiled) <= $fit_tiled"
}

@test "runs of two sizes: neither goes beyond what it takes under fit" {
    local large_peak large_tiled
    twice
    expect_true "calls tiled, $fit_tiled by fit" "2 * $(counted tiled) <= $fit_tiled"
    large_peak=$fit_peak large_tiled=$fit_tiled
    decode fit --px 512
    fit_peak=$(peak) fit_tiled=$(counted tiled)
    decode peak --px 512 # learns of what both have that it has less room
    decode peak --px 512
    expect_true "peak of the small one" "$(peak) <= $fit_peak"
    expect_true "calls tiled of the small one" "$(counted tiled) <= $fit_tiled"
    decode peak
    expect_true "peak of the large one" "$(peak) <= $large_peak"
    expect_true "calls tiled of the large one" "$(counted tiled) <= $large_tiled"
}

@test "memory that is never used again tells nothing: as fit" {
    program=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 1024 --dtype f16)
    twice
    expect_true "calls tiled, $fit_tiled by fit" "$(counted tiled) <= $fit_tiled"
    expect_true "peak" "$(peak) <= $fit_peak"
}

@test "a workspace that is written is kept to" {
    export CONVSHIM_WORKSPACE=64MiB
    twice
    expect_equal "calls tiled" "$(counted tiled)" "$fit_tiled"
    expect_equal "launches" "$(counted extra)" "$fit_extra"
}

@test "a rule alone may want it" {
    local tiled
    printf '%s\n' 'policy = fit' '[rule all]' 'direction = fwd' 'policy = peak' >rules.ini
    export CONVSHIM_CONFIGFILE=$PWD/rules.ini XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    mkdir -p "$XDG_CACHE_HOME"
    shimmed "${program[@]}"
    tiled=$(counted tiled)
    shimmed "${program[@]}"
    expect_true "calls tiled, $tiled at first" "2 * $(counted tiled) <= $tiled"
}
