#!/usr/bin/env bash
# Eight threads, each with its own handle and stream, 10,000 calls of changing convolutions under ThreadSanitizer. TAP.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
build=build/san-thread
# shellcheck source=tests/support/summary.bash
. tests/support/summary.bash
# shellcheck source=tests/support/policies.bash
. tests/support/policies.bash
log=$(mktemp) summary=$(mktemp)
trap 'rm -f "$log" "$summary"' EXIT
tests=0
for api in graph legacy; do
    tests=$((tests + 1))
    : >"$summary"
    SIMDEV_DIR=$PWD/$build/simdev OMP_NUM_THREADS=1 CONVSHIM_CONFIG="$FIXED;tiles=3;threshold=0" \
        CONVSHIM_SUMMARY=json:"$summary" LD_PRELOAD=$(gcc -print-file-name=libtsan.so):$PWD/$build/libconvshim.so \
        TSAN_OPTIONS="exitcode=66:suppressions=$PWD/tests/tsan.supp" \
        scripts/with-simdev -- $build/apps/threads --threads 8 --calls 10000 --api "$api" >"$log" 2>&1
    status=$?
    tiled=$(summary_total tiled "$summary")
    [ "${tiled:-0}" -ge 5000 ] || status=1
    if [ $status = 0 ] && ! grep -qE 'WARNING: ThreadSanitizer|(lock order|invariant) broken' "$log"; then
        echo "ok $tests - 10000 calls of the $api API on 8 threads under TSan"
    else
        head -n 60 "$log" | sed 's/^/# /'
        echo "not ok $tests - 10000 calls of the $api API on 8 threads under TSan (status $status)"
    fi
done
echo "1..$tests"
