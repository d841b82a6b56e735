#!/usr/bin/env bats
# `convshim tune`: the frontier of a program, and a run with the file of a point.
load helper

COMMAND=$BUILD/convshim
CUDNN=$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")
decoder=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 512 --dtype f16)

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

# of ROW FIELD: of a run in the comments of the file: 1 its peak, 2 its time, 3 calls, 4 launches.
of()
{
    sed -n "s/^# $1  *//p" convshim.ini | sed 's/ calls tiled//; s/ extra launches//' |
        awk -F ', ' -v field="$2" '{ print $field }'
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

# plain_run INI-TEXT: the device peak of the decoder with these options.
plain_run()
{
    echo "$1" >plain.ini
    with_file "$PWD/plain.ini" "${decoder[@]}"
    device shimmed peak_bytes
}

# shown BYTES: as people see them.
shown()
{
    awk -v bytes="$1" 'BEGIN { printf "%.1f MiB", bytes / 1048576 }' | sed 's/\.0 / /'
}

@test "a run with the file has the figures of its point, and --within holds" {
    local untiled untiled_time
    untiled=$(plain_run $'[rule all]\nskip = yes')
    untiled_time=$(totals predicted_ns)
    tune --cudnn "$CUDNN" --within 20 --html page.html -- "${decoder[@]}"
    expect_status 0
    "$COMMAND" config --check convshim.ini >check.out 2>&1 || fail "not a good file: $(cat check.out)"
    grep -q '^free = ' convshim.ini || fail "no rule states a size"
    expect_line convshim.ini '^skip = yes$'
    with_file "$PWD/convshim.ini" "${decoder[@]}"
    expect_equal "the peak" "$(of 'with this file' 1)" "$(shown "$(device shimmed peak_bytes)")"
    expect_equal "calls tiled" "$(of 'with this file' 3)" "$(totals tiled) of $(totals calls)"
    expect_equal "extra launches" "$(of 'with this file' 4)" "$(totals extra_launches)"
    expect_true "lower" "$(device shimmed peak_bytes) < $untiled"
    expect_true "within 20 %" "100 * $(totals predicted_ns) <= 120 * $untiled_time"
    expect_line tune.err 'chosen$'
    expect_line page.html '<title>chosen: '
}

@test "a file is written only if neither figure is above the defaults and one is lower" {
    local plain plain_time
    plain=$(plain_run '# defaults')
    plain_time=$(totals predicted_ns)
    tune --cudnn "$CUDNN" -- "${decoder[@]}"
    expect_status 0
    if [ -s convshim.ini ]; then
        with_file "$PWD/convshim.ini" "${decoder[@]}"
        expect_true "not above" "$(device shimmed peak_bytes) <= $plain && $(totals predicted_ns) <= $plain_time"
        expect_true "lower" "$(device shimmed peak_bytes) < $plain || $(totals predicted_ns) < $plain_time"
    else
        expect_line tune.err 'No file is written, because no rules are better than the defaults'
    fi
}

@test "--fits: the program runs in that memory; a size that does not fit" {
    local most least between context
    most=$(plain_run $'[rule all]\nskip = yes')
    least=$(plain_run 'price = 100000')
    between=$(((least + most) / 2))
    "$COMMAND" simulate --only without --cudnn "$CUDNN" --format json -- "${decoder[@]}" >simulate.json 2>simulate.err
    context=$(($(sed -n 's/.*"needed":[^0-9]*\([0-9]*\),/\1/p' simulate.json) - most))
    expect_true "the context" "$context > 0"
    tune --cudnn "$CUDNN" --fits $((between + context)) -- "${decoder[@]}"
    expect_status 0
    SIMDEV_CAPACITY=$between with_file "$PWD/convshim.ini" "${decoder[@]}"
    expect_equal "refused" "$(device shimmed refused)" 0
    tune --cudnn "$CUDNN" --fits $((most + context)) -- "${decoder[@]}"
    expect_status 0
    expect_empty convshim.ini
    expect_line tune.err 'No file is needed: the program runs in .* without convshim'
    tune --cudnn "$CUDNN" --fits $((least / 2 + context)) -- "${decoder[@]}"
    expect_status 1
    expect_empty convshim.ini
    expect_line tune.err 'No file is written, because the program does not fit into'
}

# bats test_tags=quick
@test "programs that do not run, and programs without a convolution" {
    tune --cudnn "$CUDNN" -- false
    expect_status 1
    expect_line tune.err 'the program failed with status 1'
    tune --cudnn "$CUDNN" -- true
    expect_status 1
    expect_line tune.err 'ran no convolution on the simulated GPU'
}
