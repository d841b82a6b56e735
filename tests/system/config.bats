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

@test "CONVSHIM_CONFIGFILE overrides the user's files" {
    echo 'workspace = 80KiB' >"$(user_file hostile)"
    echo 'workspace = 72KiB' >named.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/named.ini
    run_program
    expect_limit "72 KiB"
    expect_source "named.ini"
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

@test "XDG_CONFIG_HOME unset: ~/.config" {
    unset XDG_CONFIG_HOME
    mkdir -p "$HOME/.config/convshim"
    echo 'workspace = 88KiB' >"$HOME/.config/convshim/convshim.ini"
    run_program
    expect_limit "88 KiB"
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

@test "bad values: one line with place, option and allowed values, and the default is used" {
    local value
    for value in 0 -1 99999999999999999999 64parsecs '' ' ' 1.5 1.2345MiB 0x1000 12EiB 1023 '64 MiB x' $'6\x01\xff'; do
        refused "workspace=$value" 'CONVSHIM_CONFIG:1: workspace: "*" *auto, or 1KiB to 1TiB'
    done
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

@test "a bad value among good ones: the good ones apply" {
    CONVSHIM_CONFIG="workspace=72KiB; tiles=many; lanes=2" run_program
    expect_complaint 'CONVSHIM_CONFIG:2: tiles: "many" *1 to 1024'
    expect_limit "72 KiB"
}

# bats test_tags=quick
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

@test "a file's complaint names the file and the line" {
    named_file < <(printf '# comment\n\nworkspace = 72KiB\n\nploicy = fit\n')
    run_program
    expect_complaint "$CONVSHIM_CONFIGFILE:5: ploicy: *policy*"
    expect_limit "72 KiB"
}

# bats test_tags=quick
@test "indented lines and lines without = do not vanish" {
    named_file < <(printf 'lanes = 2\n\t  workspace = 72KiB\njust words\n')
    run_program
    expect_limit "72 KiB"
    expect_complaint "$CONVSHIM_CONFIGFILE:3: \"just words\" *NAME = VALUE"
}

@test "every option bad at once: one line each" {
    local names='workspace max_slowdown threshold policy tiles lanes backing arena log summary'
    # shellcheck disable=SC2086 # words
    named_file < <(printf '%s = x\n' $names && printf '[interleave]\nbudget = x\n')
    run_program
    local good='file\.ini:[0-9]+: [a-z_.]+: "x" '
    expect_equal "complaints" "$(grep -cE "$good" shimmed.err)" 11
    expect_line shimmed.err 'file\.ini:12: interleave\.budget: "x" .*1MiB to 1TiB$'
    expect_limit auto
}

@test "lanes, backing, arena, interleave: every value that is allowed, no complaint" {
    local value
    for value in workspace=auto max_slowdown={off,1,1.15,1000} price={0,15,0.5,100000} lanes={auto,1,8} backing={auto,client,own} arena={auto,0,1TiB} \
        interleave.budget={off,1MiB,1TiB}; do
        CONVSHIM_CONFIG=$value run_program
        expect_complaint ""
    done
    refused "max_slowdown=0.9" 'CONVSHIM_CONFIG:1: max_slowdown: "0.9" *off, or 1 to 1000'
    refused "lanes=9" 'CONVSHIM_CONFIG:1: lanes: "9" *auto, or 1 to 8'
    refused "backing=both" 'CONVSHIM_CONFIG:1: backing: "both" *auto, client, own'
    refused "interleave.budget=1KiB" \
        'CONVSHIM_CONFIG:1: interleave.budget: "1KiB" *off, or 1MiB to 1TiB'
}

@test "sections: an option in the wrong one, one that does not exist" {
    named_file < <(printf 'workspace = 72KiB\n[interleave]\nbudget = 5MiB\nlanes = 2\n')
    run_program
    expect_complaint "$CONVSHIM_CONFIGFILE:4: interleave.lanes: *lanes*"
    expect_limit "72 KiB"
    named_file < <(printf 'workspace = 72KiB\nbudget = 5MiB\n')
    run_program
    expect_complaint "$CONVSHIM_CONFIGFILE:2: budget: *interleave.budget*"
    named_file < <(printf 'workspace = 72KiB\n[interlace]\nbudget = x\nworkspace = x\n')
    run_program
    expect_complaint \
        "$CONVSHIM_CONFIGFILE:2: \[interlace\]: *\[interleave\]*"
    expect_limit "72 KiB"
}

@test "a budget with backing = client: one line, and the budget applies" {
    named_file < <(printf 'workspace = 24KiB\nbacking = client\n[interleave]\nbudget = 3MiB\n')
    run_program
    expect_complaint "$CONVSHIM_CONFIGFILE: backing: *own"
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_equal "limit of own scratch" "$(summary 's["own"]["limit"]')" "$((3 << 20))"
    expect_true "own scratch" "$(summary 's["own"]["peak"]') > 0"
    CONVSHIM_CONFIG="interleave.budget=off" run_program
    expect_complaint ""
    expect_true "tiled calls" "$(counted tiled) > 0"
    expect_equal "own scratch without a budget, with backing = client" "$(summary 's["own"]["peak"]')" 0
}

# unreadable PATTERN: one line with the path and the reason.
unreadable()
{
    run_program
    expect_complaint "$CONVSHIM_CONFIGFILE: *$1*"
    expect_limit auto
}

# bats test_tags=quick
@test "a file that is not there, a directory: one line with the reason" {
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/missing.ini
    unreadable "No such file or directory"
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR
    unreadable "Is a directory"
}

@test "a file without read permission: one line with the reason" {
    named_file < <(echo 'workspace = 72KiB')
    chmod 000 file.ini
    need_permissions
    unreadable "Permission denied"
}

@test "binary garbage: few lines, all printable, program unharmed" {
    named_file < <(head -c 4096 "$LIBRARY")
    run_program
    expect_true "complaints" "$(grep -c 'file\.ini:' shimmed.err) <= 18"
    ! LC_ALL=C grep -q $'[\x01-\x08\x0e-\x1f\x7f-\xff]' shimmed.err || fail "bytes that a terminal may act on"
    expect_limit auto
}

@test "10 MB of junk: few lines, read up to 1 MiB, done in seconds" {
    named_file < <(yes 'junk junk junk' | head -c 10000000)
    expect_cpu 20 run_program
    expect_true "complaints" "$(grep -c 'file\.ini:' shimmed.err) <= 18"
    expect_limit auto
}

# bats test_tags=quick
@test "one endless line: one line" {
    named_file < <(head -c 500000 /dev/zero | tr '\0' w)
    run_program
    expect_complaint "$CONVSHIM_CONFIGFILE:1: *"
}

@test "a pipe without a writer does not hold the program" {
    mkfifo pipe.ini
    export CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/pipe.ini
    run_program
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

# bats test_tags=quick
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

@test "log_file in a file works like the variable" {
    named_file < <(echo "log_file = $BATS_TEST_TMPDIR/from-ini.txt")
    CONVSHIM_SUMMARY=text run_program
    expect_empty shimmed.err
    expect_line from-ini.txt ' of 1 call tiled'
}

@test "standard output is the program's alone" {
    CONVSHIM_LOG=debug CONVSHIM_CONFIG="workspace=0;policy=none" run_program
    expect_empty shimmed.out
}
