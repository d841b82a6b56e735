#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# Plans that no tiling makes small enough: run, or refused if the application has another engine to try.
load helper
load predict

no_cudnn="no real cuDNN in SIMDEV_CUDNN_DIR, so nothing real can be planned"

# planned OPTIONS: engine and workspace of the first plan that works, and the same by predict.
planned()
{
    # A filter gradient of 16 bits, in groups, which cannot be tiled. Its first engine requires 98 MiB, others that
    # use tensor cores, too, 24.5 MiB and more.
    echo '32x256x56x56 -> 256 k3x3 p1 g32 f16 wgrad, grouped, x' >grouped.csv
    SIMDEV_PROFILE=$ROOT/conf/devices/h200.json CONVSHIM_CONFIG=$1 CONVSHIM_LOG=info shimmed "$APPS/plan_layers" --csv grouped.csv --api graph --direction filter
    expect_status 0
    planned_by_cudnn shimmed || cannot_run "$no_cudnn"
    engine=$(awk -F, 'NR > 1 { print $5 }' shimmed.out)
    workspace=$(awk -F, 'NR > 1 { print $7 }' shimmed.out)
    tr ';' '\n' <<<"$1" >options.ini
    expect_predicted 0 --layers grouped.csv --device h200 --format csv --config "$PWD/options.ini"
    expect_equal "predicted engine and workspace" "$(column engine) $(column tiled_workspace_bytes)" "$engine $workspace"
}

@test "a plan is not refused if an equivalent engine fits untiled" {
    planned "untileable=run;workspace=32MiB"
    first=$engine
    expect_true "told $workspace" "$workspace <= 32 << 20 && $workspace > 20 << 20"
    planned "workspace=32MiB"
    expect_equal "engine" "$engine" "$first"
}

# bats test_tags=quick
@test "no equivalent engine fits: the one that needs least runs" {
    planned "workspace=20MiB"
    expect_true "less than the first requires: $workspace" "$workspace < 32 << 20"
    planned "workspace=128MiB"
    expect_true "within the limit as it is: $workspace" "$workspace > 90 << 20"
}

@test "untileable=refuse: the program gets an engine that fits the limit" {
    planned "untileable=refuse;workspace=20MiB"
    expect_true "an engine that needs little: $workspace" "$workspace <= 20 << 20"
}
