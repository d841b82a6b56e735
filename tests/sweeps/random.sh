#!/usr/bin/env bash
# Random convolutions, tiled against untiled, element by element, on the simulated device. TAP.
#
#   random.sh BUILD COUNT EVERY      COUNT problems an API and direction, every EVERY-th setting of the patch_conv sweep
#
# Integer data whose sums are exact, so results must be equal to the bit however a problem is cut; filter gradients also
# with real numbers, where the tiled result must be no further from float64 than the untiled one. A COUNT below 2000 is
# the short run: a third of the backward problems, which cost more, and of the fused forms those that need no compiler.
set -uo pipefail
build=$(realpath "$1") count=$2 every=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/summary.bash
. "$root/tests/support/summary.bash"
# shellcheck source=tests/support/policies.bash
. "$root/tests/support/policies.bash"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SIMDEV_DIR=$build/simdev OMP_NUM_THREADS=1
unset CONVSHIM CONVSHIM_CONFIGFILE CONVSHIM_LOG CONVSHIM_LOG_FILE CONVSHIM_SUMMARY SIMDEV_FAIL SIMDEV_PROFILE
readonly EVERYTHING="$FIXED;tiles=3;threshold=0"
readonly SEED=20261121
tests=0
declare -A calls=() tiled=() refused=() elements=() different=()

# The least share of tiled calls, in percent: if everything is to be tiled, and under 8 KiB. Not tileable are single
# rows of one channel, and 16-bit filter gradients of grouped convolutions.
readonly -A LEAST_ALL=([forward]=80 [data]=80 [filter]=65) LEAST_FIT=([forward]=3 [data]=3 [filter]=2)
readonly LEAST_STAGED=8
# Forms that are planned for a GPU of another generation than the H200.
readonly -A FORM_GPU=([filter]=ampere)

note() { sed 's/^/# /' "$@"; }

verdict() { # STATUS NAME
    tests=$((tests + 1))
    if [ "$1" = 0 ]; then echo "ok $tests - $2"; else echo "not ok $tests - $2"; fi
}

# GPU COMMAND...: on the simulated device, whose report is left in $work/device
on_device() {
    local gpu=$1
    shift
    "$root/scripts/with-simdev" ${gpu:+--profile "$work/$gpu.json"} --report "$work/device" -- "$@"
}

no_violation() { grep -q '"violations":[[:space:]]*0,' "$work/device"; }

# NAME GPU [conv_random options]: the untiled results
untiled() {
    local name=$1 gpu=$2 status=0
    shift 2
    on_device "$gpu" "$build/apps/conv_random" "$@" --dump "$work/$name.plain" >"$work/$name.log" 2>&1 || status=1
    no_violation || status=1
    [ "$status" = 0 ] || note <(tail -n 25 "$work/$name.log")
    note <<<"$(tail -n 1 "$work/$name.log")"
    verdict "$status" "$name: untiled run"
}

# launches: of the last run, as the device counted them
launches() { sed -nE 's/.*"conv_launches":[[:space:]]*([0-9]+).*/\1/p' "$work/device" | head -n 1; }

# KIND NAME: adds the counts of the last tiled run to the sums of the kind
account() {
    local kind=$1 name=$2 part
    last_calls=$(summary_total calls "$work/summary") last_tiled=$(summary_total tiled "$work/summary")
    calls[$kind]=$((${calls[$kind]:-0} + ${last_calls:=0}))
    tiled[$kind]=$((${tiled[$kind]:-0} + ${last_tiled:=0}))
    part=$(sed -nE '$s/.* ([0-9]+) refused.*/\1/p' "$work/$name.log")
    refused[$kind]=$((${refused[$kind]:-0} + ${part:-0}))
    part=$(sed -nE '$s/.* ([0-9]+) elements.*/\1/p' "$work/compare")
    elements[$kind]=$((${elements[$kind]:-0} + ${part:-0}))
    part=$(sed -nE '$s/.* ([0-9]+) differ.*/\1/p' "$work/compare")
    different[$kind]=$((${different[$kind]:-0} + ${part:-0}))
}

