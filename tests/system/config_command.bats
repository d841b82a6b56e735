#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# convshim config: every option with its value and source, and the faults of a file.
load helper

# config STATUS ARGUMENT...: config.out and config.err.
config()
{
    command_of "$1" config "${@:2}"
}

# expect_option NAME VALUE DEFAULT SOURCE
expect_option()
{
    config "${5:-0}" --format csv
    expect_equal "$1" "$(grep "^$1," config.out)" "$1,$2,$3,$4"
}

# bats test_tags=quick
@test "without options: every one of them, all built-in" {
    config 0 --format csv
    sed -nE 's/^;([a-z_]+) =( (.*))?$/\1,\3/p' <(sed '/^;\[rule/,$d' "$ROOT/conf/convshim.ini") | sed 's/^\(.*\),\(.*\)$/\1,\2,\2,built-in/' >wanted
    sed -E 's/^[a-z_]+\.//' config.out | tail -n +2 | diff wanted - >difference.out || fail "not as conf/convshim.ini"
    expect_equal "header" "$(head -n 1 config.out)" "option,value,default,source"
    expect_empty config.err
}

@test "values from the file, from CONVSHIM_CONFIG and from a variable: each with its place" {
    printf '# mine\nworkspace = 2048K\ntiles = 2\n[interleave]\nbudget = 8388608\n' >"$XDG_CONFIG_HOME/convshim/convshim.ini"
    export CONVSHIM_CONFIG='policy=off;tiles=3' CONVSHIM_LOG=debug
    local file=$XDG_CONFIG_HOME/convshim/convshim.ini
    expect_option workspace 2MiB auto "$file:2"
    expect_option tiles 3 4 CONVSHIM_CONFIG:2
    expect_option policy off fit CONVSHIM_CONFIG:1
    expect_option log debug warn CONVSHIM_LOG
    expect_option interleave.budget 8MiB off "$file:5"
    expect_option backing own auto "$file:5"
    expect_option lanes auto auto built-in
    expect_empty config.err
}

# bats test_tags=quick
@test "every option has a variable, which overrides files; an unknown one is named, also by the library" {
    export CONVSHIM_CONFIG='workspace=2MiB;trace_limit=1MiB' CONVSHIM_WORKSPACE=1MiB CONVSHIM_INTERLEAVE_TIMEOUT=7
    expect_option workspace 1MiB auto CONVSHIM_WORKSPACE
    expect_option interleave.timeout 7 1000 CONVSHIM_INTERLEAVE_TIMEOUT
    expect_option trace_limit 1MiB 64MiB CONVSHIM_CONFIG:2
    expect_empty config.err
    local option
    while IFS=, read -r option _; do
        option=${option^^}
        env "CONVSHIM_${option//./_}=\"" "$BUILD/convshim" config --format csv >config.out 2>config.err || true
        grep -q "CONVSHIM_${option//./_}" config.out config.err || fail "no variable for $option"
    done < <("$BUILD/convshim" config --format csv | tail -n +2)
}

@test "a variable that is no option's is named with the nearest, by the command and by the library" {
    export CONVSHIM_WORKSPCE=1MiB CONVSHIM_TEST_LOAD=10
    local line='environment: CONVSHIM_WORKSPCE: .* CONVSHIM_WORKSPACE\?$'
    config 1
    expect_equal "lines" "$(wc -l <config.err)" 1
    expect_line config.err "$line"
    shimmed "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_line shimmed.err "$line"
}

# bats test_tags=quick
@test "run: an option given wins over its variable" {
    LD_PRELOAD=$SAN_RT CONVSHIM_TILES=9 "$BUILD/convshim" run --tiles 3 -- "$BUILD/convshim" config --format csv >config.out
    expect_line config.out '^tiles,3,4,CONVSHIM_CONFIG:1$'
}

@test "--program: its own file overrides the others" {
    echo 'tiles = 2' >"$XDG_CONFIG_HOME/convshim/convshim.ini"
    echo 'tiles = 5' >"$XDG_CONFIG_HOME/convshim/python3.ini"
    config 0
    expect_line config.out '^tiles +2 +4 .*convshim\.ini:1$'
    config 0 --program python3
    expect_line config.out '^tiles +5 +4 .*python3\.ini:1$'
}

# bats test_tags=quick
@test "text, CSV and JSON contain the same values" {
    export CONVSHIM_CONFIG='log_file=a, "b";workspace=3MiB'
    config 0
    expect_line config.out '^option +value +default +from$'
    expect_line config.out '^workspace +3MiB +auto +CONVSHIM_CONFIG:2$'
    config 0 --format csv
    cp config.out config.csv
    config 0 --format json
    python3 -c 'import csv, json
rows = list(csv.DictReader(open("config.csv", newline="")))
assert rows == json.load(open("config.out")), rows
assert {"option": "log_file", "value": "a, \"b\"", "default": "", "source": "CONVSHIM_CONFIG:1"} in rows' || fail "they differ"
}

