#!/usr/bin/env bats
# Stand-ins for NVIDIA's libraries are made from the exported names of an installed library, and count calls. No
# library of NVIDIA is needed: the tests make the ones that names are read from.

load ../system/helper

# installed NAME SONAME FUNCTION...: a library with these names and one version node, without code.
installed()
{
    local name=$1 soname=$2
    shift 2
    printf 'int %s(void) { return 77; }\n' "$@" >"$name.c"
    printf '%s { global: *; };\n' "$soname" >"$name.map"
    gcc -shared -fPIC -Wl,-soname,"$soname" -Wl,--version-script="$name.map" -o "$soname" "$name.c"
}

# client TEXT: a program that calls the loaded functions by name.
client()
{
    {
        printf '#include <dlfcn.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n'
        printf 'typedef uintptr_t call(uintptr_t, ...);\n'
        printf '#define GET(l, f) call *f = (call *)dlsym(l, #f); if (!f) { puts(#f); return 1; }\n'
        printf 'int main(void) {\n%s\nreturn 0; }\n' "$1"
    } >client.c
    gcc -w -o client client.c -ldl
}

# accounted PROGRAM: in account mode, with its report in report.json.
accounted()
{
    LD_PRELOAD=$SAN_RT SIMDEV_MODE=account SIMDEV_REPORT=report.json "$ROOT/scripts/with-simdev" -- "$@"
}

setup_file()
{
    export CC=gcc
}

# bats test_tags=quick
@test "a stand-in has the soname, the names and the versions of the library that it was made from" {
    installed cublas libcublas.so.13 cublasCreate_v2 cublasSgemm_v2 cublasNobodyKnows
    "$SIMDEV_DIR/standins" --out made libcublas.so.13
    [ "$(nm -D --defined-only --with-symbol-versions made/libcublas.so.13 | awk '$2 == "T" { print $3 }' | sort | tr '\n' ' ')" = \
        "cublasCreate_v2@@libcublas.so.13 cublasNobodyKnows@@libcublas.so.13 cublasSgemm_v2@@libcublas.so.13 " ]
    readelf -dW made/libcublas.so.13 | grep -q 'SONAME.*\[libcublas.so.13\]'
}

@test "handles are made, products are counted by name and not executed, results on the host are zero" {
    installed cublas libcublas.so.13 cublasCreate_v2 cublasDestroy_v2 cublasSgemm_v2 cublasSnrm2_v2 cublasSgeqrfBatched
    "$SIMDEV_DIR/standins" --out made libcublas.so.13
    client 'void *l = dlopen("made/libcublas.so.13", RTLD_NOW); GET(l, cublasCreate_v2) GET(l, cublasSgemm_v2)
        GET(l, cublasSnrm2_v2) GET(l, cublasSgeqrfBatched) GET(l, cublasDestroy_v2)
        void *handle = 0; float norm = 7; int info = 7;
        if (cublasCreate_v2((uintptr_t)&handle) || !handle) return 2;
        if (cublasSgemm_v2((uintptr_t)handle) || cublasSgemm_v2((uintptr_t)handle)) return 3;
        if (cublasSnrm2_v2((uintptr_t)handle, 1, 0, 1, &norm) || norm != 0) return 4;
        if (cublasSgeqrfBatched((uintptr_t)handle, 8, 8, 0, 8, 0, &info, 2) || info != 0) return 5;
        if (cublasDestroy_v2((uintptr_t)handle)) return 6;'
    accounted ./client
    [ "$(python3 -c 'import json; print(json.load(open("report.json"))["not_executed"]["calls"]["most"]["cublasSgemm_v2"])')" = 2 ]
}

@test "a function without a row in standin_calls.def: listed, and passes or fails as SIMDEV_MISSING requires" {
    installed cublas libcublas.so.13 cublasNobodyKnows
    "$SIMDEV_DIR/standins" --out made libcublas.so.13
    client 'void *l = dlopen("made/libcublas.so.13", RTLD_NOW); GET(l, cublasNobodyKnows) printf("%d\n", (int)cublasNobodyKnows(0));'
    [ "$(SIMDEV_MISSING=allow accounted ./client)" = 0 ]
    [ "$(python3 -c 'import json; print(json.load(open("report.json"))["missing"]["most"]["cublasNobodyKnows"])')" = 1 ]
    [ "$(SIMDEV_MISSING=fail accounted ./client 2>err)" = 15 ]
    grep -q cublasNobodyKnows err
}

@test "cuBLASLt's heuristics answer one algorithm without workspace" {
    installed cublasLt libcublasLt.so.13 cublasLtMatmulAlgoGetHeuristic cublasLtMatmul
    "$SIMDEV_DIR/standins" --out made libcublasLt.so.13
    client 'void *l = dlopen("made/libcublasLt.so.13", RTLD_NOW); GET(l, cublasLtMatmulAlgoGetHeuristic)
        struct { uint64_t algo[8]; size_t workspace; int status; float waves; int reserved[4]; } found;
        int count = 0; memset(&found, 0xff, sizeof found);
        if (cublasLtMatmulAlgoGetHeuristic(1, 1, 1, 1, 1, 1, 1, 1, &found, &count)) return 2;
        if (count != 1 || found.workspace != 0 || found.status != 0) return 3;'
    accounted ./client
}

