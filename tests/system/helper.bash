# Runs whole programs on the simulated device, without and with the library, and reads their outputs.
#
# CONVSHIM_BUILD    build folder (default: build), relative to the folder that bats was started in
# CONVSHIM_SAN_RT   a sanitizer's runtime, preloaded first
# CONVSHIM_TEST_LOAD  percentage of random cases, fixed lists and attempts (default: 25, with a sanitizer 20)
# CONVSHIM_STRICT=1 a test that cannot run here fails instead of being skipped
#
# `plain` and `shimmed` set $status and write NAME.out, NAME.err and NAME.json (the device's own accounting) to the folder
# of the test. NAME is plain or shimmed. `shimmed` also writes the library's summary of each process to
# shimmed.PID.summary.
# shellcheck shell=bash
# shellcheck disable=SC2034 # variables that the tests use

bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=$(realpath -m "${CONVSHIM_BUILD:-$ROOT/build}")
APPS=$BUILD/apps
CLIENTS=$BUILD/clients
LIBRARY=$BUILD/libconvshim.so
SAN_RT=${CONVSHIM_SAN_RT:-}
STRICT=${CONVSHIM_STRICT:-0}
LOAD=${CONVSHIM_TEST_LOAD:-$([ -n "$SAN_RT" ] && echo 20 || echo 25)}
PRELOAD=${SAN_RT:+$SAN_RT:}$LIBRARY
AS_USER=()
SUMMARY=json:shimmed.%p.summary
# shellcheck source=tests/support/summary.bash
. "$ROOT/tests/support/summary.bash"
# shellcheck source=tests/support/policies.bash
. "$ROOT/tests/support/policies.bash"

# Small tiles of everything; six of them, so that most convolutions have some for two lanes.
export EVERYTHING="$FIXED;tiles=3;threshold=0" SIX="$FIXED;tiles=6;threshold=0"

setup()
{
    local name
    for name in "${!CONVSHIM@}"; do
        unset "$name"
    done
    unset SIMDEV_FAIL SIMDEV_CAPACITY SIMDEV_REPORT LD_PRELOAD
    export SIMDEV_DIR=$BUILD/simdev OMP_NUM_THREADS=1
    export HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
    mkdir -p "$HOME" "$XDG_CONFIG_HOME/convshim"
    export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/runtime
    mkdir -m 700 "$XDG_RUNTIME_DIR"
    cd "$BATS_TEST_TMPDIR" || return 1
    [ -r "$LIBRARY" ] || fail "$LIBRARY is missing: build first"
}

# Fails: prints the reason, and the ends of the programs' outputs.
fail()
{
    local log
    echo "$1"
    for log in "$BATS_TEST_TMPDIR"/*.{err,out}; do
        [ ! -s "$log" ] || { echo "--- ${log##*/}" && tail -n 6 "$log"; }
    done
    return 1
}

# few COUNT: the requested share of COUNT random cases or repetitions.
few()
{
    echo $(($1 * LOAD >= 100 ? $1 * LOAD / 100 : 1))
}

# share COUNT: of COUNT that are expected of all cases, as many as are expected of those that are run; 0 of very few.
share()
{
    echo $(($1 * LOAD / 100))
}

# some WORD...: the requested share of a fixed list, from its beginning.
some()
{
    printf '%s\n' "${@:1:$(few $#)}"
}

# plan_quickly: the quick form of a suite plans by rule of thumb, because the real cuDNN takes longer to load than the few cases.
plan_quickly()
{
    [ "$LOAD" -gt 5 ] || export SIMDEV_PLANNING=rule
}

# show_page: writes the elements that a browser shows of page.html to page.dom.
show_page()
{
    local name browser=
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        [ -n "$browser" ] || ! command -v "$name" >/dev/null || browser=$name
    done
    [ -n "$browser" ] || cannot_run "no Chromium"
    env -u LD_PRELOAD -u LD_LIBRARY_PATH HOME="$PWD" timeout "$HANGS" "$browser" --headless --no-sandbox --disable-gpu --dump-dom \
        "file://$PWD/page.html" 2>browser.err | sed -n '/^<\/script><h1>/,$p' | sed '1s/^<\/script>//' >page.dom
    grep -q '<h1>' page.dom || fail "the browser shows nothing: $(tail -n 3 browser.err)"
}

cannot_run()
{
    [ "$STRICT" != 1 ] || fail "strict: cannot run here: $1"
    skip "$1"
}

# Seconds after which a program counts as hanging. Far more than any program takes, since the machine may be busy.
HANGS=${SAN_RT:+1800}
HANGS=${HANGS:-600}

on_device()
{
    local name=$1 early=()
    shift
    rm -f "$name.json" "$name".*.summary
    status=0
    # In account mode the shell that starts the program also has the device's libraries, and the sanitizer's must come
    # before them. ThreadSanitizer is an exception: Debian's bash crashes if its runtime is preloaded.
    [[ -z $SAN_RT || $SAN_RT == *tsan* || ${SIMDEV_MODE-} != account ]] || early=(env LD_PRELOAD="$SAN_RT")
    timeout "$HANGS" "${early[@]}" "$ROOT/scripts/with-simdev" --report "$name.json" -- "$@" >"$name.out" 2>"$name.err" ||
        status=$?
    ! grep -E '(lock order|invariant) broken' "$name.err" || fail "a debug build finds a broken rule or state"
}

