/* Processes in account mode: their report, the limits of their GPU; and compute mode. */
#include "account_program.h"
#include <string.h>
#include <sys/wait.h>

static int number_in(const cJSON *json, const char *first, const char *second, const char *third)
{
    json = cJSON_GetObjectItem(json, first);
    json = second ? cJSON_GetObjectItem(json, second) : json;
    json = third ? cJSON_GetObjectItem(json, third) : json;
    return cJSON_IsNumber(json) ? json->valueint : -1;
}

static int report_child(void)
{
    int back;
    int *memory = device_alloc(sizeof(back));
    launch(&plain_stub, 1, 32, 0, NULL);
    launch(&plain_stub, 1, 32, 0, NULL);
    launch(&shared_stub, 1, 32, 0, NULL);
    simdev_account_call(NULL, "blas", NULL);
    cudaMemcpy(&back, memory, sizeof(back), cudaMemcpyDeviceToHost);
    return !simdev_missing("cuNothing") && back == 0 ? 0 : 1;
}

static int compute_child(void)
{
    return launch(&plain_stub, 1, 32, 0, NULL) == cudaErrorNotSupported && simdev_violations() == 1
               ? 0
               : 1;
}

/* A T4 reserves no shared memory, and has room for 1024 threads: 4 blocks of 256. */
static int turing_child(void)
{
    int blocks = 0;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &plain_stub, 256, 0) ==
                       cudaSuccess &&
                   blocks == 4
               ? 0
               : 1;
}

static int run_self(const char *how, const char *mode, const char *report)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        setenv("SIMDEV_MODE", mode, 1);
        setenv("SIMDEV_REPORT", report, 1);
        execl("/proc/self/exe", "selftest_account_process", how, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_report(void)
{
    char path[] = "/tmp/simdev-account-XXXXXX";
    const int file = mkstemp(path);
    check(run_self("report", "account", path) == 0,
          "report: program in account mode, exits with 0");
    cJSON *report = read_json(path);
    check(number_in(report, "not_executed", "kernels", "total") == 3 &&
              number_in(report, "not_executed", "kernels", "names") == 2 &&
              number_in(report, "kernel_launches", NULL, NULL) == 3,
          "report: kernels");
    check(number_in(report, "not_executed", "calls", "total") == 1, "report: library call");
    check(number_in(report, "missing", "most", "cuNothing") == 1, "report: missing function");
    check(number_in(report, "reads_of_nothing_written", "bytes", NULL) == 4,
          "report: read of bytes that a kernel should have written");
    cJSON_Delete(report);
    check(run_self("compute", "compute", path) == 0,
          "compute mode: kernel launch, refused with a violation");
    setenv("SIMDEV_PROFILE", "conf/devices/t4.json", 1);
    check(run_self("turing", "account", path) == 0,
          "occupancy: a GPU that reserves no shared memory, a kernel that needs none");
    close(file);
    unlink(path);
}

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(120);
    if (count == 1) {
        test_report();
        return finish_checks();
    }
    register_program(FAT_PLAIN);
    if (strcmp(arguments[1], "report") == 0)
        return report_child();
    return strcmp(arguments[1], "turing") == 0 ? turing_child() : compute_child();
}
