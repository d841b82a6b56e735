#!/usr/bin/env bats
# The summary as JSON. An independent parser reads it.
# shellcheck disable=SC2016 # input of Python
load helper

DECODER=("$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f32)

# decode ARGUMENT...: the decoder, whose figures alone matter: no convolution is computed.
decode()
{
    SIMDEV_MODE=account shimmed "${DECODER[@]}" "$@"
}

# value EXPRESSION [FILE]: of the summary `s`, as python prints it.
value()
{
    summary_value "$1" "${2:-summary.json}"
}

# The JSON summary of the last program adds up, and its counts equal the device's.
expect_summary_agrees()
{
    expect_equal "calls by outcome" "$(value 's["totals"]["tiled"] + s["totals"]["fallback"] + s["totals"]["failed"] +
        total(s["totals"]["not_tiled"], "calls")')" "$(value 's["totals"]["calls"]')"
    expect_equal "calls of sites" "$(value 'total(s["sites"], "calls") + s["folded"]["calls"]')" "$(value 's["totals"]["calls"]')"
    expect_equal "tiles of sites" "$(value 'total(s["sites"], "launches")')" "$(value 's["totals"]["launches"]')"
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" \
        "$(value 's["totals"]["launches"] + s["totals"]["fallback"] + total(s["totals"]["not_tiled"], "calls")')"
    expect_true "largest workspace used <= told" "$(device shimmed largest_workspace_used) <= $(value 's["totals"]["reported_max"]')"
    expect_true "largest workspace reported is of a site" \
        "$(value 'int(s["totals"]["reported_max"] in [site["reported"] for site in s["sites"] if site["calls"]])')"
}

decoder()
{
    CONVSHIM_SUMMARY=json:summary.json CONVSHIM_CONFIG="workspace=12MiB" decode --api "$1"
    expect_status 0
    expect_no_violation shimmed
    expect_line shimmed.err "^convshim\\[[0-9]+\\]: summary written\\. To view it: convshim report $PWD/summary.json\$"
    expect_equal "lines" "$(wc -l <shimmed.err)" 1
    expect_summary_agrees
    expect_equal "calls" "$(value 's["totals"]["calls"]')" 35
    expect_equal "calls of the order" "$(value 'len(s["order"])')" 35
    expect_equal "device" "$(value 's["device"]["name"]')" "$(sed -nE 's/.*"device_name":[[:space:]]*"(.*)",/\1/p' shimmed.json)"
    expect_equal "program" "$(value 's["process"]["program"]')" vae_decoder
    expect_true "tiled calls" "$(value 's["totals"]["tiled"]') > 0"
    # Each layer's x is the y of the one before, but where the image grows; small ones too are described.
    expect_true "chains" "$(value 'sum(s["sites"][b]["problem"]["x"]["dims"][1] == s["sites"][a]["problem"]["y"]["dims"][1]
        for a, b in zip(s["order"], s["order"][1:]))') > 25"
}

# bats test_tags=quick
@test "the summary of a decoder, graph API: totals, sites and device agree" {
    decoder graph
}

@test "the summary of a decoder, legacy API: totals, sites and device agree" {
    decoder legacy
}

@test "random convolutions of every kind, both APIs: totals, sites and device agree" {
    local api
    for api in graph legacy; do
        CONVSHIM_SUMMARY=json:summary.json CONVSHIM_CONFIG=$EVERYTHING \
            shimmed "$APPS/conv_random" --api "$api" --count "$(few 60)" --seed 35 --dtype all --data integers
        expect_status 0
        expect_summary_agrees
            expect_true "tiled calls" "$(value 's["totals"]["tiled"]') > $(few 10)"
    done
}

@test "eight threads: sites and totals agree" {
    CONVSHIM_SUMMARY=json:summary.json CONVSHIM_CONFIG="$EVERYTHING" \
        shimmed "$APPS/threads" --threads 8 --calls "$(few 400)" --seed 43 --api both
    expect_status 0
    expect_summary_agrees
}

@test "the text summary has the same figures" {
    CONVSHIM_SUMMARY=text CONVSHIM_CONFIG="workspace=12MiB" decode --api graph
    cp shimmed.err text.err
    CONVSHIM_SUMMARY=json:summary.json CONVSHIM_CONFIG="workspace=12MiB" decode --api graph
    expect_equal "calls" "$(value 's["totals"]["calls"]')" "$(counted calls text.err)"
    expect_equal "tiled" "$(value 's["totals"]["tiled"]')" "$(counted tiled text.err)"
    expect_equal "extra launches" "$(value 's["totals"]["extra_launches"]')" "$(counted extra text.err)"
}

