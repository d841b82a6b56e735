/* Tests of the simulated libcudart: violations, faults and the end of a process, and its report.
 * Prints TAP.
 *
 * Each case runs in a separate process: this program with `selftest_cudart_process --case NAME`. */
#include "selftest_cuda.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

static char directory[4000];

static void write_byte(void *address)
{
    *(volatile unsigned char *)address = 1;
}

/* --- the cases: each returns the status of its process, 0 for success --- */

static int case_report(void)
{
    unsigned char host[256] = {0};
    cudaStream_t stream;
    void *a = device_alloc(3 * MIB), *b = device_alloc(MIB);
    cudaFree(a);
    cudaStreamCreate(&stream);
    cudaMemcpyAsync(b, host, sizeof(host), cudaMemcpyHostToDevice, stream);
    cudaMemset(b, 0, 16);
    simdev_count(SIMDEV_CONV_LAUNCHES);
    simdev_note_workspace(12345);
    simdev_note_workspace(100);
    simdev_note_planning("a test");
    return cudaDeviceSynchronize() != cudaSuccess;
}

static int case_overrun_freed(void)
{
    unsigned char *block = device_alloc(1000);
    enqueue(NULL, write_byte, block + 1000);
    return cudaFree(block) != cudaSuccess;
}

static int case_overrun_asked(void)
{
    unsigned char *block = device_alloc(MIB);
    enqueue(NULL, write_byte, block + MIB + 3000);
    cudaDeviceSynchronize();
    _exit(0); /* so that only the synchronisation can have found it */
}

static int case_overrun_at_exit(void)
{
    unsigned char *block = device_alloc(512);
    return enqueue(NULL, write_byte, block - 1) != cudaSuccess;
}

static int case_write_after_free(void)
{
    unsigned char *block = device_alloc(4096);
    cudaFree(block);
    write_byte(block + 17);
    return cudaDeviceSynchronize() !=
           cudaSuccess; /* reports it, and exit does not report it again */
}

static int case_touch_large_after_free(void)
{
    unsigned char *block = device_alloc(4 * MIB);
    cudaFree(block);
    signal(SIGSEGV, SIG_DFL); /* a sanitizer must not report it */
    write_byte(block + MIB);
    return 0;
}

static int case_copy_after_free(void)
{
    char host[16] = {0};
    void *block = device_alloc(16);
    cudaFree(block);
    return cudaMemcpy(block, host, 16, cudaMemcpyHostToDevice) != cudaErrorInvalidValue;
}

static int case_bad_frees(void)
{
    int local;
    char *block = device_alloc(100);
    int wrong = cudaFree(&local) != cudaErrorInvalidValue;
    wrong += cudaFree(block + 1) != cudaErrorInvalidValue;
    wrong += cudaFreeHost(block) != cudaErrorInvalidValue;
    wrong += cudaFree(block) != cudaSuccess;
    wrong += cudaFree(block) != cudaErrorInvalidValue;
    return wrong;
}

/* The memory of a queued copy is freed before the copy runs: a fault that every later call reports.
 */
static int case_fault(void)
{
    static sem_t gate;
    cudaStream_t a, b;
    void *block = device_alloc(MIB), *other = NULL;
    sem_init(&gate, 0, 0);
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    enqueue(a, wait_gate, &gate);
    cudaMemsetAsync(block, 0, MIB, a);
    cudaFreeAsync(block, b);
    cudaStreamSynchronize(b);
    open_gate(&gate);
    int wrong = cudaStreamSynchronize(a) != cudaErrorIllegalAddress;
    wrong += cudaMalloc(&other, 1) != cudaErrorIllegalAddress;
    (void)cudaGetLastError();
    wrong += cudaGetLastError() != cudaErrorIllegalAddress;
    wrong += cudaDeviceReset() != cudaSuccess || cudaGetLastError() != cudaSuccess;
    wrong += cudaMalloc(&other, 1) != cudaSuccess;
    wrong += cudaStreamSynchronize(a) != cudaErrorInvalidResourceHandle;
    return wrong;
}

