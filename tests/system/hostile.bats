#!/usr/bin/env bats
# shellcheck disable=SC2016 # an inner shell expands these
# Hostile processes: killed, sandboxed, privileged, without the usual surroundings. The program's results and its end
# are those without the library.
load helper

plan_quickly
load predict

# hostile MODE [STATUS]: everything is tiled; both runs end with that status (0).
hostile()
{
    plain "$CLIENTS/hostile" "$1" "$CLIENTS/libwork.so"
    expect_status "${2:-0}"
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/hostile" "$1" "$CLIENTS/libwork.so"
    expect_status "${2:-0}"
    expect_empty shimmed.out
}

# begin [NAME=VALUE...]: a program that runs until it is killed; its id is in $victim.
begin()
{
    rm -f hostile.runs summary.json
    "$ROOT/scripts/with-simdev" -- env LD_PRELOAD="$PRELOAD" CONVSHIM_CONFIG="$EVERYTHING" CONVSHIM_SUMMARY=json:summary.json \
        "$@" "$CLIENTS/hostile" forever "$CLIENTS/libwork.so" >shimmed.out 2>shimmed.err 3>&- &
    victim=$!
    wait_for hostile.runs
}

# wait_for FILE
wait_for()
{
    local tries=0
    until [ -e "$1" ]; do
        kill -0 "$victim" 2>/dev/null || fail "the program has ended"
        [ $((tries += 1)) -lt 3000 ] || fail "no $1"
        sleep 0.1
    done
}

# end SIGNAL STATUS: sends the signal to the program and checks its exit status.
end()
{
    status=0
    kill "-$1" "$(program_of "$victim")"
    wait "$victim" || status=$?
    expect_status "$2"
}

# with-simdev waits for the program, or has become it.
program_of()
{
    local child
    child=$(cat "/proc/$1/task/$1/children" 2>/dev/null)
    child=${child%% *}
    if [ -n "$child" ]; then program_of "$child"; else echo "$1"; fi
}

# bats test_tags=quick
@test "SIGTERM in the middle: the JSON summary is there, and the program ends of the signal" {
    begin
    rm summary.json # of the first call
    end TERM 143
    expect_true "calls" "$(summary_total calls summary.json) >= 1"
    expect_line shimmed.err "^convshim\\[[0-9]+\\]: summary written\\. To view it: convshim report $PWD/summary.json\$"
    expect_equal "lines" "$(wc -l <shimmed.err)" 1
    expect_equal "files of running processes" "$(find "$XDG_RUNTIME_DIR" -type f)" ""
}

# bats test_tags=quick
@test "SIGTERM in the middle, both forms: the text is there, too" {
    begin CONVSHIM_SUMMARY=text,json:summary.json
    end TERM 143
    expect_true "calls" "$(summary_total calls summary.json) >= 1"
    expect_line shimmed.err "^convshim\\[[0-9]+\\]: summary written\\. To view it: convshim report $PWD/summary.json\$"
    expect_equal "texts" "$(grep -cE ' calls? tiled(;|$)' shimmed.err)" 1
    expect_line shimmed.err '^convshim\[[0-9]+\]: largest workspace .* without convshim, .* with;'
}

@test "SIGTERM to a program of convshim run: prints the text, although no summary was requested" {
    begin CONVSHIM_SUMMARY=text CONVSHIM_RUN=1
    end TERM 143
    expect_equal "texts" "$(grep -cE ' calls? tiled(;|$)' shimmed.err)" 1
}

@test "SIGTERM on the smallest stack that a signal can have: both forms" {
    [ -z "$SAN_RT" ] || cannot_run "sanitizers follow no thread to another stack"
    rm -f summary.json
    SUMMARY=text,json:summary.json hostile small_signal_stack 143
    expect_true "calls" "$(summary_total calls summary.json) >= 1"
    expect_equal "texts" "$(grep -cE ' calls? tiled(;|$)' shimmed.err)" 1
}

@test "killed by itself, as a program of Python by Ctrl-C: both forms, and the program ends of the signal" {
    rm -f summary.json
    SUMMARY=text,json:summary.json hostile interrupted 130
    expect_true "calls" "$(summary_total calls summary.json) >= 1"
    expect_equal "texts" "$(grep -cE ' calls? tiled(;|$)' shimmed.err)" 1
}

@test "kill(2) that ends no process: one summary, at the end, with all calls" {
    SUMMARY=text,json:summary.json hostile not_killed
    expect_equal "calls" "$(summary_total calls summary.json)" 2
    expect_equal "texts" "$(grep -cE ' calls? tiled(;|$)' shimmed.err)" 1
}

