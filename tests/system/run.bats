#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031 # an inner shell expands these; each test is a separate process
# convshim run: the program gets the library and its options, independent of earlier settings, and keeps its own status.
load helper

export SIMDEV_PLANNING=rule
COMMAND=$BUILD/convshim

# run_command STATUS ARGUMENT...: run.out and run.err.
run_command()
{
    command_of "$1" run "${@:2}"
}

# The output contains only the line that ends every run (status.bats).
expect_no_word()
{
    sed -i -e "/^convshim\[[0-9]*\]: no convolution/d" -e "/^convshim: PYTORCH_CUDA_ALLOC_CONF=/d" run.err
    expect_empty run.err
}

# set_to NAME: the value that a dry run would set, read by a shell.
set_to()
{
    # A shell function, because a program would load the library.
    (eval "$(<run.out)" && echo "${!1-unset}")
}

# bats test_tags=quick
@test "a program runs with the library and the option: the summary shows both" {
    on_device text env LD_PRELOAD="$SAN_RT" "$COMMAND" run --workspace 96KiB -- "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_equal "calls" "$(counted_in_text calls text.err)" 1
    CONVSHIM_SUMMARY=json:shimmed.%p.summary on_device shimmed env LD_PRELOAD="$SAN_RT" "$COMMAND" run --workspace 96KiB -- \
        "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    expect_equal "limit" "$(summary 's["config"]["options"]["workspace"]')" 96KiB
    expect_equal "source" "$(summary 's["config"]["source"]')" variables
    expect_no_violation shimmed
}

# bats test_tags=quick
@test "the program's own options, output, input and status are its own" {
    status=0
    echo input | LD_PRELOAD=$SAN_RT "$COMMAND" run sh -c 'cat; echo "$1"; exit 7' sh --workspace >run.out 2>run.err || status=$?
    expect_status 7
    expect_equal "output" "$(<run.out)" $'input\n--workspace'
    expect_no_word
}

@test "every option of the library is one of run's, and is checked as the library would" {
    local name value variable
    "$COMMAND" config --format csv | tail -n +2 >options.csv
    while IFS=, read -r name value _; do
        run_command 0 --dry-run "--$name" "${value:-a file}"
        variable=CONVSHIM_${name^^}
        expect_equal "$name" "$(set_to "${variable//./_}")" "${value:-a file}"
    done <options.csv
    expect_true "options" "$(wc -l <options.csv) > 10"
    run_command 125 --workspace 64parsecs -- touch ran
    expect_line run.err '^convshim: run: --workspace: "64parsecs" .*1KiB to 1TiB$'
    [ ! -e ran ] || fail "the program ran all the same"
}

@test "the command: without a name its help, status 2; for an unknown name the nearest" {
    run "$COMMAND"
    expect_status 2
    printf '%s\n' "$output" >help.out
    expect_equal "help" "$(<help.out)" "$("$COMMAND" --help)"
    run "$COMMAND" rnu
    expect_status 2
    printf '%s\n' "$output" >rnu.err
    expect_line rnu.err "'rnu'.*'run'\?\$"
}

# bats test_tags=quick
@test "exit statuses of all commands: 0 yes, 1 no, 2 wrong command line or file, 3 no answer" {
    local wanted arguments
    echo 'workspace = x' >bad.ini
    : >good.ini
    echo "1x8x8x8 -> 8 k3x3" >one.csv
    while IFS='|' read -r wanted arguments; do
        status=0
        # shellcheck disable=SC2086 # several
        CUDA_VISIBLE_DEVICES="" "$COMMAND" $arguments >status.out 2>status.err || status=$?
        expect_equal "status of convshim $arguments" "$status" "$wanted"
        case $arguments in *list | *good.ini)
            status=0
            # shellcheck disable=SC2086
            "$COMMAND" $arguments >/dev/full 2>status.err || status=$?
            expect_equal "status of convshim $arguments on a full disk" "$status" 3
        esac
    done <<'END'
0|config --check good.ini
1|config --check bad.ini
2|config --check missing.ini
0|predict --device list
0|simulate --device list
2|predict --layers missing.csv
3|predict --cudnn missing.so --layers one.csv
1|doctor ./missing
1|status 1
2|status x
2|report missing.json
3|verify
2|simulate --device missing -- true
3|simulate --library ./missing.so -- true
END
}

