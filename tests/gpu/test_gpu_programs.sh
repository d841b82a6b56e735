#!/usr/bin/env bash
# The GPU suite's C programs, and convshim verify --once, on the simulated device. TAP.
#
#   test_gpu_programs.sh BUILD      the programs are in BUILD/gpu
set -uo pipefail
[ $# = 1 ] || { echo "usage: test_gpu_programs.sh BUILD" >&2; exit 2; }
build=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/summary.bash
. "$root/tests/support/summary.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
san_rt=${CONVSHIM_SAN_RT:-} # a sanitizer's runtime, preloaded first
preload=${san_rt:+$san_rt:}$build/libconvshim.so
unset "${!CONVSHIM@}" SIMDEV_FAIL SIMDEV_CAPACITY SIMDEV_REPORT SIMDEV_PROFILE LD_PRELOAD
export SIMDEV_DIR=$build/simdev OMP_NUM_THREADS=1
layers=$work/layers.csv
tests=0 failures=0

cat >"$layers" <<'END'
model,layer,dir,n,c,d,h,w,k,kd,kh,kw,sd,sh,sw,pd,ph,pw,groups,dtype
small,conv2d,fwd,1,32,1,64,64,32,1,3,3,1,1,1,0,1,1,1,f16
small,conv3d,fwd,1,16,6,24,24,16,3,3,3,1,1,1,1,1,1,1,f32
other,strided,fwd,1,16,1,33,30,23,1,5,3,1,2,2,0,2,1,1,bf16
END

# on NAME [with-simdev options] -- PROGRAM [arguments]: leaves $status and, in the work folder, NAME.out and NAME.err
on() {
    local name=$1
    shift
    status=0
    "$root/scripts/with-simdev" "$@" >"$work/$name.out" 2>"$work/$name.err" || status=$?
}

# [under=LIBRARIES] layers_of NAME [options of verify]: runs the list, with the libraries preloaded
layers_of() {
    local name=$1
    shift
    on "$name" --report "$work/$name.device" -- env LD_PRELOAD="${under-$san_rt}" "$build/convshim" verify --once --time 3600 --csv "$layers" --iterations 3 --warmup 1 "$@"
}

# values NAME KEY: of every line that has the key, one a line
values() { sed -nE "s/.*[{, ]\"$2\": ?(\"([^\"]*)\"|([-+.a-z0-9]+))[,}].*/\2\3/p" "$work/$1.out"; }
lines() { wc -l <"$work/$1.out"; }

fail() {
    echo "# $1"
    reason=failed
}
expect() { # WHAT GOT WANTED
    [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"
}
expect_true() { # WHAT ARITHMETIC
    (($2)) || fail "$1: $2"
}
expect_real() { # WHAT AWK-CONDITION
    awk "BEGIN { exit !($2) }" || fail "$1: $2"
}
cannot_run() { reason="skip $1"; }

check() { # NAME FUNCTION
    local log
    tests=$((tests + 1)) reason=
    "$2"
    case $reason in
    '') echo "ok $tests - $1" ;;
    skip*) echo "ok $tests - $1 # SKIP ${reason#skip }" ;;
    *)
        failures=$((failures + 1))
        echo "not ok $tests - $1"
        for log in "$work"/*.err; do
            [ ! -s "$log" ] || { echo "# --- ${log##*/}" && tail -n 5 "$log" | sed 's/^/# /'; }
        done
        ;;
    esac
    rm -f "$work"/*.{out,err,device,dump}
}

facts_tell_the_gpu() {
    on facts -- "$build/gpu/gpu_facts" --capture "$work/gpu.json"
    expect status "$status" 0
    expect lines "$(lines facts)" 1
    expect device "$(values facts device)" "$(sed -nE 's/.*"deviceName":"([^"]*)".*/\1/p' "$work/gpu.json")"
    expect memory "$(values facts memory_bytes)" "$(sed -nE 's/.*"totalGlobalMem":([0-9]+).*/\1/p' "$work/gpu.json")"
    expect_true versions "$(values facts cudnn) >= 90000 && $(values facts runtime) >= 12000"
}

facts_agree_with_the_card() {
    on facts -- "$build/gpu/gpu_facts" --csv "$layers"
    expect status "$status" 0
    expect "equal plans" "$(values facts equal | grep -c true)" 9
    expect "plans by direction" "$(values facts dir | sort | uniq -c | tr -s ' \n' ' ')" " 3 dgrad 3 fwd 3 wgrad "
    expect "no plan" "$(values facts engine_handle | grep -c -- -1)" 0
    expect_true "some workspace" "$(values facts workspace_handle | sort -n | tail -n 1) > 65536"
}