/* Under SIMDEV_FAIL=cudaMalloc:2,cudaStreamCreate:1,cudaMemcpy:1. */
static int case_fail(void)
{
    void *block = NULL;
    char host = 0;
    cudaStream_t stream;
    int wrong = cudaMalloc(&block, 1) != cudaSuccess;
    wrong += cudaMalloc(&block, 1) != cudaErrorMemoryAllocation;
    wrong += cudaMalloc(&block, 1) != cudaSuccess;
    wrong += cudaStreamCreate(&stream) != cudaErrorMemoryAllocation;
    wrong += cudaStreamCreate(&stream) != cudaSuccess;
    wrong += cudaMemcpy(&host, block, 1, cudaMemcpyDeviceToHost) != cudaErrorUnknown;
    wrong += cudaMemcpy(&host, block, 1, cudaMemcpyDeviceToHost) != cudaSuccess;
    wrong += simdev_should_fail("cudaMallocHost");
    return wrong;
}

/* Under SIMDEV_FAIL=cuMemAlloc_v2:2,cuEventRecord:1,cudaMalloc:3. */
static int case_driver_fail(void)
{
    CUdeviceptr block = 0;
    CUevent event = NULL;
    void *memory = NULL;
    int wrong = cudaMalloc(&memory, 1) != cudaSuccess || !bind_driver();
    wrong += cu.cuMemAlloc_v2(&block, 1) != CUDA_SUCCESS;
    wrong += !refused(cu.cuMemAlloc_v2(&block, 1), CUDA_ERROR_OUT_OF_MEMORY);
    wrong += cu.cuMemAlloc_v2(&block, 1) != CUDA_SUCCESS;
    wrong += cudaMalloc(&memory, 1) != cudaSuccess;
    wrong += cudaMalloc(&memory, 1) != cudaErrorMemoryAllocation;
    wrong += cu.cuEventCreate(&event, 0) != CUDA_SUCCESS;
    wrong += cu.cuEventRecord(event, NULL) != CUDA_ERROR_UNKNOWN;
    wrong += cu.cuEventRecord(event, NULL) != CUDA_SUCCESS;
    return wrong;
}

/* Under SIMDEV_DEVICES=2. */
static int case_devices(void)
{
    void *a = device_alloc(3 * MIB);
    (void)cudaSetDevice(1);
    void *b = device_alloc(MIB), *c = device_alloc(MIB);
    cudaFree(b);
    return !a || !c;
}

static bool is_model(int device, const char *name, int multiprocessors)
{
    struct cudaDeviceProp properties;
    int value = 0;
    return cudaGetDeviceProperties(&properties, device) == cudaSuccess &&
           strcmp(properties.name, name) == 0 &&
           properties.multiProcessorCount == multiprocessors &&
           cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device) == cudaSuccess &&
           value == multiprocessors;
}

static bool has_capacity(int device, size_t least, size_t most)
{
    size_t left = 0, all = 0;
    return cudaSetDevice(device) == cudaSuccess && cudaMemGetInfo(&left, &all) == cudaSuccess &&
           all >= least && all <= most;
}

/* Device 1 is a T4, devices 0 and 2 the built-in H200. A T4 starts 1024 threads per multiprocessor,
 * an H200 2048. */
static int case_models(void)
{
    int wrong = 0;
    setenv("SIMDEV_DEVICES", "3", 1);
    setenv("SIMDEV_PROFILE_1", "conf/devices/t4.json", 1);
    wrong += !is_model(0, "NVIDIA H200", 132) || !is_model(1, "Tesla T4", 40) ||
             !is_model(2, "NVIDIA H200", 132);
    wrong += !has_capacity(1, (size_t)14 << 30, (size_t)16 << 30) ||
             !has_capacity(0, (size_t)130 << 30, (size_t)144 << 30);
    return wrong;
}

