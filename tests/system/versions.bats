#!/usr/bin/env bats
# Versions, parts and names of cuDNN: each caller gets the functions that it would get without the library.
load helper

VERSIONS=$CLIENTS/versions
# A real cuDNN that the simulated one plans with would be one more in the process.
export SIMDEV_CUDNN_DIR=

# work MODE CALLS LIBRARY...: each library does its work, one after the other in one process, without the library and
# with it, which sees CALLS convolutions and tiles them all.
work()
{
    local mode=$1 calls=$2 run
    shift 2
    for run in plain shimmed; do
        CONVSHIM_CONFIG=$EVERYTHING $run "$CLIENTS/loader" "$mode" "$@"
        expect_status 0
        expect_equal "libraries that are right" "$(grep -c ': right$' $run.out)" "$#"
        expect_no_violation $run
    done
    expect_equal "calls" "$(counted calls)" "$calls"
    expect_equal "tiled calls" "$(counted tiled)" "$calls"
    expect_equal "convolutions that the device ran" "$(device shimmed conv_launches)" "$((calls + $(counted extra)))"
}

# bats test_tags=quick
@test "a user of cuDNN 8 first, then one of cuDNN 9: each keeps its own" {
    work works 1 "$VERSIONS/libwork_old.so" "$CLIENTS/libwork.so"
    expect_equal "complaints" "$(grep -c 'not supported' shimmed.err)" 0
}

# bats test_tags=quick
@test "a user of cuDNN 9 first, then one of cuDNN 8: each keeps its own" {
    work works 1 "$CLIENTS/libwork.so" "$VERSIONS/libwork_old.so"
}

@test "a cuDNN 8 that was looked up: used by its own caller alone" {
    CONVSHIM_CONFIG=$EVERYTHING shimmed "$CLIENTS/loader" beside "$VERSIONS/libcudnn.so.8" "$CLIENTS/libwork.so"
    expect_status 0
    expect_line shimmed.out '^cudnnBackendCreateDescriptor: libcudnn\.so\.8$'
    expect_line shimmed.out '^libwork\.so: right$'
    expect_equal "tiled calls" "$(counted tiled)" 1
    expect_equal "complaints" "$(grep -c 'not supported' shimmed.err)" 0
}

@test "linked to the parts of cuDNN alone: seen and tiled, both APIs" {
    work works 1 "$VERSIONS/libwork_parts.so"
    work legacy 1 "$VERSIONS/libwork_parts.so"
}

@test "a library that uses one part, then one that uses all of cuDNN: functions that the part lacks are found" {
    work legacy 1 "$VERSIONS/libtouch_graph.so" "$CLIENTS/libwork.so"
    work works 1 "$VERSIONS/libtouch_graph.so" "$CLIENTS/libwork.so"
}

@test "a cuDNN that was looked up: also used by a library linked to one of its parts" {
    work works 2 "$CLIENTS/libwork_looked_up.so" "$VERSIONS/libwork_parts.so"
}

@test "a cuDNN under the name that a packager gave it" {
    work works 1 "$VERSIONS/libwork_renamed.so"
    work legacy 1 "$VERSIONS/libwork_renamed.so"
}

@test "a file that is unloaded while cuDNN is looked for: cuDNN is found under a packager's name" {
    PRELOAD=${SAN_RT:+$SAN_RT:}$CLIENTS/libunloading.so:$LIBRARY work works 1 "$VERSIONS/libwork_renamed.so"
}
