#!/usr/bin/env bats
# scripts/audit-imports: which cuDNN functions a shared object reaches, and which of them are intercepted.
load helper

# audit STATUS FILE...: in audit.out and audit.err.
audit()
{
    local wanted=$1
    shift
    status=0
    "$ROOT/scripts/audit-imports" "$@" >audit.out 2>audit.err || status=$?
    expect_status "$wanted"
}

# object NAME [FLAG...]: a shared object made of C that comes in.
object()
{
    local name=$1
    shift
    gcc -shared -fPIC -x c - -o "$name" "$@"
}

# names VERDICT: the names below it, sorted.
names()
{
    awk -v verdict="^    $1 [0-9]+\$" '
        /^    [^ ]/ { below = $0 ~ verdict; next }
        below { for (i = 1; i <= NF; i++) print $i }' audit.out | sort
}

# expect_names VERDICT: exactly those that come in.
expect_names()
{
    sort | diff - <(names "$1") >difference.out || fail "$1 names differ"
}

# rows LIST MACRO: the names of a list of src/intercept/entry.
rows()
{
    sed -nE "s/^$2\(([A-Za-z0-9_*]+).*/\1/p" "$ROOT/src/intercept/entry/$1"
}

# declared: the functions of cuDNN's headers.
declared()
{
    local include
    include=$(sed -n 's/^CUDNN_INC := //p' "$ROOT/build/config.mk")
    gcc -E -P -DCUDNNWINAPI=CUDNN_CALL -I"$include" -x c "$include/cudnn.h" \
        -isystem "$(sed -n 's/^CUDA_INC := //p' "$ROOT/build/config.mk")" | tr '\n' ' ' |
        grep -oE 'CUDNN_CALL +cudnn[A-Za-z0-9_]+' | sed 's/.* //' | sort -u
}

# bats test_tags=quick
@test "a library that links cuDNN: its imports, all known" {
    audit 0 "$CLIENTS/libwork.so"
    nm -D --undefined-only "$CLIENTS/libwork.so" | sed -nE 's/.* (cudnn[A-Za-z0-9_]+).*/\1/p' | sort >imports
    expect_line audit.out "^  libwork\.so: imports $(wc -l <imports) \(needs libcudnn\.so\.9\)\$"
    rows entries.def CS_ENTRY | sort | comm -12 imports - >both
    [ -s both ] || fail "no entry among the imports"
    expect_names intercepted <both
    comm -23 imports both | expect_names 'passed on'
    expect_names unknown </dev/null
}

@test "a library that looks cuDNN up: the looked-up names are listed" {
    audit 0 "$CLIENTS/libwork_looked_up.so"
    expect_line audit.out '^  libwork_looked_up\.so: looks up [0-9]+$'
    { names intercepted && names 'passed on'; } | sort >looked_up
    audit 0 "$CLIENTS/libwork.so"
    { names intercepted && names 'passed on'; } | sort | diff - looked_up >difference.out ||
        fail "not what the other library links"
}

@test "a program without cuDNN: no names" {
    audit 0 "$CLIENTS/hostile"
    expect_line audit.out '^  hostile: none$'
    expect_equal "lines" "$(wc -l <audit.out)" 2
}

@test "an unknown function, linked or looked up: status 1" {
    object linked.so <<<'extern int cudnnConvolutionWhatever(void), cudnnCreate(void);
        int f(void) { return cudnnConvolutionWhatever() + cudnnCreate(); }'
    audit 1 linked.so
    expect_line audit.out '^  linked\.so: imports 2$'
    expect_names unknown <<<cudnnConvolutionWhatever
    expect_names 'passed on' <<<cudnnCreate
    object looked_up.so <<<'#include <dlfcn.h>
        void *f(void *cudnn) { return dlsym(cudnn, "cudnnConvolutionWhatever"); }'
    audit 1 looked_up.so "$CLIENTS/hostile"
    expect_line audit.out '^  looked_up\.so: looks up 1$'
    expect_names unknown <<<cudnnConvolutionWhatever
}

@test "a convolution function without a row is unknown, even if another row's pattern matches" {
    object new.so <<<'extern int cudnnCreateWhateverDescriptor(void), cudnnCreateWhateverConvDescriptor(void);
        int f(void) { return cudnnCreateWhateverDescriptor() + cudnnCreateWhateverConvDescriptor(); }'
    audit 1 new.so
    expect_names 'passed on' <<<cudnnCreateWhateverDescriptor
    expect_names unknown <<<cudnnCreateWhateverConvDescriptor
}

@test "a function that is imported and named counts once" {
    object twice.so <<<'extern int cudnnBackendFinalize(void); const char name[] = "cudnnBackendFinalize";
        int f(void) { return cudnnBackendFinalize(); }'
    audit 0 twice.so
    expect_line audit.out '^  twice\.so: imports 1$'
    expect_line audit.out '^    intercepted 1$'
}

@test "types, mangled names and longer words are no functions" {
    object words.so <<<'const char *words[] = {"cudnnStatus_t", "_Z11cudnnDestroy", "my_cudnnDestroy", 
        "cudnnDestroy failed", "libcudnn.so.9", "cudnn", "cudnnn", "not a cudnnDestroy!"};'
    audit 0 words.so
    expect_line audit.out '^  words\.so: none$'
}