static int case_fork_driver(void)
{
    CUcontext context = NULL;
    CUdeviceptr block = 0;
    int status = 0;
    if (cudaSetDevice(0) != cudaSuccess || !bind_driver())
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(cu.cuMemAlloc_v2(&block, 1) == CUDA_ERROR_NOT_INITIALIZED &&
                      cu.cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED
                  ? 5
                  : 6);
    waitpid(pid, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 5;
}

/* Runs with unusable settings. */
static int case_unusable(void)
{
    void *block = NULL;
    int wrong = cudaMalloc(&block, 1) != cudaErrorInitializationError;
    wrong += cudaFree(NULL) != cudaErrorInitializationError;
    return wrong;
}

static void count_and_sleep(void *unused)
{
    simdev_count(SIMDEV_OTHER_LAUNCHES);
    sleep_5ms(unused);
}

static int case_exit_with_work(void)
{
    cudaStream_t a, b;
    cudaEvent_t event;
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreate(&event);
    for (int i = 0; i < 20; i++) {
        enqueue(a, count_and_sleep, NULL);
        cudaEventRecord(event, a);
        cudaStreamWaitEvent(b, event, 0);
        enqueue(b, count_and_sleep, NULL);
    }
    return 0;
}

static int case_exit_with_stuck_host_function(void)
{
    static sem_t never;
    cudaStream_t stream;
    sem_init(&never, 0, 0);
    cudaStreamCreate(&stream);
    cudaLaunchHostFunc(stream, wait_gate, &never);
    return enqueue(stream, count_and_sleep, NULL) != cudaSuccess;
}

static void exit_with_9(void *unused)
{
    (void)unused;
    exit(9);
}

static int case_exit_in_host_function(void)
{
    cudaLaunchHostFunc(NULL, exit_with_9, NULL);
    pause();
    return 1;
}

struct hold {
    sem_t running, release;
};

static void hold_stream(void *arg)
{
    struct hold *hold = arg;
    open_gate(&hold->running);
    wait_gate(&hold->release);
}

static int forked_child(void *block)
{
    const bool no_device = cudaFree(block) == cudaErrorInitializationError &&
                           cudaStreamSynchronize(NULL) == cudaErrorInitializationError;
    return no_device ? 5 : 6;
}

/* Forks while a stream works. The child has no device, ends, and leaves the report to its parent.
 */
static int case_fork(void)
{
    static struct hold hold;
    void *block = device_alloc(2 * MIB);
    sem_init(&hold.running, 0, 0);
    sem_init(&hold.release, 0, 0);
    enqueue(NULL, hold_stream, &hold);
    wait_gate(&hold.running);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(30); /* the parent's is not inherited */
        exit(forked_child(block));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    open_gate(&hold.release);
    const char *report = getenv("SIMDEV_REPORT");
    const bool report_by_child = !report || access(report, F_OK) == 0;
    return !WIFEXITED(status) || WEXITSTATUS(status) != 5 || report_by_child;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    {"report", case_report},
    {"overrun-freed", case_overrun_freed},
    {"overrun-asked", case_overrun_asked},
    {"overrun-at-exit", case_overrun_at_exit},
    {"write-after-free", case_write_after_free},
    {"touch-large-after-free", case_touch_large_after_free},
    {"copy-after-free", case_copy_after_free},
    {"bad-frees", case_bad_frees},
    {"fault", case_fault},
    {"fail", case_fail},
    {"driver-fail", case_driver_fail},
    {"devices", case_devices},
    {"models", case_models},
    {"fork-driver", case_fork_driver},
    {"unusable", case_unusable},
    {"exit-with-work", case_exit_with_work},
    {"exit-with-stuck-host-function", case_exit_with_stuck_host_function},
    {"exit-in-host-function", case_exit_in_host_function},
    {"fork", case_fork},
};

static int run_case(const char *name)
{
    alarm(60); /* ends a case that hangs, by a signal */
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(cases[i].name, name) == 0)
            return cases[i].run();
    }
    return 2;
}

/* --- running cases --- */

struct outcome {
    int status;    /* as of waitpid */
    cJSON *report; /* NULL: none was written */
    char errors[4096];
};

static void read_errors(const char *path, struct outcome *outcome)
{
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(outcome->errors, 1, sizeof(outcome->errors) - 1, file) : 0;
    outcome->errors[length] = '\0';
    if (file)
        fclose(file);
}

/* `variable` NULL: only the report is set. The caller frees outcome.report with cJSON_Delete. */
static struct outcome try_case(const char *name, const char *variable, const char *value)
{
    struct outcome outcome = {.status = -1};
    char report[sizeof(directory) + 64], errors[sizeof(directory) + 64];
    snprintf(report, sizeof(report), "%s/%s.json", directory, name);
    snprintf(errors, sizeof(errors), "%s/%s.err", directory, name);
    setenv("SIMDEV_REPORT", report, 1);
    if (variable)
        setenv(variable, value, 1);
    char *const argv[] = {"selftest_cudart_process", "--case", (char *)(uintptr_t)name, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    pid_t pid;
    if (posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) == 0)
        waitpid(pid, &outcome.status, 0);
    posix_spawn_file_actions_destroy(&actions);
    unsetenv("SIMDEV_REPORT");
    if (variable)
        unsetenv(variable);
    outcome.report = read_json(report);
    read_errors(errors, &outcome);
    unlink(report);
    unlink(errors);
    return outcome;
}

