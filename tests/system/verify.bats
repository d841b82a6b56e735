#!/usr/bin/env bats
# convshim verify: convolutions on the simulated device in compute mode, without and with the library.
load helper

export SIMDEV_PLANNING=rule
COMMAND=$BUILD/convshim
# Tiles of small convolutions, a call or two of each.
TILED=(--workspace 256KiB --threshold 0 --lanes 2 --iterations 2)

write_list()
{
    cat >list.csv <<'LIST'
1x32x64x64 -> 32 k3x3 p1 f16, conv2d, small
1x32x64x64 -> 32 k3x3 p1 f32 dgrad, gradient, small
1x32x64x64 -> 32 k3x3 p1 f32 wgrad, filter, small
1x16x33x30 -> 23 k5x3 s2 p2x1 bf16, strided, other
LIST
}

# keep_layers NAME...: of the list only these layers
keep_layers()
{
    local names=$*
    grep -E ", (${names// /|})," list.csv >kept.csv
    mv kept.csv list.csv
}

# verify OPTION...: leaves verify.out and verify.err
verify()
{
    on_device verify env LD_PRELOAD="$SAN_RT" CONVSHIM_MAX_SLOWDOWN=off "$COMMAND" verify "$@"
}

# result EXPRESSION: of the file `r` that --out wrote
result()
{
    python3 -c 'import json, sys
r = json.load(open("result.json"))
rows = {row["name"]: row for row in r["convolutions"]}
print(eval(sys.argv[1]))' "$1"
}

# bats test_tags=quick
@test "verify: equal results, status 0 and an answer that says safe" {
    write_list
    unset SIMDEV_PLANNING
    verify --layers list.csv "${TILED[@]}" --out result.json
    expect_status 0
    expect_line verify.out '^Safe on the simulated device: 3 of 4 results equal, the others except for the last bits\.$'
    expect_equal "the answer" "$(tail -n 1 verify.out)" "$(result 'r["answer"]')"
    expect_equal "results" "$(result '[rows[name]["result"] for name in ("conv2d", "gradient", "filter", "strided")]')" \
        "['equal', 'equal', 'last bits differ', 'equal']"
    expect_equal "small difference" "$(result '0 < rows["filter"]["difference"]["largest_difference"] < 1e-5 * rows["filter"]["difference"]["largest_number"]')" True
    expect_equal "reported below required" "$(result 'rows["conv2d"]["with_convshim"]["workspace"] < rows["conv2d"]["untiled"]["workspace"]')" True
    ! planned_by_cudnn verify || expect_equal "predicted" "$(result 'rows["conv2d"]["predicted"]["reported"] == rows["conv2d"]["with_convshim"]["workspace"]')" True
    expect_no_violation verify
    expect_equal "left behind" "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'convshim-verify-*' -user "$(id -u)")" ""
    verify --layers nowhere.csv --out result.json
    ! grep -q result.json verify.err || fail "an earlier output may not be replaced"
}

# bats test_tags=quick
@test "verify: tiles that are not waited for, the convolution that differs and status 1" {
    write_list
    keep_layers conv2d strided
    SIMDEV_SEED=1 SIMDEV_DROP='cuStreamWaitEvent:*' verify --layers list.csv "${TILED[@]}" --out result.json
    expect_status 1
    expect_line verify.out '^Not safe: conv2d: [0-9]+ of 131072 numbers differ with convshim, by up to '
    expect_equal "results" "$(result '[rows[name]["result"] for name in ("conv2d", "strided")]')" "['DIFFERS', 'equal']"
}

# bats test_tags=quick
@test "verify: a memory limit, larger convolutions are not run" {
    write_list
    verify --layers list.csv "${TILED[@]}" --memory 256KiB --out result.json
    expect_status 3
    expect_equal "results" "$(result 'sorted((name, row["untiled"]["status"]) for name, row in rows.items())')" \
        "[('conv2d', 'too large for --memory'), ('filter', 'too large for --memory'), ('gradient', 'too large for --memory'), ('strided', 'ok')]"
    expect_true "peak" "$(device verify peak_bytes) <= 262144"
}