@test "faults of the options: a line for each on standard error, status 1" {
    export CONVSHIM_CONFIG='workspace=much;tiles=2'
    config 1
    expect_line config.err '^convshim: CONVSHIM_CONFIG:1: workspace: "much" '
    expect_line config.out '^workspace +auto +auto +built-in$'
    expect_line config.out '^tiles +2 +4 +CONVSHIM_CONFIG:2$'
}

# bats test_tags=quick
@test "CONVSHIM=0: the output shows that no options are read" {
    CONVSHIM=0 config 0
    expect_line config.err '^convshim: CONVSHIM=0 switches convshim off, so it reads no options$'
}

@test "--check: prints the library's messages with status 1, and status 0 for a good file" {
    printf 'workspace = x\nploicy = fit\n[interlace]\n' >bad.ini
    config 1 --check bad.ini
    expect_empty config.out
    CONVSHIM_CONFIGFILE=bad.ini shimmed "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    grep -o 'bad\.ini:.*' shimmed.err | diff - <(grep -o 'bad\.ini:.*' config.err) >difference.out || fail "other lines"
    expect_equal "lines" "$(wc -l <config.err)" 3
    CONVSHIM_CONFIG='tiles=many' config 0 --check "$ROOT/conf/convshim.ini"
    expect_empty config.err
    sed 's/^;//' "$ROOT/conf/convshim.ini" >all.ini
    config 0 --check all.ini
    config 1 --check missing.ini
    expect_line config.err '^convshim: missing\.ini: .*: No such file or directory$'
}

# advice FILE PATTERN...: --check prints exactly these lines.
advice()
{
    local file=$1 pattern
    shift
    config 1 --check "$file"
    expect_equal "lines" "$(wc -l <config.err)" $#
    for pattern; do
        expect_line config.err "^convshim: $file:$pattern"
    done
}

