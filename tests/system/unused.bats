#!/usr/bin/env bats
# Programs that make no cuDNN call do not notice the library.
# shellcheck disable=SC2030,SC2031 # each test is a separate process
load helper

# The library, built with sanitizers, loads their runtime too, which reads the list of mappings again with a larger
# buffer until all of it fits.
own_files="libconvshim\.so${SAN_RT:+|lib(asan|tsan|ubsan|stdc\+\+)\.so|^open\(./proc/self/maps}"

# traced NAME PRELOAD COMMAND...: NAME.trace is the sorted list of the files that the command touched and the bytes
# that it wrote. Parts that differ between runs are replaced by a fixed word. NAME.out and NAME.err are its outputs.
traced()
{
    local name=$1 libraries=$2
    shift 2
    # One file a process: in a common one, lines of two processes cut each other in half.
    rm -f "$name".raw.*
    # Leaks cannot be searched in a traced program.
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -ff -qq -o "$name.raw" -E LD_PRELOAD="$libraries" \
        -e trace=%file,write,writev,clone,clone3,fork,vfork,socket,connect "$@" >"$name.out" 2>"$name.err"
    cat "$name".raw.* >"$name.raw"
    sed -E 's/0x[0-9a-f]+/ADDRESS/g; s,/\* [0-9]+ vars \*/,VARS,; s/= [0-9]+$/= N/
        s/(st_size|parent_tid|child_tid|st_[amc]time)=[^,}]*/\1/g; /^(--- SIG|\+\+\+ )/d
        /AT_EMPTY_PATH/d' "$name.raw" | grep -vE "$own_files" | sort >"$name.trace"
}

# Nothing may differ but that the library is opened.
expect_unnoticed()
{
    traced without "$SAN_RT" "$@"
    traced with "$PRELOAD" "$@"
    grep -q libconvshim with.raw || fail "the library was not loaded"
    expect_equal "standard output" "$(cat with.out)" "$(cat without.out)"
    expect_equal "standard error" "$(cat with.err)" "$(cat without.err)"
    diff without.trace with.trace >difference.out || fail "the traces differ"
}

# In every environment that could make the library talk.
expect_unnoticed_anyhow()
{
    expect_unnoticed "$@"
    printf 'workspace = 0\nlog = debug\n' >"$XDG_CONFIG_HOME/convshim/convshim.ini"
    expect_unnoticed "$@"
    CONVSHIM_CONFIGFILE=$BATS_TEST_TMPDIR/missing.ini CONVSHIM_CONFIG='workspace=-1' CONVSHIM_LOG=debug \
        expect_unnoticed "$@"
}

need_strace()
{
    [[ $SAN_RT != *tsan* ]] || cannot_run "ThreadSanitizer's runtime opens files of its own"
    strace -qq -o /dev/null true 2>/dev/null || cannot_run "strace is not there or not permitted"
}

# bats test_tags=quick
@test "true: no file, no output, no additional thread" {
    need_strace
    expect_unnoticed_anyhow "$(type -P true)"
}

@test "sh -c: no file, no output, no additional thread" {
    need_strace
    expect_unnoticed_anyhow sh -c 'echo one; true; /bin/true; echo two >&2'
}

@test "python3 -c pass: no file, no output, no additional thread" {
    need_strace
    local python
    python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null) || cannot_run "python3 is not there"
    "$python" -c pass
    expect_unnoticed_anyhow "$python" -S -c pass
}

@test "a program that links cuDNN and never calls it: no file, no output, no additional thread" {
    need_strace
    export LD_LIBRARY_PATH=$SIMDEV_DIR
    expect_unnoticed_anyhow "$CLIENTS/idle"
}

@test "the trace would show a file too many" {
    need_strace
    traced without "$SAN_RT" sh -c 'true'
    traced with "$PRELOAD" sh -c 'true <difference.in || true'
    ! diff without.trace with.trace >/dev/null || fail "the traces are equal"
}

# calls PRELOAD WAY: the system calls of a program that ends so, from its first line on.
calls()
{
    strace -qq -o end.raw -E LD_PRELOAD="$1" "$CLIENTS/idle" "$2" >/dev/null 2>&1 || :
    sed -n '/"begin/,$s/(.*//p' end.raw
}

@test "a program without convolutions, for every kind of end: no additional system call" {
    need_strace
    [ -z "$SAN_RT" ] || cannot_run "a sanitizer's runtime makes calls of its own"
    export LD_LIBRARY_PATH=$SIMDEV_DIR
    local way switch
    for way in return exit _exit _Exit kill raise; do
        calls "" "$way" >without.calls
        expect_line without.calls '^(exit_group|t?g?kill)$'
        for switch in CONVSHIM=1 CONVSHIM=0 CONVSHIM_SUMMARY=json:summary.json; do
            export "${switch?}"
            calls "$PRELOAD" "$way" | diff without.calls - || fail "$way, $switch: other system calls"
            unset "${switch%%=*}"
        done
    done
}
