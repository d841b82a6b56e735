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
    config 2 --check missing.ini
    expect_line config.err '^convshim: missing\.ini: .*: No such file or directory$'
}

# rules_file: CONVSHIM_CONFIGFILE with the rules that come in.
rules_file()
{
    cat >rules.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/rules.ini
}
