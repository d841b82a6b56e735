#!/usr/bin/env bats
# shellcheck disable=SC2016 # an inner shell expands these
# Signs of life: lines of the log, the line at the end of a run, convshim status.
load helper

export SIMDEV_PLANNING=rule
COMMAND=$BUILD/convshim
SOAK=("$APPS/soak" --calls 100000000)

# run_on NAME ARGUMENT...: convshim run on the device.
run_on()
{
    on_device "$1" env LD_PRELOAD="$SAN_RT" "$COMMAND" run --no-expandable-segments "${@:2}"
}

# begin_soak OPTION...: convshim run of a program that does not end; $pid is that of the program.
begin_soak()
{
    LD_LIBRARY_PATH=$BUILD/bench:$BUILD/simdev LD_PRELOAD=$SAN_RT "$COMMAND" run --workspace 8KiB "$@" -- "${SOAK[@]}" >soak.out 2>soak.err &
    pid=$!
    for ((i = 0; i < 600; i++)); do
        ! "$COMMAND" status "$pid" --format csv >status.csv 2>status.err || return 0
        kill -0 "$pid" || fail "the program ended"
        sleep 0.1
    done
    fail "no status after a minute"
}

end_soak()
{
    kill "-$1" "$pid"
    wait "$pid" || true
}

teardown()
{
    [ -z "${pid-}" ] || kill -KILL "$pid" 2>/dev/null || true
}

# cell NAME: of the only process in status.csv.
cell()
{
    python3 -c 'import csv, sys
row, = csv.DictReader(open("status.csv"))
print(row[sys.argv[1]])' "$1"
}

# bats test_tags=quick
@test "log = info: a line that the library is loaded, one that cuDNN is bound" {
    run_on info --log info --workspace 96KiB -- "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_line info.err '^convshim\[[0-9]+\]: convshim [0-9.]+ is loaded: policy '"$DEFAULT_POLICY"', workspace 96 KiB, variables$'
    expect_line info.err "^convshim\\[[0-9]+\\]: using cuDNN 9\\.[0-9]+\\.[0-9]+ from .*/libcudnn\\.so\\.9\$"
}

# bats test_tags=quick
@test "a program of convshim run: one line at its end, also without a convolution, with the reason" {
    local hint='convshim\[[0-9]+\]: no convolution'
    run_on none -- bash -c 'true; exit 7'
    expect_status 7
    expect_line none.err "^$hint: this process loaded no cuDNN, and no child process ran one with convshim\\. .*doctor -- COMMAND\$"
    run_on dropped -- bash -c 'export LD_PRELOAD=; "$@"; true' bash "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_line dropped.err "^$hint: this process loaded no cuDNN, and it changed LD_PRELOAD, so"
    run_on idle -- "$CLIENTS/idle"
    expect_status 0
    expect_line idle.err "^$hint was run: .*/libcudnn\\.so\\.9 is loaded, but no call reached convshim\\. .*doctor -- COMMAND\$"
    run_on child --workspace 96KiB -- bash -c '"$@"; true' bash "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_line child.err "^$hint in this process: see the summaries of its child processes\$"
    expect_equal "summaries" "$(grep -c 'largest workspace [0-9]' child.err)" 1
    local name
    for name in none dropped idle; do
        expect_equal "lines of $name" "$(wc -l <$name.err)" 1
    done
    expect_equal "left behind" "$(find "$XDG_RUNTIME_DIR" -type f)" ""
}

@test "a shell that starts programs: exactly one line, for every kind of shell" {
    local shell name none='^convshim\[[0-9]+\]: no convolution: this process loaded no cuDNN, and no child process ran one'
    local work=("$CLIENTS/hostile" local "$CLIENTS/libwork.so")
    for shell in dash bash; do
        command -v $shell >shell.path || cannot_run "no $shell"
        printf 'true\ncat /dev/null\n' >script
        run_on script -- $shell script
        run_on line -- $shell -c 'cat /dev/null; true'
        run_on exits -- $shell -c 'cat /dev/null; exit 3'
        expect_status 3
        run_on piped -- $shell -c 'cat /dev/null | cat'
        run_on chain -- $shell -c 'exec sh -c "exec bash -c \"true; exit\""'
        for name in script line exits piped chain; do
            expect_line $name.err "$none"
            expect_equal "lines of $name" "$(wc -l <$name.err)" 1
        done
        # The program that the shell became prints its own line.
        run_on became --workspace 96KiB -- $shell -c 'exec "$@"' $shell "${work[@]}"
        expect_status 0
        expect_equal "summaries" "$(grep -c 'largest workspace [0-9]' became.err)" 1
        ! grep -q 'no convolution' became.err || fail "$shell: no convolution, and one"
        run_on child --workspace 96KiB -- $shell -c '"$@"; true' $shell "${work[@]}"
        expect_line child.err '^convshim\[[0-9]+\]: no convolution in this process'
        expect_equal "summaries" "$(grep -c 'largest workspace [0-9]' child.err)" 1
    done
}