@test "cuBLASLt's matrix layouts return their attributes" {
    installed cublasLt libcublasLt.so.13 cublasLtMatrixLayoutCreate cublasLtMatrixLayoutSetAttribute cublasLtMatrixLayoutGetAttribute
    "$SIMDEV_DIR/standins" --out made libcublasLt.so.13
    client 'void *l = dlopen("made/libcublasLt.so.13", RTLD_NOW), *layout; GET(l, cublasLtMatrixLayoutCreate)
        GET(l, cublasLtMatrixLayoutSetAttribute) GET(l, cublasLtMatrixLayoutGetAttribute)
        int type = 0, batches = 7; uint64_t columns = 0; size_t written = 0;
        if (cublasLtMatrixLayoutCreate((uintptr_t)&layout, 14, 3, 5, 3)) return 2;
        if (cublasLtMatrixLayoutSetAttribute((uintptr_t)layout, 5, &batches, 4)) return 3;
        if (cublasLtMatrixLayoutGetAttribute((uintptr_t)layout, 0, &type, 4, &written) || type != 14 || written != 4) return 4;
        if (cublasLtMatrixLayoutGetAttribute((uintptr_t)layout, 3, &columns, 8, 0) || columns != 5) return 5;
        batches = 0;
        if (cublasLtMatrixLayoutGetAttribute((uintptr_t)layout, 5, &batches, 4, 0) || batches != 7) return 6;'
    accounted ./client
}

@test "standin_calls.def: results have the types that the headers of NVIDIA's libraries declare" {
    local headers
    headers=$(sed -n 's/^CUDA_INC := //p' "$ROOT/build/config.mk")
    [ -r "$headers/nccl.h" ] || cannot_run "$headers has no nccl.h"
    "$ROOT/tests/sweeps/standin_calls.py" "$headers" >calls.out || fail "$(grep -v ^ok calls.out)"
    expect_line calls.out '^ok [0-9]+ - nccl: [1-9][0-9]* results'
}

@test "sizes that only the real library determines: written, and reported as estimates" {
    installed cusolver libcusolver.so.12 cusolverDnCreate cusolverDnSgetrf_bufferSize cusolverDnXpotrf_bufferSize
    "$SIMDEV_DIR/standins" --out made libcusolver.so.12
    client 'void *l = dlopen("made/libcusolver.so.12", RTLD_NOW); GET(l, cusolverDnSgetrf_bufferSize) GET(l, cusolverDnXpotrf_bufferSize)
        int work = -1; size_t device = 0, host = 0;
        if (cusolverDnSgetrf_bufferSize(1, 4, 4, 0, 4, &work) || work <= 0) return 2;
        if (cusolverDnXpotrf_bufferSize(1, 0, 0, 4, 0, 0, 4, 0, &device, &host) || !device || !host) return 3;'
    accounted ./client
    [ "$(python3 -c 'import json; print(len(json.load(open("report.json"))["estimated"]["most"]))')" = 2 ]
}

@test "versions: the installed library's own, and none for a library without versions" {
    installed cublasLt libcublasLt.so.13 cublasLtGetVersion
    printf 'int ncclGetVersion(int *v);int ncclGetVersion(int *v){*v = 23007; return 0;}\n' >nccl.c
    gcc -shared -fPIC -Wl,-soname,libnccl.so.2 -o libnccl.so.2 nccl.c
    "$SIMDEV_DIR/standins" --out made ./libcublasLt.so.13 ./libnccl.so.2
    [ "$(nm -D --defined-only --with-symbol-versions made/libnccl.so.2 | awk '{ print $3 }')" = ncclGetVersion ]
    client 'void *l = dlopen("made/libcublasLt.so.13", RTLD_NOW), *n = dlopen("made/libnccl.so.2", RTLD_NOW);
        GET(l, cublasLtGetVersion) GET(n, ncclGetVersion) int version = 0; uintptr_t status = ncclGetVersion((uintptr_t)&version);
        printf("%d %d %d\n", (int)cublasLtGetVersion(0), (int)status, version);'
    [ "$(accounted ./client)" = "77 0 23007" ]
}

@test "versions: as the installed library reports them without a handle, and in parts" {
    printf '%s\n' 'int cublasGetVersion_v2(void *h, int *v); int cublasGetVersion_v2(void *h, int *v) { *v = h ? 1 : 131000; return 0; }' \
        'int cublasGetProperty(int part, int *v);' \
        'int cublasGetProperty(int part, int *v) { *v = part == 0 ? 13 : part == 1 ? 10 : 4; return 0; }' >cublas.c
    gcc -shared -fPIC -Wl,-soname,libcublas.so.13 -o libcublas.so.13 cublas.c
    "$SIMDEV_DIR/standins" --out made ./libcublas.so.13
    client 'void *l = dlopen("made/libcublas.so.13", RTLD_NOW); GET(l, cublasGetVersion_v2) GET(l, cublasGetProperty)
        int version = 0, major = 0, minor = 0, patch = 0;
        if (cublasGetVersion_v2(0, &version) || cublasGetProperty(0, &major) || cublasGetProperty(1, &minor) ||
            cublasGetProperty(2, &patch) || !cublasGetProperty(3, &patch)) return 2;
        printf("%d %d %d %d\n", version, major, minor, patch);'
    [ "$(accounted ./client)" = "131000 13 10 4" ]
}

