/* Chooses the convolutions to run, and runs them in two processes of this program, without and with
 * the library. */
#include "account/summary_json.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/common/cli.h"
#include "cli/common/environment.h"
#include "cli/doctor/command_config.h"
#include "cli/predict/find_cudnn.h"
#include "cli/run/preload.h"
#include "cli/verify/verify.h"
#include "config/limits.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_ROWS = 32,
    ERROR_BYTES = 512,
    LINE_BYTES = 1 << 16
};

double cs_verify_number(const cJSON *measured, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(measured, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

const char *cs_verify_text(const cJSON *measured, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(measured, name));
}

static double seconds_now(void)
{
    return (double)cs_clock(CLOCK_MONOTONIC) / (double)CS_SECOND;
}

/* --- which ones --- */

static void complain(void *ctx, const char *line)
{
    (void)ctx;
    cs_cli_complain("%s", line);
}

/* Without a prediction the command goes on: it measures. */
static void predict(struct cs_verification *verification, const struct cs_problem *const *problem,
                    size_t count, struct cs_prediction *prediction)
{
    static struct cs_config config;
    static struct cs_rules rules;
    size_t program[count + 1];
    char error[ERROR_BYTES] = "cuDNN does not describe this GPU";
    cs_command_config(&config, NULL, complain, NULL);
    cs_limits_rules(&config, "", "", &rules);
    const struct cs_predictor predictor = {
        .profile = verification->gpu.profile,
        .mode = CS_ASK_A,
        .settings = {.rules = &rules,
                     .program = "",
                     .policy = cs_policy_find(config.policy.text),
                     .limits = cs_limits_of(&config, &rules),
                     .most = INT64_MAX},
        .program = program};
    for (size_t i = 0; i < count; i++)
        program[i] = i;
    if (verification->gpu.profile &&
        cs_find_cudnn(verification->options->cudnn, error, sizeof error) &&
        cs_predict(&predictor, problem, count, prediction, error, sizeof error))
        return;
    cs_cli_complain("verify: no predictions: %s", error);
    memset(prediction, 0, count * sizeof *prediction);
}

static bool same_problem(const struct cs_problem *a, const struct cs_problem *b)
{
    int64_t left[CS_PROBLEM_WORDS], right[CS_PROBLEM_WORDS];
    int count = cs_problem_words(a, left);
    return count == cs_problem_words(b, right) &&
           memcmp(left, right, (size_t)count * sizeof *left) == 0;
}

/* Each problem once. */
static size_t distinct(const struct cs_layers *layers, struct cs_verified *row)
{
    size_t rows = 0;
    for (size_t i = 0; i < layers->count; i++) {
        bool seen = false;
        for (size_t j = 0; j < rows && !seen; j++)
            seen = same_problem(&row[j].layer->problem, &layers->layer[i].problem);
        if (!seen)
            row[rows++] =
                (struct cs_verified){.layer = &layers->layer[i], .verdict = CS_VERDICT_NOT_RUN};
    }
    return rows;
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_tiling(const void *left, const void *right)
{
    const struct cs_verified *a = left, *b = right;
    int tiled = order(b->prediction.time_ratio > 0, a->prediction.time_ratio > 0);
    return tiled != 0 ? tiled : order(b->prediction.offer.workspace, a->prediction.offer.workspace);
}

/* The library weighs time against memory above the largest that came before. In this order each
 * convolution is the largest so far, so that it is decided about as if it were alone. */
static int by_peak(const void *left, const void *right)
{
    const struct cs_verified *a = left, *b = right;
    return order(a->prediction.peak, b->prediction.peak);
}

static void select_rows(struct cs_verification *verification)
{
    if (verification->rows > MOST_ROWS) {
        qsort(verification->row, verification->rows, sizeof *verification->row, by_tiling);
        verification->left_out = verification->rows - MOST_ROWS;
        verification->rows = MOST_ROWS;
    }
    qsort(verification->row, verification->rows, sizeof *verification->row, by_peak);
}

bool cs_verify_choose(struct cs_verification *verification, const struct cs_layers *layers)
{
    verification->row = calloc(layers->count + 1, sizeof *verification->row);
    const struct cs_problem **problem = calloc(layers->count + 1, sizeof *problem);
    struct cs_prediction *prediction = calloc(layers->count + 1, sizeof *prediction);
    bool good = verification->row && problem && prediction;
    if (good) {
        verification->rows = distinct(layers, verification->row);
        for (size_t i = 0; i < verification->rows; i++)
            problem[i] = &verification->row[i].layer->problem;
        predict(verification, problem, verification->rows, prediction);
        for (size_t i = 0; i < verification->rows; i++)
            verification->row[i].prediction = prediction[i];
        select_rows(verification);
    }
    free(prediction);
    free(problem);
    return good;
}

/* --- a process --- */

struct child {
    pid_t pid;
    int output;
    char line[LINE_BYTES];
    size_t length;
};

static void write_to(void *ctx, const char *bytes, size_t size)
{
    int *file = ctx;
    while (*file >= 0 && size > 0) {
        ssize_t written = write(*file, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            *file = -1;
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
}

/* The rows as a list of sites in memory; -1: there is none. */
static int write_list(const struct cs_verification *verification)
{
    int file = memfd_create("convolutions", MFD_CLOEXEC), good = file;
    struct cs_json json = {.write = write_to, .ctx = &good};
    cs_json_open(&json, NULL, '{');
    cs_json_open(&json, "sites", '[');
    for (size_t i = 0; i < verification->rows; i++) {
        const struct cs_layer *layer = verification->row[i].layer;
        cs_json_open(&json, NULL, '{');
        cs_json_string(&json, "name", layer->name);
        cs_summary_json_problem(&json, &layer->problem);
        cs_json_close(&json, '}');
    }
    cs_json_close(&json, ']');
    cs_json_close(&json, '}');
    cs_json_end(&json);
    if (good >= 0 && lseek(file, 0, SEEK_SET) == 0)
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* In the child. */
static bool set_library(const struct cs_verify_options *options, enum cs_verify_side side)
{
    if (side == CS_VERIFY_UNTILED)
        return setenv("CONVSHIM", "0", 1) == 0;
    char *list = cs_preload_list(options->library, cs_cli_variable("LD_PRELOAD"));
    bool set = list && setenv("LD_PRELOAD", list, 1) == 0 &&
               setenv("CONVSHIM_SUMMARY", "off", 1) == 0 && unsetenv("CONVSHIM") == 0 &&
               unsetenv("CONVSHIM_RUN") == 0;
    free(list);
    return set;
}

static void become(const struct cs_verification *verification, enum cs_verify_side side,
                   int seconds, int list, int output)
{
    const struct cs_verify_options *options = verification->options;
    char time[16], memory[32], iterations[16], warmup[16];
    char *argv[16] = {(char *)"convshim", (char *)"verify", (char *)"--once", (char *)"--summary",
                      (char *)"-"};
    int words = 5;
    int64_t most = options->memory ? options->memory : verification->gpu.free / 10 * 9;
    snprintf(time, sizeof time, "--time=%d", seconds);
    snprintf(memory, sizeof memory, "--memory=%lldKiB", (long long)(most / 1024 + 1));
    snprintf(iterations, sizeof iterations, "%d", options->iterations);
    snprintf(warmup, sizeof warmup, "%d", options->warmup);
    argv[words++] = time;
    argv[words++] = memory;
    argv[words++] = (char *)"--iterations";
    argv[words++] = iterations;
    argv[words++] = (char *)"--warmup";
    argv[words++] = warmup;
    if (options->benchmark)
        argv[words++] = (char *)"--benchmark";
    if (options->cudnn) {
        argv[words++] = (char *)"--cudnn";
        argv[words++] = (char *)options->cudnn;
    }
    dup2(list, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    if (set_library(options, side))
        execv("/proc/self/exe", argv);
    cs_cli_complain("verify: %s", strerror(errno));
    _exit(CS_CLI_NO);
}

static bool start(const struct cs_verification *verification, enum cs_verify_side side,
                  double seconds, struct child *child)
{
    int ends[2], list = write_list(verification);
    if (list < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        cs_cli_complain("verify: %s", strerror(errno));
        if (list >= 0)
            close(list);
        return false;
    }
    fflush(NULL);
    child->length = 0;
    child->output = ends[0];
    child->pid = fork();
    if (child->pid == 0)
        become(verification, side, seconds < 1 ? 1 : (int)seconds, list, ends[1]);
    close(ends[1]);
    close(list);
    if (child->pid > 0)
        return true;
    cs_cli_complain("verify: %s", strerror(errno));
    close(ends[0]);
    return false;
}

static void take_line(struct cs_verification *verification, enum cs_verify_side side,
                      const char *line)
{
    cJSON *measured = cJSON_Parse(line);
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(measured, "index");
    if (cJSON_IsNumber(index) && index->valuedouble >= 0 &&
        index->valuedouble < (double)verification->rows) {
        struct cs_verified *row = &verification->row[(size_t)index->valuedouble];
        cJSON_Delete(row->measured[side]);
        row->measured[side] = measured;
    } else {
        cJSON_Delete(measured);
    }
}

/* What has come; false at the end. */
static bool take_output(struct cs_verification *verification, enum cs_verify_side side,
                        struct child *child)
{
    ssize_t got =
        read(child->output, child->line + child->length, sizeof child->line - 1 - child->length);
    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0)
        return false;
    child->length += (size_t)got;
    child->line[child->length] = '\0';
    char *line = child->line, *end;
    while ((end = strchr(line, '\n'))) {
        *end = '\0';
        take_line(verification, side, line);
        line = end + 1;
    }
    child->length -= (size_t)(line - child->line);
    memmove(child->line, line, child->length);
    return child->length < sizeof child->line - 1;
}

/* True if the process ended by itself. One that is still there at `end` is killed. */
static bool collect(struct cs_verification *verification, enum cs_verify_side side,
                    struct child *child, double end)
{
    struct pollfd output = {.fd = child->output, .events = POLLIN};
    bool more = true, in_time = true;
    while (more && in_time) {
        double left = end - seconds_now();
        int ready = left > 0 ? poll(&output, 1, (int)(left * 1e3) + 1) : 0;
        in_time = left > 0;
        if (ready > 0)
            more = take_output(verification, side, child);
    }
    if (!in_time)
        kill(child->pid, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(child->output);
    return in_time;
}

/* --- what it says --- */

static bool is_ok(const cJSON *measured)
{
    const char *status = cs_verify_text(measured, "status");
    return status && strcmp(status, "ok") == 0;
}

static bool same_text(const cJSON *a, const char *name_a, const cJSON *b, const char *name_b)
{
    const char *left = cs_verify_text(a, name_a), *right = cs_verify_text(b, name_b);
    return left && right && strcmp(left, right) == 0;
}

static enum cs_verdict judge(const struct cs_verified *row, bool cut_short)
{
    const cJSON *untiled = row->measured[CS_VERIFY_UNTILED],
                *tiled = row->measured[CS_VERIFY_TILED];
    const char *status = cs_verify_text(tiled, "status");
    if (!is_ok(untiled) || (!tiled && cut_short) || (status && strcmp(status, "no time") == 0))
        return CS_VERDICT_NOT_RUN;
    if (!is_ok(tiled))
        return CS_VERDICT_FAILED;
    if (same_text(untiled, "checksum", tiled, "checksum") &&
        same_text(tiled, "checksum", tiled, "repeated"))
        return CS_VERDICT_EQUAL;
    return same_text(untiled, "checksum", untiled, "repeated") ? CS_VERDICT_DIFFERS
                                                               : CS_VERDICT_VARIES;
}

bool cs_verify_measure(struct cs_verification *verification, double seconds)
{
    static struct child child;
    const double share[CS_VERIFY_SIDES] = {0.4, 0.6};
    /* Of its time a process plans to use this part: what it has begun then has a while to end. */
    const double planned = 0.85;
    double end = seconds_now(), left = seconds > 2 ? seconds : 2;
    bool in_time = true;
    for (enum cs_verify_side side = CS_VERIFY_UNTILED; side < CS_VERIFY_SIDES; side++) {
        end += left * share[side];
        double now = seconds_now();
        if (!start(verification, side, (end - now) * planned, &child))
            return false;
        in_time = collect(verification, side, &child, end);
    }
    for (size_t i = 0; i < verification->rows; i++) {
        struct cs_verified *row = &verification->row[i];
        row->verdict = judge(row, !in_time);
        row->tiled =
            cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row->measured[CS_VERIFY_TILED], "tiled"));
    }
    return true;
}
