#!/usr/bin/env bats
# The summary's report of libraries whose cuDNN calls do not pass through the preloaded library.
load helper

# bypass WAY LIBRARY...: pairs of how a library is loaded and its name; all of them convolve in one process.
bypass()
{
    local words=()
    while [ $# -gt 0 ]; do
        words+=("$1" "$(realpath "$2")")
        shift 2
    done
    CONVSHIM_CONFIG=$EVERYTHING shimmed "${PROGRAM:-$CLIENTS/bypass}" "${words[@]}"
    expect_status 0
    expect_no_violation shimmed
}

need_deepbind()
{
    [ -z "$SAN_RT" ] || cannot_run "sanitizers refuse RTLD_DEEPBIND"
}

# copies NAME FILE...: that client under other names.
copies()
{
    local file
    for file in "${@:2}"; do
        cp "$CLIENTS/$1" "$file"
    done
}

# The device plans by rule: a real cuDNN, which it loads itself, is one more for the library to find.
without_real_cudnn()
{
    export SIMDEV_CUDNN_DIR=
}

# expect_bypassed NAMES: the summary names exactly these and counts $2 (1) calls.
expect_bypassed()
{
    expect_equal "bypassed by" "$(summary 's["bypass"]')" "$1"
    expect_equal "calls" "$(counted calls)" "${2:-1}"
}

expect_no_bypass()
{
    expect_equal "bypassed by" "$(summary 's["bypass"]')" ""
    expect_equal "calls" "$(counted calls)" "$1"
    expect_equal "calls tiled" "$(counted tiled)" "$1"
}

@test "one library through the preload, one bound past it: the second is named, in either order" {
    need_deepbind
    copies libwork_lazy.so libplain.so libdeep.so
    bypass plain libplain.so deep libdeep.so
    expect_bypassed libdeep.so
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" "$((2 + $(counted extra)))"
    bypass deep libdeep.so plain libplain.so
    expect_bypassed libdeep.so
}

@test "bound at load, with stubs or without: named" {
    need_deepbind
    copies libwork_lazy.so libplain.so libdeep.so
    LD_BIND_NOW=1 bypass plain libplain.so deep libdeep.so
    expect_bypassed libdeep.so
    copies libwork_noplt.so libdeep.so
    bypass plain libplain.so deep libdeep.so
    expect_bypassed libdeep.so
}

@test "bound at the first call and never called: not named; bound at load: named" {
    need_deepbind
    copies libwork_lazy.so libplain.so libdeep.so
    bypass plain libplain.so deep_unused libdeep.so
    expect_no_bypass 1
    LD_BIND_NOW=1 bypass plain libplain.so deep_unused libdeep.so
    expect_bypassed libdeep.so
}

# bats test_tags=quick
@test "bound through the preload, at the first call or at load: no such line" {
    copies libwork_lazy.so liba.so libb.so
    copies libwork_noplt.so libc.so
    bypass plain liba.so plain libb.so plain libc.so
    expect_no_bypass 3
    LD_BIND_NOW=1 bypass plain liba.so plain libb.so plain libc.so
    expect_no_bypass 3
    expect_accounts_agree
}

@test "cuDNN looked up instead of linked: not reported as a bypass" {
    bypass plain "$CLIENTS/libwork_looked_up.so" plain "$CLIENTS/libwork.so"
    expect_no_bypass 2
}

@test "a cuDNN linked into a library: named" {
    without_real_cudnn
    bypass plain "$CLIENTS/libwork_static.so" plain "$CLIENTS/libwork.so"
    expect_bypassed libwork_static.so
    bypass plain "$CLIENTS/libwork.so" plain "$CLIENTS/libwork_static.so"
    expect_bypassed libwork_static.so
}

@test "a cuDNN linked into the program: named" {
    without_real_cudnn
    PROGRAM=$CLIENTS/bypass_static bypass plain "$CLIENTS/libwork_looked_up.so"
    expect_bypassed bypass_static
}

@test "another library that wraps the same functions: not named" {
    cp "$LIBRARY" copy.so
    PRELOAD+=:$PWD/copy.so bypass plain "$CLIENTS/libwork.so"
    expect_no_bypass 1
}

@test "stubs that load cuDNN and look it up: not reported as a bypass, in either order" {
    without_real_cudnn
    bypass plain "$CLIENTS/libwork_stubs.so"
    expect_no_bypass 1
    bypass plain "$CLIENTS/libwork_stubs_bound.so" plain "$CLIENTS/libwork.so"
    expect_no_bypass 2
}

@test "many libraries: all that the record holds are named" {
    need_deepbind
    local words=() i
    copies libwork_lazy.so libplain.so
    for i in {1..12}; do
        copies libwork_lazy.so "libbound_past_the_preload_$i.so"
        words+=(deep "libbound_past_the_preload_$i.so")
    done
    SUMMARY=text bypass "${words[@]}" plain libplain.so
    expect_line shimmed.err ' libbound_past_the_preload_1\.so, libbound_past_the_preload_2\.so,'
    expect_line shimmed.err 'their convolutions are not intercepted \(.*\)$'
}

@test "all libraries bound past the preload: no convolution is seen, and no message is printed" {
    need_deepbind
    bypass deep "$CLIENTS/libwork.so"
    expect_empty shimmed.err
}