plain()
{
    on_device plain env LD_PRELOAD="$SAN_RT" "$@"
}

# With the library, which writes its summary as JSON; a test may set SUMMARY, CONVSHIM_SUMMARY or the option to
# something else. Problems and written limits are small in tests, so tiles take longer than max_slowdown allows.
shimmed()
{
    case ${CONVSHIM_CONFIG-} in
    *max_slowdown=*) ;;
    *workspace=[0-9]*) local -x CONVSHIM_CONFIG="$CONVSHIM_CONFIG;max_slowdown=off" ;;
    esac
    [[ -v CONVSHIM_SUMMARY || ${CONVSHIM_CONFIG-} == *summary=* ]] || local -x CONVSHIM_SUMMARY=$SUMMARY
    on_device shimmed env LD_PRELOAD="$PRELOAD" "$@"
    # The line that names a file which only these tests request.
    sed -i '/^convshim\[[0-9]*\]: summary written\. To view it: convshim report .*\/shimmed\.[0-9]*\.summary$/d' shimmed.err
}

# expect_cpu SECONDS COMMAND...: the programs of a command take less processor time. Wall time would depend on other
# work of the machine. Sanitizers are slow.
expect_cpu()
{
    local limit=$1 before after
    shift
    times >before.times
    "$@"
    times >after.times
    before=$(cpu_of before.times)
    after=$(cpu_of after.times)
    [ -n "$SAN_RT" ] || expect_true "seconds of processor time" "$after - $before < $limit"
}

cpu_of()
{
    awk -F '[ms ]+' 'END { printf "%d\n", $1 * 60 + $2 + $3 * 60 + $4 }' "$1"
}

# expect_status WANTED: the exit status of the last program.
expect_status()
{
    [ "$status" = "$1" ] || fail "status $status, not $1"
}

