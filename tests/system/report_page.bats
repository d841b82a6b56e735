#!/usr/bin/env bats
# The page of `convshim report --html`, opened in Chromium. Each check is also given a page that it has to refuse.
load helper

COMMAND=$BUILD/convshim
SUMMARY=$ROOT/tests/data/summary_training.json
LAYERS=$ROOT/tests/data/conv_layers.csv
CHECK=$ROOT/tests/page/check.py
HARD=$BATS_FILE_TMPDIR
export PYTHONDONTWRITEBYTECODE=1

setup_file()
{
    python3 "$ROOT/tests/page/summaries.py" "$SUMMARY" "$BATS_FILE_TMPDIR"
}

# A build machine has everything, so that there its absence is a failure.
need_chromium()
{
    python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import browser; sys.exit(not browser.find())' "$ROOT/tests/page" ||
        if [ "${CI:-}" = true ]; then fail "no Chromium: scripts/bootstrap installs it"; else cannot_run "no Chromium"; fi
}

# check STATUS FILE...: check.out.
check()
{
    local wanted=$1
    shift
    need_chromium
    status=0
    timeout 120 python3 "$CHECK" "$@" >check.out 2>check.err || status=$?
    expect_status "$wanted"
}

# page NAME ARGUMENT...: NAME.html, of summaries.
page()
{
    local name=$1
    shift
    "$COMMAND" report --html "$name.html" "$@" || fail "no page $name"
}

# expect_counts FILE TEXTS SHAPES SORTED: at least these numbers were checked.
expect_counts()
{
    local counts
    read -ra counts <<<"$(sed -nE "s/^$1: ([0-9]+) texts, ([0-9]+) shapes, ([0-9]+) columns sorted\$/\1 \2 \3/p" check.out)"
    expect_true "texts of $1" "${counts[0]:-0} >= $2"
    expect_true "shapes of $1" "${counts[1]:-0} >= $3"
    expect_true "columns of $1 that were sorted" "${counts[2]:-0} >= $4"
}

# mutant NAME WORDS SED...: NAME.html is page.html, changed. The checker must report it with WORDS.
mutant()
{
    local name=$1.html
    sed -E "${@:3}" page.html >"$name"
    ! cmp -s page.html "$name" || fail "$name: nothing was changed"
    printf '%s\t%s\n' "$name" "$2" >>mutants
}

# expect_refused WHERE,...: each mutant is refused there, for its own reason, and its original is accepted.
expect_refused()
{
    local name words names
    mapfile -t names < <(cut -f 1 mutants)
    check 1 --only "$1" "${names[@]}" page.html
    while IFS=$'\t' read -r name words; do
        grep -F "$name: [" check.out | grep -qF -- "$words" || fail "$name: not \"$words\", but: $(grep -F "$name: " check.out | head -n 3)"
    done <mutants
    ! grep -q "^page.html: \[" check.out || fail "page.html itself is refused"
}

@test "a program on the simulated device: its page" {
    CONVSHIM_SUMMARY=json:summary.json CONVSHIM_CONFIG="workspace=1MiB" \
        shimmed "$APPS/vae_decoder" --csv "$LAYERS" --px 32
    expect_status 0
    page page summary.json
    check 0 page.html
    expect_counts page.html 60 5 10
}

@test "a training step; sizes of every unit" {
    page training "$SUMMARY"
    page mixed "$HARD/mixed.json"
    check 0 training.html mixed.html
    expect_counts training.html 120 16 15
    expect_counts mixed.html 120 16 15
}

@test "eight ranks; two runs compared; no convolution at all" {
    page ranks "$HARD"/rank?.json
    page diff --diff "$HARD/rank0.json" "$HARD/mixed.json"
    page empty "$HARD/empty.json"
    check 0 ranks.html diff.html empty.html
    expect_counts ranks.html 120 16 15
    expect_counts diff.html 60 0 5
    expect_counts empty.html 40 0 0
}

@test "hostile names" {
    page hostile "$HARD/hostile.json"
    check 0 hostile.html
    expect_counts hostile.html 120 16 15
}

@test "the checker refuses: requests, exceptions, words on the console" {
    page page "$HARD/mixed.json"
    local image='<img src="http://127.0.0.1:9/x.png" width="9" height="9">' policy='s/<meta http-equiv[^>]*>//'
    mutant image "a request: http://127.0.0.1:9/x.png" -e "$policy" -e "s|</body>|$image</body>|"
    mutant forbidden "on the console: error" -e "s|</body>|$image</body>|"
    mutant refers "refers to elsewhere: <img" -e "s|</body>|$image</body>|"
    mutant style "a request: http://127.0.0.1:9/y.png" -e "$policy" -e 's|^h1 \{|h1 { background: url(http://127.0.0.1:9/y.png);|'
    mutant fetch "a request: http://127.0.0.1:9/z" -e "$policy" -e "s|^'use strict';|fetch('http://127.0.0.1:9/z').catch(() => 0);|"
    mutant throws "an exception: Error: broken" -e "s|^'use strict';|setTimeout(() => { throw new Error('broken'); });|"
    mutant says "on the console: log" -e "s|^'use strict';|console.log('hello');|"
    expect_refused light
}