@test "a program that is linked against the installed library runs with the stand-in" {
    installed cufft libcufft.so.12 cufftCreate cufftSetAutoAllocation
    "$SIMDEV_DIR/standins" --out made libcufft.so.12
    echo 'int cufftCreate(int *); int cufftSetAutoAllocation(int, int);
          int main(void) { int plan = 0; return cufftCreate(&plan) || plan != 1 || cufftSetAutoAllocation(plan, 0); }' >linked.c
    gcc -w -o linked linked.c ./libcufft.so.12
    LD_LIBRARY_PATH=$PWD/made accounted ./linked
}

@test "a file that is not a library, and an unknown library: refused by name" {
    echo nonsense >libcublas.so.13
    run ! "$SIMDEV_DIR/standins" --out made libcublas.so.13
    [[ $output == *'libcublas.so.13: not a shared library'* ]]
    installed other libother.so.1 other_call
    run ! "$SIMDEV_DIR/standins" --out made libother.so.1
    [[ $output == *'libother.so.1: standin_calls.def has no rules for this library'* ]]
    [ -z "$(ls made)" ]
}

@test "NVML: the versions of the driver, the PCIe link, the compute capability and the fabric are those of the profile" {
    client 'void *l = dlopen("libnvidia-ml.so.1", RTLD_NOW); if (!l) return 1;
        GET(l, nvmlDeviceGetHandleByIndex_v2) GET(l, nvmlSystemGetDriverVersion) GET(l, nvmlSystemGetNVMLVersion)
        GET(l, nvmlDeviceGetCudaComputeCapability) GET(l, nvmlDeviceGetCurrPcieLinkGeneration)
        GET(l, nvmlDeviceGetMaxPcieLinkWidth) GET(l, nvmlDeviceGetPcieSpeed) GET(l, nvmlDeviceGetGpuFabricInfoV)
        void *d; char driver[80], nvml[80], few[4]; int major, minor; unsigned generation, lanes, speed, fabric[10] = {0, 9, 9, 9, 9, 9, 9, 9, 9, 9};
        if ((int)nvmlDeviceGetHandleByIndex_v2(0, &d)) return 2;
        if ((int)nvmlSystemGetDriverVersion((uintptr_t)driver, 80) || (int)nvmlSystemGetNVMLVersion((uintptr_t)nvml, 80)) return 3;
        if ((int)nvmlSystemGetDriverVersion((uintptr_t)few, 4) != 7) return 4;
        if ((int)nvmlDeviceGetCudaComputeCapability((uintptr_t)d, &major, &minor)) return 5;
        if ((int)nvmlDeviceGetCurrPcieLinkGeneration((uintptr_t)d, &generation)) return 6;
        if ((int)nvmlDeviceGetMaxPcieLinkWidth((uintptr_t)d, &lanes)) return 7;
        if ((int)nvmlDeviceGetPcieSpeed((uintptr_t)d, &speed)) return 8;
        if ((int)nvmlDeviceGetPcieSpeed((uintptr_t)&d, &speed) != 2) return 9;
        int state = (int)nvmlDeviceGetGpuFabricInfoV((uintptr_t)d, fabric) ? -1 : (int)(fabric[7] & 255);
        printf("%s %s %d.%d %u %u %u %d", driver, nvml, major, minor, generation, lanes, speed, state);'
    for wanted in "t4 580.00 13.580.00 7.5 3 16 8000 -1" "rtx4090 580.00 13.580.00 8.9 4 16 16000 -1" \
        "h100 580.00 13.580.00 9.0 5 16 32000 0"; do
        expect_equal "what NVML says of ${wanted%% *}" "$(LD_PRELOAD=$SAN_RT "$ROOT/scripts/with-simdev" \
            --profile "$ROOT/conf/devices/${wanted%% *}.json" --account -- ./client)" "${wanted#* }"
    done
}

# bats test_tags=quick
@test "NVML does not use CUDA: the child of a fork after a query of NVML has the GPU, and only the child has a report" {
    cat >fork.py <<'END'
import ctypes, os
nvml, count = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_uint()
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value == 1
if os.fork() == 0:
    os.environ["SIMDEV_CAPACITY"] = str(4 << 20)
    take = ctypes.CDLL("libcudart.so.13").cudaMalloc
    print([take(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(3 << 20)) for _ in range(2)])
else:
    os.wait()
END
    expect_equal "errors" "$(LD_PRELOAD=$SAN_RT "$ROOT/scripts/with-simdev" --report "$PWD/report.%p" --account -- python3 fork.py)" "[0, 2]"
    expect_equal "reports" "$(find . -name 'report.*' | wc -l)" 1
}