# python STATUS SUMMARY LINE: a program of Python that runs a convolution and then the line.
python()
{
    rm -f summary.json
    CONVSHIM_SUMMARY=$2 CONVSHIM_CONFIG=$EVERYTHING on_device python env LD_PRELOAD="$PRELOAD" python3 -c "import ctypes, os, signal
work, handle = ctypes.CDLL('$CLIENTS/libwork.so'), ctypes.c_void_p()
assert work.work_open(0, ctypes.byref(handle)) == 0 and work.work_run(handle) == 0
$3
work.work_close(handle)"
    expect_status "$1"
}

@test "Python: Ctrl-C, a raised signal, os._exit, and children of a fork that end so" {
    local texts=' calls? tiled(;|$)'
    python 130 text,json:summary.json 'os.kill(os.getpid(), signal.SIGINT)
while True: pass'
    expect_line python.err '^KeyboardInterrupt$'
    expect_equal "texts" "$(grep -cE "$texts" python.err)" 1
    expect_true "calls" "$(summary_total calls summary.json) == 1"
    python 129 text 'signal.raise_signal(signal.SIGHUP)'
    expect_equal "texts" "$(grep -cE "$texts" python.err)" 1
    python 3 text 'os._exit(3)'
    expect_equal "texts" "$(grep -cE "$texts" python.err)" 1
    python 0 text 'if os.fork() == 0: work.work_run(handle); os._exit(0)
os.wait()'
    expect_equal "texts" "$(grep -cE "$texts" python.err)" 2
    python 0 text 'if os.fork() == 0: os._exit(0)
os.wait()'
    expect_equal "texts" "$(grep -cE "$texts" python.err)" 1
}

@test "SIGKILL in the middle: the JSON summary of the last seconds is there" {
    begin
    wait_for summary.json
    end KILL 137
    expect_true "calls" "$(summary_total calls summary.json) >= 1"
    local left=(summary.json.*)
    [ ! -e "${left[0]}" ] || rm "${left[0]}" # killed while it wrote the next one
}

@test "SIGTERM to a program whose own handler calls the previous one: the program's own end" {
    SUMMARY=json:summary.json hostile chained_signal 7
    expect_true "calls" "$(summary_total calls summary.json) >= 1"
}

@test "SIGTERM that the program ignores stays ignored" {
    SUMMARY=json:summary.json hostile ignored_signal
    expect_equal "calls" "$(summary_total calls summary.json)" 2
}

@test "SIGTERM without a JSON summary: no handler is installed, no file is written" {
    begin CONVSHIM_SUMMARY=text
    local mask
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$(program_of "$victim")/status")
    expect_equal "SIGTERM among the signals caught" "$((0x$mask >> 14 & 1))" 0
    end TERM 143
    [ ! -e summary.json ] || fail "a summary"
}

@test "a child of vfork that executes another program: both work" {
    hostile vfork_exec
}

@test "a framework unloaded and loaded again, and cuDNN with it: every result right" {
    hostile unload
    expect_equal "calls" "$(counted calls)" 10
    expect_equal "tiled calls" "$(counted tiled)" 10
    expect_no_violation shimmed
}

@test "a sandbox that closes after the first calls: later calls open no file and map no memory" {
    [ -z "$SAN_RT" ] || cannot_run "sanitizers take memory"
    [ "$(uname -m)" = x86_64 ] || cannot_run "the filter is for x86_64"
    SUMMARY=off hostile sandbox
}

# allocator NAME: preloaded before and after the library.
allocator()
{
    local file order
    [ -z "$SAN_RT" ] || cannot_run "sanitizers have an allocator of their own"
    file=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n "s/.* => \(.*\/$1\.so\.2\)\$/\1/p;" | head -n 1)
    [ -n "$file" ] || cannot_run "$1 is not installed"
    for order in "$file:$LIBRARY" "$LIBRARY:$file"; do
        PRELOAD=$order CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
        expect_status 0
        expect_equal "tiled calls" "$(counted tiled)" 2
        expect_no_violation shimmed
        PRELOAD=$order CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/hostile" threads "$CLIENTS/libwork.so"
        expect_status 0
        PRELOAD=$order CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/hostile" fork_before "$CLIENTS/libwork.so"
        expect_status 0
    done
}

@test "jemalloc preloaded, in either order" {
    allocator libjemalloc
}

@test "mimalloc preloaded, in either order" {
    allocator libmimalloc
}