@test "text,json: both, and a line for each file that was written" {
    CONVSHIM_SUMMARY=text,json:summary.json CONVSHIM_WORKSPACE=12MiB \
        decode --api graph
    expect_status 0
    expect_equal "calls" "$(value 's["totals"]["calls"]')" "$(counted calls)"
    expect_line shimmed.err "^convshim\\[[0-9]+\\]: summary written\\. To view it: convshim report $PWD/summary.json\$"
    CONVSHIM_SUMMARY=json:summary.json CONVSHIM_LOG=off decode --api graph
    expect_empty shimmed.err
}

@test "hostile names: the program's, the file's, the options'" {
    local name=$'a"},{\n\xff\\'
    cp "${DECODER[0]}" "$name"
    CONVSHIM_SUMMARY=json:$'out \\"\xff.%p' CONVSHIM_CONFIG="log_file=a\"b	c" SIMDEV_MODE=account shimmed "./$name" "${DECODER[@]:1}" --api graph
    expect_status 0
    local written=(out*)
    expect_equal "files" "${#written[@]}" 1
    expect_equal "program" "$(value 's["process"]["program"] == "a\"},{\n\xff\\"' "${written[0]}")" True
    expect_equal "the name of the file ends in the process id" "${written[0]##*.}" "$(value 's["process"]["pid"]' "${written[0]}")"
    expect_equal "log_file" "$(value 's["config"]["options"]["log_file"] == "a\"b\tc"' "${written[0]}")" True
}

@test "a relative path starts from the program's first folder, and ranks are recorded" {
    mkdir elsewhere
    RANK=5 CONVSHIM_SUMMARY=json:elsewhere/s.json decode --api graph
    expect_equal "rank" "$(value 's["process"]["rank"]' elsewhere/s.json)" 5
    SLURM_PROCID=2 CONVSHIM_SUMMARY=json:s.json decode --api graph
    expect_equal "rank" "$(value 's["process"]["rank"]' s.json)" 2
    CONVSHIM_SUMMARY=json:s.json decode --api graph
    expect_equal "rank" "$(value 's["process"]["rank"]' s.json)" None
}

@test "an unwritable summary: one line, the program unharmed, no partial file" {
    CONVSHIM_SUMMARY=json:nowhere/s.json decode --api graph
    expect_status 0
    expect_line shimmed.err '^convshim\[[0-9]+\]: .*summary: No such file or directory: nowhere/s\.json$'
    expect_equal "lines" "$(wc -l <shimmed.err)" 1
    mkdir taken
    CONVSHIM_SUMMARY=json:taken decode --api graph
    expect_status 0
    expect_line shimmed.err '.*summary: Is a directory: taken$'
    ! compgen -G '*.part' || fail "a rest was left"
}

@test "links and pipes are written to, not replaced or emptied" {
    local reader
    ln -s /proc/self/fd/2 link
    CONVSHIM_SUMMARY=json:link SIMDEV_MODE=account shimmed sh -c 'echo before >&2; exec "$@"' sh "${DECODER[@]}" --api graph
    expect_status 0
    [ -L link ] || fail "the link was replaced"
    expect_equal "the first line" "$(head -n 1 shimmed.err)" before
    tail -n +2 shimmed.err >written
    expect_equal "calls" "$(value 's["totals"]["calls"]' written)" 35
    mkfifo pipe
    cat pipe >summary.json &
    reader=$!
    exec 9>pipe
    CONVSHIM_SUMMARY=json:pipe decode --api graph
    exec 9>&-
    wait "$reader"
    [ -p pipe ] || fail "the pipe was replaced"
    expect_equal "calls" "$(value 's["totals"]["calls"]')" 35
}

@test "more shapes than the table can hold: the largest stay, and all sums are complete" {
    local calls=${SHAPE_CALLS:-4000}
    status=0
    LD_LIBRARY_PATH=$BUILD/bench:$BUILD/simdev CONVSHIM_SUMMARY=json:summary.json CONVSHIM_CONFIG="workspace=8KiB" \
        LD_PRELOAD=$PRELOAD "$APPS/soak" --calls "$calls" --repeat 1 >shimmed.out 2>shimmed.err || status=$?
    expect_status 0
    expect_equal "calls" "$(value 's["totals"]["calls"]')" "$calls"
    expect_equal "sites" "$(value 'len(s["sites"])')" 1800
    expect_equal "calls of sites" "$(value 'total(s["sites"], "calls") + s["folded"]["calls"]')" "$calls"
    expect_true "folded" "$(value 's["folded"]["calls"]') > $calls / 2"
    expect_equal "the largest has a site" "$(value 'max(site["required"] for site in s["sites"]) == s["totals"]["required_max"]')" True
}