# KIND NAME GPU CONFIG LEAST RULE [conv_random options]: tiled results, compared with the untiled ones by compare's
# RULE;
# at least LEAST percent of the calls must have been tiled
tiled() {
    local kind=$1 name=$2 gpu=$3 config=$4 least=$5 rule=$6 status=0 last_calls='' last_tiled='' fallback
    shift 6
    rm -f "$work/summary"
    on_device "$gpu" env LD_PRELOAD="${CONVSHIM_SAN_RT:+$CONVSHIM_SAN_RT:}$build/libconvshim.so" \
        CONVSHIM_CONFIG="$config" CONVSHIM_SUMMARY="json:$work/summary" "$build/apps/conv_random" "$@" --dump "$work/tiled" >"$work/log" 2>&1 || status=1
    no_violation || status=1
    # shellcheck disable=SC2086 # the rule's own words
    "$build/apps/compare" $rule "$work/$name.plain" "$work/tiled" >"$work/compare" 2>&1 || status=1
    account "$kind" "$name"
    [ "$last_tiled" -gt 0 ] && [ $((100 * last_tiled)) -ge $((least * last_calls)) ] || status=1
    # A legacy query has no beta. If a tile requires more than was reported because of it, the fallback plan runs.
    # This is rare.
    fallback=$(summary_total fallback "$work/summary")
    [ "${fallback:-$last_calls}" -le $((last_calls / 50)) ] || status=1
    [ "$(summary_total failed "$work/summary")" = 0 ] || status=1
    [ "$status" = 0 ] || note <(tail -n 25 "$work/log")
    [ "$status" = 0 ] || note <(head -n 12 "$work/compare")
    note <<<"$(tail -n 1 "$work/compare"); $last_tiled of $last_calls calls tiled, ${fallback:-?} on the fallback plan"
    verdict "$status" "$name: tiled, $config"
    rm -f "$work/tiled"
}

# NAME CONFIG [conv_random options]: the same without a summary, which does not describe small legacy calls
unsummarised() {
    local name=$1 config=$2 status=0 before
    shift 2
    on_device "" "$build/apps/conv_random" "$@" --dump "$work/tiled" >"$work/log" 2>&1 || status=1
    before=$(launches)
    on_device "" env LD_PRELOAD="${CONVSHIM_SAN_RT:+$CONVSHIM_SAN_RT:}$build/libconvshim.so" CONVSHIM_CONFIG="$config" \
        CONVSHIM_SUMMARY=off "$build/apps/conv_random" "$@" --dump "$work/tiled" >"$work/log" 2>&1 || status=1
    no_violation || status=1
    "$build/apps/compare" --exact "$work/$name.plain" "$work/tiled" >"$work/compare" 2>&1 || status=1
    [ "$(launches)" -gt "$before" ] || status=1
    [ "$status" = 0 ] || note <(tail -n 25 "$work/log")
    note <<<"$(tail -n 1 "$work/compare"); $(launches) launches, $before without the library"
    verdict "$status" "$name: tiled, no summary, $config"
    rm -f "$work/tiled"
}

# KIND LEAST: the sum of a direction or of the fused forms
sum_up() {
    local kind=$1 least=$2
    note <<<"$kind: ${calls[$kind]:-0} calls run, ${tiled[$kind]:-0} tiled, ${refused[$kind]:-0} refused,\
 ${elements[$kind]:-0} elements compared, ${different[$kind]:-0} different"
    verdict $((${tiled[$kind]:-0} < least || ${different[$kind]:-1} != 0)) \
        "$kind: ${tiled[$kind]:-0} calls run as tiles, at least $least"
}

# DIRECTION COUNT
directions() {
    local direction=$1 api problems
    for api in graph legacy; do
        problems=(--direction "$direction" --api "$api" --count "$2" --data integers --dtype all --seed "$SEED")
        untiled "$direction-$api" "" "${problems[@]}"
        tiled "$direction" "$direction-$api" "" "$EVERYTHING" "${LEAST_ALL[$direction]}" --exact "${problems[@]}"
        tiled "$direction" "$direction-$api" "" "workspace=8KiB;max_slowdown=off" "${LEAST_FIT[$direction]}" --exact \
            "${problems[@]}"
        [ "$api" = graph ] || unsummarised "$direction-$api" "workspace=8KiB;max_slowdown=off" "${problems[@]}"
        # Small tiles with their copies often need more than the untiled convolution: those calls stay untiled.
        [ "$api" = legacy ] || tiled "$direction" "$direction-$api" "" "$EVERYTHING;staged=always" \
            "$LEAST_STAGED" --exact "${problems[@]}"
    done
}