# expect_equal WHAT GOT WANTED
expect_equal()
{
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# expect_true WHAT ARITHMETIC
expect_true()
{
    (($2)) || fail "$1: $2"
}

# expect_line FILE PATTERN: exactly one line matches.
expect_line()
{
    local count
    count=$(grep -cE -- "$2" "$1") || true
    [ "$count" = 1 ] || fail "$count lines of $1 match /$2/, not 1"
}

expect_empty()
{
    [ ! -s "$1" ] || fail "$1 is not empty"
}

# The programs that follow meet file permissions also where the tests run as root.
need_permissions()
{
    local secret=$BATS_TEST_TMPDIR/secret
    touch "$secret" && chmod 000 "$secret"
    [ "$(id -u)" != 0 ] || AS_USER=(setpriv --bounding-set=-all --inh-caps=-all)
    ! "${AS_USER[@]}" cat "$secret" 2>/dev/null || cannot_run "this user may read and write everything"
}

# device_with NAME: the simulated device of the programs that follow has that client's libcudnn.
device_with()
{
    mkdir -p device
    cp "$BUILD/simdev/libcudart.so.13" "$BUILD/simdev/libcuda.so.1" "$CLIENTS/$1/libcudnn.so.9" device/
    export SIMDEV_DIR=$BATS_TEST_TMPDIR/device
}

# device NAME KEY: a number of the device's accounting.
device()
{
    # The first one: totals come before the devices one by one.
    sed -n "/^[[:space:]]*\"$2\":[[:space:]]*\([0-9]*\),*\$/{s//\1/p;q}" "$1.json" | grep . ||
        fail "$1.json does not tell $2"
}

# The most scratch that the library itself held in the last run, which it keeps until the process ends: of a JSON summary,
# or of the text, which rounds it.
own_scratch()
{
    {
        cat shimmed.*.summary summary.json 2>/dev/null | sed -nE 's/.*"own":\{[^}]*"peak":([0-9]+).*/\1/p'
        sed -nE 's/.* own scratch +([0-9.]+) ([KM])iB held at most.*/\1 \2/p' shimmed.err |
            awk '{ print int(($1 + 0.05) * ($2 == "K" ? 1024 : 1048576)) }'
    } | sort -n | tail -n 1 | grep . || echo 0
}

# expect_no_violation NAME...: the device reports no violation. Two runs leave the same memory, a run alone leaves none,
# except for scratch of the library, which it keeps until the process ends.
expect_no_violation()
{
    local name left=0 live
    [ $# = 1 ] || left=$(device "$1" live_bytes)
    for name; do
        expect_equal "violations of the $name run" "$(device "$name" violations)" 0
        live=$(device "$name" live_bytes)
        [ "$live" = "$left" ] || [[ $name == shimmed && $live -le $((left + $(own_scratch))) ]] ||
            fail "the $name run leaves $live bytes, not $left"
    done
}

# expect_same OPTION...: compares plain.bin and shimmed.bin, the dumps of `plain` and `shimmed`, with these options of
# compare.
expect_same()
{
    "$APPS/compare" "$@" plain.bin shimmed.bin >compare.out 2>&1 || fail "the results differ"
}

# both CONFIG PROGRAM OPTIONS...: runs it without and with the library, with RACES=1 under the race check, each with a dump.
both()
{
    local config=$1
    shift
    plain "$@" --dump plain.bin
    expect_status 0
    SIMDEV_RACES=${RACES:-0} CONVSHIM_CONFIG=$config shimmed "$@" --dump shimmed.bin
    expect_status 0
    expect_no_violation plain shimmed
    expect_equal "failed calls" "$(counted failed)" 0
}

# The same, with results that are equal to the bit.
same()
{
    both "$@"
    expect_same --exact
}

# any_traffic CONFIG [options]: under the race check, which must find nothing; the program looks at its results itself.
any_traffic()
{
    local config=$1
    shift
    SIMDEV_RACES=1 CONVSHIM_CONFIG=$config shimmed "$APPS/traffic" "$@"
    expect_status 0
    expect_no_violation shimmed
    expect_equal "failed calls" "$(counted failed)" 0
}

# The same, some of it in tiles.
traffic()
{
    any_traffic "$@"
    expect_true "tiled calls" "$(counted tiled) > 0"
}

# command_of STATUS NAME ARGUMENT...: a command of convshim, which leaves NAME.out and NAME.err.
command_of()
{
    local wanted=$1 name=$2
    shift 2
    status=0
    "$BUILD/convshim" "$name" "$@" >"$name.out" 2>"$name.err" || status=$?
    expect_status "$wanted"
}

# The JSON summary of each process of the last run.
summaries()
{
    local files=(shimmed.*.summary)
    [ ! -e "${files[0]}" ] || printf '%s\n' "${files[@]}"
}

# counted WHAT [FILE]: a number of the summary: calls, tiled, not_tiled, extra (launches), fallback, failed; of the
# last run's or of the text in a file.
counted()
{
    local files
    mapfile -t files < <(summaries)
    if [ $# = 1 ] && [ "${#files[@]}" != 0 ]; then
        summary_total "$1" "${files[@]}" || fail "the summary does not tell $1"
    else
        counted_in_text "$1" "${2:-shimmed.err}"
    fi
}

# The same from the text, for tests that write no JSON.
counted_in_text()
{
    local pattern absent=
    case $1 in
        calls) pattern='of ([0-9]+) calls? (would be )?tiled' ;;
        tiled) pattern='[;,] ([0-9]+) of [0-9]+ calls? tiled' ;;
        not_tiled)
            echo $(($(counted_in_text calls "$2") - $(counted_in_text tiled "$2") - $(counted_in_text fallback "$2") - $(counted_in_text failed "$2")))
            return
            ;;
        extra) pattern='; ([0-9]+) launch(es)? (and .*)?added' absent=0 ;;
        fallback) pattern='fallback plan +([0-9]+) calls? ran' absent=0 ;;
        failed) pattern='failed +([0-9]+) calls? ended' absent=0 ;;
    esac
    sed -nE "s/^convshim\[[0-9]+\]:.*$pattern.*/\1/p" "$2" | grep . || echo "$absent" | grep . ||
        fail "the summary in $2 does not tell $1"
}

# summary EXPRESSION: of the summary `s` of the last run, in python.
summary()
{
    local files
    mapfile -t files < <(summaries)
    [ "${#files[@]}" = 1 ] || fail "${#files[@]} summaries, not 1"
    summary_value "$1" "${files[0]}"
}

# not_tiled_because REASON: how many calls, by the name in include/convshim/reasons.def.
not_tiled_because()
{
    summary_reason "$1" "$(summaries)"
}

# reason_text REASON: its text in outputs.
reason_text()
{
    sed -nE "s/^CS_REASON\($1, \"(.*)\"\)/\1/p" "$ROOT/include/convshim/reasons.def" | grep . || fail "no reason $1"
}

# expect_axis PATTERN [TILES]: some convolution runs in this number of tiles along axes that match.
expect_axis()
{
    summary '"\n".join("%s x %d" % (p["decision"]["axis"], p["decision"]["tiles"]) for p in s["sites"] if p["decision"])' >axes.out
    grep -qE "^$1 x ${2:-[0-9]+}\$" axes.out || fail "no tiles along $1"
}

# The summary's counts equal the device's.
expect_accounts_agree()
{
    local tiled not_tiled fallback
    tiled=$(counted tiled) not_tiled=$(counted not_tiled) fallback=$(counted fallback)
    expect_equal "calls" "$((not_tiled + tiled + fallback))" "$(counted calls)"
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" "$((not_tiled + tiled + $(counted extra) + fallback))"
    expect_equal "failed calls" "$(counted failed)" 0
    expect_true "largest workspace used <= reported" "$(device shimmed largest_workspace_used) <= $(counted reported)"
}

planned_by_cudnn()
{
    grep -q '"planning":[[:space:]]*"cudnn ' "$1.json"
}
