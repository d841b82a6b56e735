#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# convshim report: every format has the same numbers. Merging, refusals, and a page without external references.
load helper

COMMAND=$BUILD/convshim
SUMMARY=$ROOT/tests/data/summary_training.json

# report STATUS ARGUMENT...: report.out and report.err.
report()
{
    command_of "$1" report "${@:2}"
}

# figure NAME FILE...: its number.
figure()
{
    "$COMMAND" report --format json "${@:2}" | python3 -c 'import json, sys
print(*(row["number"] for row in json.load(sys.stdin)["figures"] if row["name"] == sys.argv[1]))' "$1"
}

# largest FILE...: the largest workspaces without and with convshim.
largest()
{
    "$COMMAND" report --format json "$@" | python3 -c 'import json, sys
row, = (row for row in json.load(sys.stdin)["conclusion"] if row["name"] == "workspace")
print(row["without"], row["with"])'
}

# ranks COUNT: rank0.json, ...
ranks()
{
    local i
    for ((i = 0; i < $1; i++)); do
        sed "s/\"pid\":4711/\"pid\":$((5000 + i))/; s/\"rank\":0/\"rank\":$i/" "$SUMMARY" >"rank$i.json"
    done
}

# bats test_tags=quick
@test "eight ranks: calls are summed, sizes are the largest, sites are folded" {
    ranks 8
    sed -i 's/"required_max":[0-9]*/"required_max":999999999/' rank5.json
    for name in calls tiled launches host_ns not_tiled.NO_TILING; do
        expect_equal "$name" "$(figure "$name" rank?.json)" $((8 * $(figure "$name" rank0.json)))
    done
    expect_equal "largest sizes" "$(largest rank?.json)" "999999999 $(largest rank0.json | cut -d' ' -f2)"
    expect_equal processes "$(figure processes rank?.json)" 8
    report 0 --format csv rank?.json
    expect_equal sites "$(wc -l <report.out)" 9
    expect_equal "calls of a site" "$(sed -n '2s/.*wgrad,tiled,\([0-9]*\),.*/\1/p' report.out)" 16
    report 0 --format json rank?.json
    expect_equal ranks "$(sed -n 's/.*"rank":\s*\([0-9]*\),/\1/p' report.out | paste -sd,)" 0,1,2,3,4,5,6,7
}

# bats test_tags=quick
@test "hostile names: no markup, and no control characters for a terminal" {
    sed 's/"program":".*","script"/"program":"<script src=x>alert(1)<\/script>|\\u001b[31m\\"'"'"'","script"/
        s/1x3x2x2/<img src=x onerror=alert(1)>/' "$SUMMARY" >evil.json
    report 0 evil.json
    ! grep -q $'\033' report.out || fail "an escape sequence"
    report 0 --html page.html evil.json
    show_page
    ! grep -q '<script' page.dom || fail "a script from a name"
    ! grep -q '<img' page.dom || fail "markup from a name"
    grep -qF '&lt;script src=x&gt;alert(1)&lt;/script&gt;|?[31m"'"'" page.dom || fail "the program is not there"
    grep -q '&lt;img src=x onerror=alert(1)&gt;' page.dom || fail "the name is not there"
}

@test "the page: cards, bars and tables, light and dark, without external references" {
    report 0 --html page.html "$SUMMARY"
    show_page
    python3 "$ROOT/tests/support/clients/check_page.py" page.html page.dom >page.out || fail "the page"
    expect_line page.dom '64 MiB saved \(17 %\)<small>384 MiB → 320 MiB'
    expect_equal "bars of 122 and 64 MiB" "$(grep -oE '<rect class="(before|after)" y="[0-9.]+" width="[0-9.]+"' page.dom | head -n 2 | xargs)" \
        '<rect class=before y=1.5 width=960.0 <rect class=after y=7.5 width=503.6'
}

@test "a summary as the page: refused in one line, unchanged" {
    cp "$SUMMARY" run.json
    cp "$SUMMARY" other.json
    report 2 run.json --html run.json
    report 2 --html run.json other.json
    expect_line report.err 'report: --html run.json: this file exists and is no output'
    cmp run.json "$SUMMARY" || fail "the input has changed"
}