facts_tell_a_wrong_profile() {
    sed 's/"deviceVer":900/"deviceVer":750/; s/"multiProcessorCount":132/"multiProcessorCount":40/' \
        "$root/conf/devices/h200.json" >"$work/turing.json"
    on facts --report "$work/facts.device" -- "$build/gpu/gpu_facts" --csv "$layers" --profile "$work/turing.json"
    if grep -q '"rule of thumb"' "$work/facts.device"; then
        cannot_run "planning by rule of thumb is the same for every GPU"
        return
    fi
    expect status "$status" 0
    # Turing has no bf16.
    expect "plans of bf16" "$(grep '"dtype": "bf16"' "$work/facts.out" | grep -c '"engine_profile": -1,.*"equal": false')" 3
    expect "equal f16 plans" "$(grep '"dtype": "f16"' "$work/facts.out" | grep -c '"equal": true')" 0
    expect summary "$(grep -cE '9 plans compared, [1-9] differ, 0 failed' "$work/facts.err")" 1
    echo '{"cudaDeviceId":' >"$work/broken.json"
    on facts -- "$build/gpu/gpu_facts" --csv "$layers" --profile "$work/broken.json"
    expect "status of half a profile" "$status" 1
}

facts_miss_a_file() {
    on facts -- "$build/gpu/gpu_facts" --csv "$layers" --profile "$work/absent.json"
    expect "status without the file" "$status" 1
    on facts -- "$build/gpu/gpu_facts" --capture "$work/absent/gpu.json"
    expect "status without the folder" "$status" 1
}

extra_layers_are_understood() {
    on facts -- "$build/gpu/gpu_facts" --csv "$root/tests/gpu/extra_layers.csv" --dir fwd
    expect status "$status" 0
    expect plans "$(values facts equal | grep -c true)" "$(($(wc -l <"$root/tests/gpu/extra_layers.csv") - 1))"
    # 1x16x124x1282x722 in and 1x16x124x1280x720 out, of 2 bytes an element, and some more
    expect_true "the largest workspace" \
        "$(values facts workspace_handle | sort -n | tail -n 1) > 2 * 16 * 124 * (1282 * 722 + 1280 * 720)"
}

runs_are_reproducible() {
    local dtype
    for dtype in f32 f16 bf16; do
        layers_of one --dtype "$dtype"
        expect status "$status" 0
        layers_of two --dtype "$dtype" --layers other,small
        expect "$dtype checksums" "$(values two checksum)" "$(values one checksum)"
        expect "$dtype layers" "$(values one checksum | sort -u | wc -l)" 3
    done
}

