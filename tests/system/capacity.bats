#!/usr/bin/env bats
# A program needs at most 5 % more memory with the library than without it where its framework caches memory as PyTorch does by default. There
# the sizes of workspaces decide which freed blocks tensors can reuse, and expandable segments avoid that. By a model of that cache (tests/support/caching_allocator.py) with the sizes that cuDNN and the library report.
load helper

# planned NAME FILE MODEL...: capacities to FILE, from the workspaces of all plans of the models' layers, without (plain) or with (shimmed) the library.
planned()
{
    SIMDEV_PROFILE=$ROOT/conf/devices/rtx4090.json "$1" "$APPS/plan_layers" --csv layers.csv --all
    expect_status 0
    [ "$1" = plain ] || [ "$(planning "$1")" = "$(planning plain)" ] || fail "another planning"
    python3 "$ROOT/tests/support/caching_allocator.py" layers.csv "$1.out" "${@:3}" >"$2"
}

planning()
{
    sed -n 's/^[[:space:]]*"planning":[[:space:]]*"\(.*\)",*$/\1/p' "$1.json"
}

# capacity FILE MODEL: MiB.
capacity()
{
    sed -n "s/^$2,//p" "$1" | grep . || fail "$1 does not tell the capacity of $2"
}

setup_layers()
{
    local model
    for model in "$@"; do
        grep ", $model\$" "$ROOT/tests/data/conv_layers.csv"
    done >layers.csv
}

# hardly_larger MODEL...: with the library at most 5 % more than without; with a size that the user sets, more.
hardly_larger()
{
    local model
    setup_layers "$@"
    planned plain without "$@"
    [[ $(planning plain) == cudnn* ]] || cannot_run "no real cuDNN plans"
    planned shimmed with "$@"
    CONVSHIM_CONFIG=workspace=64MiB planned shimmed kept "$@"
    for model in "$@"; do
        expect_true "MiB for $model with the library" "20 * $(capacity with "$model") <= 21 * $(capacity without "$model")"
        expect_true "MiB for $model, workspace = 64MiB" "$(capacity kept "$model") > $(capacity without "$model")"
    done
}

# bats test_tags=quick
@test "a VAE decoder in a caching framework needs at most 5 % more memory than without the library" {
    hardly_larger sdxl-vae-1024
}
