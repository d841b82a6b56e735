#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# A program keeps an engine, its knobs and a workspace size longer than their plan. A plan that is built from them later, in
# any process, needs no more than that size (tests/support/clients/frameworks/stored.c).
load helper

PYTHON=${CONVSHIM_JAX_PYTHON:-$ROOT/build/frameworks/jax-0.10/venv/bin/python}

# Each row: the difference when the plan is built again | the steps of each process, one after the other.
rows="another handle | plan others handle rebuild
the size of an engine configuration | config others handle rebuild
the size of a configuration whose plan exists | others late rebuild
another device of the same model | plan others device others rebuild
another process, with other calls before | plan save kept | others load kept rebuild
a forked process | plan save kept | fork others load kept rebuild
a plan through JSON | plan others json
a thread without a context | plan save kept | thread load kept rebuild
a list's entry, after its configuration | config others handle list"

# stored CONFIG: every row, under these options.
stored()
{
    local row what steps process
    while IFS= read -r row; do
        what=${row%%|*} steps=${row#*|}
        rm -f kept
        while [ -n "$steps" ]; do
            process=${steps%%|*}
            case $steps in *"|"*) steps=${steps#*|} ;; *) steps= ;; esac
            # shellcheck disable=SC2086 # words
            SIMDEV_MODE=account SIMDEV_DEVICES=2 CONVSHIM_CONFIG=$1 shimmed "$CLIENTS/frameworks/stored" $process
            planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
            [ "$status" = 0 ] || fail "$what, options \"$1\": $(tail -n 3 shimmed.out shimmed.err)"
            expect_no_violation shimmed
        done
    done <<<"$rows"
    grep -q '^\(rebuilt\|loaded\): ' shimmed.out || fail "nothing was built again"
}

# bats test_tags=quick
@test "a stored size is enough for its engine and knobs: handles, records, devices, processes, forks, JSON" {
    stored ""
}

@test "a stored size is enough with price, max_slowdown and a limit" {
    stored "price=100"
    stored "max_slowdown=1.5"
    stored "workspace=24MiB"
}

@test "a stored size is enough with rules of an ini file" {
    cat >rules.ini <<'INI'
price = 20
max_slowdown = 1.5
[rule stored]
c = 256
lanes = 1
[rule others]
c = 64
n = 32
lanes = 2
INI
    export CONVSHIM_CONFIGFILE=$PWD/rules.ini
    stored ""
}

@test "a stored size is enough after more shapes than the library remembers" {
    rows="forgotten | plan others shapes rebuild"
    stored ""
}

# legacy OPTIONS DIRECTION SUMMARY...: one process queries a size, and a second one, which queries nothing, runs in it,
# under each setting of the summary. cuDNN alone refuses the size that the defaults give.
legacy()
{
    local summary client=("$CLIENTS/frameworks/stored")
    local -x SIMDEV_MODE=account CONVSHIM_CONFIG=$1
    rm -f kept
    [ "$2" = forward ] || client+=("$2")
    CONVSHIM_SUMMARY=off shimmed "${client[@]}" legacy save kept
    planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
    [ "$status" = 0 ] || fail "$2, options \"$1\": no size is reported"
    plain "${client[@]}" load kept call
    [ -n "$1" ] || [ "$status" = 1 ] || fail "$2: the size is not less than cuDNN requires"
    for summary in "${@:3}"; do
        CONVSHIM_SUMMARY=$summary shimmed "${client[@]}" load kept call
        [ "$status" = 0 ] || fail "$2, options \"$1\", summary=$summary: $(tail -n 3 shimmed.out shimmed.err)"
        expect_no_violation shimmed
    done
}

# bats test_tags=quick
@test "a stored size is enough for a legacy call in a process that queries nothing, whatever summary it writes" {
    legacy "" forward off text json:run.json text,json:run.json
    legacy "" data off
    legacy "" filter off
}

@test "a stored size is enough for a legacy call in a process that queries nothing, in all directions, with options" {
    local options direction
    for options in "price=100" "workspace=24MiB" "max_slowdown=1.5" "untileable=refuse"; do
        for direction in forward data filter; do
            legacy "$options" "$direction" off text json:run.json text,json:run.json
        done
    done
}

# random OPTIONS SEQUENCES: random sequences of plans, queries, threads, forks, JSON and legacy calls, in several processes.
random()
{
    rm -rf table
    mkdir table
    CONVSHIM_SUMMARY=off SIMDEV_MODE=account SIMDEV_DEVICES=2 CONVSHIM_CONFIG=$1 \
        shimmed "$CLIENTS/frameworks/stored_random" table "$LOAD" "$2"
    planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
    [ "$status" = 0 ] || fail "options \"$1\": $(grep -h FAULT shimmed.out)"
    expect_no_violation shimmed
    [ "$2" -lt 200 ] || expect_true "sizes" "$(sed -n 's/ sizes.*//p' shimmed.out) > 100"
}

# bats test_tags=quick
@test "no size changes in random sequences of all ways to plan and run" {
    random "" 12
}

@test "no size changes in many random sequences, with options" {
    local sequences=$((LOAD >= 100 ? 20000 : 2 * LOAD))
    random "" "$sequences"
    random "price=100" "$((sequences / 4 + 1))"
    random "workspace=24MiB;max_slowdown=off" "$((sequences / 4 + 1))"
}

# jax_run ORDER...: one process of JAX with the cache of this test.
jax_run()
{
    SIMDEV_MODE=account XLA_PYTHON_CLIENT_PREALLOCATE=false JAX_PLATFORMS=cuda \
        XLA_FLAGS=--xla_gpu_force_conv_nchw=true JAX_COMPILATION_CACHE_DIR=$PWD/cache TF_CPP_MIN_LOG_LEVEL=1 \
        shimmed "$PYTHON" "$ROOT/tests/support/clients/jax_cache.py" "$@"
    expect_status 0
    sort shimmed.out
}

@test "JAX's compilation cache: a second process calls the same functions in another order" {
    "$PYTHON" -c 'import importlib.util as i; exit(not i.find_spec("jax"))' || cannot_run "no JAX: scripts/frameworks jax-0.10 installs it, or set CONVSHIM_JAX_PYTHON"
    jax_run f1 f2 f3 f4 >first
    planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
    expect_true "cached programs" "$(find cache -name '*cache' | wc -l) > 3"
    jax_run f2 f3 f4 f1 >second
    diff first second || fail "the second process planned other sizes"
}