# FNV-1a over words of 8 bytes, computed by the shell.
fnv() {
    local hash=$((16#cbf29ce484222325)) word
    while read -r word; do
        hash=$(((hash ^ 16#$word) * 16#100000001b3))
    done < <(od -An -v -t x8 -w8 "$1")
    printf '%016x\n' "$hash"
}

checksum_is_of_the_dump() {
    layers_of dumped --layers other --dump "$work/y.dump"
    expect status "$status" 0
    expect bytes "$(stat -c %s "$work/y.dump")" "$(values dumped output_bytes)"
    # An output whose bytes do not fill the last word.
    expect_true "odd output" "$(values dumped output_bytes) % 8 != 0"
    head -c $((8 - $(values dumped output_bytes) % 8)) /dev/zero >>"$work/y.dump"
    expect checksum "$(values dumped checksum)" "$(fnv "$work/y.dump")"
}

tiles_change_the_memory_only() {
    local api
    for api in graph legacy; do
        layers_of plain --api "$api" --layers small --float64 20
        expect "$api status" "$status" 0
        rm -f "$work/summary"
        CONVSHIM_SUMMARY="json:$work/summary" CONVSHIM_CONFIG="policy=fit;workspace=64KiB" under=$preload layers_of tiled --api "$api" --layers small --float64 20
        expect "$api status, tiled" "$status" 0
        expect "$api lines" "$(lines tiled)" 2
        for key in checksum max_abs_error output_bytes; do
            expect "$api $key" "$(values tiled "$key")" "$(values plain "$key")"
        done
        expect_true "$api workspace" \
            "$(values tiled workspace | sort -n | tail -n 1) <= 65536 && $(values plain workspace | sort -n | head -n 1) > 65536"
        paste -d ' ' <(values plain device_peak) <(values tiled device_peak) >"$work/peaks"
        while read -r plain tiled; do
            expect_true "$api device peak" "$tiled < $plain"
        done <"$work/peaks"
        expect "$api violations" "$(grep -c '"violations":[[:space:]]*0,' "$work/tiled.device")" 1
        expect "$api calls, tiled" "$(summary_total calls "$work/summary"), $(summary_total tiled "$work/summary")" "12, 12"
    done
}

peak_is_the_device_s() {
    layers_of peak --layers small/conv2d
    expect peak "$(values peak device_peak)" "$(sed -nE 's/.*"peak_bytes":[[:space:]]*([0-9]+).*/\1/p' "$work/peak.device")"
    expect sum "$(values peak allocated_bytes)" \
        $(($(values peak input_bytes) + $(values peak filter_bytes) + $(values peak output_bytes) + $(values peak workspace)))
}

# The library's own scratch: the second layer uses the scratch of the first one again.
others_are_counted() {
    CONVSHIM_CONFIG="backing=own;workspace=64KiB" under=$preload layers_of taken --layers small
    expect_true taken "$(values taken taken_bytes | head -n 1) > 0 && $(values taken taken_bytes | head -n 1) <= 65536"
    expect "taken of the second" "$(values taken taken_bytes | sed -n 2p)" 0
    expect kept "$(values taken kept_bytes)" "$(values taken taken_bytes)"
    expect peak "$(values taken device_peak | head -n 1)" \
        $(($(values taken allocated_bytes | head -n 1) + $(values taken taken_bytes | head -n 1)))
}

errors_follow_the_dtype() {
    local dtype low high
    while read -r dtype low high; do
        layers_of error --dtype "$dtype" --layers small/conv2d --float64 200
        expect "$dtype samples" "$(values error samples) $(values error samples_not_finite)" "200 0"
        expect_real "$dtype error" "$(values error max_rel_error) > $low && $(values error max_rel_error) < $high"
    done <<'END'
f32 1e-9 1e-5
f16 5e-5 1e-3
bf16 5e-4 1e-2
END
}

times_are_ordered() {
    layers_of times --layers small
    expect status "$status" 0
    paste -d ' ' <(values times p10_us) <(values times median_us) <(values times p90_us) >"$work/times"
    while read -r p10 median p90; do
        expect_real "p10, median, p90" "0 < $p10 && $p10 <= $median && $median <= $p90"
    done <"$work/times"
    expect iterations "$(values times iterations | sort -u)" 3
}

autotuning_runs_the_answer_it_picks() {
    layers_of first --layers small/conv2d
    layers_of tuned --layers small/conv2d --benchmark
    expect status "$status" 0
    expect checksum "$(values tuned checksum)" "$(values first checksum)"
    # Its peak includes the largest workspace of all results.
    expect_true "own peak" "$(values tuned allocated_bytes) >= $(values first allocated_bytes)"
    expect launches $(($(sed -nE 's/.*"conv_launches":[[:space:]]*([0-9]+).*/\1/p' "$work/tuned.device") > 8)) 1
}

tiles_fit_where_the_whole_does_not() {
    layers_of whole --layers small/conv2d
    local capacity=$(($(values whole device_peak) - 65536))
    export SIMDEV_CAPACITY=$capacity
    layers_of full --layers small
    expect "untiled status" "$status" 1
    expect "untiled layers" "$(values full status | tr '\n' ,)" "out of memory,ok,"
    expect "no figures without a run" "$(sed -n 1p "$work/full.out" | grep -c median_us)" 0
    CONVSHIM_CONFIG="policy=fit;workspace=64KiB" under=$preload layers_of tiled --layers small
    expect "tiled status" "$status" 0
    expect "tiled checksum" "$(values tiled checksum | head -n 1)" "$(values whole checksum)"
    unset SIMDEV_CAPACITY
}

refusals_are_told() {
    export SIMDEV_FAIL=cudnnBackendExecute:1
    layers_of failing --layers small
    unset SIMDEV_FAIL
    expect status "$status" 1
    expect layers "$(values failing status | tr '\n' ,)" "error,ok,"
}

layers_are_selected() {
    layers_of one --layers small/conv3d
    expect layer "$(values one model)/$(values one layer)" small/conv3d
    layers_of one --layers small/conv3d,other
    expect layers "$(values one layer | tr '\n' ,)" conv3d,strided,
    for names in small/conv small/conv3d,absent smal '' 'small/conv3d,'; do
        layers_of none --layers "$names"
        expect "status for '$names'" "$status" 2
        expect "lines for '$names'" "$(lines none)" 0
    done
}

ballast_leaves_what_it_is_told() {
    local size
    for size in 16777216 16MiB 16m 16384k; do
        on ballast --capacity 64MiB -- "$build/gpu/gpu_ballast" --leave "$size" -- sh -c 'echo held; exit 3'
        expect "status for $size" "$status" 0
        expect "first line" "$(head -n 1 "$work/ballast.out")" held
        expect "figures for $size" \
            "$(for key in leave_bytes free_before ballast_bytes free_after command_status; do values ballast "$key"; done | tr '\n' ' ')" \
            "16777216 67108864 50331648 16777216 3 "
    done
    on ballast --capacity 64MiB -- "$build/gpu/gpu_ballast" --leave 1g -- true
    expect "ballast where less is free" "$(values ballast ballast_bytes) $(values ballast command_status)" "0 0"
    # shellcheck disable=SC2016 # for the inner shell
    on ballast --capacity 64MiB -- "$build/gpu/gpu_ballast" --leave 16MiB -- sh -c 'kill -9 $$'
    expect "status by signal" "$(values ballast command_status)" 137
    on ballast --capacity 64MiB -- "$build/gpu/gpu_ballast" --leave 16MiB -- "$work/absent"
    expect "status without the command" "$status" 1
    expect "lines without the command" "$(lines ballast)" 0
}

wrong_use() { # PROGRAM [arguments]
    on wrong --capacity 64MiB -- "$build/gpu/$1" "${@:2}"
    expect "status of $*" "$status" 2
    expect "lines of $*" "$(lines wrong)" 0
    expect "help after $*" "$(grep -c '^usage: ' "$work/wrong.err")" 1
}

wrong_use_is_refused() {
    wrong_use gpu_facts --unknown
    wrong_use gpu_facts --dir sideways
    wrong_use gpu_facts operand
    wrong_use gpu_ballast --leave 16MiB
    wrong_use gpu_ballast -- true
    for size in -1 16X 16MiBs 1.5g 99999999999g ''; do
        wrong_use gpu_ballast --leave "$size" -- true
    done
    for program in gpu_facts gpu_ballast; do
        on help -- "$build/gpu/$program" --help
        expect "$program --help" "$status $(head -n 1 "$work/help.out" | cut -d ' ' -f 1,2)" "0 usage: $program"
    done
}

no_device_is_told() {
    export SIMDEV_PROFILE=$work/absent.json
    for program in gpu_facts "gpu_ballast --leave 1m -- true"; do
        # shellcheck disable=SC2086 # words
        on none -- "$build/gpu/"$program
        expect "status of $program" "$status" 77
        expect "stdout of $program" "$(lines none)" 0
        expect "stderr of $program" "$(grep -c "^${program%% *}: no CUDA device: ." "$work/none.err")" 1
    done
    unset SIMDEV_PROFILE
}

lines_are_json() {
    if ! command -v python3 >/dev/null; then
        cannot_run "python3 is missing"
        return
    fi
    layers_of layers --float64 5
    on facts -- "$build/gpu/gpu_facts" --csv "$layers"
    on ballast --capacity 64MiB -- "$build/gpu/gpu_ballast" --leave 16MiB -- true
    cat "$work"/{layers,facts,ballast}.out |
        python3 -c 'import json, sys; print(sum(isinstance(json.loads(l), dict) for l in sys.stdin))' >"$work/objects"
    expect objects "$(cat "$work/objects")" 14
}

check 'facts: the GPU is told and captured' facts_tell_the_gpu
check 'facts: handle and profile plan the same' facts_agree_with_the_card
check 'facts: a wrong profile is found out' facts_tell_a_wrong_profile
check 'facts: a file that cannot be read or written' facts_miss_a_file
check 'facts: the extra layers' extra_layers_are_understood
check 'layers: two runs give the same checksums' runs_are_reproducible
check 'layers: the checksum is that of the dump' checksum_is_of_the_dump
check 'layers: tiles change the workspace, not the result' tiles_change_the_memory_only
check 'layers: the peak is that of the device' peak_is_the_device_s
check 'layers: what others take' others_are_counted
check 'layers: errors against float64' errors_follow_the_dtype
check 'layers: quantiles of the time' times_are_ordered
check 'layers: autotuning' autotuning_runs_the_answer_it_picks
check 'layers: out of memory untiled, not tiled' tiles_fit_where_the_whole_does_not
check 'layers: a call that fails' refusals_are_told
check 'layers: selection' layers_are_selected
check 'ballast' ballast_leaves_what_it_is_told
check 'wrong use' wrong_use_is_refused
check 'no device' no_device_is_told
check 'every line is JSON' lines_are_json
echo "1..$tests"
[ "$failures" = 0 ]
