#!/usr/bin/env bash
# Runs every fuzzer in DIR for SECONDS (30) each, as TAP. Findings, and all inputs worth keeping, stay in DIR.
#
#   tests/fuzz/run.sh DIR [SECONDS]
set -euo pipefail
seeds=$(dirname "${BASH_SOURCE[0]}")/seeds
dir=$1 seconds=${2:-30} number=0 failed=0
for fuzzer in "$dir"/fuzz_*; do
    [[ -f $fuzzer && -x $fuzzer ]] || continue
    name=${fuzzer##*/}
    number=$((number + 1))
    corpus=("$dir/corpus.$name")
    mkdir -p "${corpus[0]}"
    [ ! -d "$seeds/$name" ] || corpus+=("$seeds/$name")
    if "$fuzzer" -max_total_time="$seconds" -max_len=8192 -artifact_prefix="$dir/found-$name-" "${corpus[@]}" \
        >"$dir/$name.log" 2>&1; then
        echo "ok $number - $name: $(sed -nE 's/^Done ([0-9]+) runs.*/\1/p' "$dir/$name.log") inputs"
    else
        grep -E 'ERROR|runtime error|SUMMARY|Test unit written' "$dir/$name.log" | sed 's/^/# /' || true
        echo "not ok $number - $name"
        failed=1
    fi
done
echo "1..$number"
exit "$failed"