@test "presets: each is a faultless ini file that begins with its purpose, is listed and accepted" {
    local file name
    for file in "$ROOT"/conf/presets/*.ini; do
        name=$(basename "$file" .ini)
        "$COMMAND" config --check "$file" >check.out 2>&1 || fail "$name: $(<check.out)"
        run_command 0 --preset list
        expect_line run.out "^$name +$(sed -n '1s/^# //p' "$file" | sed 's/[.]/\\./g')\$"
        CONVSHIM_CONFIGFILE=/etc/mine.ini run_command 0 --dry-run --preset "$name"
        expect_equal "$name" "$(set_to CONVSHIM_CONFIGFILE)" "$(realpath "$file")"
        grep -qF "\`$name\`" "$ROOT/docs/policies.md" || fail "docs/policies.md does not tell of $name"
    done
    run_command 125 --preset loo -- touch ran
    expect_line run.err "^convshim: unknown preset 'loo'.*'look'.*--preset list\$"
    run_command 125 --preset ./none.ini -- touch ran
    expect_line run.err '^convshim: \./none\.ini: No such file or directory$'
    [ ! -e ran ] || fail "the program ran all the same"
}

# in_force OPTION...: of run; limit, policy and source, as the program had them, go to options.out.
in_force()
{
    CONVSHIM_SUMMARY=json:shimmed.%p.summary on_device shimmed env LD_PRELOAD="$SAN_RT" "$COMMAND" run "$@" -- \
        "$CLIENTS/hostile" local "$CLIENTS/libwork.so"
    expect_status 0
    summary '"%s %s %s" % (s["config"]["options"]["workspace"], s["config"]["options"]["policy"], s["config"]["source"])' >options.out
}

@test "a preset is in force, options given with it override it, and a user's ini file is found by its path" {
    in_force --preset card
    expect_line options.out '^auto '"$DEFAULT_POLICY"' .*/conf/presets/card\.ini'
    in_force --preset look --workspace 1MiB
    expect_line options.out '^1MiB off .*/conf/presets/look\.ini and variables$'
    echo 'workspace = 3MiB' >mine.ini
    in_force --preset mine.ini
    expect_line options.out '^3MiB '"$DEFAULT_POLICY"' .*/mine\.ini'
}

@test "convolutions have the names of the program's NVTX ranges, unless another tool listens" {
    on_device shimmed env LD_PRELOAD="$SAN_RT" "$COMMAND" run --summary json:summary.json -- \
        "$CLIENTS/ranges" "$CLIENTS/libwork.so"
    expect_status 0
    expect_equal "names" "$(python3 -c 'import json
print([site["name"] for site in json.load(open("summary.json"))["sites"] if site["calls"]])')" "['decoder \"up\" 3', 'step']"
    run_command 0 --dry-run
    expect_equal "injection" "$(set_to NVTX_INJECTION64_PATH)" "$LIBRARY"
    NVTX_INJECTION64_PATH=/opt/nsight/libToolsInjection64.so run_command 0 --dry-run
    ! grep -q NVTX run.out || fail "another tool's is changed"
    on_device shimmed env LD_PRELOAD="$SAN_RT" NVTX_INJECTION64_PATH=/no/such.so "$COMMAND" run --summary json:other.json -- \
        "$CLIENTS/ranges" "$CLIENTS/libwork.so"
    expect_equal "names" "$(grep -c '"name":"step"' other.json)" 0
}

