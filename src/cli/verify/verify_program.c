/* Runs a program without and with the library: its peaks, its time, and its convolutions. */
#include "cli/common/cli.h"
#include "cli/program/child.h"
#include "cli/simulate/simulation.h"
#include "cli/verify/verify.h"
#include "cudnn/standalone/trial.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* --- memory of the device, sampled by a process next to the program --- */

/* In memory that both processes see. */
struct samples {
    volatile int64_t base, most; /* bytes in use at the start, -1 before it; and at most */
};

/* In the child, which is ended by a signal. */
static int take_samples(void *ctx)
{
    static const struct timespec pause = {.tv_nsec = 2000000};
    struct samples *samples = ctx;
    char error[256];
    struct cs_trial *trial;
    struct cs_trial_gpu gpu;
    bool found = cs_trial_find_gpu(&trial, &gpu, error, sizeof error);
    samples->base = samples->most = found ? gpu.memory - cs_trial_free_memory(trial) : 0;
    while (found && getppid() > 1) {
        int64_t used = gpu.memory - cs_trial_free_memory(trial);
        if (used > samples->most)
            samples->most = used;
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

static pid_t start_samples(struct samples *samples)
{
    samples->base = -1;
    pid_t pid = cs_child_start(take_samples, samples);
    for (int i = 0; i < 500 && pid > 0 && samples->base < 0; i++)
        (void)usleep(10000);
    return pid;
}

/* --- the program --- */

struct run {
    const struct cs_verify_options *options;
    enum cs_verify_side side;
    const char *folder;
};

/* In the child: convshim run, which gives the program the same allocator with and without the
 * library. With it, each process writes a summary. */
static int become_program(void *ctx)
{
    const struct run *run = ctx;
    const struct cs_verify_options *options = run->options;
    const char *const first[] = {
        "convshim", "run", "--library", options->library, "--no-expandable-segments", "--"};
    const size_t words = sizeof first / sizeof *first;
    size_t count = 0;
    while (options->command[count])
        count++;
    const char **argv = calloc(words + count + 1, sizeof *argv);
    struct cs_child_variables variables = {.items = 0};
    if (run->side == CS_VERIFY_UNTILED) {
        cs_child_variables_set(&variables, "CONVSHIM", "0");
    } else {
        cs_child_variables_set(&variables, "CONVSHIM_SUMMARY", "json:%s/%%p.json", run->folder);
        cs_child_variables_remove(&variables, "CONVSHIM");
    }
    if (argv && cs_verify_environment(options) && cs_child_variables_apply(&variables)) {
        memcpy(argv, first, sizeof first);
        memcpy(argv + words, options->command, count * sizeof *argv);
        execv("/proc/self/exe", (char *const *)argv);
    }
    cs_cli_complain("verify: cannot start convshim run: %s", strerror(errno));
    free(argv);
    return CS_CLI_NO;
}

/* A program that fails may have run convolutions before. */
static void run_program(const struct cs_verify_options *options, enum cs_verify_side side,
                        const char *folder, struct samples *samples, struct cs_verify_program *ran)
{
    pid_t sampling = start_samples(samples);
    double start = cs_verify_seconds();
    int status = cs_child_run(become_program, &(struct run){options, side, folder});
    *ran = (struct cs_verify_program){.ran = status >= 0,
                                      .status = status,
                                      .seconds = cs_verify_seconds() - start,
                                      .simulated_peak = -1};
    if (sampling > 0) {
        (void)kill(sampling, SIGKILL);
        (void)cs_child_wait(sampling);
    }
    ran->peak = samples->most - samples->base;
    if (ran->status != 0)
        cs_cli_complain("verify: %s ended with status %d %s convshim", options->command[0],
                        ran->status, side == CS_VERIFY_UNTILED ? "without" : "with");
}

static bool read_summaries(const struct cs_verify_options *options, const char *folder,
                           struct cs_layers *layers)
{
    char pattern[PATH_MAX + 16];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*.json", folder);
    if (glob(pattern, 0, NULL, &found) != 0) {
        cs_cli_complain(
            "verify: %s ran no convolution with convshim. To find out why: convshim doctor -- %s",
            options->command[0], options->command[0]);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < found.gl_pathc && good; i++)
        good = cs_layers_summary(layers, found.gl_pathv[i], &options->rules, cs_cli_note, NULL);
    globfree(&found);
    return good;
}

/* --- the simulated peaks --- */

/* Without a simulated device here, or for programs that it cannot run, there are none. */
static void simulate_program(struct cs_verification *verification, const char *folder)
{
    char **command = verification->options->command, path[PATH_MAX + 16], program[PATH_MAX];
    const char *argv[64] = {
        program, "simulate", "--format", "json",      "--device",
        path,    "--jobs",   "1",        "--library", verification->options->library,
        "--"};
    size_t words = 11;
    for (; *command && words < 63; command++)
        argv[words++] = *command;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    snprintf(path, sizeof path, "%s/gpu.profile", folder);
    FILE *file = length > 0 && verification->gpu.profile ? fopen(path, "wxe") : NULL;
    if (!file)
        return;
    program[length] = '\0';
    fputs(verification->gpu.profile, file);
    fclose(file);
    char *text = NULL;
    (void)cs_child_output(argv, NULL, &text);
    const char *begin = text ? strstr(text, "{\n") : NULL;
    cJSON *json = begin ? cJSON_Parse(begin) : NULL;
    static const char *const names[] = {"without", "with"};
    for (int side = 0; json && side < 2; side++) {
        const cJSON *peak = cJSON_GetObjectItemCaseSensitive(
            cJSON_GetObjectItemCaseSensitive(json, names[side]), "device_peak");
        if (cJSON_IsNumber(peak))
            verification->program[side].simulated_peak = (int64_t)peak->valuedouble;
    }
    cJSON_Delete(json);
    free(text);
}

bool cs_verify_program(struct cs_verification *verification, struct cs_layers *layers)
{
    const struct cs_verify_options *options = verification->options;
    struct cs_temporary_folder folder;
    struct samples *samples =
        mmap(NULL, sizeof *samples, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (samples == MAP_FAILED ||
        !cs_temporary_folder_make(&folder, cs_temporary_place(), "verify")) {
        cs_cli_complain("verify: %s: %s", cs_temporary_place(), strerror(errno));
        return false;
    }
    for (enum cs_verify_side side = CS_VERIFY_UNTILED; side < CS_VERIFY_AGAIN; side++)
        run_program(options, side, folder.path, samples, &verification->program[side]);
    bool good = read_summaries(options, folder.path, layers);
    if (good && !verification->gpu.simulated)
        simulate_program(verification, folder.path);
    cs_temporary_folder_remove(&folder);
    (void)munmap(samples, sizeof *samples);
    return good;
}