# without FOLDER: the program finds it empty.
without()
{
    unshare -m true 2>/dev/null || cannot_run "no namespaces of mounts"
    CONVSHIM_CONFIG=$EVERYTHING shimmed unshare -m sh -c 'LD_PRELOAD= mount -t tmpfs none "$0" && exec "$@"' "$1" \
        "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    ! grep -q 'mount:' shimmed.err || cannot_run "nothing can be mounted"
    expect_status 0
    expect_equal "tiled calls" "$(counted tiled)" 2
    expect_no_violation shimmed
}

@test "no /etc" {
    without /etc
}

@test "no /proc" {
    without /proc
}

@test "no /proc, and a thread with a small stack" {
    unshare -m true 2>/dev/null || cannot_run "no namespaces of mounts"
    [ -z "$SAN_RT" ] || cannot_run "sanitizers take more than a small stack"
    SIMDEV_PLANNING=rule CONVSHIM_CONFIG="workspace=60KiB" shimmed unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
        "$CLIENTS/small_stack" 64
    ! grep -q 'mount:' shimmed.err || cannot_run "nothing can be mounted"
    expect_status 0
    expect_line shimmed.out 'right$'
}

@test "standard error closed from the start: no harm" {
    CONVSHIM_CONFIG=$EVERYTHING shimmed sh -c 'exec "$@" 2>&-' sh "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
}

@test "a full disk: the summary is missing with one line, and the program continues" {
    [ -c /dev/full ] || cannot_run "there is no /dev/full"
    CONVSHIM_CONFIG="$EVERYTHING;summary=json:/dev/full" shimmed "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
    expect_line shimmed.err '.*summary: No space left on device: /dev/full'
}

@test "a limit of file size: no signal, no half summary" {
    local left
    [[ $SAN_RT != *tsan* ]] || cannot_run "ThreadSanitizer writes a file when a program starts"
    CONVSHIM_SUMMARY=json:summary.json CONVSHIM_CONFIG=$EVERYTHING "$ROOT/scripts/with-simdev" -- env LD_PRELOAD="$PRELOAD" \
        bash -c 'ulimit -f 0; exec "$@"' bash "$CLIENTS/hostile" both "$CLIENTS/libwork.so" 2> >(cat >shimmed.err)
    left=(summary.json*)
    [ ! -e "${left[0]}" ] || fail "${left[0]} is left"
}

@test "a set-user-id program: its user's environment is ignored" {
    local folder status=0
    [ -z "$SAN_RT" ] || cannot_run "a sanitizer's runtime reads the environment itself"
    [ "$(id -u)" = 0 ] && command -v setcap setpriv >/dev/null || cannot_run "only root gives a file capabilities"
    folder=$(mktemp -d /tmp/convshim.XXXXXX)
    chmod 755 "$folder"
    cp "$BUILD/convshim" "$folder/plain"
    cp "$BUILD/convshim" "$folder/privileged"
    echo 'policy = off' >"$folder/user.ini"
    setcap cap_net_raw+ep "$folder/privileged" 2>/dev/null || status=$?
    local name
    for name in plain privileged; do
        setpriv --reuid=65534 --regid=65534 --clear-groups env CONVSHIM_CONFIG=workspace=1KiB CONVSHIM_CONFIGFILE="$folder/user.ini" \
            "$folder/$name" config --format csv >"$name.out" 2>"$name.err" || status=$?
    done
    rm -r "$folder"
    [ "$status" = 0 ] || cannot_run "this file system takes no capabilities"
    expect_equal "options that the environment gave the plain one" "$(grep -cE 'CONVSHIM_CONFIG|user\.ini' plain.out)" 2
    expect_equal "options that the environment gave the privileged one" "$(grep -cE 'CONVSHIM_CONFIG|user\.ini' privileged.out)" 0
}

# A program whose group is its file's: the kernel sets AT_SECURE, and the loader preloads no library, so the library
# is linked.
@test "a set-group-id program linked to the library: its user's environment is ignored" {
    local name
    [ -z "$SAN_RT" ] || cannot_run "a sanitizer's runtime reads the environment itself"
    cp "$CLIENTS/reset_linked" plain
    cp "$CLIENTS/reset_linked" privileged
    chgrp 65534 privileged 2>/dev/null && chmod g+s privileged || cannot_run "only root gives a file another group"
    # The loader itself heeds the variable of unprivileged programs alone.
    ! LD_SHOW_AUXV=1 ./privileged 0 2>/dev/null | grep -q AT_SECURE || cannot_run "this file system gives no privileges"
    for name in plain privileged; do
        env SIMDEV_PLANNING=rule CONVSHIM_CONFIG="$EVERYTHING" CONVSHIM_POLCY=fit CONVSHIM_LOG_FILE=$name.log \
            CONVSHIM_SUMMARY=json:$name.json "./$name" 1 >"$name.out" 2>"$name.err" || fail "$name failed"
        expect_line "$name.out" 'round 0: .*right'
    done
    expect_line plain.out "told 53760 "
    expect_line privileged.out "told 135680 "
    expect_line plain.log 'CONVSHIM_POLCY: no such variable'
    for name in log json; do
        [ ! -e "privileged.$name" ] || fail "the privileged one has written privileged.$name"
    done
    expect_line privileged.err "policy $DEFAULT_POLICY, built-in defaults"
    expect_line privileged.err ' 0 of 1 call tiled'
    ! grep 'CONVSHIM_' privileged.err || fail "the privileged one has looked at the environment"
}

