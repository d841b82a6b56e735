#!/usr/bin/env bats
# Hostile loading: a program gets its results for each use of libraries, threads and processes.
load helper

# Summaries as text: one for each process, wherever it goes.
readonly JSON=$SUMMARY
SUMMARY=text

# hostile MODE: everything is tiled; the program ends with status $2 (0).
hostile()
{
    CONVSHIM_CONFIG=$EVERYTHING shimmed "${AS_USER[@]}" "$CLIENTS/hostile" "$1" "$CLIENTS/libwork.so"
    expect_status "${2:-0}"
    expect_empty shimmed.out
}

expect_summaries()
{
    expect_equal "summaries" "$(grep -cE '^convshim\[[0-9]+\]: convshim [0-9]' shimmed.err)" "$1"
}

expect_counts()
{
    expect_summaries 1
    expect_equal "calls" "$(counted calls)" "$1"
    expect_equal "calls tiled" "$(counted tiled)" "$1"
    expect_no_violation shimmed
}

# bats test_tags=quick
@test "a library with cuDNN loaded RTLD_LOCAL: seen and tiled, both APIs" {
    hostile both
    expect_counts 2
    SUMMARY=$JSON hostile both
    expect_accounts_agree
}

@test "a library with cuDNN loaded RTLD_GLOBAL: seen and tiled" {
    hostile global
    expect_counts 1
}

@test "a library with cuDNN loaded RTLD_DEEPBIND: out of reach, works untiled" {
    [ -z "$SAN_RT" ] || cannot_run "sanitizers refuse RTLD_DEEPBIND"
    hostile deepbind
    expect_empty shimmed.err
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" 1
}

@test "libconvshim.so loaded and unloaded by the program: the program continues" {
    HOSTILE_CONVSHIM=$LIBRARY plain "$CLIENTS/hostile" unpreloaded "$CLIENTS/libwork.so"
    expect_status 0
    expect_no_violation plain
}

@test "libconvshim.so loaded by hand on top of the preloaded one: one summary" {
    HOSTILE_CONVSHIM=$LIBRARY hostile unpreloaded
    expect_counts 3
}

@test "libconvshim.so preloaded twice, by two names: one summary" {
    cp "$LIBRARY" copy.so
    CONVSHIM_CONFIG=$EVERYTHING on_device shimmed env LD_PRELOAD="$PRELOAD:./copy.so" \
        "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
    expect_no_violation shimmed
    expect_summaries 1
}

@test "the first call comes from eight threads at once: one instance" {
    hostile threads
    expect_counts 8
    SUMMARY=$JSON hostile threads
    expect_accounts_agree
}

# The same library twice, once under the name of a part of cuDNN: calls from that one are cuDNN's own.
@test "a library that is named like a part of cuDNN but lies elsewhere: its calls are tiled as an application's" {
    cp "$CLIENTS/libwork.so" libcudnn_engines_own.so.9
    HOSTILE_PART=./libcudnn_engines_own.so.9 hostile part
    expect_counts 10
    # Three tiles a call.
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" 30
    cp "$CLIENTS/libwork.so" libcudn_engines_own.so.9
    HOSTILE_PART=./libcudn_engines_own.so.9 hostile part
    expect_counts 10
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" 30
}

@test "the first call during a library's constructor that forks and calls: no deadlock" {
    HANGS=120 SIMDEV_PLANNING=rule SIMDEV_CUDNN_DIR='' shimmed "$CLIENTS/load_race" "$CLIENTS/libload_race_plugin.so"
    expect_status 0
    expect_line shimmed.out '^both were served$'
}

@test "a device that is reset between models: every time its share of own scratch is there again" {
    SUMMARY=$JSON CONVSHIM_CONFIG="$EVERYTHING;backing=own;arena=100KiB" shimmed "$CLIENTS/reset" 6
    expect_status 0
    expect_equal "right rounds" "$(grep -c 'right$' shimmed.out)" 6
    expect_equal "tiled calls" "$(counted tiled)" 6
    expect_true "KiB of own scratch, at most" "$(summary 's["own"]["peak"] // 1024') == 52"
}

@test "fork before the first call: parent and child report their own" {
    hostile fork_before
    expect_counts 2
    expect_equal "calls of the child" "$(counted calls hostile.child)" 1
}

@test "fork after calls: an idle child prints no message, the parent keeps its counts" {
    hostile fork_after
    expect_counts 2
    expect_empty hostile.child
}

