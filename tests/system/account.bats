#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031 # an inner shell expands these; each test is a separate process
# The simulated device in account mode: a program has the same memory as if its results were computed, and failed
# planning is reported.
load helper

plan_quickly

decoder()
{
    plain "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
}

# word FILE KEY: a text of the device's accounting.
word()
{
    sed -n "s/^[[:space:]]*\"$2\":[[:space:]]*\"\(.*\)\",*\$/\1/p" "$1" | head -n 1
}

# bats test_tags=quick
@test "account mode: a program has the same peak as in compute mode" {
    decoder
    expect_status 0
    expect_equal "mode" "$(word plain.json mode)" compute
    mv plain.json computed.json
    SIMDEV_MODE=account decoder
    expect_status 0
    expect_equal "mode" "$(word plain.json mode)" account
    expect_no_violation plain
    local key
    for key in peak_bytes live_bytes allocations frees largest_workspace_used conv_launches other_launches; do
        expect_equal "$key" "$(device plain $key)" "$(device computed $key)"
    done
    expect_true "reads of what the program did not compute" "$(device plain reads) > 0"
}

@test "the same with the library" {
    export CONVSHIM_CONFIG="workspace=4MiB"
    shimmed "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
    expect_status 0
    mv shimmed.json computed.json
    SIMDEV_MODE=account shimmed "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
    expect_status 0
    expect_no_violation shimmed
    local key
    for key in peak_bytes allocations largest_workspace_used conv_launches; do
        expect_equal "$key" "$(device shimmed $key)" "$(device computed $key)"
    done
}

@test "the record has every convolution as it was called and every change of memory, and agrees with the report" {
    export SIMDEV_MODE=account SIMDEV_RECORD=$PWD/record.%p SIMDEV_PROGRESS=$PWD/progress
    decoder
    expect_status 0
    cat record.* >record
    expect_equal "convolutions" "$(grep -c '^c ' record)" "$(device plain conv_launches)"
    expect_equal "bytes of their tensors" "$(awk '/^c / { sum += $4 } END { print sum }' record)" "$(device plain tensor_bytes)"
    expect_equal "bytes of their workspaces" "$(awk '/^c / { sum += $3 } END { print sum }' record)" "$(device plain workspace_bytes)"
    expect_equal "their time" "$(awk '/^c / { sum += $5 } END { print sum }' record)" "$(device plain nanoseconds)"
    expect_equal "peak" "$(awk '/^m / && $2 > most { most = $2 } END { print most }' record)" "$(device plain peak_bytes)"
    expect_equal "sum of what blocks changed" "$(awk '$1 == "a" { size[$2] = $3; live += $3 } $1 == "f" { live -= size[$2] }
        live > most { most = live } END { print most }' record)" "$(device plain peak_bytes)"
    expect_equal "progress" "$(od -A n -t u8 -j 8 -N 32 progress | xargs)" \
        "$(device plain conv_launches) 0 $(device plain live_bytes) $(device plain peak_bytes)"
}

@test "tiles move the bytes of the tensors, and those of their edges again" {
    export SIMDEV_MODE=account
    decoder
    export CONVSHIM_CONFIG="workspace=4MiB"
    shimmed "$APPS/vae_decoder" --csv "$ROOT/tests/data/conv_layers.csv" --px 96 --dtype f16
    expect_true "tiles" "$(device shimmed conv_launches) > $(device plain conv_launches)"
    expect_true "read again" "$(device shimmed tensor_bytes) > $(device plain tensor_bytes)"
    expect_true "and no more than edges" "$(device shimmed tensor_bytes) < 2 * $(device plain tensor_bytes)"
}

@test "allocations beyond the capacity are counted, with the live bytes" {
    export SIMDEV_MODE=account
    decoder
    expect_equal "refused" "$(device plain refused)" 0
    local peak
    peak=$(device plain peak_bytes)
    SIMDEV_CAPACITY=$((peak - 1)) decoder
    expect_true "refused" "$(device plain refused) > 0"
    expect_true "short" "$(device plain last_live_bytes) + $(device plain last_bytes) > $peak - 1"
}

@test "a read of memory that was never written names the reading function" {
    cat >reader.c <<'END'
#include <stdio.h>
extern int cudaMalloc(void **, unsigned long), cudaMemcpy(void *, const void *, unsigned long, int), cudaMemset(void *, int, unsigned long);
__attribute__((noinline)) int reads_its_result(void *memory) { int value; return cudaMemcpy(&value, memory, sizeof value, 2) | value; }
int main(void) { void *memory; return cudaMalloc(&memory, 64) || reads_its_result(memory) || cudaMemset(memory, 0, 64) || reads_its_result(memory); }
END
    gcc -O1 -rdynamic -o reader reader.c -L"$SIMDEV_DIR" -l:libcudart.so.13
    SIMDEV_MODE=account plain ./reader
    expect_status 0
    expect_equal "reads" "$(device plain reads)" 1
    expect_equal "by" "$(device plain reads_its_result)" 1
}

@test "sizes that no real cuDNN planned are reported, unless they are requested" {
    export SIMDEV_CUDNN_DIR=
    decoder
    expect_status 0
    expect_line plain.err 'simdev: no real cuDNN found for planning'
    SIMDEV_PLANNING=rule decoder
    expect_status 0
    expect_empty plain.err
}

@test "sizes that no real cuDNN planned are refused if a real cuDNN is required" {
    export SIMDEV_CUDNN_DIR="" SIMDEV_REQUIRE_PLANNING=real
    decoder
    expect_true "status" "$status != 0"
    expect_line plain.err 'violation: SIMDEV_REQUIRE_PLANNING=real'
}

@test "a setting without effect is refused" {
    SIMDEV_MODE=quick decoder
    expect_true "status" "$status != 0"
    expect_line plain.err 'violation: SIMDEV_MODE quick: not compute or account'
}

@test "with-simdev --account preloads the device after the user's libraries" {
    local users=libm.so.6
    [[ $SAN_RT != *tsan* ]] || cannot_run "ThreadSanitizer's runtime must be the first library"
    [[ -z $SAN_RT ]] || users=$SAN_RT:$users
    LD_PRELOAD=$users "$ROOT/scripts/with-simdev" --account -- printenv LD_PRELOAD >preload.out
    expect_line preload.out "^$users:$SIMDEV_DIR/libcuda.so.1:.*libcudart.so.13.*libcudnn.so.9"
    "$ROOT/scripts/with-simdev" -- sh -c 'echo "[$LD_PRELOAD]"' >preload.out
    expect_line preload.out '^\[\]$'
    "$ROOT/scripts/with-simdev" --cuda 12 -- sh -c 'echo "$LD_LIBRARY_PATH"' >path.out
    expect_line path.out "^$SIMDEV_DIR/cuda12"
}
