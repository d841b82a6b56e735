#!/usr/bin/env bash
# Random forward convolutions, tiled against untiled, element by element, on the simulated device. TAP.
#
#   random.sh BUILD COUNT EVERY      COUNT problems an API, every EVERY-th setting of the patch_conv sweep
#
# Integer data whose sums are exact, so results must be equal to the bit however a problem is cut.
set -uo pipefail
build=$(realpath "$1") count=$2 every=$3 compared=0
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMDEV_DIR=$build/simdev OMP_NUM_THREADS=1
unset CONVSHIM CONVSHIM_CONFIGFILE CONVSHIM_LOG CONVSHIM_LOG_FILE CONVSHIM_SUMMARY
tests=0

note() { sed 's/^/# /' "$@"; }

verdict() { # STATUS NAME
    tests=$((tests + 1))
    if [ "$1" = 0 ]; then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}

# NAME [conv_random options]: the untiled results
untiled() {
    local name=$1
    shift
    "$root/scripts/with-simdev" --report "$work/$name.device" -- "$build/apps/conv_random" "$@" \
        --dump "$work/$name.plain" >"$work/$name.log" 2>&1
    local status=$?
    grep -q '"violations":[[:space:]]*0,' "$work/$name.device" || status=1
    [ "$status" = 0 ] || note "$work/$name.log"
    note <<<"$(tail -n 1 "$work/$name.log")"
    verdict "$status" "$name: untiled run"
}

# NAME CONFIG LEAST [conv_random options]: tiled results; at least LEAST percent of the calls must have been rewritten
tiled() {
    local name=$1 config=$2 least=$3 status=0 calls rewritten
    shift 3
    LD_PRELOAD=${CONVSHIM_SAN_RT:+$CONVSHIM_SAN_RT:}$build/libconvshim.so CONVSHIM_CONFIG=$config \
        "$root/scripts/with-simdev" --report "$work/device" -- "$build/apps/conv_random" "$@" \
        --dump "$work/tiled" >"$work/log" 2>&1 || status=1
    grep -q '"violations":[[:space:]]*0,' "$work/device" || status=1
    "$build/apps/compare" --exact "$work/$name.plain" "$work/tiled" >"$work/compare" 2>&1 || status=1
    read -r calls rewritten < <(sed -nE \
        's/.*convolutions +([0-9]+) calls: ([0-9]+) rewritten.*/\1 \2/p' "$work/log")
    [ "${rewritten:-0}" -gt 0 ] && [ $((100 * rewritten)) -ge $((least * calls)) ] || status=1
    grep -qE 'lifeboat [1-9]|failed [1-9]' "$work/log" && status=1
    [ "$status" = 0 ] && compared=$((compared + rewritten))
    [ "$status" = 0 ] || note <(tail -n 25 "$work/log")
    note <<<"$(tail -n 1 "$work/compare"); ${rewritten:-0} of ${calls:-0} calls rewritten"
    verdict "$status" "$name: tiled, $config"
    rm -f "$work/tiled" "$work/device"
}

for api in graph legacy; do
    problems=(--api "$api" --count "$count" --data integers --dtype all --seed 20261121)
    untiled "$api" "${problems[@]}"
    tiled "$api" "policy=fixed;tiles=3;threshold=0" 80 "${problems[@]}"
    tiled "$api" "policy=fit;workspace=8KiB" 3 "${problems[@]}"
done
problems=(--api graph --count "$((count / 4))" --data integers --dtype all --seed 7)
untiled one-row "${problems[@]}"
tiled one-row "policy=fixed;tiles=1024;threshold=0" 80 "${problems[@]}"
sweep=(--api graph --sweep patch_conv --every "$every" --data integers)
untiled sweep "${sweep[@]}"
tiled sweep "policy=fixed;tiles=4;threshold=0" 75 "${sweep[@]}"
verdict "$((compared < 2 * count))" "$compared calls run as tiles and compared element by element"
echo "1..$tests"