@test "a name in data without a lookup is held; a function with a name of cuDNN is exported" {
    object both.so <<<'const char name[] = "cudnnBackendFinalize"; int cudnnBackendExecute(void) { return 0; }'
    audit 0 both.so
    expect_line audit.out '^  both\.so: holds 1, exports 1$'
    expect_names intercepted <<<cudnnBackendFinalize
}

@test "names are read from data, not from symbol tables" {
    object stripped.so -s <<<'#include <dlfcn.h>
        static int cudnnConvolutionForward(void) { return 1; } int f(void) { return cudnnConvolutionForward(); }
        void *g(void *cudnn) { return dlsym(cudnn, "cudnnBackendFinalize"); }'
    object whole.so <<<'#include <dlfcn.h>
        static int cudnnConvolutionForward(void) { return 1; } int f(void) { return cudnnConvolutionForward(); }
        void *g(void *cudnn) { return dlsym(cudnn, "cudnnBackendFinalize"); }'
    for name in stripped.so whole.so; do
        audit 0 "$name"
        expect_names intercepted <<<cudnnBackendFinalize
    done
}

@test "every function that cuDNN declares is in exactly one list" {
    declared >headers
    expect_true "functions of the headers" "$(wc -l <headers) > 150"
    {
        sed 's/.*/extern int &(void);/' headers
        echo 'void *all[] = {' && sed 's/.*/(void *)&,/' headers && echo '};'
    } | object all.so
    audit 0 all.so
    expect_line audit.out "^  all\.so: imports $(wc -l <headers)\$"
    expect_names unknown </dev/null
    names intercepted | diff - <(rows entries.def CS_ENTRY | sort) >difference.out ||
        fail "not all entries are declared"
    rows not_intercepted.def CS_PASSED | sort >passed
    uniq -d passed | diff - /dev/null >difference.out || fail "a row of not_intercepted.def stands twice"
    rows entries.def CS_ENTRY | while read -r entry; do
        while read -r row; do
            # shellcheck disable=SC2053 # the row is a pattern
            [[ $entry != $row || ($row == *'*'* && $entry == *Conv*) ]] || echo "$entry: $row"
        done <passed
    done >twice.out
    expect_empty twice.out
}

@test "a wheel: each ELF member, and its version in the table" {
    mkdir lib
    cp "$CLIENTS/libwork.so" "$CLIENTS/libwork_looked_up.so" "$CLIENTS/hostile" lib/
    echo text >lib/readme.txt
    python3 -c 'import sys, zipfile
with zipfile.ZipFile("toy_frame-1.2.3-cp311-cp311-linux_x86_64.whl", "w", zipfile.ZIP_DEFLATED) as wheel:
    for name in sys.argv[1:]:
        wheel.write(name)' lib/*
    audit 0 toy_frame-*.whl
    expect_line audit.out '^  lib/libwork\.so: imports'
    expect_line audit.out '^  lib/libwork_looked_up\.so: looks up'
    expect_line audit.out '^  1 other ELF files: none$'
    audit 0 --table toy_frame-*.whl "$CLIENTS/idle"
    expect_line audit.out '^\| file \| wheel \| linkage \| intercepted \| passed on \| unknown \|$'
    expect_line audit.out '^\| .lib/libwork\.so. \| toy_frame 1\.2\.3 \| imports [0-9]+ \|( [1-9][0-9]* \|){2} 0 \|$'
    expect_line audit.out '^\| .lib/libwork_looked_up\.so. \| toy_frame 1\.2\.3 \| looks up [0-9]+ \|'
    expect_line audit.out '^\| .idle. \| - \| none \| 0 \| 0 \| 0 \|$'
    expect_line audit.out '^<details><summary>toy_frame 1\.2\.3: lib/libwork\.so; .*_looked_up\.so</summary>$'
}

@test "unreadable files: status 2, the reason, and the other files are read" {
    echo text >text
    : >empty
    head -c 2000 "$CLIENTS/libwork.so" >cut.so
    { head -c 4 "$CLIENTS/libwork.so" && printf '\001\001' && tail -c +7 "$CLIENTS/libwork.so"; } >small.so
    for pair in 'text=neither an ELF file nor a zip' 'empty=empty' 'cut.so=a damaged ELF file' \
        'small.so=not a 64-bit little-endian ELF file' 'missing=No such file or directory' 'lib=Is a directory'; do
        mkdir -p lib
        audit 2 "${pair%%=*}"
        expect_line audit.err "^audit-imports: ${pair%%=*}: ${pair#*=}\$"
        expect_empty audit.out
    done
    object unknown.so <<<'const char name[] = "cudnnConvolutionWhatever";'
    audit 2 text unknown.so
    expect_line audit.out '^  unknown\.so: holds 1$'
    audit 2
    expect_line audit.err '^usage: audit-imports'
}

# bats test_tags=quick
@test "output to a closed pipe: no message" {
    (sleep 0.1 && exec "$ROOT/scripts/audit-imports" "$CLIENTS/libwork.so" 2>audit.err) | true
    expect_empty audit.err
}