@test "the checker refuses: tables that sort wrongly, or by mouse alone" {
    page page --diff "$HARD/rank0.json" "$HARD/mixed.json"
    mutant unsorted "by mouse: not descending" -e "s|^    rows.sort\(|    [].sort(|"
    mutant nothing "by mouse: aria-sort is [None" -e "/addEventListener/d"
    mutant as_text "not descending: ['999 B'" -e "s|return 'v' in .*|return cell.textContent;|" -e 's|return typeof a === .*|return String(a) < String(b) ? -1 : 1;|'
    mutant one_way "by Enter: not ascending" -e "s|return up \? compare|return up ? -compare|"
    mutant absent "not ascending: ['-'" -e "s|if \(none\(a.key\).*|if (false)|" -e 's|data-v="20">20<|data-v="-1">-<|'
    mutant lost "rows got lost" -e "s|body.append\(...rows|body.replaceChildren(...rows.slice(1)|"
    mutant unmarked "aria-sort is [None" -e "/setAttribute\('aria-sort'/d"
    mutant all_marked "aria-sort is ['ascending', 'ascending'" -e "/removeAttribute\('aria-sort'/d"
    mutant mouse_only "does not take the focus" -e "s|createElement\('button'\)|createElement('span')|"
    mutant no_keys "by Enter: aria-sort is" -e "s|button.type = 'button';|button.onkeydown = event => event.preventDefault();|"
    expect_refused sorting
}

@test "the checker refuses: colours that cannot be read, in light, in dark, on paper" {
    page page "$HARD/mixed.json"
    mutant always_light "the paper is" -e 's|prefers-color-scheme:dark|prefers-color-scheme:none|'
    mutant faint "[light] text" -e 's|--faint: #59636e|--faint: #a0a8b0|'
    mutant faint_dark "[dark] text" -e 's|--faint: #9198a1|--faint: #40464d|'
    mutant paper "[print] the paper is" -e '/^@media print/,/^}/{s|--paper: #fff|--paper: #222|;s|--ink: #000|--ink: #fff|}'
    mutant pale "shape rect of class before has contrast" -e 's|--before: #d1746a|--before: #f6d3cf|'
    expect_refused light,dark,print
}

@test "the checker refuses: overlapping, protruding, too wide, too small and missing elements" {
    page page "$HARD/mixed.json"
    mutant overlap "overlaps" -e '/^\.bars small/s|display: block|display: block; margin-top: -1.5em|'
    mutant sticks_out "runs out of its box" -e '/^dd \{/s|margin: 0|margin: 0; text-indent: -5rem|'
    mutant cut_off "is cut off" -e '/^\.cards div \{/s|\{|{ max-height: 3rem; overflow: hidden;|'
    mutant wide "px wide in a window of 1280" -e 's|^table \{|table { width: 1500px;|' -e 's|^\.wide \{.*||'
    mutant wide_phone "[telephone] laid out 516 px wide, not 400" -e 's|^\.cards \{|.cards { width: 500px;|'
    mutant viewport "[telephone] laid out 980 px wide" -e '/name="viewport"/d'
    mutant small "px small" -e 's|^\.bars small \{(.*)12px|.bars small {\17px|'
    mutant hidden "is not to be seen" -e 's|^dd \{|dd { visibility: hidden;|'
    expect_refused light,telephone
}

@test "the checker refuses: plots without shapes, shapes without size, bars that are not true" {
    page page "$HARD/mixed.json"
    mutant bare "a picture with nothing in it" -e 's|<rect class="before" width="1" height="1"/>||'
    mutant thin "has no size" -e 's|(<rect class="before" width=")1|\10|'
    mutant leaves "leaves its picture" -e 's|(<rect class="before" )(width="1")|\1x="900" \2|'
    mutant unpainted "has no colour" -e 's|^\.after \{.*|.after { fill: none; }|'
    mutant untrue "px wide, not" -e 's|(class="after" x="0.0" y="7.5" width=")[0-9.]*|\1500|'
    mutant missing "1 bars for" -e 's|<rect class="after" x="0.0" y="7.5"[^>]*>||'
    mutant untold "tells no numbers" -e 's|<title>[0-9].*</title>||'
    expect_refused light
}

@test "the checker refuses: faults that only appear with scripts" {
    page page "$HARD/mixed.json"
    mutant script_only "[scripts] says" -e 's|^table \{|table.sorts { display: none; } table {|' -e "s|^'use strict';|document.body.append(Object.assign(document.createElement('style'), {textContent: 'table.sorts { display: table !important }'}));|"
    mutant dead "[scripts] 1 buttons" -e 's|<h1>|<h1><button type="button">sort</button>|'
    expect_refused scripts
}