@test "fork after calls: a child that calls reports its own calls only" {
    hostile fork_inherited
    expect_counts 3
    expect_equal "calls of the child" "$(counted calls hostile.child)" 1
}

@test "parent and child with CONVSHIM_LOG_FILE and %p: a file each, with a summary each" {
    CONVSHIM_LOG_FILE=log.%p hostile fork_before
    expect_empty shimmed.err
    expect_empty hostile.child
    local logs=(log.*)
    expect_equal "log files" "${#logs[@]}" 2
    expect_equal "calls of both" "$(($(counted calls "${logs[0]}") + $(counted calls "${logs[1]}")))" 3
}

@test "exec after calls: the new program starts with fresh counts" {
    hostile exec
    expect_counts 1
}

@test "standard error closed before the end: no harm" {
    hostile close_stderr
    expect_empty shimmed.err
}

@test "_exit: one summary" {
    hostile _exit
    expect_summaries 1
    expect_equal "calls" "$(counted calls)" 1
}

@test "abort: the signal arrives, and no summary is written" {
    hostile abort 134
    expect_summaries 0
}

@test "exit from another thread: one summary" {
    hostile thread_exit
    expect_counts 1
}

@test "main thread ended before the process: one summary" {
    hostile main_gone
    expect_counts 2
}

# interposed PRELOAD: another library that hands malloc on is preloaded too.
interposed()
{
    CONVSHIM_CONFIG=$EVERYTHING on_device shimmed env LD_PRELOAD="${SAN_RT:+$SAN_RT:}$1" \
        "$CLIENTS/hostile" both "$CLIENTS/libwork.so"
    expect_status 0
    expect_counts 2
    # A sanitizer keeps malloc for itself.
    expect_line shimmed.err "^interposer: (called, found again${SAN_RT:+|not called})\$"
}

@test "another interposer before ours" {
    interposed "$CLIENTS/libinterposer.so:$LIBRARY"
}

@test "another interposer after ours: both work" {
    interposed "$LIBRARY:$CLIENTS/libinterposer.so"
}

@test "a tracer that is named like a part of cuDNN: its calls are the application's" {
    CONVSHIM_CONFIG="$FIXED;tiles=3;threshold=0" on_device shimmed \
        env LD_PRELOAD="${SAN_RT:+$SAN_RT:}$CLIENTS/libcudnn_tracer.so:$LIBRARY" "$CLIENTS/plans" orphan
    expect_status 0
    expect_line shimmed.err '^tracer: status 0$'
    expect_no_violation shimmed
    expect_equal "calls tiled" "$(counted tiled)" 1
}

@test "a cuDNN without the legacy API: the backend API is tiled, the legacy API is not supported" {
    device_with partial
    hostile local
    expect_counts 1
    hostile legacy 1
    expect_line shimmed.err 'hostile: the convolution was refused'
}

@test "a cuDNN without CUDA graphs: not supported, no crash" {
    device_with partial
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/plans" populate
    expect_status 1
    expect_line shimmed.err 'CUDNN_STATUS_NOT_SUPPORTED'
}

# logged PATH: the log cannot be written there.
logged()
{
    CONVSHIM_LOG_FILE=$1 hostile local
    expect_equal "complaints" "$(grep -c 'cannot open the log file' shimmed.err)" 1
    expect_equal "calls" "$(counted calls)" 1
}

@test "a log path that is missing or no file: one line, then standard error" {
    logged "$BATS_TEST_TMPDIR/missing/log"
    logged "$BATS_TEST_TMPDIR"
    logged /dev/null/log
}

@test "a log file without write permission: one line, then standard error" {
    touch log.txt && chmod 000 log.txt
    need_permissions
    logged "$BATS_TEST_TMPDIR/log.txt"
}

@test "a log file on a full disk: no harm, and the summary is on standard error" {
    [ -c /dev/full ] || cannot_run "there is no /dev/full"
    CONVSHIM_LOG_FILE=/dev/full hostile local
    expect_line shimmed.err '^convshim\[[0-9]+\]: convshim [0-9.]+, cuDNN '
}

@test "standard error on a pipe without a reader: the program ends as usual" {
    # shellcheck disable=SC2016 # the inner shell expands them
    CONVSHIM_CONFIG=$EVERYTHING "$ROOT/scripts/with-simdev" -- bash -c \
        '{ env LD_PRELOAD="$1" "$2" local "$3"; echo "$?" >status; } 2>&1 >/dev/null | true' \
        bash "$PRELOAD" "$CLIENTS/hostile" "$CLIENTS/libwork.so"
    expect_equal "status" "$(cat status)" 0
}