@test "the final line: printed without a summary, omitted with one, silenced by log = off" {
    local program=("$CLIENTS/hostile" local "$CLIENTS/libwork.so")
    run_on off --summary off -- "${program[@]}"
    expect_line off.err '^convshim\[[0-9]+\]: 1 convolutions, 0 of them tiled$'
    expect_equal "lines" "$(wc -l <off.err)" 1
    run_on text -- "${program[@]}"
    ! grep -q 'of them tiled' text.err || fail "both"
    run_on quiet --log off --summary off -- "${program[@]}"
    expect_empty quiet.err
    run_on quiet --log off -- bash -c 'true; exit'
    expect_empty quiet.err
    run_on logged --log-file log -- bash -c 'true; exit'
    expect_empty logged.err
    expect_line log '^convshim\[[0-9]+\]: no convolution: this process'
    CONVSHIM_RUN=1 on_device other env LD_PRELOAD="$PRELOAD" bash -c 'true; exit'
    expect_empty other.err
}

@test "status of a running process: its calls grow, then it disappears" {
    begin_soak
    expect_equal "pid" "$(cell pid)" "$pid"
    expect_equal "program" "$(cell program)" soak
    expect_equal "limit" "$(cell workspace)" 8KiB
    expect_equal "mode of the file" "$(stat -c %a "$XDG_RUNTIME_DIR/convshim/$pid.json")" 600
    local before tiled
    before=$(cell calls)
    for ((i = 0; i < 600; i++)); do
        command_of 0 status --format csv
        mv status.out status.csv
        [ "$(cell calls)" -gt "$before" ] && break
        sleep 0.1
    done
    tiled=$(cell tiled)
    expect_true "calls" "$(cell calls) > $before"
    expect_true "tiled" "$tiled > 0 && $tiled <= $(cell calls)"
    # An untiled convolution keeps its size, so the largest reported may be the largest required.
    expect_true "workspace" "$(cell reported_max) > 0 && $(cell required_max) >= $(cell reported_max)"
    command_of 0 status "$pid"
    expect_line status.out "^ *$pid  *soak  *0:00:"
    end_soak KILL
    command_of 1 status "$pid"
    expect_line status.err '^convshim: [0-9]+: No such process$'
    [ ! -e "$XDG_RUNTIME_DIR/convshim/$pid.json" ] || fail "the file of a killed process stays"
    command_of 1 status "$$"
    expect_line status.err 'this process has not loaded libconvshim\.so\. Start it again'
    command_of 1 status
    expect_line status.err '^convshim: No running process of yours has used convshim yet'
}

@test "status of a run with policy off: required sizes are reported, and smaller ones possible" {
    begin_soak --policy off --max-slowdown off --workspace 48KiB
    expect_equal "reported" "$(cell reported_max)" "$(cell required_max)"
    command_of 0 status "$pid"
    expect_line status.out ' KiB \([0-9.]+ KiB possible\) '
    end_soak KILL
}

@test "status --watch: goes on until the process ends" {
    begin_soak
    timeout 60 "$COMMAND" status --watch "$pid" --format csv >watch.csv &
    local watch=$!
    sleep 2.5
    end_soak KILL
    wait "$watch" || fail "status --watch: $?"
    expect_true "times" "$(grep -c "^$pid," watch.csv) >= 2"
}

@test "no place for the file, a full one, another user's: the program is unaffected" {
    local program=("$CLIENTS/hostile" local "$CLIENTS/libwork.so")
    mkdir -p other/convshim && chmod 777 other/convshim
    XDG_RUNTIME_DIR=$PWD/other run_on other -- "${program[@]}"
    expect_status 0
    expect_equal "files" "$(find other -type f)" ""
    ln -s "$PWD/other" "$XDG_RUNTIME_DIR/convshim"
    run_on link -- "${program[@]}"
    expect_status 0
    expect_equal "files" "$(find other -type f)" ""
    need_permissions
    mkdir closed && chmod 500 closed
    XDG_RUNTIME_DIR=$PWD/closed on_device closed env LD_PRELOAD="$SAN_RT" "${AS_USER[@]}" "$COMMAND" run -- "${program[@]}"
    expect_status 0
}
