#!/usr/bin/env bash
# Every layer of the shared list under caps of 8, 16, 64 and 256 MiB on seven cards, by policies fit and fast, planned by
# the real cuDNN: what stays over the cap is listed with its reason. TAP.
#
#   caps.sh BUILD [DIRECTION...]     forward by default; data, filter
set -uo pipefail
build=$(realpath "$1")
shift
cd "$(dirname "$0")/../.." || exit 1
export SIMDEV_DIR=$build/simdev CONVSHIM_CONFIGFILE=/dev/null OMP_NUM_THREADS=1
unset CONVSHIM CONVSHIM_LOG_FILE CONVSHIM_SUMMARY SIMDEV_FAIL SIMDEV_PROFILE
readonly CARDS="t4 a100 rtx3060 rtx4090 rtx5090 h200 b200" CAPS="8 16 64 256" CSV=tests/data/conv_layers.csv
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=0

# plan CARD DIRECTION NAME COMMAND...: the table of layers as NAME.csv
plan()
{
    local card=$1 direction=$2 name=$3
    shift 3
    scripts/with-simdev --profile "conf/devices/$card.json" --report "$work/$name.json" -- "$@" \
        "$build/apps/plan_layers" --csv $CSV --direction "$direction" >"$work/$name.csv" 2>"$work/$name.err"
}

# over FILE BYTES: the layers that are told more
over()
{
    awk -F, -v most="$2" 'NR > 1 && $7 + 0 > most { print $1 "/" $2, $7 }' "$1"
}

# Every convolution that is told more than the cap has a line in the log that ends with a reason.
capped()
{
    local card=$1 direction=$2 policy=$3 cap=$4 most=$(($4 << 20)) wanted left reasons
    CONVSHIM_LOG=info CONVSHIM_CONFIG="workspace=${cap}MiB;policy=$policy;min_saving=0" plan "$card" "$direction" with \
        env LD_PRELOAD="${CONVSHIM_SAN_RT:+$CONVSHIM_SAN_RT:}$build/libconvshim.so" || return 1
    wanted=$(over "$work/plain.csv" $most | wc -l)
    over "$work/with.csv" $most >"$work/left"
    left=$(wc -l <"$work/left")
    reasons=$(grep -cE 'no tiling comes under the limit|no engine for the whole problem under the limit|refused the tile' \
        "$work/with.err")
    echo "# $card $direction $policy $cap MiB: $wanted over without the library, $left with it"
    sed 's/^/#   /' "$work/left"
    # The backward directions have kernels whose workspace is the filter's: no cut of an image makes that smaller.
    [ "$left" = 0 ] || { [ "$reasons" -gt 0 ] && [ "$direction" != forward ]; }
}

for direction in "${@:-forward}"; do
    for card in $CARDS; do
        plan "$card" "$direction" plain env || exit 1
        if ! grep -q '"planning":[[:space:]]*"cudnn' "$work/plain.json"; then
            tests=$((tests + 1))
            echo "ok $tests - $card # SKIP no real cuDNN: nothing real can be planned"
            continue
        fi
        for policy in fit fast; do
            status=ok
            for cap in $CAPS; do
                capped "$card" "$direction" $policy "$cap" || status="not ok"
            done
            [ "$status" = ok ] || tail -n 5 "$work/with.err" | sed 's/^/# /'
            tests=$((tests + 1))
            echo "$status $tests - $direction, $card, $policy: every layer under 8, 16, 64 and 256 MiB, or its reason"
        done
    done
done
echo "1..$tests"