@test "files are made for their user alone" {
    umask 022
    CONVSHIM_LOG=debug CONVSHIM_LOG_FILE=log.txt CONVSHIM_CONFIG="$EVERYTHING;summary=json:summary.json" \
        shimmed "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
    local name
    for name in log.txt summary.json; do
        expect_equal "mode of $name" "$(stat -c %a "$name")" 600
    done
}

@test "no file is made through a link" {
    local name
    for name in log.txt summary.json; do
        ln -s "victim.$name" "$name"
    done
    CONVSHIM_LOG=debug CONVSHIM_LOG_FILE=log.txt CONVSHIM_CONFIG="$EVERYTHING;summary=json:summary.json" \
        shimmed "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
    local made=(victim.*)
    [ ! -e "${made[0]}" ] || fail "${made[*]} through a link"
    expect_true "complaints" "$(grep -cE 'cannot (open the log file|write the summary)' shimmed.err) == 2"
}

@test "a link that another user laid is not followed, one of the user's own is" {
    [ "$(id -u)" = 0 ] || cannot_run "only root lays links for others"
    touch target
    ln -s target log.txt
    CONVSHIM_LOG_FILE=log.txt CONVSHIM_SUMMARY=text CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_line target ' of 1 calls? tiled'
    : >target
    chown -h 65534 log.txt
    CONVSHIM_LOG_FILE=log.txt CONVSHIM_SUMMARY=text CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_empty target
    expect_line shimmed.err 'cannot open the log file'
}

# A folder that has a file for every module of Python's library and a cuDNN; each leaves a file when it runs.
@test "commands in a folder of another user: no code of the folder runs" {
    mkdir -p hidden hostile/nvidia/cudnn/lib hostile/torch
    : >hidden/libcudnn.so.9 # the loader finds no cuDNN
    python3 - <<'END'
import sys
for name in {*sys.stdlib_module_names, "sitecustomize", "usercustomize", "nvidia/__init__", "nvidia/cudnn/__init__", "torch/__init__"}:
    with open(f"hostile/{name}.py", "w") as file:
        file.write(f"open('RAN-{name}'.replace('/', '-'), 'w')\n")
END
    gcc -shared -fPIC -o hostile/nvidia/cudnn/lib/libcudnn.so.9 -x c - <<<'#include <stdio.h>
__attribute__((constructor)) static void run(void) { fclose(fopen("RAN-library", "w")); }'
    : >pass.py
    cd hostile
    python3 -c 'import csv' 2>/dev/null || :
    [ -e RAN-csv ] || fail "Python itself runs no code of the folder: the test cannot fail"
    rm RAN-*
    local command
    for command in "predict ${SPIKE[*]}" doctor "doctor -- python3 ../pass.py" "simulate -- python3 ../pass.py" \
        "run -- true" config report status; do
        # shellcheck disable=SC2086 # words of a command
        PYTHONPATH='' LD_LIBRARY_PATH=$BATS_TEST_TMPDIR/hidden "$BUILD/convshim" $command >../command.out 2>../command.err || :
        expect_equal "$command: code that ran" "$(find . -name 'RAN-*')" ""
    done
}

@test "two copies of the library: one line, the first one works, and one last line" {
    [ -z "$SAN_RT" ] || cannot_run "with a sanitizer"
    cp "$LIBRARY" copy.so
    export CONVSHIM_CONFIG=$EVERYTHING
    PRELOAD=$LIBRARY:$PWD/copy.so shimmed "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
    expect_equal "tiled calls" "$(counted tiled)" 2
    expect_equal "lines on copies" "$(grep -c "^convshim\\[[0-9]*\\]: .*two copies.*$PWD/copy.so" shimmed.err)" 1
    local way
    for way in exit _exit; do
        LD_LIBRARY_PATH=$SIMDEV_DIR LD_PRELOAD=$LIBRARY:$PWD/copy.so "$BUILD/convshim" run -- "$CLIENTS/idle" $way >idle.out 2>idle.err
        expect_equal "last lines of $way" "$(grep -c 'no convolution' idle.err)" 1
    done
}
