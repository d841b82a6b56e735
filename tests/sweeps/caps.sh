#!/usr/bin/env bash
# Every layer of the shared list under caps of 8, 16, 64 and 256 MiB on seven GPUs, at any time, planned by the real cuDNN. If a
# layer stays over the cap, the log contains the reason, and cuDNN without the library requires more than the cap for
# its smallest possible tiles (smallest.py). TAP.
#
#   caps.sh BUILD DIRECTION     forward, data or filter
set -uo pipefail
build=$(realpath "$1") direction=$2
cd "$(dirname "$0")/../.." || exit 1
export SIMDEV_DIR=$build/simdev CONVSHIM_CONFIGFILE=/dev/null OMP_NUM_THREADS=1
unset CONVSHIM CONVSHIM_LOG_FILE CONVSHIM_SUMMARY SIMDEV_FAIL SIMDEV_PROFILE
readonly GPUS="${GPUS:-t4 a100 rtx3060 rtx4090 rtx5090 h200 b200}" CAPS="8 16 64 256" CSV=tests/data/conv_layers.csv
work=$(mktemp -d)
# Reasons in the log for convolutions that stay over the limit. The programs run no convolution, so there is no
# summary.
reasons=$(sed -nE 's/^CS_REASON\((NO_TILING|NO_FALLBACK|VENDOR), "(.*)"\)/\2/p' include/convshim/reasons.def)
[ "$(wc -l <<<"$reasons")" = 3 ] || { echo "Bail out! reasons.def has other names" && exit 1; }
trap 'rm -rf "$work"' EXIT
tests=0 table=()

# plan GPU NAME LIST OPTION... -- COMMAND...: the table of layers as NAME.csv
plan()
{
    local gpu=$1 name=$2 list=$3 options=()
    shift 3
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    scripts/with-simdev --profile "conf/devices/$gpu.json" --report "$work/$name.json" "$@" \
        "$build/apps/plan_layers" --csv "$list" --direction "$direction" "${options[@]}" >"$work/$name.csv" 2>"$work/$name.err"
}

# over FILE BYTES: the layers whose reported size is larger, each with this limit
over()
{
    awk -F, -v most="$2" 'NR > 1 && $7 + 0 > most { print $1 "/" $2, most }' "$1"
}

# explained FILE LEFT: the log has a line with the reason for at least LEFT layers, or reports that the limit was
# raised to about the smallest workspace of tiles
explained()
{
    [ "$(grep -cF -e "$reasons" -e ', raised' "$1")" -ge "$2" ]
}

# capped GPU CAP: writes the layers that stay over the cap to $work/left
capped()
{
    local gpu=$1 cap=$2 most=$(($2 << 20)) wanted left
    CONVSHIM_LOG=info CONVSHIM_CONFIG="workspace=${cap}MiB;max_slowdown=off" plan "$gpu" with $CSV -- \
        env LD_PRELOAD="${CONVSHIM_SAN_RT:+$CONVSHIM_SAN_RT:}$build/libconvshim.so" || return 1
    wanted=$(over "$work/plain.csv" $most | wc -l)
    over "$work/with.csv" $most >"$work/over"
    left=$(wc -l <"$work/over")
    cat "$work/over" >>"$work/left"
    row="$row  $cap MiB: $wanted > $left"
    explained "$work/with.err" "$left"
}

# proved GPU: cuDNN itself shows that no layer of $work/left could have come under its cap
proved()
{
    sort -u "$work/left" -o "$work/left"
    [ -s "$work/left" ] || return 0
    sed -E 's|^([^/]*)/([^ ]*) .*|, \2, \1|' "$work/left" | sort -u >"$work/names"
    grep -F -f "$work/names" $CSV >"$work/layers.csv"
    tests/sweeps/smallest.py list "$work/layers.csv" "$direction" "$work/left" >"$work/tiles.csv" || return 1
    cat "$work/layers.csv" >>"$work/tiles.csv"
    plan "$1" told "$work/tiles.csv" --all --precompiled -- || return 1
    tests/sweeps/smallest.py judge "$work/layers.csv" "$direction" "$work/left" "$work/told.csv"
}

verdict() # STATUS NAME
{
    tests=$((tests + 1))
    if [ "$1" = 0 ]; then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}

for gpu in $GPUS; do
    plan "$gpu" plain $CSV -- || exit 1
    if ! grep -q '"planning":[[:space:]]*"cudnn' "$work/plain.json"; then
        tests=$((tests + 1))
        echo "ok $tests - $gpu # SKIP no real cuDNN: nothing real can be planned"
        continue
    fi
    : >"$work/left"
    status=0 row=
    for cap in $CAPS; do
        capped "$gpu" "$cap" || status=1
    done
    table+=("$(printf '%-8s%s' "$gpu" "$row")")
    [ "$status" = 0 ] || tail -n 5 "$work/with.err" | sed 's/^/# /'
    verdict $status "$direction, $gpu: every layer under 8, 16, 64 and 256 MiB, or its reason"
    proved "$gpu"
    verdict $? "$direction, $gpu: $(wc -l <"$work/left") layers and caps are left because their smallest tiles want more"
done
[ ${#table[@]} = 0 ] || printf '# %s\n' "$direction, layers over a cap without the library > with it" "${table[@]}"
echo "1..$tests"
