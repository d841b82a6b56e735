#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031 # each test is a separate process
# Options from files and the environment, as a user meets them: one line for each fault, and an unharmed program.
load helper

# Sizes do not matter here, and planning by rule of thumb starts faster.
export SIMDEV_PLANNING=rule

# One convolution. The summary contains the limit and policy in force and their source.
run_program()
{
    shimmed "${AS_USER[@]}" "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_no_violation shimmed
}

user_file()
{
    echo "$XDG_CONFIG_HOME/convshim/$1.ini"
}

expect_limit()
{
    expect_equal "limit" "$(summary 's["config"]["options"]["workspace"]')" "${1/ /}"
}

# expect_source PATTERN: the end of policy and source.
expect_source()
{
    summary '"policy %s, %s" % (s["config"]["options"]["policy"], s["config"]["source"] or "built-in defaults")' >source.out
    expect_line source.out "$1\$"
}

# expect_complaint PATTERN: one line that matches (none if it is empty).
expect_complaint()
{
    local complaints
    complaints=$(sed -n 's/^convshim\[[0-9]*\]: //; p' shimmed.err)
    # shellcheck disable=SC2053 # a pattern
    [[ $complaints == $1 && $complaints != *$'\n'* ]] || fail "it said: $complaints"
}

@test "without options: built-in defaults, no complaint" {
    run_program
    expect_source "policy $DEFAULT_POLICY, built-in defaults"
    expect_limit auto
    expect_complaint ""
    expect_equal "calls tiled" "$(counted tiled)" 0
}

@test "the program's own file overrides convshim.ini" {
    echo 'workspace = 96KiB' >"$(user_file convshim)"
    run_program
    expect_limit "96 KiB"
    expect_source "config/convshim/convshim.ini"
    echo 'workspace = 80KiB' >"$(user_file hostile)"
    run_program
    expect_limit "80 KiB"
    expect_source "config/convshim/hostile.ini"
    expect_complaint ""
}

# bats test_tags=quick
@test "CONVSHIM_CONFIG overrides every file, option by option" {
    printf 'workspace = 72KiB\npolicy = off\n' >named.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/named.ini CONVSHIM_CONFIG="workspace=68KiB"
    run_program
    expect_limit "68 KiB"
    expect_source "policy off, .*named.ini and CONVSHIM_CONFIG"
    expect_complaint ""
}

@test "convshim.ini in the current folder: not read, and a line says how to use it" {
    echo 'workspace = 88KiB' | tee convshim.ini hostile.ini .convshim.ini >/dev/null
    run_program
    expect_source "built-in defaults"
    expect_complaint "./convshim.ini: not read. To use it: CONVSHIM_CONFIGFILE=\$PWD/convshim.ini, or convshim run --preset ./convshim.ini"
}

# refused VALUE-OF-CONVSHIM_CONFIG COMPLAINT: one line, and the default in force.
refused()
{
    CONVSHIM_CONFIG=$1 run_program
    expect_complaint "$2"
    expect_limit auto
    expect_source "policy $DEFAULT_POLICY, CONVSHIM_CONFIG"
}

# bats test_tags=quick
@test "unknown options, policies and lines without a value: one line each" {
    refused "policy=fastest" 'CONVSHIM_CONFIG:1: policy: "fastest" *off*'
    refused "worksapce=1MiB" 'CONVSHIM_CONFIG:1: worksapce: *workspace*'
    refused "zzzzzzzzzzzz=1" 'CONVSHIM_CONFIG:1: zzzzzzzzzzzz: *workspace*'
    refused "workspace" 'CONVSHIM_CONFIG:1: "workspace" *NAME = VALUE'
    refused "tiles=0" 'CONVSHIM_CONFIG:1: tiles: "0" *1 to 1024'
    refused "log=loud" 'CONVSHIM_CONFIG:1: log: "loud" *warn*'
    CONVSHIM_SUMMARY=$SUMMARY refused "summary=maybe" 'CONVSHIM_CONFIG:1: summary: "maybe" *off, text, json:PATH, text,json:PATH'
}

@test "CONVSHIM=maybe, CONVSHIM_LOG=loud, CONVSHIM_SUMMARY=maybe: one line each" {
    CONVSHIM=maybe run_program
    expect_complaint 'CONVSHIM: *0, 1'
    CONVSHIM_LOG=loud run_program
    expect_complaint 'CONVSHIM_LOG: log: "loud" *'
    CONVSHIM_SUMMARY=maybe run_program
    sed -i '/: peak of convolutions /,$d' shimmed.err # the text summary
    expect_complaint 'CONVSHIM_SUMMARY: summary: "maybe" *'
}

# named_file: CONVSHIM_CONFIGFILE=file.ini; its content comes from standard input.
named_file()
{
    cat >file.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/file.ini
}

# unreadable PATTERN: one line with the path and the reason.
unreadable()
{
    run_program
    expect_complaint "$CONVSHIM_CONFIGFILE: *$1*"
    expect_limit auto
}

@test "CONVSHIM_LOG=off: no messages, but the summary" {
    CONVSHIM_LOG=off CONVSHIM_CONFIG="workspace=0" run_program
    expect_complaint ""
    expect_limit auto
}

@test "log=off in a file silences the complaints of that file and of the environment" {
    named_file < <(printf 'workspace = 0\nlog = off\n')
    CONVSHIM_CONFIG="tiles=0" run_program
    expect_complaint ""
}

@test "CONVSHIM_SUMMARY=off: no summary, but the messages" {
    CONVSHIM_SUMMARY=off CONVSHIM_CONFIG="workspace=0" run_program
    expect_equal "lines" "$(wc -l <shimmed.err)" 1
    grep -q 'workspace: "0" ' shimmed.err || fail "the complaint is missing"
}

@test "CONVSHIM_LOG_FILE: contains all messages, and %p is the process id" {
    CONVSHIM_SUMMARY=text CONVSHIM_LOG_FILE=$BATS_TEST_TMPDIR/log.%p.txt CONVSHIM_CONFIG="workspace=0" run_program
    expect_empty shimmed.err
    local logs=(log.*.txt)
    expect_equal "log files" "${#logs[@]}" 1
    local pid=${logs[0]#log.}
    pid=${pid%.txt}
    [ -r "${logs[0]}" ] || fail "there is no log file"
    expect_equal "lines with that process id" "$(grep -c "^convshim\[$pid\]: " "${logs[0]}")" "$(wc -l <"${logs[0]}")"
    expect_line "${logs[0]}" 'workspace: "0" '
    expect_line "${logs[0]}" ' of 1 call tiled'
}

@test "standard output is the program's alone" {
    CONVSHIM_LOG=debug CONVSHIM_CONFIG="workspace=0;policy=none" run_program
    expect_empty shimmed.out
}