@test "sites have the name of the NVTX range around them, with the injection alone" {
    CONVSHIM_SUMMARY=json:summary.json NVTX_INJECTION64_PATH=$LIBRARY shimmed "$CLIENTS/ranges" "$CLIENTS/libwork.so"
    expect_status 0
    expect_line shimmed.out ' levels 0 1 1$'
    expect_equal "names" "$(value '[site["name"] for site in s["sites"] if site["calls"]]')" "['decoder \"up\" 3', 'step']"
    CONVSHIM_SUMMARY=json:summary.json shimmed "$CLIENTS/ranges" "$CLIENTS/libwork.so"
    expect_status 0
    expect_equal "names" "$(value '[site["name"] for site in s["sites"] if site["calls"]]')" "['', '']"
    CONVSHIM=0 NVTX_INJECTION64_PATH=$LIBRARY shimmed "$CLIENTS/ranges" "$CLIENTS/libwork.so"
    expect_line shimmed.out ' levels -2 -2 -2$'
}

# predict's sizes equal those of the run, required and reported. A limit that is a number needs no record of the run, and no plan
# is refused, because predict takes cuDNN's first one.
# cuDNN offers the engines of cuBLASLt to programs that have it. predict assumes that.
predicts_the_run() {
    local cudnn CUBLAS=$BUILD/stand_ins/libcublasLt.so.13
    local SAN_RT=${SAN_RT:+$SAN_RT:}$CUBLAS PRELOAD=$PRELOAD:$CUBLAS
    cudnn=$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")
    SIMDEV_MODE=account CONVSHIM_CONFIG="workspace=1MiB;max_slowdown=off;untileable=run" CONVSHIM_SUMMARY=json:summary.json shimmed "$APPS/vae_decoder" \
        --csv "$ROOT/tests/data/conv_layers.csv" --px 96 "$@"
    expect_status 0
    planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR"
    LD_PRELOAD='' "$BUILD/convshim" predict --cudnn "$cudnn" --summary summary.json --device h200 --workspace 1MiB --max-slowdown off \
        --format csv >predicted.csv
    LD_PRELOAD='' "$BUILD/convshim" predict --cudnn "$cudnn" --summary summary.json --device h200 --workspace 1MiB --max-slowdown off \
        --format json >predicted.json
    python3 - <<'END' || fail "$*: predict differs from the run"
import csv, json
sites = [site for site in json.load(open("summary.json"))["sites"] if site["calls"] > 0]
rows = list(csv.DictReader(open("predicted.csv")))
assert len(rows) == len(sites) > 5, (len(rows), len(sites))
layers = json.load(open("predicted.json"))["layers"]
assert any(site["queries"] for site in sites)
for site, layer in zip(sites, layers):
    assert layer["queries"] == site["queries"], (layer, site)
for site, row in zip(sites, rows):
    assert row["layer"] == site["problem"]["text"], (row, site)
    assert int(row["engine"]) == site["engine"], (row, site)
    assert int(row["workspace_bytes"]) == site["required"], (row, site)
    assert int(row["tiled_workspace_bytes"]) == site["reported"], (row, site)
    assert int(row["input_bytes"]) == site["problem"]["x"]["bytes"], (row, site)
END
}

@test "predict reads the summary, and predicts the sizes that the program got" {
    predicts_the_run --dtype f16
    predicts_the_run --dtype f32
    predicts_the_run --dtype bf16
}

@test "predict with the ini file of a run: the same rules, tilings and sizes" {
    local CUBLAS=$BUILD/stand_ins/libcublasLt.so.13
    local SAN_RT=${SAN_RT:+$SAN_RT:}$CUBLAS PRELOAD=$PRELOAD:$CUBLAS
    local cudnn
    cudnn=$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")
    cat >run.ini <<END
workspace = 2MiB
max_slowdown = off
lanes = 2
[rule other]
program = another*
skip = yes
[rule narrow]
program = vae_*
k = 0..128
$FIXED
tiles = 5
threshold = 0
[rule left]
c = 256
skip = yes
END
    CONVSHIM_CONFIGFILE=run.ini CONVSHIM_SUMMARY=json:summary.json shimmed "$APPS/vae_decoder" \
        --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
    expect_status 0
    planned_by_cudnn shimmed || cannot_run "no real cuDNN in SIMDEV_CUDNN_DIR"
    LD_PRELOAD='' CONVSHIM_CONFIG="workspace=1GiB" "$BUILD/convshim" predict --cudnn "$cudnn" --summary summary.json --device h200 \
        --config run.ini --program vae_decoder --format json >predicted.json
    python3 - <<'END'
import json
sites = json.load(open("summary.json"))["sites"]
layers = json.load(open("predicted.json"))["layers"]
assert len(layers) == len(sites)
assert {site["rule"] for site in sites} == {None, "narrow", "left"}, [site["rule"] for site in sites]
assert any(site["rule"] is None and site["decision"] for site in sites)
for site, layer in zip(sites, layers):
    assert layer.get("rule") == site["rule"], (layer, site)
    assert layer["tiled_workspace_bytes"] == site["reported"], (layer, site)
    assert layer["tiles"] == (site["decision"]["tiles"] if site["decision"] else 1), (layer, site)
    assert layer["queries"] == site["queries"], (layer, site)
END
}