@test "verify: a time limit shorter than the list, an end in time and no answer" {
    local start=$SECONDS
    verify --time 4
    expect_true "seconds" "$SECONDS - $start < 30"
    expect_status 3
    expect_line verify.out '^No result: no convolution could be compared\. 11 were not run, such as .*: no time\.$'
    expect_true "rows" "$(grep -c 'not run: no time$' verify.out) >= 10"
}

@test "verify: no GPU, status 3 and the command to use instead" {
    status=0
    CUDA_VISIBLE_DEVICES="" "$COMMAND" verify >verify.out 2>verify.err || status=$?
    expect_status 3
    expect_empty verify.out
    expect_line verify.err '^convshim: verify: no GPU: .*convshim simulate -- COMMAND$'
}

@test "verify --once: a line for each layer, of the given type and within the given memory" {
    write_list
    verify --once --layers list.csv --dtype f16 --iterations 1 --memory 256KiB
    expect_status 1
    python3 - <<'PY' || fail "lines"
import json
rows = [json.loads(line) for line in open("verify.out")]
assert [row["index"] for row in rows] == [0, 1, 2, 3], rows
assert all(" f16 " in row["text"] for row in rows), rows
assert [row["status"] for row in rows] == ["too large for --memory"] * 3 + ["ok"], rows
assert rows[3]["checksum"] == rows[3]["repeated"] and rows[3]["differing"] == 0, rows
PY
}

@test "verify: tiles that fit where the untiled call does not, not run and not unsafe" {
    write_list
    keep_layers conv2d
    verify --layers list.csv "${TILED[@]}" --out result.json
    local peak
    peak=$(result 'rows["conv2d"]["untiled"]["device_peak"]')
    SIMDEV_CAPACITY=$((peak - 65536)) verify --layers list.csv "${TILED[@]}" --out result.json
    expect_status 3
    expect_line verify.out '^No result: no convolution could be compared\. 1 was not run, such as conv2d: too large for --memory\.$'
}

@test "verify --out: no path, no name of the user, the commit, the date and simulated" {
    write_list
    keep_layers conv2d
    verify --layers list.csv "${TILED[@]}" --out result.json
    ! grep -qE '/(home|root|tmp|usr|work|lib)' result.json || fail "a path"
    expect_equal "simulated" "$(result 'r["gpu"]["simulated"]')" True
    expect_equal "date" "$(result 'r["date"]')" "$(date -u +%Y-%m-%d)"
    expect_equal "options" "$(result '"CONVSHIM_WORKSPACE=256KiB" in r["options"]')" True
    expect_equal "third run" "$(result 'rows["conv2d"]["untiled_again"]["checksum"] == rows["conv2d"]["untiled"]["checksum"]')" True
}

@test "verify --profile: every profile of the simulated device is reproduced, and simulates the same GPU" {
    local profile
    sed 's/"memoryBusWidth":[0-9]*,//' "$ROOT/conf/devices/h200.json" >narrow.json
    for profile in "$PWD/narrow.json" "$ROOT"/conf/devices/{h200,t4,rtx5090}.json "$PWD/captured.json"; do
        SIMDEV_PROFILE=$profile verify --profile
        expect_status 0
        python3 -c 'import json, re, sys
captured, profile = (json.load(open(path)) for path in sys.argv[1:])
assert re.fullmatch(r"captured on \d{4}-\d\d-\d\d with cuDNN 9\.\d+\.\d+", captured.pop("source")), captured
profile.pop("source")
assert captured == profile, (captured, profile)' verify.out "$profile" || fail "not as $profile"
        if [[ $profile == */narrow.json ]]; then
            expect_line verify.err '^convshim: verify: the driver does not report the width of the memory bus\. Add "memoryBusWidth"'
        else
            expect_empty verify.err
        fi
        cp verify.out captured.json
    done
    verify --profile --cudnn missing.so
    expect_status 3
    expect_line verify.err '^convshim: verify: no usable cuDNN: missing\.so: .*No such file'
}
