#!/usr/bin/env bats
# Programs that look cuDNN up instead of linking it, and programs that look up something else.
load helper

plan_quickly

# works NAME...: each library runs its convolution, one after the other in one process; everything is tiled.
works()
{
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/loader" works "${@/#/$CLIENTS/}"
    expect_status 0
    expect_equal "convolutions that are right" "$(grep -c ': right$' shimmed.out)" "$#"
    expect_no_violation shimmed
}

# hostile MODE: the same ways to load, fork and end as of programs that link cuDNN.
hostile()
{
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/hostile" "$1" "$CLIENTS/libwork_looked_up.so"
    expect_status 0
    expect_empty shimmed.out
}

# All of this many calls were seen and tiled, and the device agrees.
expect_counts()
{
    expect_equal "calls" "$(counted calls)" "$1"
    expect_equal "calls tiled" "$(counted tiled)" "$1"
    expect_no_violation shimmed
}

# looked_up MODE FILE: looks up without and with the library.
looked_up()
{
    plain "$CLIENTS/loader" "$@"
    expect_status 0
    shimmed "$CLIENTS/loader" "$@"
    expect_status 0
}

# expect_answers COUNT: this number of lookups found our function instead of libcudnn's. Owner and error are
# unchanged.
expect_answers()
{
    expect_equal "answers" "$(grep -c 'libconvshim\.so; no error' shimmed.out)" "$1"
    sed 's/libconvshim\.so;/libcudnn.so.9;/' shimmed.out | diff plain.out - >difference.out || fail "lookups differ"
    expect_empty shimmed.err
}

# The device of the programs that follow has the real cuDNN, which computes nothing without a GPU.
device_with_real_cudnn()
{
    local cudnn file
    cudnn=$(sed -n 's/^CUDNN_LIB := //p' "$ROOT/build/config.mk")
    [ -r "$cudnn/libcudnn.so.9" ] || cannot_run "there is no real cuDNN"
    mkdir device
    cp "$SIMDEV_DIR/libcudart.so.13" "$SIMDEV_DIR/libcuda.so.1" device/
    for file in "$cudnn"/libcudnn*.so.9; do
        ln -s "$file" device/
    done
    export SIMDEV_DIR=$BATS_TEST_TMPDIR/device
}

# libwork_looked_up.so loads another cuDNN, by its path.
with_other_cudnn()
{
    mkdir other
    cp "$SIMDEV_DIR/libcudnn.so.9" other/
    export LOADER_FILE=$BATS_TEST_TMPDIR/other/libcudnn.so.9 CONVSHIM_LOG=info
}

# The programs that follow get that libconvshim.so.
with_library()
{
    # shellcheck disable=SC2034 # shimmed uses both
    LIBRARY=$1 PRELOAD=${SAN_RT:+$SAN_RT:}$1
}

# bats test_tags=quick
@test "cuDNN linked, by the program or by a library: seen and tiled" {
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$APPS/conv_random" --api both --count 5 --seed 33
    expect_status 0
    expect_accounts_agree
    expect_true "tiled calls" "$(counted tiled) > 0"
    works libwork.so
    expect_counts 1
}

# bats test_tags=quick
@test "cuDNN loaded and looked up: seen and tiled, both APIs" {
    hostile both
    expect_counts 2
    expect_accounts_agree
}

@test "cuDNN looked up by dlvsym: seen and tiled" {
    LOADER_CALL=dlvsym hostile both
    expect_counts 2
    expect_accounts_agree
}

@test "cuDNN loaded RTLD_DEEPBIND and looked up: seen and tiled" {
    [ -z "$SAN_RT" ] || cannot_run "sanitizers refuse RTLD_DEEPBIND"
    LOADER_FLAGS=deepbind hostile both
    expect_counts 2
    expect_accounts_agree
}

@test "cuDNN linked by one library and looked up by another: both tiled, in either order" {
    works libwork.so libwork_looked_up.so
    expect_counts 2
    works libwork_looked_up.so libwork.so
    expect_counts 2
    expect_accounts_agree
}

@test "as in HAMi-core 215: the real cuDNN looks its parts up, without recursion" {
    device_with_real_cudnn
    looked_up touch "$CLIENTS/libwork.so"
    looked_up touch "$CLIENTS/libwork_looked_up.so"
    looked_up names libcudnn.so.9
    expect_answers 6
}

@test "as in MangoHud 1701: owners, versions and errors of a library's functions" {
    looked_up names libcudnn.so.9
    expect_answers 6
}

@test "owners and errors in a cuDNN that lacks some functions" {
    device_with partial
    looked_up names libcudnn.so.9
    expect_answers 4
    expect_line shimmed.out '^dlsym cudnnConvolutionForward: nobody'
}

@test "functions of a library without cuDNN" {
    looked_up names libcudart.so.13
    expect_answers 0
}

@test "a pending error that was not read is dropped by the next lookup" {
    looked_up pending libcudnn.so.9
    expect_answers 2
}

@test "RTLD_DEFAULT and RTLD_NEXT: find our functions as those of any preloaded library" {
    looked_up pseudo none
    expect_equal "entries" "$(grep -c '^dlsym .*: libconvshim\.so; no error' shimmed.out)" 8
    expect_equal "entries by version" "$(grep -c '^dlvsym .* libcudnn\.so\.9: libconvshim\.so; no error' shimmed.out)" 4
    grep -v ': libconvshim\.so; no error' shimmed.out >rest.out
    grep -vE '^dlsym cudnn(ConvolutionForward|BackendExecute|Create|Destroy):|^dlvsym cudnn(ConvolutionForward|Create) libcudnn.so.9' plain.out | diff - rest.out >difference.out ||
        fail "lookups differ"
}

@test "RTLD_DEFAULT and RTLD_NEXT are the caller's, in a library loaded RTLD_LOCAL" {
    looked_up local "$CLIENTS/libloader_local.so"
    diff plain.out shimmed.out >difference.out || fail "lookups differ"
    expect_line shimmed.out '^RTLD_DEFAULT: libloader_deep\.so$'
    expect_line shimmed.out '^RTLD_NEXT: libloader_deep\.so$'
    expect_line shimmed.out '^from here: nobody$'
}

@test "a lookup by a library that is only named like cuDNN's: our entry, as for any other" {
    cp "$CLIENTS/libloader_local.so" libcudnn_caller.so
    export LD_LIBRARY_PATH=$CLIENTS
    looked_up caller "$PWD/libcudnn_caller.so"
    expect_equal "owner" "$(cat shimmed.out)" libconvshim.so
    looked_up caller "$CLIENTS/libloader_local.so"
    expect_equal "owner" "$(cat shimmed.out)" libconvshim.so
}

@test "a lookup before the library is relocated" {
    local early=$CLIENTS/libloader_early.so preload
    for preload in "$early" "$early:$LIBRARY" "$LIBRARY:$early"; do
        on_device shimmed env LD_PRELOAD="${SAN_RT:+$SAN_RT:}$preload" "$CLIENTS/loader" early none
        expect_status 0
        expect_equal "lookup" "$(cat shimmed.out)" found
    done
}

@test "CONVSHIM=0: each lookup finds the real function" {
    CONVSHIM=0 looked_up names libcudnn.so.9
    expect_answers 0
}

# beside PRELOAD: together with another preloaded library, which prints how it was used.
beside()
{
    CONVSHIM_CONFIG=$EVERYTHING on_device shimmed env LD_PRELOAD="${SAN_RT:+$SAN_RT:}$1" \
        "$CLIENTS/hostile" both "$CLIENTS/libwork_looked_up.so"
    expect_status 0
    expect_no_violation shimmed
}

@test "as in HAMi-core 279: another library, preloaded before or after ours, finds the next malloc" {
    local preload
    for preload in "$CLIENTS/libinterposer.so:$LIBRARY" "$LIBRARY:$CLIENTS/libinterposer.so"; do
        beside "$preload"
        expect_counts 2
        # A sanitizer keeps malloc for itself.
        expect_line shimmed.err "^interposer: (called, found again${SAN_RT:+|not called})\$"
    done
}

@test "a dlsym of a library preloaded after ours gets its usual result" {
    beside "$LIBRARY:$CLIENTS/libloader_other.so"
    expect_counts 2
    expect_line shimmed.err '^loader_other: asked$'
}

@test "another library's dlsym before ours, which calls libc: works unseen" {
    beside "$CLIENTS/libloader_other.so:$LIBRARY"
    expect_line shimmed.err '^loader_other: asked$'
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" 2
}

@test "two cuDNNs: the first is tiled, the other works unchanged, and one line reports it" {
    with_other_cudnn
    works libwork.so libwork_looked_up.so
    expect_counts 1
    expect_line shimmed.err 'A second cuDNN is loaded, .*/other/libcudnn\.so\.9$'
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" "$((2 + $(counted extra)))"
}

@test "a cuDNN loaded by its path is the one in use, also for who links it later" {
    with_other_cudnn
    works libwork_looked_up.so libwork.so
    expect_counts 2
    expect_equal "other cuDNNs" "$(grep -c 'A second cuDNN is loaded' shimmed.err)" 0
}

@test "eight threads look up at once" {
    looked_up threads libcudnn.so.9
    expect_equal "answers" "$(grep -cx 'libconvshim\.so' shimmed.out)" 8
    hostile threads
    expect_counts 8
    expect_accounts_agree
}

@test "fork before the first lookup: parent and child report their own" {
    SUMMARY=text hostile fork_before
    expect_counts 2
    expect_equal "calls of the child" "$(counted calls hostile.child)" 1
}

@test "fork after calls: parent and child report their own" {
    SUMMARY=text hostile fork_inherited
    expect_counts 3
    expect_equal "calls of the child" "$(counted calls hostile.child)" 1
}

@test "exec after calls: the new program starts with fresh counts" {
    hostile exec
    expect_counts 1
}

@test "compiled without optimisation: the caller is still the caller" {
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$ROOT" -s B="$PWD/O0" OPT='-O0 -g' lib >make.out 2>&1 ||
        fail "it was not built"
    with_library "$PWD/O0/libconvshim.so"
    looked_up local "$CLIENTS/libloader_local.so"
    diff plain.out shimmed.out >difference.out || fail "lookups differ"
    looked_up names libcudnn.so.9
    expect_answers 6
    beside "$LIBRARY:$CLIENTS/libinterposer.so"
    expect_counts 2
}