@test "run: a program that fails names the expandable segments that were set, in one line" {
    local program="import ctypes, os, sys
ctypes.CDLL('$CLIENTS/libwork.so')
"
    unset PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF
    for way in sys.exit os._exit; do
        status=0
        on_device run env LD_PRELOAD="$SAN_RT" "$COMMAND" run -- python3 -c "$program$way(3)"
        expect_status 3
        expect_line run.err 'ended with status 3\..*--no-expandable-segments$'
        on_device run env LD_PRELOAD="$SAN_RT" "$COMMAND" run --no-expandable-segments -- python3 -c "$program$way(3)"
        expect_status 3
        ! grep -q segments run.err || fail "named without cause"
    done
    on_device run env LD_PRELOAD="$SAN_RT" "$COMMAND" run -- python3 -c "$program"
    ! grep -q segments run.err || fail "named without cause"
}

@test "a model instead of a program: a line reports it" {
    touch decoder.onnx
    run_command 126 -- ./decoder.onnx
    expect_line run.err '^convshim: \./decoder\.onnx: this is a model\. Give the program that runs it'
}

@test "a dry run starts no program and is safe for a shell" {
    run_command 0 --dry-run --log-file "it's \$(touch gotcha) \`touch gotcha\`" -- touch ran
    expect_equal "value" "$(set_to CONVSHIM_LOG_FILE)" "it's \$(touch gotcha) \`touch gotcha\`"
    [ ! -e ran ] && [ ! -e gotcha ] || fail "something ran"
}

@test "a command alone in its folder names the missing files" {
    mkdir -p alone/bin
    cp "$COMMAND" alone/bin/convshim
    while IFS='|' read -r wanted arguments said; do
        status=0
        # shellcheck disable=SC2086 # several
        alone/bin/convshim $arguments >alone.out 2>alone.err || status=$?
        expect_status "$wanted"
        expect_line alone.err "^convshim: $said\$"
        expect_empty alone.out
    done <<'END'
125|run --preset list|the folder of presets was not found. Install convshim again, or give a path: --preset FILE
125|run --preset card --library ./lib.so -- true|.*
125|run -- true|libconvshim\.so is not in the folder of this program and not in ../lib. Name it: --library FILE
2|predict --device list|predict: the folder of devices was not found. Install convshim again, or give a path: --device FILE
2|predict x|predict: the folder of devices was not found. Install convshim again, or give a path: --device FILE
END
}

@test "CONVSHIM=0: reported, and the program runs" {
    LD_PRELOAD=$SAN_RT CONVSHIM=0 run_command 0 true
    expect_line run.err '^convshim: CONVSHIM=0 .*$'
    LD_PRELOAD=$SAN_RT CONVSHIM=1 run_command 0 true
    expect_no_word
}

@test "installed: the command finds its library, GPUs and presets; man pages and default ini exist" {
    local tree=$PWD/tree file
    env -u MAKEFLAGS -u MAKELEVEL make -C "$ROOT" -s -o lib -o cli install B="$BUILD" DESTDIR="$tree" PREFIX=/usr \
        >install.out 2>&1 || fail "$(<install.out)"
    for file in lib/libconvshim.so share/man/man1/convshim.1 share/man/man5/convshim.ini.5 share/doc/convshim/convshim.ini; do
        [ -s "$tree/usr/$file" ] || fail "$file is missing"
    done
    "$tree/usr/bin/convshim" run --dry-run --preset card >run.out
    expect_equal "library" "$(set_to LD_PRELOAD)" "$tree/usr/lib/libconvshim.so"
    expect_equal "preset" "$(set_to CONVSHIM_CONFIGFILE)" "$tree/usr/share/convshim/presets/card.ini"
    "$tree/usr/bin/convshim" predict --device list --format csv >gpus.csv
    expect_equal "GPUs" "$(tail -n +2 gpus.csv | wc -l)" "$(find "$ROOT/conf/devices" -name '*.json' | wc -l)"
}
