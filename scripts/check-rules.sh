#!/usr/bin/env bash
# check-rules.sh: checks rules for the sources and the built library. Prints TAP. The status is 0 if all rules hold.
#
#   scripts/check-rules.sh BUILD_DIR      the library is BUILD_DIR/libconvshim.so, the objects are in BUILD_DIR/obj
set -euo pipefail
[ $# = 1 ] || { echo "usage: scripts/check-rules.sh BUILD_DIR" >&2; exit 2; }
build=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C

readonly library=$build/libconvshim.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# FILE:LINE:CODE of C files, without comments and the content of strings.
code_of()
{
    awk '
    FNR == 1 { in_comment = 0 }
    {
        rest = $0; code = ""
        while (rest != "") {
            if (in_comment) {
                end = index(rest, "*/")
                if (!end) break
                rest = substr(rest, end + 2); in_comment = 0; code = code " "
            } else if (match(rest, /\/\*|\/\/|"|\047/)) {
                code = code substr(rest, 1, RSTART - 1)
                mark = substr(rest, RSTART, RLENGTH); rest = substr(rest, RSTART + RLENGTH)
                if (mark == "//") break
                if (mark == "/*") { in_comment = 1; continue }
                while (rest != "" && substr(rest, 1, 1) != mark)
                    rest = substr(rest, substr(rest, 1, 1) == "\\" ? 3 : 2)
                rest = substr(rest, 2); code = code mark mark
            } else { code = code rest; break }
        }
        if (code ~ /[^ \t]/) print FILENAME ":" FNR ":" code
    }' "$@"
}

# OBJECT:SYMBOL for undefined symbols of objects, without those of sanitizers and instrumentation.
undefined_of()
{
    nm -A -u "$@" | sed -E 's/: +[Uuwv] /:/; s/@.*//' | grep -vE ':(__(asan|ubsan|tsan|lsan|msan|sanitizer|gcov)_|_GLOBAL_OFFSET_TABLE_)' || true
}

find src policies include -path 'src/simdev/[!s]*' -prune -o \( -name '*.[ch]' -o -name '*.def' \) -print | sort >"$work/files"
mapfile -t files <"$work/files"
[ "${#files[@]}" = 0 ] || code_of "${files[@]}" >"$work/code"
find "$build/obj" \( -path "$build/obj/src/*" -o -path "$build/obj/policies/*" -o -path "$build/obj/gen/*" \) -name '*.o' \( ! -path "$build/obj/src/simdev/*" -o -path "$build/obj/src/simdev/simulate/*" \) 2>/dev/null |
    sort >"$work/all" || true
# Objects of deleted or moved sources, which are not linked any more.
while read -r object; do
    source=${object#"$build/obj/"}
    source=${source%.o}
    case $source in
    gen/*) echo "$object" ;;
    *) [ ! -e "$source.c" ] && [ ! -e "$source.S" ] || echo "$object" ;;
    esac
done <"$work/all" >"$work/objects"
: >"$work/undefined"
if [ -s "$work/objects" ]; then
    mapfile -t objects <"$work/objects"
    undefined_of "${objects[@]}" | sed "s|^$build/obj/||" >"$work/undefined"
fi

number=0 failures=0

# check NAME COMMAND...: the rule holds if the command succeeds without output. Otherwise, the output lists the
# places.
check()
{
    local name=$1 found verdict='ok'
    shift
    found=$("$@" 2>&1) || found+=${found:+$'\n'}"the check itself failed"
    number=$((number + 1))
    if [ -n "$found" ]; then
        verdict='not ok' failures=$((failures + 1))
    fi
    echo "$verdict $number - $name"
    [ -z "$found" ] || echo "# ${found//$'\n'/$'\n# '}"
}

# code_without PATTERN [EXEMPT]: lines of code that match a pattern, except in files that match the second pattern.
code_without()
{
    [ -s "$work/code" ] || echo "no source was found"
    grep -E "^[^:]*:[0-9]+:.*($1)" "$work/code" | { [ -n "${2-}" ] && grep -vE "^($2)" || cat; } || true
}

# symbols_without PATTERN [EXEMPT]: the same for symbols that objects use.
symbols_without()
{
    [ -s "$work/undefined" ] || echo "no object in $build/obj: build first"
    grep -E ":($1)\$" "$work/undefined" | { [ -n "${2-}" ] && grep -vE "^($2)" || cat; } || true
}

need_library()
{
    [ -r "$library" ] || { echo "$library is missing: build first"; return 1; }
}

readonly word='(^|[^A-Za-z0-9_])'

# A library that ends the process or writes to stdout breaks working programs: the stdout of a child is often the
# input of another program.
no_exit_no_stdout()
{
    code_without "$word((_|quick_)?exit|_Exit|abort|assert|v?printf|puts|putchar|__builtin_(trap|abort)) *\\(" 'src/(cli|simdev)/'
    code_without "$word(stdout|STDOUT_FILENO)([^A-Za-z0-9_]|\$)|$word(write|v?dprintf) *\\( *1 *," 'src/(cli|simdev)/'
    symbols_without '(_|quick_)?exit|_Exit|abort|__assert_fail|v?printf|__v?printf_chk|puts|putchar|stdout' 'src/(cli|simdev)/'
}

# Every child inherits LD_PRELOAD, so code that runs at load time also runs in shells and compilers.
no_constructor()
{
    local size
    code_without "$word(__)?constructor(__)?([^A-Za-z0-9_]|\$)"
    need_library || return 0
    # Not grep -q: nm would fail on the closed pipe.
    nm -D --undefined-only "$library" | grep -E "__[at]san_init" >/dev/null && return 0
    size=$(readelf -dW "$library" | awk '/\(INIT_ARRAYSZ\)/ { print $3 }')
    [ "${size:-0}" -le 8 ] || echo "libconvshim.so has $((size / 8)) initialisers, of which the compiler's own is one"
}

# Only one file reads environment variables, because a variable that another file reads is an option without
# documentation. The command has one file for variables that it passes to programs.
no_getenv()
{
    local allowed='src/config/|src/cli/common/variables\.[co]'
    code_without "$word((secure_)?getenv *\\(|(__)?environ([^A-Za-z0-9_]|\$))" "$allowed"
    symbols_without '(secure_|__secure_)?getenv|(__)?environ' "$allowed"
}

# A wrong rule for symbol resolution finds the library itself (endless recursion) or another cuDNN. These files
# implement the right rule.
no_dlsym()
{
    local allowed='src/cudnn/(bind/(real|torch|find_dlsym)\.[co]|standalone/(open_cudnn|open_stand_ins|open_gpu)\.[co])|src/intercept/loader/dlsym'
    code_without "$word(dlopen|dlmopen|dlsym|dlvsym) *\\(" "$allowed"
    symbols_without 'dlm?open|dlv?sym' "$allowed"
}

# Weaknesses that an attacker would use: a writable and executable stack or table, known addresses, unchecked copies.
hardened()
{
    local file load
    need_library || return 0
    nm -D --undefined-only "$library" | grep -E '__[at]san_init' >/dev/null && return 0
    for file in "$library" "$build/convshim"; do
        load=$(readelf -dlhW "$file")
        [[ $load == *GNU_RELRO* ]] || echo "$file: tables stay writable (relro)"
        [[ $load == *BIND_NOW* || $load == *'Flags: NOW'* ]] || echo "$file: binds lazily (now)"
        [[ $load == *'Type: '*DYN* ]] || echo "$file: not position-independent"
        grep -qE 'GNU_STACK .* RW +0x' <<<"$load" || echo "$file: an executable stack"
        grep -E 'TEXTREL|RPATH|RUNPATH' <<<"$load" | sed "s|^|$file: |" || true
        nm "$file" | grep ' U __stack_chk_fail' >/dev/null || echo "$file: no stack protector"
        nm "$file" | grep -E ' U __[a-z]+_chk@' >/dev/null || echo "$file: no checked copies (FORTIFY)"
    done
}

# A call may have only 256 KiB of stack (src/base/stack.c), and cuDNN needs a part of it.
no_large_frame()
{
    local usage
    mapfile -t usage < <(sed -n 's/\.o$/.su/p' "$work/objects" | grep -vE '/obj/src/(cli|cudnn/standalone|simdev)/' | xargs -r ls 2>/dev/null)
    [ "${#usage[@]}" -gt 0 ] || { echo "no stack usage in $build/obj: build first"; return 0; }
    need_library || return 0
    nm -D --undefined-only "$library" | grep -E '__[at]san_init' >/dev/null && return 0
    awk -F '\t' '$2 > 40960 { print $1 " takes " $2 " bytes" }' "${usage[@]}"
}

# A lock outside of src/base/lock.c is missing from the order that debug builds check.
no_other_locks()
{
    code_without "$word(pthread_(mutex|rwlock|spin|cond)_[a-z]+|pthread_once|call_once|mtx_lock|flockfile) *\\(" 'src/(base/lock\.c|cli/|simdev/)'
}

# The table of locks in ARCHITECTURE.md must equal locks.def, in its order.
locks_are_documented()
{
    grep -oE '^CS_LOCK\([A-Z]+' src/base/locks.def | cut -d '(' -f 2 >"$work/locks"
    [ -s "$work/locks" ] || echo "src/base/locks.def lists nothing"
    # shellcheck disable=SC2016 # Markdown's quotes
    sed -nE 's/^\| [0-9]+ \| `([A-Z]+)` \|.*/\1/p' ARCHITECTURE.md | diff "$work/locks" - |
        sed -nE 's/^< (.*)/\1 is not in the table of ARCHITECTURE.md, or elsewhere/p; s/^> (.*)/\1 is not in locks.def, or elsewhere/p'
}

# FILE reaches HEADER for NVIDIA headers that a header or source includes, directly or not.
nvidia_headers_of()
{
    grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]+["<][^">]+' -r include src policies "$build/gen" | awk -v generated="$build/gen/" '
        NR == FNR { wanted[$0]; next }
        {
            file = name = $0
            sub(/:.*/, "", file); sub(/.*["<]/, "", name)
            place = file; sub(/[^\/]*$/, "", place)
            if (name ~ /(^|\/)(cudnn[A-Za-z0-9_]*|cuda[A-Za-z0-9_]*|cublas[A-Za-z0-9_]*|nv(rtc|ml|ToolsExt|ToolsExtCuda)|(driver|library|vector|builtin)_types)\.h$/)
                reached[file] = name
            includes[file] = includes[file] " " place name " include/" name " src/" name " " generated name
        }
        END {
            do {
                more = 0
                for (file in includes) {
                    n = split(includes[file], list, " ")
                    for (i = 1; i <= n && !(file in reached); i++)
                        if (list[i] in reached) { reached[file] = reached[list[i]]; more = 1 }
                }
            } while (more)
            for (file in wanted) if (file in reached) print file " reaches " reached[file]
        }' <(printf '%s\n' "$@") -
}

# Code that includes a vendor's types starts to depend on them. A second vendor must be a sibling of src/cudnn, not a
# rewrite.
no_nvidia_outside()
{
    local files
    mapfile -t files < <(grep -vE '^(src/cudnn|src/intercept|src/simdev|include)/' "$work/files" | grep -E '\.[ch]$')
    [ "${#files[@]}" -gt 0 ] || echo "no source was found"
    nvidia_headers_of "${files[@]}"
}

# Policies and tools compile with the public contracts without CUDA.
no_nvidia_in_contracts()
{
    local files
    mapfile -t files < <(grep -E '^include/.*\.h$' "$work/files")
    [ "${#files[@]}" -gt 0 ] || echo "no header was found"
    nvidia_headers_of "${files[@]}"
}

# One binary supports every cuDNN 9: a missing function is an empty slot at run time, not another build.
no_version_switch()
{
    code_without '# *(if|elif|ifdef|ifndef|elifdef|elifndef)[^A-Za-z].*(CUDNN_(VERSION|MAJOR|MINOR|PATCHLEVEL)|CUDART_VERSION|CUDA_VERSION)'
}

# A file of more than 700 lines has more than one subject.
no_long_file()
{
    find src policies include tests scripts Makefile -type f ! -name '*.csv' ! -name '*.json' ! -path '*/golden/*' -print0 |
        xargs -0 wc -l | awk '$2 != "total" && $1 > 700 { print $2 " has " $1 " lines" }'
}

# A planner with access to a clock, a file, an allocator or the vendor gives different results on different days. Its
# objects may use each other, bytes in memory, arithmetic, text formatting into the caller's memory, and a lock for
# the memo.
planner_is_pure()
{
    local pure allowed
    mapfile -t pure < <(grep -E '/obj/(src/(plan|decide|base/text)|policies|gen/([^/]*/)*[^/]*polic[^/]*)(/|\.o$)' "$work/objects")
    local part
    for part in src/plan src/decide policies; do
        printf '%s\n' "${pure[@]}" | grep "/obj/$part/" >/dev/null || echo "no object of $part in $build/obj: build first"
    done
    [ "${#pure[@]}" -gt 0 ] || return 0
    nm --defined-only -g "${pure[@]}" | awk 'NF == 3 { print $3 }' | sort -u >"$work/pure"
    allowed='(__)?mem(cpy|set|move|cmp)(_chk)?|str(len|n?cmp)|__stack_chk_fail'
    allowed+='|(ceil|floor|round|trunc|fabs|fmin|fmax|sqrt|cbrt|exp|exp2|log|log2|log10|log1p|pow|fmod|ldexp|frexp)[fl]?'
    undefined_of "${pure[@]}" | sed "s|^$build/obj/||" |
        awk -F: 'NR == FNR { pure[$1]; next } !($2 in pure)' "$work/pure" - |
        grep -vE ":($allowed)\$" |
        grep -vE '^src/base/text\.o:(__)?vsnprintf(_chk)?$' |
        grep -vE '^src/decide/memo\.o:cs_(lock|unlock|lock_init)$' | sed 's/:/ uses /' || true
}

# PART: PARTS whose code and headers it may use. Each line names only parts of earlier lines, so that there is no
# circle. There are three houses:
# - neutral: base, cli/common, cli/program, and the options of the library (config, decide), which commands read to
#   set them
# - the library and its commands: all other parts, which do not use the simulated GPU
# - the simulated GPU: simdev/simulate uses only neutral parts and simdev/progress.h, the rest of src/simdev none of
#   the others. It gets the library as a file to preload. cli/main, the table of all commands, is the only user of
#   simdev/simulate.
parts()
{
    cat <<'END'
base:
plan:             base
policies:
decide:           base plan policies
exec:             base plan
level:            base
account:          base plan
config:           base decide
cudnn/bind:       base
cudnn/plan:       base plan cudnn/bind
cudnn/run:        base plan exec cudnn/bind cudnn/plan
cudnn/standalone: base plan cudnn/bind cudnn/plan
flow:             base plan policies decide exec level account config
intercept:        base plan decide exec level account config cudnn/bind cudnn/plan cudnn/run flow
cli/common:       base policies decide config
cli/program:      base policies config cli/common
cli/layers:       base plan policies decide account config cudnn/standalone cli/common
cli/config:       base plan policies decide config cli/common cli/layers
cli/doctor:       base config cli/common cli/program
cli/predict:      base plan policies decide account config cudnn/standalone cli/common cli/program cli/layers
cli/report:       base account config cli/common cli/layers
cli/run:          base policies account config cli/common cli/program
cli/status:       base account config cli/common cli/program cli/layers
cli/verify:       base plan policies decide account config cudnn/standalone cli/common cli/program cli/layers
simdev/progress:
simdev/simulate:  base cli/common cli/program simdev/progress
cli/main:         base cudnn/standalone cli/common cli/config cli/doctor cli/predict cli/report cli/run cli/status cli/verify simdev/simulate
END
}

# For awk: the part of a source or an object.
readonly part_of='
function part_of(path) {
    sub(/^src\//, "", path)
    if (path ~ /^(policies|gen)\//) return "policies"
    if (path ~ /^cli\/commands\.def/) return "cli/main"
    if (match(path, /^(cudnn|cli|simdev)\/[a-z]+/)) return substr(path, 1, RLENGTH)
    match(path, /^[a-z]+/)
    return substr(path, 1, RLENGTH)
}'

# SYMBOL OBJECT for symbols that objects define for others, and for their undefined symbols. Excludes the command's
# binding of cuDNN, which replaces the library's, and dlsym, _exit, kill and raise, which are libc's outside of the library.
symbols_of_parts()
{
    mapfile -t objects <"$work/objects"
    nm -A -g --defined-only "${objects[@]}" | sed "s|^$build/obj/||" | awk '{ sub(/:.*/, "", $1); print $NF, $1 }' |
        grep -vE '^(dlv?sym|_exit|_Exit|kill|raise) ' >"$work/defined"
    awk -F: '{ print $2, $1 }' "$work/undefined" >"$work/used"
}

# A part that depends on a higher part cannot be read, tested or replaced without it.
arrows_point_down()
{
    local simdev
    [ -s "$work/objects" ] || { echo "no object in $build/obj: build first"; return 0; }
    parts | awk '{ sub(/:$/, "", $1); for (i = 2; i <= NF; i++) if (!($i in known)) print $1 " names " $i ", which does not stand before it"; known[$1] }'
    symbols_of_parts
    {
        awk 'NR == FNR { if (!($1 in at) || at[$1] ~ /cudnn\/standalone/) at[$1] = $2; next }
             $1 in at { print $2, at[$1], "uses " $1 }' "$work/defined" "$work/used"
        # The rule covers headers too. All parts may include lists of names (.def).
        grep -HoE '^#include "[a-z]+/[^"]*\.h"' "${files[@]}" |
            sed -nE 's#^([^:]*):.include "((base|plan|decide|exec|level|account|config|cudnn|flow|intercept|cli|simdev)/.*)"#\1 src/\2 includes \2#p'
    } | awk "$part_of"'
        NR == FNR { sub(/:$/, "", $1); for (i = 2; i <= NF; i++) may[$1, $i]; next }
        { user = part_of($1); owner = part_of($2) }
        user != owner && !((user, owner) in may) { print $1, $3, $4 ", of " owner }' <(parts) -
    # The libraries of the simulated GPU share no code with any other part, and the lists of names neither.
    grep -HnE '^#include "(convshim|base|plan|decide|exec|level|account|config|cudnn|flow|intercept|cli)/' -r src/simdev --exclude-dir=simulate || true
    grep -HnE '^#include "(convshim|plan|decide|exec|level|account|config|cudnn|flow|intercept)/' -r src/simdev/simulate || true
    grep -HnE '^#include "simdev/' -r src include policies --exclude-dir=simulate || true
    mapfile -t simdev < <(find "$build/obj/src/simdev" -name '*.o' ! -path '*/simulate/*' 2>/dev/null)
    [ "${#simdev[@]}" -gt 0 ] || echo "no object of src/simdev in $build/obj: build first"
    undefined_of "${simdev[@]}" | sed "s|^$build/obj/||" | awk -F: '{ print $2, $1 }' |
        awk 'NR == FNR { at[$1]; next } $1 ~ /^cs_/ && $1 in at { print $2 " uses " $1 }' "$work/defined" -
}

# Two functions with one name are bound to each other by accident if both are linked into a program.
names_are_unique()
{
    [ -s "$work/objects" ] || { echo "no object in $build/obj: build first"; return 0; }
    symbols_of_parts
    grep -v ' src/cudnn/standalone/' "$work/defined" | grep -E '^cs_' | grep -v ' gen/' | sort |
        awk '$1 == last { print $1 " is defined in " where " and in " $2 } { last = $1; where = $2 }'
}

# Tests check promised behaviour through headers. A test of a static function, or with replaced neighbours, would
# check how the code is written. Static functions are only accessible by including their file. The binding of cuDNN is
# a seam, which the product defines twice and a test may define again. Other faults come in through WRAPPED
# (tests/unit/check.h), devices, files and memory.
tests_use_headers()
{
    mapfile -t sources < <(find tests -name '*.[ch]' | sort)
    grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+["<][^">]*\.c[">]' "${sources[@]}" || true
    [ -s "$work/objects" ] || { echo "no object in $build/obj: build first"; return 0; }
    symbols_of_parts
    cut -d' ' -f1 "$work/defined" | sort | uniq -u | grep -E '^(cs|convshim)_' >"$work/exported_once"
    code_of "${sources[@]}" | awk '
        NR == FNR { of_product[$1]; next }
        { match($0, /^[^:]*:[0-9]+:/); place = substr($0, 1, RLENGTH - 1); code = substr($0, RLENGTH + 1) }
        match(code, /^[ \t]*#[ \t]*define[ \t]+[A-Za-z_0-9]+/) {
            name = substr(code, RSTART, RLENGTH); sub(/.*[ \t]/, "", name)
            if (name in of_product) print place ": replaces " name
            next
        }
        code ~ /^[a-z]/ && code !~ /^(extern|static|typedef)/ {
            name = code; sub(/ *[(=;[].*/, "", name); sub(/.*[ *]/, "", name)
            head = name in of_product ? place ": defines " name : ""
            if (head != "" && code !~ /\(/) print head
        }
        head != "" && code ~ /;[ \t]*$/ { head = "" }
        head != "" && code ~ /^{/ { print head; head = "" }' "$work/exported_once" -
}

# If the library needed NVIDIA's at load time, every program would fail on a machine without them. A second cuDNN
# would be loaded next to the framework's.
no_nvidia_needed()
{
    need_library || return 0
    readelf -dW "$library" | grep -E '\(NEEDED\).*\[lib(cu|nv)' || true
}

# Two headers that define one name cannot be included together, and a debugger shows the wrong one.
types_are_unique()
{
    sed -nE 's/^(src|include)[^:]*\.h:[0-9]+:(struct|enum|union) (cs_[a-z0-9_]+) *\{.*/\3/p' "$work/code" | sort | uniq -d
}

# A reader of "pool.c" in a message, or of a search result, opens the wrong one of two.
file_names_are_unique()
{
    git ls-files 'src/*.[ch]' 'src/*.def' 'include/*' 'policies/*.c' | sed 's|.*/||' | sort | uniq -d
}

# Users do not find a feature without a page.
options_are_documented()
{
    local file name pages
    # Without the pages that are generated from the tables of options.
    mapfile -t pages < <(find docs -name '*.md' ! -name commands.md ! -name options.md)
    for file in src/cli/*/*_options.def src/simdev/simulate/simulate_options.def; do
        sed -nE 's/^CS_CLI_(FLAG|OPTION|TEXT|SIZE)\([^,]+, "([^"]+)".*/\2/p; s/^CS_CLI_NUMBER\(([^,]+, ){3}"([^"]+)".*/\2/p; s/^CS_CLI_PERCENT\(([^,]+, ){2}"([^"]+)".*/\2/p; s/^CS_CLI_SETTING\(([^,]+),.*/\1/p; s/^CS_CLI_FORMAT.*/format/p' "$file" | tr _ - |
            while read -r name; do
                grep -qE -- "--$name([^a-z-]|\$)" "${pages[@]}" || echo "$file: --$name is on no page of docs that a person wrote"
            done
    done
}

# An extra export replaces a function of the program. A missing export is a call that is not intercepted. An export
# without cuDNN 9's version intercepts calls of another cuDNN in the same process. Only replacements of libc functions
# have no version.
exports_are_entries()
{
    need_library || return 0
    printf '#define CS_ENTRY(name, part) CS_EXPORTED name@@libcudnn.so.9 CS_EXPORTED name@libcudnn_##part.so.9\n#include "src/intercept/entry/entries.def"\n' |
        gcc -E -P -x c -I. - | sed 's/CS_EXPORTED/\n/g' | tr -d ' ' | grep . >"$work/wanted" ||
        echo "src/intercept/entry/entries.def lists nothing"
    printf '#define CS_API(name) CS_EXPORTED name@@CONVSHIM_1\n#include "src/intercept/api.def"\n' |
        gcc -E -P -x c -I. - | sed 's/CS_EXPORTED/\n/g' | tr -d ' ' | grep . >>"$work/wanted" || echo "src/intercept/api.def lists nothing"
    printf 'dlsym\ndlvsym\nInitializeInjectionNvtx2\n_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE\n_exit\n_Exit\nkill\nraise\n' >>"$work/wanted"
    nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $NF }' | sort >"$work/exported"
    sort -u "$work/wanted" | comm -3 - "$work/exported" |
        sed -E 's/^\t(.*)/\1 is exported, but not an entry/; t; s/$/ is an entry, but not exported/'
}

# inih exports its functions: a host with another inih would use ours. Undefined ones would be bound to the host's.
inih_is_inside()
{
    need_library || return 0
    nm -D "$library" | grep -E ' ini_' || true
}

# A subject in the imperative names the change of the tree. Longer ones are cut by git's tools. Older history is
# not checked, and no history without that commit (a copy of the sources).
readonly subjects_since=05cc0c38
subjects_are_imperative()
{
    git merge-base --is-ancestor "$subjects_since" HEAD 2>/dev/null || return 0
    git log --no-merges --format='%h %s' "$subjects_since..HEAD" | awk '
        { hash = $1; subject = substr($0, length($1) + 2); verb = subject; sub(/^[^:]*: /, "", verb); sub(/[ ,:;].*/, "", verb) }
        length(subject) > 72 { print hash ": more than 72 characters: " subject }
        subject !~ /^[A-Za-z0-9_.\/+-]+(, [A-Za-z0-9_.\/+-]+)*: [a-z]/ { print hash ": not \"area: verb ...\" with a small letter: " subject; next }
        verb ~ /^(an?|the|its?|their|this|these|that|what|how|why|who|which|where|when|whether|if|as|no|none|not|all|any|each|every|some|one|two|three|more|most|fewer|less|new|old|in|on|of|at|by|for|with|without|from|to|and|or|also|only|after|before|same)$/ ||
        (verb ~ /(s|ed|ing)$/ && verb !~ /^(need|embed|feed|speed|exceed|seed|shed|bring|ping|ring|focus)$|ss$/) {
            print hash ": does not begin with a verb in the imperative: " subject }'
}

# An empty file has no reader, except the marker py.typed of Python packages with types.
no_empty_file()
{
    git ls-files -z --cached --others --exclude-standard ':!py.typed' ':!*/py.typed' | while IFS= read -r -d '' file; do
        [ ! -f "$file" ] || [ -L "$file" ] || [ -s "$file" ] || echo "$file is empty"
    done
}

# A path that exists only on one machine fails on every other.
no_machine_path()
{
    git ls-files -z --cached --others --exclude-standard |
        xargs -0 -r grep -nIE '(^|[^A-Za-z0-9_.~-])/((work|root|Users)/|home/[a-z])' -- 2>&1 || [ $? = 123 ]
}

# Generated files are not sources.
no_compiled_files()
{
    git ls-files | grep -E '\.(pyc|[oad]|so(\.[0-9]+)*)$' || true
}

check 'the library never ends the process or writes to stdout' no_exit_no_stdout
check 'the library has no constructor' no_constructor
check 'only src/config reads the environment' no_getenv
check 'only src/cudnn/bind and src/intercept/loader/dlsym* look up symbols' no_dlsym
check 'the library and the command are hardened' hardened
check 'no stack frame is larger than 40 KiB' no_large_frame
check 'all locks are those of src/base/lock.h' no_other_locks
check 'ARCHITECTURE.md lists the locks in their order' locks_are_documented
check 'only src/cudnn includes NVIDIA headers' no_nvidia_outside
check 'include/convshim includes no NVIDIA header' no_nvidia_in_contracts
check 'no code depends on the cuDNN or CUDA version at compile time' no_version_switch
check 'no file is longer than 700 lines' no_long_file
check 'every part uses only the parts that it may use, without a circle' arrows_point_down
check 'tests use the product through its headers' tests_use_headers
check 'no two exported functions share a name' names_are_unique
check 'no two headers define a type of one name' types_are_unique
check 'no two sources have the same file name' file_names_are_unique
check 'the planner, the decisions and the policies are pure' planner_is_pure
check 'libconvshim.so needs no NVIDIA library (as in sglang 36643)' no_nvidia_needed
check 'libconvshim.so exports the lists of entries.def and api.def, not dlopen (as in memray 212, VirtualGL 107)' exports_are_entries
check 'libconvshim.so contains inih and does not export it' inih_is_inside
check 'every option of the command is on a page of docs' options_are_documented
check 'no file is empty' no_empty_file
check 'subjects of commits are imperative, of at most 72 characters' subjects_are_imperative
check 'no file names a path of one machine' no_machine_path
check 'no compiled file is in the repository' no_compiled_files
echo "1..$number"
[ "$failures" = 0 ]