# bats test_tags=quick
@test "--check: options without effect, rules that hide others, and quotes are reported" {
    cat >vain.ini <<'END'
tiles = 7
price = 8
log_file = "x.log"
trace = ~/t
arena = 1GiB
[interleave]
timeout = 5
budget = 1GiB
[rule all]
kernel = *
direction = fwd, dgrad, wgrad
lanes = 2
[rule some]
n = 5
tiles = 4
[rule none]
n = 6
skip = yes
lanes = 1
END
    advice vain.ini '1: tiles .* used only with policy = fixed$' \
        '7: interleave.timeout .* used only with interleave = stage$' \
        '5: arena .* used only with interleave.budget = off$' \
        '3: log_file: the quotes become part of the path\. Remove them\.$' \
        '4: trace: ~ is not expanded and becomes part of the path\. Write the whole path\.$' \
        '9: rule all: it matches every convolution, so the rules from some on have no effect\. Move it to the end\.$' \
        '13: rule some: tiles .* used only with policy = fixed$' \
        '16: rule none: its other settings have no effect, because of skip = yes$'
    printf 'trace_limit = 1MiB\npolicy = fixed\nprice = 8\nmax_slowdown = 2\n' >limit.ini
    advice limit.ini '1: trace_limit .* used only with trace$' \
        '3: price .* used only with a policy other than fixed$' \
        '4: max_slowdown .* used only with a policy other than fixed$'
    printf 'policy = fixed\nmax_slowdown = 2\n' >fixed.ini
    advice fixed.ini '2: max_slowdown .* used only with a policy other than fixed$'
    cat >good.ini <<'END'
tiles = 7
price = 8
interleave = stage
[interleave]
timeout = 5
[rule some]
direction = fwd
policy = fixed
[rule others]
direction = dgrad
policy = off
[rule last]
lanes = 2
END
    config 0 --check good.ini
    expect_empty config.err
    for file in "$ROOT"/conf/presets/*.ini; do
        config 0 --check "$file"
        expect_empty config.err
    done
}

@test "--explain as JSON: the rules that were tried, and the one that applies" {
    printf '[rule last]\nlayout = nhwc\nskip = yes\n[rule large]\nrequired = 100MiB..\nworkspace = 16MiB\n' >rules.ini
    CONVSHIM_CONFIGFILE=rules.ini config 0 --explain '1x512x512x512 -> 512 k3x3 p1 f16' --format json
    python3 -c 'import json; a = json.load(open("config.out"))
assert a["rule"] == "large" and a["estimate"] is True and a["required_bytes"] > 500 << 20, a
assert [(r["name"], r["applies"]) for r in a["rules"]] == [("last", False), ("large", True)], a
assert a["rules"][0]["text"] == "layout is nchw, asked for nhwc", a' || fail "not the explanation"
    CONVSHIM_CONFIGFILE=rules.ini config 0 --explain '1x8x8x8 -> 8 k3x3 required=0' --format json
    python3 -c 'import json; a = json.load(open("config.out")); assert a["rule"] is None and not a["estimate"], a' || fail "a rule"
    CONVSHIM_CONFIGFILE='' config 0 --explain '1x512x512x512 -> 512 k3x3 p1 f16' --check rules.ini
    expect_line config.out '^rule large: applies'
    config 2 --explain '1x8x8x8 -> 8 k3x3' --format csv
    expect_line config.err '^convshim: config: --explain: "csv" .*--format text, --format json$'
}

# rules_file: CONVSHIM_CONFIGFILE with the rules that come in.
rules_file()
{
    cat >rules.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/rules.ini
}

# bats test_tags=quick
@test "rules: printed in their order, as text that makes the same rules" {
    rules_file <<<$'tiles = 2\n[rule b]\nlayout = nhwc\nskip = yes\n[rule a]\nh = 64..\nworkspace = 2048K'
    export CONVSHIM_CONFIG='rule.c.n=1;rule.c.lanes=2'
    config 0
    expect_equal "names" "$(sed -n 's/^\[rule \(.*\)\]$/\1/p' config.out | tr '\n' ' ')" "c b a "
    sed -n '/^\[rule/,$p' config.out >again.ini
    unset CONVSHIM_CONFIG
    CONVSHIM_CONFIGFILE=again.ini config 0
    sed -n '/^\[rule/,$p' config.out | diff again.ini - >difference.out || fail "other rules"
    config 0 --format csv
    ! grep -q '^\[rule' config.out || fail "rules in a table of options"
}

@test "--explain: the rule that applies, why earlier ones do not, and the kind of convolution" {
    rules_file <<'END'
[rule last]
layout = nhwc
skip = yes
[rule strided]
kernel = 3x3
h = 64
direction = dgrad
program = train*
lanes = 2
[rule large]
required = 100MiB..
workspace = 16MiB
[rule engine]
engine = 57
tiles = 3
[rule deep]
d = 5..
dtype = bf16
groups = 2
policy = off
END
    config 0 --explain '1x512x512x512 -> 512 k3x3 p1 f16'
    expect_line config.out '^516\.5 MiB required, by a rule of thumb\. Add required=SIZE to use the size that cuDNN requires\.$'
    expect_line config.out '^rule last: layout is nchw, asked for nhwc$'
    expect_line config.out '^rule large: applies, .*; sets workspace 16MiB$'
    ! grep -q 'rule engine' config.out || fail "a rule behind the one that applies"
    config 0 --explain '1x64x64x64 -> 64 k3x3 nhwc'
    expect_line config.out '^rule last: applies, layout is nhwc; sets skip yes$'
    config 0 --program train_all --explain '1x64x64x64 -> 64 k3x3 dgrad required=1MiB'
    expect_line config.out '^1 MiB required$'
    expect_line config.out '^rule strided: applies, .*direction is dgrad.*; sets lanes 2$'
    config 0 --program other --explain '1x64x64x64 -> 64 k3x3 dgrad required=1MiB'
    expect_line config.out '^rule strided: program is other, asked for train\*$'
    expect_line config.out '^no rule applies$'
    config 0 --explain '1x64x64 -> 64 k3 required=1MiB engine=57'
    expect_line config.out '^rule engine: applies, engine is 57; sets tiles 3$'
    config 0 --explain '1x64x5x64x64 -> 64 k3x3x3 s1x2x2 p1 d1 g2 bf16 required=0'
    expect_line config.out '^rule deep: applies, .*; sets policy off$'
}

# bats test_tags=quick
@test "--explain: an invalid convolution has status 2 and one line" {
    local shape
    for shape in 1x2 1x64x8x8 '1x64x8x8 -> 64 k3x3x3' '1x64x8x8 -> 64 k3x3 g3' '1x64x8x8 -> 64 k3x3 f12' '1x64x8x8 -> 64 k3x3 px' \
        '1x64x8x8 -> 64 k3x3 p1x1x1' '1x64x8x8 -> 64 k99x3' '1x64x8x8 -> 64 k3x3 required=much' '1x64x8x8 -> 64 k3x3 size=1' \
        '0x64x8x8 -> 64 k3x3' '99999999999999999999x1x1x1 -> 1 k1x1'; do
        config 2 --explain "$shape"
        expect_line config.err '^convshim: config: --explain: '
        expect_empty config.out
    done
}

@test "how it is called: status 2 and one line" {
    config 2 --format xml
    expect_line config.err '^convshim: config: --format: "xml" .*text, json, csv$'
    config 2 something
    config 2 --fromat json
    expect_line config.err "'--format'\\?\$"
}
