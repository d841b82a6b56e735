#!/usr/bin/env bash
# Mixed traffic in adversarial orders under the race check: no race, equal results. TAP.
#
#   traffic.sh BUILD SEEDS OUT      SEEDS seeds in all, each with another traffic and another order; logs go to OUT
#
# Every backing with 1, 2 and 4 lanes, one thread and three, tiles of everything and the default under 16 KiB; below
# 1000 seeds each of the former with one of the latter. The library's scratch is scarce: it moves from stream to
# stream, and is sometimes used up.
set -euo pipefail
build=$(realpath "$1") seeds=$2 out=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/summary.bash
. "$root/tests/support/summary.bash"
# shellcheck source=tests/support/policies.bash
. "$root/tests/support/policies.bash"
export SIMDEV_DIR=$build/simdev OMP_NUM_THREADS=1 SIMDEV_RACES=1
unset CONVSHIM CONVSHIM_CONFIGFILE CONVSHIM_LOG CONVSHIM_LOG_FILE CONVSHIM_SUMMARY SIMDEV_FAIL SIMDEV_PROFILE SIMDEV_DROP
# The check distinguishes at most this number of streams in one process, so a process runs few seeds.
readonly CHUNK=50
readonly ALL="$FIXED;tiles=6;threshold=0;arena=300KiB" FIT="workspace=16KiB;max_slowdown=off;arena=64KiB"
readonly STEPS=30
readonly COMBINATIONS=$((seeds < 1000 ? 18 : 36))
mkdir -p "$out"
tests=0 first=1

# NAME CONFIG FIRST COUNT [traffic options]: fails with the numbers of the first seeds on stderr
traffic() {
    local name=$1 config=$2 from=$3 count=$4 status=0
    shift 4
    rm -f "$out/$name.summary"
    "$root/scripts/with-simdev" --report "$out/$name.json" -- \
        env LD_PRELOAD="${CONVSHIM_SAN_RT:+$CONVSHIM_SAN_RT:}$build/libconvshim.so" CONVSHIM_CONFIG="$config" CONVSHIM_SUMMARY="json:$out/$name.summary" \
        "$build/apps/traffic" --steps "$STEPS" --seeds "$from:$count" "$@" >"$out/$name.log" 2>&1 || status=$?
    [ "$status" = 0 ] && grep -q '"violations":[[:space:]]*0,' "$out/$name.json" &&
        [ "$(summary_total tiled "$out/$name.summary")" -gt 0 ] && [ "$(summary_total failed "$out/$name.summary")" = 0 ]
}

# NAME CONFIG COUNT [traffic options]: the next COUNT seeds
combination() {
    local name=$1 config=$2 count=$3 last=$((first + $3)) status=ok
    shift 3
    while [ "$status" = ok ] && [ "$first" -lt "$last" ]; do
        local part=$((last - first < CHUNK ? last - first : CHUNK))
        if ! traffic "$name" "$config" "$first" "$part" "$@"; then
            status="not ok"
            head -n 20 "$out/$name.log" | sed 's/^/# /'
        fi
        first=$((first + part))
    done
    first=$last
    tests=$((tests + 1))
    echo "$status $tests - seeds $((last - count)) to $((last - 1)): $name"
}

# LANES THREADS: which of `all` and `fit`
kinds() {
    if [ "$COMBINATIONS" = 36 ]; then
        echo all fit
    elif ((($1 == 2) != ($2 == 3))); then
        echo fit
    else
        echo all
    fi
}

number=0
for backing in client own auto; do
    hands=()
    [ "$backing" != auto ] || hands=(--empty-handed)
    for lanes in 1 2 4; do
        for threads in 1 3; do
            for kind in $(kinds "$lanes" "$threads"); do
                config=$ALL
                [ "$kind" = all ] || config=$FIT
                # Divided evenly. The last jobs get the remainder.
                count=$((seeds * (number + 1) / COMBINATIONS - seeds * number / COMBINATIONS))
                number=$((number + 1))
                [ "$count" = 0 ] ||
                    combination "$backing-$lanes-lanes-$threads-threads-$kind" "$config;lanes=$lanes;backing=$backing" \
                        "$count" --threads "$threads" "${hands[@]}"
            done
        done
    done
done
echo "1..$tests"