static double value_of(const struct outcome *outcome, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(outcome->report, key);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static const char *first_violation(const struct outcome *outcome)
{
    const cJSON *texts = cJSON_GetObjectItemCaseSensitive(outcome->report, "violation_texts");
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(texts, 0));
    return text ? text : "";
}

static bool exited(const struct outcome *outcome, int code)
{
    return WIFEXITED(outcome->status) && WEXITSTATUS(outcome->status) == code;
}

/* Expects exit status 0 and exactly one violation that contains this text. */
static void expect_violation(const char *name, const char *text, const char *title)
{
    struct outcome outcome = try_case(name, NULL, NULL);
    if (!check(exited(&outcome, 0) && value_of(&outcome, "violations") == 1 &&
                   strstr(first_violation(&outcome), text),
               title))
        printf("# status %d, %s\n", outcome.status, outcome.errors);
    cJSON_Delete(outcome.report);
}

static void expect_status(const char *name, int code, const char *title)
{
    struct outcome outcome = try_case(name, NULL, NULL);
    if (!check(exited(&outcome, code) && value_of(&outcome, "violations") == 0, title))
        printf("# status %d, %s\n", outcome.status, outcome.errors);
    cJSON_Delete(outcome.report);
}

static void expect_unusable(const char *variable, const char *value, const char *title)
{
    struct outcome outcome = try_case("unusable", variable, value);
    check(exited(&outcome, 0) && strstr(first_violation(&outcome), variable), title);
    cJSON_Delete(outcome.report);
}

static void test_violations(void)
{
    expect_violation("overrun-freed", "write 0 bytes past the end",
                     "violation: write past the end, found at the free");
    expect_violation("overrun-at-exit", "write 1 bytes before the start",
                     "violation: write before the start, found at exit");
    expect_violation("write-after-free", "write after free at offset 17",
                     "violation: write after free");
    expect_violation("copy-after-free", "not inside a live allocation",
                     "violation: copy after free");
    expect_violation("fault", "no longer inside a live allocation",
                     "fault: sticky until the device is reset");
    struct outcome outcome = try_case("overrun-asked", NULL, NULL);
    check(strstr(outcome.errors, "simdev: violation: write 3000 bytes past the end") != NULL,
          "violation: write past the end, found at a synchronisation");
    cJSON_Delete(outcome.report);
    outcome = try_case("touch-large-after-free", NULL, NULL);
    check(!exited(&outcome, 0), "large freed block: access ends the process");
    cJSON_Delete(outcome.report);
    outcome = try_case("bad-frees", NULL, NULL);
    check(exited(&outcome, 0) && value_of(&outcome, "violations") == 4,
          "violation: four invalid frees");
    check(strstr(outcome.errors, "\nsimdev: 4 violations\n") != NULL,
          "violation: number in the last line");
    cJSON_Delete(outcome.report);
}

static void test_report(void)
{
    struct outcome outcome = try_case("report", "SIMDEV_CAPACITY", "8M");
    const cJSON *planning = cJSON_GetObjectItemCaseSensitive(outcome.report, "planning");
    check(exited(&outcome, 0) && outcome.report, "report: written");
    check(value_of(&outcome, "peak_bytes") == 4 * MIB &&
              value_of(&outcome, "live_bytes") == 1 * MIB &&
              value_of(&outcome, "largest_allocation") == 3 * MIB &&
              value_of(&outcome, "allocations") == 2 && value_of(&outcome, "frees") == 1 &&
              value_of(&outcome, "capacity_bytes") == 8 * MIB,
          "report: memory");
    check(value_of(&outcome, "copies") == 2 && value_of(&outcome, "streams") == 2 &&
              value_of(&outcome, "conv_launches") == 1 &&
              value_of(&outcome, "other_launches") == 0 &&
              value_of(&outcome, "largest_workspace_used") == 12345,
          "report: work");
    check(cJSON_IsString(planning) && strcmp(planning->valuestring, "a test") == 0 &&
              value_of(&outcome, "violations") == 0 && outcome.errors[0] == '\0',
          "report: no violations, nothing printed");
    cJSON_Delete(outcome.report);
    outcome = try_case("fail", "SIMDEV_FAIL", "cudaMalloc:2,cudaStreamCreate:1,cudaMemcpy:1");
    check(exited(&outcome, 0), "SIMDEV_FAIL: each listed call fails once");
    cJSON_Delete(outcome.report);
    expect_unusable("SIMDEV_CAPACITY", "lots", "SIMDEV_CAPACITY: not a size, unusable");
    expect_unusable("SIMDEV_FAIL", "cudaMalloc", "SIMDEV_FAIL: not a list, unusable");
    expect_unusable("SIMDEV_PROFILE", "/nonexistent.json",
                    "SIMDEV_PROFILE: missing file, unusable");
    expect_unusable("SIMDEV_PROFILE", "/dev/null", "SIMDEV_PROFILE: empty file, unusable");
}

