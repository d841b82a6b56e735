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
    export CONVSHIM_CONFIG='workspace=2MiB;arena=1MiB' CONVSHIM_WORKSPACE=1MiB CONVSHIM_INTERLEAVE_BUDGET=7MiB
    expect_option workspace 1MiB auto CONVSHIM_WORKSPACE
    expect_option interleave.budget 7MiB off CONVSHIM_INTERLEAVE_BUDGET
    expect_option arena 1MiB auto CONVSHIM_CONFIG:2
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
    expect_line config.out '^tiles,3,4,CONVSHIM_TILES$'
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
