#!/usr/bin/env bats
# `convshim tune`: rules for the convolutions that cause a program's peak, and their effect.
load helper

COMMAND=$BUILD/convshim
CUDNN=$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")
decoder=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16)

# tune OPTION...: leaves $status, convshim.ini and tune.err.
tune()
{
    status=0
    mkdir -p tmp
    TMPDIR=$PWD/tmp LD_LIBRARY_PATH="$SIMDEV_DIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        LD_PRELOAD="${SAN_RT:+$SAN_RT:}${LD_PRELOAD-}" \
        "$COMMAND" tune "$@" >convshim.ini 2>tune.err </dev/null || status=$?
    expect_equal "what is left behind" "$(ls tmp)" ""
}

# of ROW FIELD: of the table in the comments; fields are bytes, counts or times as people see them.
of()
{
    sed -n "s/^# $1  *//p" convshim.ini | awk -F '   *' -v field="$2" '{ print $field }'
}

# totals NAME: of the last run's summary.
totals()
{
    python3 -c 'import glob, json, sys; print(json.load(open(glob.glob("shimmed.*.summary")[0]))["totals"][sys.argv[1]])' "$1"
}

# with_file INI PROGRAM...: on the device with a file's rules; leaves the report of shimmed.
with_file()
{
    local ini=$1
    shift
    SIMDEV_MODE=account CONVSHIM_CONFIGFILE=$ini shimmed "$@"
    expect_status 0
}

@test "few convolutions are tiled for the peak of the defaults, and a run with the file has its figures" {
    local small=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 512 --dtype f16)
    tune --cudnn "$CUDNN" --runs 4 -- "${small[@]}"
    expect_status 0
    expect_line convshim.ini '^policy = off$'
    "$COMMAND" config --check convshim.ini >check.out 2>&1 || fail "not a good file: $(cat check.out)"
    with_file "$PWD/convshim.ini" "${small[@]}"
    local tuned time tiled
    tuned=$(device shimmed peak_bytes)
    time=$(totals predicted_ns)
    tiled=$(totals tiled)
    expect_equal "calls tiled" "$(of 'these rules' 3)" "$tiled of $(totals calls)"
    expect_equal "the peak" "$(of 'these rules' 1)" "$(awk -v bytes="$tuned" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }' | sed 's/\.0 / /')"
    : >defaults.ini
    with_file "$PWD/defaults.ini" "${small[@]}"
    expect_true "as low as with the defaults" "100 * $tuned <= 101 * $(device shimmed peak_bytes)"
    expect_true "fewer calls" "0 < $tiled && 2 * $tiled < $(totals tiled)"
    expect_equal "the defaults in the table" "$(of 'defaults, without a file' 3)" "$(totals tiled) of $(totals calls)"
    echo 'policy = off' >off.ini
    with_file "$PWD/off.ini" "${small[@]}"
    expect_true "lower" "$tuned < $(device shimmed peak_bytes)"
    expect_true "hardly slower" "100 * $time < 115 * $(totals predicted_ns)"
}

@test "a file is written only if its rules lower the peak of the defaults; --lowest goes below the defaults" {
    : >defaults.ini
    with_file "$PWD/defaults.ini" "${decoder[@]}"
    local plain
    plain=$(device shimmed peak_bytes)
    tune --cudnn "$CUDNN" -- "${decoder[@]}"
    expect_status 0
    if [ -s convshim.ini ]; then
        with_file "$PWD/convshim.ini" "${decoder[@]}"
        expect_true "lower" "$(device shimmed peak_bytes) < $plain"
    else
        expect_line tune.err 'No file is written, because rules cannot lower the peak'
    fi
    tune --cudnn "$CUDNN" --lowest --runs 4 -- "${decoder[@]}"
    expect_status 0
    with_file "$PWD/convshim.ini" "${decoder[@]}"
    expect_true "lower" "$(device shimmed peak_bytes) < $plain"
}

@test "each rule is necessary: without it the peak is higher by its stated amount" {
    tune --cudnn "$CUDNN" --lowest -- "${decoder[@]}"
    expect_status 0
    with_file "$PWD/convshim.ini" "${decoder[@]}"
    local tuned rules rule
    tuned=$(device shimmed peak_bytes)
    rules=$(grep -c '^\[rule' convshim.ini)
    expect_true "rules" "$rules > 1"
    expect_equal "what each buys" "$(grep -c '^# lowers the peak by [0-9.]* [KM]iB for' convshim.ini)" "$rules"
    for ((rule = 1; rule <= rules; rule++)); do
        awk -v section="[rule tune-$rule]" '/^\[/ { inside = $0 == section } !inside' convshim.ini >without.ini
        with_file "$PWD/without.ini" "${decoder[@]}"
        expect_true "without rule $rule" "$(device shimmed peak_bytes) > $tuned"
    done
}

@test "--fits: as much tiling as necessary on a capacity; a size that does not fit" {
    tune --cudnn "$CUDNN" --lowest -- "${decoder[@]}"
    local lowest most between
    with_file "$PWD/convshim.ini" "${decoder[@]}"
    lowest=$(device shimmed peak_bytes)
    echo 'policy = off' >off.ini
    with_file "$PWD/off.ini" "${decoder[@]}"
    most=$(device shimmed peak_bytes)
    between=$(((lowest + most) / 2))
    tune --cudnn "$CUDNN" --fits "$between" -- "${decoder[@]}"
    expect_status 0
    expect_line convshim.ini '^# With these rules .* the defaults'
    SIMDEV_CAPACITY=$between with_file "$PWD/convshim.ini" "${decoder[@]}"
    expect_equal "refused" "$(device shimmed refused)" 0
    expect_true "no more than has to be" "$(device shimmed peak_bytes) > $lowest"
    tune --cudnn "$CUDNN" --fits "$most" -- "${decoder[@]}"
    expect_status 0
    expect_empty convshim.ini
    expect_line tune.err 'No file is needed: the program runs in .* without convshim'
    tune --cudnn "$CUDNN" --fits $((lowest / 2)) -- "${decoder[@]}"
    expect_status 1
    expect_empty convshim.ini
    expect_line tune.err 'No file is written, because no rules make the program fit'
    expect_line tune.err 'tune:   with the defaults: out of memory'
}

# bats test_tags=quick
@test "programs that do not run, programs without a convolution, and invalid arguments" {
    tune --cudnn "$CUDNN" -- false
    expect_status 1
    expect_line tune.err 'the program failed with status 1'
    tune --cudnn "$CUDNN" -- true
    expect_status 1
    expect_line tune.err 'ran no convolution on the simulated GPU'
    tune
    expect_status 2
    tune --within 0 -- true
    expect_status 2
    tune --fits lots -- true
    expect_status 2
    tune --device rtx309 -- true
    expect_status 2
}