static double value_of_device(const struct outcome *outcome, int device, const char *key)
{
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(outcome->report, "devices");
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(devices, device), key);
    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

static const char *name_of_device(const struct outcome *outcome, int device)
{
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(outcome->report, "devices");
    const char *name = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(devices, device), "device_name"));
    return name ? name : "";
}

static void test_driver(void)
{
    struct outcome outcome =
        try_case("driver-fail", "SIMDEV_FAIL", "cuMemAlloc_v2:2,cuEventRecord:1,cudaMalloc:3");
    check(exited(&outcome, 0), "SIMDEV_FAIL: driver calls by their exported names");
    cJSON_Delete(outcome.report);
    expect_status("fork-driver", 0, "fork: child has no driver");
}

static void test_devices(void)
{
    struct outcome outcome = try_case("devices", "SIMDEV_DEVICES", "2");
    check(exited(&outcome, 0) && value_of(&outcome, "peak_bytes") == 5 * MIB &&
              value_of(&outcome, "live_bytes") == 4 * MIB,
          "report: memory of all devices");
    check(value_of_device(&outcome, 0, "peak_bytes") == 3 * MIB &&
              value_of_device(&outcome, 1, "peak_bytes") == 2 * MIB &&
              value_of_device(&outcome, 1, "live_bytes") == 1 * MIB &&
              value_of_device(&outcome, 1, "allocations") == 2 &&
              value_of_device(&outcome, 1, "frees") == 1 &&
              value_of_device(&outcome, 2, "frees") == -1,
          "report: memory of each device");
    cJSON_Delete(outcome.report);
    outcome = try_case("models", NULL, NULL);
    check(exited(&outcome, 0) && strcmp(name_of_device(&outcome, 0), "NVIDIA H200") == 0 &&
              strcmp(name_of_device(&outcome, 1), "Tesla T4") == 0,
          "SIMDEV_PROFILE_1: another model as device 1");
    cJSON_Delete(outcome.report);
    setenv("SIMDEV_DEVICES", "2", 1);
    expect_unusable("SIMDEV_PROFILE_1", "/nonexistent.json",
                    "SIMDEV_PROFILE_1: missing file, unusable");
    unsetenv("SIMDEV_DEVICES");
    expect_unusable("SIMDEV_DEVICES", "0", "SIMDEV_DEVICES: 0, unusable");
    expect_unusable("SIMDEV_DEVICES", "two", "SIMDEV_DEVICES: not a number, unusable");
}

static void test_exit(void)
{
    struct outcome outcome = try_case("exit-with-work", NULL, NULL);
    check(exited(&outcome, 0) && value_of(&outcome, "other_launches") == 40,
          "exit: waits for queued work");
    cJSON_Delete(outcome.report);
    expect_status("exit-with-stuck-host-function", 0, "exit: does not wait for a host function");
    expect_status("exit-in-host-function", 9, "exit: called by a host function");
    expect_status("fork", 0, "fork: child has no device and ends");
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--case") == 0)
        return run_case(argv[2]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *scratch = getenv("TMPDIR");
    snprintf(directory, sizeof(directory), "%s/selftest_cudart.XXXXXX",
             scratch ? scratch : P_tmpdir);
    if (!mkdtemp(directory)) {
        perror(directory);
        return 1;
    }
    test_violations();
    test_report();
    test_driver();
    test_devices();
    test_exit();
    rmdir(directory);
    return finish_checks();
}
