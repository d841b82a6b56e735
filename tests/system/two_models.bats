#!/usr/bin/env bats
# Two GPUs of different models in one machine: each size is that of the handle's GPU, whatever context the planning thread has.
# The same handles on a machine with this model alone print the same lines (tests/support/clients/frameworks/two_models.c).
load helper

# sizes NAME DEVICE...: the different lines of a machine, in NAME. SIMDEV_PROFILE and SIMDEV_PROFILE_1 are set.
sizes()
{
    local name=$1
    shift
    SIMDEV_MODE=account CONVSHIM_SUMMARY=off shimmed "$CLIENTS/frameworks/two_models" "$@"
    planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"
    expect_status 0
    expect_no_violation shimmed
    sort -u shimmed.out >"$name"
}

# models FIRST SECOND: compares two machines with one model each with one machine that has both.
models()
{
    local first=$ROOT/conf/devices/$1.json second=$ROOT/conf/devices/$2.json order
    SIMDEV_PROFILE=$first sizes first 0
    SIMDEV_PROFILE=$second sizes second 0
    sort -u first second >alone
    expect_true "sizes of the models differ" "$(sed 's/^[^,]*//' first second | sort -u | wc -l) > $(wc -l <first)"
    for order in "0 1" "1 0" "0 1 0"; do
        # shellcheck disable=SC2086 # words
        SIMDEV_PROFILE=$first SIMDEV_PROFILE_1=$second SIMDEV_DEVICES=2 sizes both $order
        diff alone both || fail "$1 and $2, devices in the order $order: other sizes than on machines with one model"
    done
}

# bats test_tags=quick
@test "two models in one machine: each size is that of the handle's GPU, in every thread and on every current device" {
    models t4 h200
}

@test "two models in one machine, with options" {
    export CONVSHIM_CONFIG="price=100"
    models b200 rtx4090
    export CONVSHIM_CONFIG="workspace=24MiB"
    models h200 t4
}
