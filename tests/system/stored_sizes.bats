#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# A program keeps an engine, its knobs and a workspace size longer than their plan. A plan that is built from them later, in
# any process, needs no more than that size (tests/support/clients/frameworks/stored_random.c).
load helper

PYTHON=${CONVSHIM_JAX_PYTHON:-$ROOT/build/frameworks/jax-0.10/venv/bin/python}

# random OPTIONS SEQUENCES: random sequences of plans, queries, threads, forks, JSON and legacy calls, in several processes.
random()
{
    rm -rf table
    mkdir table
    CONVSHIM_SUMMARY=${SUMMARY_FORM:-off} SIMDEV_MODE=account SIMDEV_DEVICES=2 CONVSHIM_CONFIG=$1 \
        shimmed "$CLIENTS/frameworks/stored_random" table "$LOAD" "$2"
    planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
    [ "$status" = 0 ] || fail "options \"$1\": $(grep -h FAULT shimmed.out)"
    expect_no_violation shimmed
    [ "$2" -lt 200 ] || expect_true "sizes" "$(sed -n 's/ sizes.*//p' shimmed.out) > 100"
}

# bats test_tags=quick
@test "no size changes in random sequences of all ways to plan and run, and cuDNN alone needs more" {
    random "" 12
    SIMDEV_MODE=account SIMDEV_DEVICES=2 plain "$CLIENTS/frameworks/stored_random" table "$LOAD" 12
    expect_status 1
    grep -q FAULT plain.out || fail "cuDNN needs the same sizes"
}

@test "no size changes in many random sequences, with options, rules and summaries" {
    local options sequences=$((LOAD >= 100 ? 20000 : 2 * LOAD))
    random "" "$sequences"
    for options in "price=100" "workspace=24MiB;max_slowdown=off" "max_slowdown=1.5" "untileable=refuse"; do
        random "$options" "$((sequences / 4 + 1))"
    done
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
    CONVSHIM_CONFIGFILE=$PWD/rules.ini SUMMARY_FORM=text,json:run.json random "" "$((sequences / 4 + 1))"
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