# NAME DIRECTION TILES LEAST [conv_random options]: another choice of problems, graph API only
further() {
    local name=$1 direction=$2 tiles=$3 least=$4
    shift 4
    local problems=(--direction "$direction" --api graph --data integers "$@")
    untiled "$name" "" "${problems[@]}"
    tiled "$direction" "$name" "" "$FIXED;tiles=$tiles;threshold=0" "$least" --exact "${problems[@]}"
}

# COUNT: filter gradients of real numbers
gradients() {
    local problems=(--direction filter --api graph --count "$1" --data normal --dtype all --seed 3)
    untiled gradients "" "${problems[@]}" --reference "$work/reference"
    tiled filter gradients "" "$EVERYTHING" 65 "--reference $work/reference" "${problems[@]}"
}

# FORM COUNT TYPES LEAST: a fused form, of which cuDNN must take at least LEAST problems
fused() {
    local form=$1 gpu=${FORM_GPU[$1]:-} problems ran
    problems=(--fused "$form" --count "$2" --data integers --dtype "$3" --seed "$SEED")
    untiled "fused-$form" "$gpu" "${problems[@]}" --check
    ran=$(sed -nE '$s/.*: ([0-9]+) problems, ([0-9]+) refused.*/\1 - \2/p' "$work/fused-$form.log")
    verdict $((${ran:-0} < $4)) "fused-$form: $((${ran:-0})) problems that cuDNN takes, at least $4"
    tiled fused "fused-$form" "$gpu" "$EVERYTHING" 70 --exact "${problems[@]}"
    [ "$form" = legacy ] || tiled fused "fused-$form" "$gpu" "$EVERYTHING;staged=always" "$LEAST_STAGED" --exact "${problems[@]}"
}

backward=$((count < 2000 ? (count + 2) / 3 : count))
directions forward "$count"
directions data "$backward"
directions filter "$backward"
further one-row forward 1024 80 --count "$((count / 4))" --dtype all --seed 7
further one-row-data data 1024 80 --count "$((backward / 8))" --dtype all --seed 7
further sweep forward 4 75 --sweep patch_conv --every "$every"
further sweep-data data 4 45 --sweep patch_conv --every "$((2 * every + 1))"
gradients "$((backward / 2))"

# Engines that accept only equal padding: by the rule of thumb, whose engine accepts everything else. Problems that
# have unequal padding themselves are left to the plain engine.
planning=${SIMDEV_PLANNING-}
export SIMDEV_PLANNING=rule SIMDEV_REFUSE=padding
further equal-padding forward 3 80 --count "$count" --dtype all --seed 61
further equal-padding-data data 3 80 --count "$backward" --dtype all --seed 61
unset SIMDEV_REFUSE
SIMDEV_PLANNING=$planning

# Engines that are compiled for their problem take seconds to decide about: few of those, and only in the long run.
sed 's/"deviceVer": *900/"deviceVer": 800/' "$root/conf/devices/h200.json" >"$work/ampere.json"
few=$((count / 200 + 2)) some=$((count / 20 + 4))
fused residual "$((count < 2000 ? 4 : some))" f16 "$((count < 2000 ? 2 : some / 2))"
fused legacy "$some" all "$((some / 4))"
fused filter "$some" f16 "$((some / 3))"
if [ "$count" -ge 2000 ]; then
    for form in activation scaled broadcast input; do
        fused "$form" "$few" all "$((few / 2))"
    done
fi

# Each with two APIs.
sum_up forward "$((2 * count))"
sum_up data "$((3 * backward / 2))"
sum_up filter "$((5 * backward / 4))"
sum_up fused "$((some / 2))"
echo "1..$tests"
