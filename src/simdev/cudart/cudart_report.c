/* Violations, counters, failure on request, and the report at exit. */
#include "cudart_report.h"
#include "cudart_account.h"
#include "cudart_record.h"
#include "cudart_time.h"
#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEPT_TEXTS = 32,
    TEXT_BYTES = 512
};

struct failure {
    char *function;
    atomic_long calls_left; /* fails when it reaches 0 */
    struct failure *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint64_t violations;
    char *texts[KEPT_TEXTS];
    size_t largest_workspace;
    struct {
        double tensor_bytes, workspace_bytes, nanoseconds;
    } traffic; /* of convolutions, summed */
    char *planning, *linked_runtime;
} noted; /* under lock */
static atomic_ullong counters[SIMDEV_COUNTERS];
static atomic_ullong streams;
static struct failure *failures; /* written by init only */
static struct call {
    char name[40];
    uint64_t calls;
    uint64_t drop; /* number of the call that does nothing; 0: none, UINT64_MAX: all */
} calls[256];      /* of the driver; under lock */
static const char *report_path;

void simdev_violation(const char *format, ...)
{
    static const char prefix[] = "simdev: violation: ";
    char line[TEXT_BYTES];
    va_list arguments;
    memcpy(line, prefix, sizeof(prefix));
    const size_t start = sizeof(prefix) - 1;
    va_start(arguments, format);
    vsnprintf(line + start, sizeof(line) - start - 1, format, arguments);
    va_end(arguments);

    pthread_mutex_lock(&lock);
    if (noted.violations < KEPT_TEXTS)
        noted.texts[noted.violations] = strdup(line + start);
    noted.violations++;
    pthread_mutex_unlock(&lock);

    size_t length = strlen(line);
    line[length++] = '\n';
    ssize_t ignored = write(STDERR_FILENO, line, length);
    (void)ignored;
}

uint64_t simdev_violations(void)
{
    pthread_mutex_lock(&lock);
    const uint64_t violations = noted.violations;
    pthread_mutex_unlock(&lock);
    return violations;
}

void simdev_count(enum simdev_counter counter)
{
    atomic_fetch_add(&counters[counter], 1);
    simdev_record_counted(counter);
}

uint64_t simdev_counted(enum simdev_counter counter)
{
    return atomic_load(&counters[counter]);
}

void simdev_report_stream(void)
{
    atomic_fetch_add(&streams, 1);
}

void simdev_note_workspace(size_t bytes)
{
    simdev_record_workspace(bytes);
    pthread_mutex_lock(&lock);
    if (bytes > noted.largest_workspace)
        noted.largest_workspace = bytes;
    pthread_mutex_unlock(&lock);
}

void simdev_note_traffic(size_t tensor_bytes, size_t workspace_bytes,
                         const struct simdev_cost *cost)
{
    const struct simdev_work work = {.cost = *cost};
    const double nanoseconds = (double)simdev_time_of_work(&work);
    simdev_record_traffic(tensor_bytes);
    pthread_mutex_lock(&lock);
    noted.traffic.tensor_bytes += (double)tensor_bytes;
    noted.traffic.workspace_bytes += (double)workspace_bytes;
    noted.traffic.nanoseconds += nanoseconds;
    pthread_mutex_unlock(&lock);
}

static void note_text(char **noted_text, const char *text)
{
    char *copy = strdup(text);
    pthread_mutex_lock(&lock);
    char *old = *noted_text;
    *noted_text = copy;
    pthread_mutex_unlock(&lock);
    free(old);
}

void simdev_note_planning(const char *text)
{
    simdev_record_planning(text);
    note_text(&noted.planning, text);
}

void simdev_note_linked_runtime(const char *path)
{
    note_text(&noted.linked_runtime, path);
}

/* Parses one "function:n" of SIMDEV_FAIL and changes `text`. */
static bool add_failure(char *text)
{
    char *colon = strchr(text, ':');
    if (!colon || colon == text)
        return false;
    char *end;
    errno = 0;
    long call = strtol(colon + 1, &end, 10);
    if (errno != 0 || end == colon + 1 || *end != '\0' || call < 1)
        return false;
    struct failure *failure = calloc(1, sizeof(*failure));
    if (!failure)
        return false;
    failure->function = strndup(text, (size_t)(colon - text));
    atomic_init(&failure->calls_left, call);
    failure->next = failures;
    failures = failure;
    return failure->function != NULL;
}

/* The entry of a counted function. NULL if there are too many. Caller holds the lock. */
static struct call *call_of(const char *function)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].name[0] == '\0')
            snprintf(calls[i].name, sizeof calls[i].name, "%s", function);
        if (strcmp(calls[i].name, function) == 0)
            return &calls[i];
    }
    return NULL;
}

bool simdev_should_drop(const char *function)
{
    pthread_mutex_lock(&lock);
    struct call *call = call_of(function);
    const bool drop = call && (++call->calls == call->drop || call->drop == UINT64_MAX);
    pthread_mutex_unlock(&lock);
    return drop;
}

uint64_t simdev_calls(const char *function)
{
    pthread_mutex_lock(&lock);
    const struct call *call = call_of(function);
    const uint64_t count = call ? call->calls : 0;
    pthread_mutex_unlock(&lock);
    return count;
}

void simdev_drop(const char *function, uint64_t nth)
{
    pthread_mutex_lock(&lock);
    struct call *call = call_of(function);
    if (call)
        call->drop = nth == 0 || nth == UINT64_MAX ? nth : call->calls + nth;
    pthread_mutex_unlock(&lock);
}

/* "NAME:n" or "NAME:*". */
static bool init_drop(const char *text)
{
    const char *colon = strchr(text, ':');
    char name[40], *end = NULL;
    if (!colon || (size_t)(colon - text) >= sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    const bool all = strcmp(colon, ":*") == 0;
    const uint64_t nth = all ? UINT64_MAX : strtoull(colon + 1, &end, 10);
    simdev_drop(name, nth);
    return all || (nth > 0 && end != colon + 1 && *end == '\0');
}

bool simdev_report_init(void)
{
    const char *dropped = getenv("SIMDEV_DROP");
    if (dropped && *dropped && !init_drop(dropped)) {
        simdev_violation("SIMDEV_DROP %s: not a call like cuStreamWaitEvent:3", dropped);
        return false;
    }
    report_path = getenv("SIMDEV_REPORT");
    const char *requested = failures ? NULL : getenv("SIMDEV_FAIL"); /* read before a fork */
    if (!requested || !*requested)
        return true;
    char *copy = strdup(requested);
    bool good = copy != NULL;
    char *rest = NULL;
    for (char *item = strtok_r(copy, ", ", &rest); good && item; item = strtok_r(NULL, ", ", &rest))
        good = add_failure(item);
    free(copy);
    if (!good)
        simdev_violation("SIMDEV_FAIL %s: not a list like cudaMalloc:3,cudnnBackendExecute:2",
                         requested);
    return good;
}

bool simdev_should_fail(const char *function)
{
    (void)simdev_there();
    bool fail = false;
    for (struct failure *f = failures; f; f = f->next) {
        if (strcmp(f->function, function) == 0 && atomic_fetch_sub(&f->calls_left, 1) == 1)
            fail = true;
    }
    return fail;
}

char *simdev_report_path(const char *path)
{
    char *expanded = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&expanded, &bytes);
    if (!out)
        return NULL;
    for (; *path; path++) {
        if (path[0] == '%' && path[1] == 'p') {
            fprintf(out, "%ld", (long)getpid());
            path++;
        } else {
            fputc(*path, out);
        }
    }
    fclose(out);
    return expanded;
}

static void add_number(cJSON *object, const char *key, uint64_t value)
{
    cJSON_AddNumberToObject(object, key, (double)value);
}

static void add_counters(cJSON *report)
{
    static const char *const keys[SIMDEV_COUNTERS] = {
        [SIMDEV_CONV_LAUNCHES] = "conv_launches",
        [SIMDEV_OTHER_LAUNCHES] = "other_launches",
        [SIMDEV_COPIES] = "copies",
        [SIMDEV_GRAPH_LAUNCHES] = "graph_launches",
        [SIMDEV_WAITS] = "synchronisations",
        [SIMDEV_DRIVER_WAITS] = "driver_synchronisations",
        [SIMDEV_KERNEL_LAUNCHES] = "kernel_launches",
        [SIMDEV_LIBRARY_CALLS] = "library_calls",
    };
    for (int i = 0; i < SIMDEV_COUNTERS; i++)
        add_number(report, keys[i], atomic_load(&counters[i]));
}

static void add_memory(cJSON *object, const struct simdev_mem_totals *memory)
{
    add_number(object, "peak_bytes", memory->peak_bytes);
    add_number(object, "live_bytes", memory->live_bytes);
    add_number(object, "largest_allocation", memory->largest_allocation);
    add_number(object, "allocations", memory->allocations);
    add_number(object, "frees", memory->frees);
}

/* Requests refused for lack of capacity. They are not violations, because the program may handle
 * them. */
static void add_refused(cJSON *report, const struct simdev_mem_totals *memory)
{
    cJSON *refused = cJSON_AddObjectToObject(report, "refused_allocations");
    add_number(refused, "refused", memory->refused);
    add_number(refused, "last_bytes", memory->last_refused_bytes);
    add_number(refused, "last_live_bytes", memory->last_refused_live);
}

static void add_traffic(cJSON *report)
{
    cJSON *traffic = cJSON_AddObjectToObject(report, "convolutions");
    cJSON_AddNumberToObject(traffic, "tensor_bytes", noted.traffic.tensor_bytes);
    cJSON_AddNumberToObject(traffic, "workspace_bytes", noted.traffic.workspace_bytes);
    cJSON_AddNumberToObject(traffic, "nanoseconds", noted.traffic.nanoseconds);
}

/* NULL if there is only one. */
static cJSON *render_devices(void)
{
    cJSON *devices = simdev_device_count() > 1 ? cJSON_CreateArray() : NULL;
    for (int i = 0; devices && i < simdev_device_count(); i++) {
        const struct simdev_mem_totals memory = simdev_mem_totals(i);
        cJSON *device = cJSON_CreateObject();
        cJSON_AddStringToObject(device, "device_name", simdev_device_name(i));
        add_memory(device, &memory);
        cJSON_AddItemToArray(devices, device);
    }
    return devices;
}

/* Caller holds the lock. NULL if memory is short. */
static char *render_report(struct simdev_mem_totals memory, cJSON *devices)
{
    cJSON *report = cJSON_CreateObject();
    cJSON_AddStringToObject(report, "device_name", simdev_device_name(0));
    cJSON_AddStringToObject(report, "profile", simdev_device_profile());
    cJSON_AddStringToObject(report, "planning", noted.planning ? noted.planning : "none");
    if (noted.linked_runtime)
        cJSON_AddStringToObject(report, "linked_runtime", noted.linked_runtime);
    add_number(report, "capacity_bytes", simdev_device_capacity(0));
    add_memory(report, &memory);
    if (devices)
        cJSON_AddItemToObject(report, "devices", devices);
    add_refused(report, &memory);
    add_number(report, "largest_workspace_used", noted.largest_workspace);
    add_traffic(report);
    add_counters(report);
    cJSON *counted = cJSON_AddObjectToObject(report, "driver_calls");
    for (size_t i = 0; i < sizeof calls / sizeof *calls && calls[i].name[0]; i++)
        if (calls[i].calls > 0)
            add_number(counted, calls[i].name, calls[i].calls);
    simdev_account_report(report);
    add_number(report, "streams", atomic_load(&streams));
    add_number(report, "violations", noted.violations);
    cJSON *texts = cJSON_AddArrayToObject(report, "violation_texts");
    for (uint64_t i = 0; i < noted.violations && i < KEPT_TEXTS; i++)
        cJSON_AddItemToArray(texts, cJSON_CreateString(noted.texts[i] ? noted.texts[i] : ""));
    char *text = cJSON_Print(report);
    cJSON_Delete(report);
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = path && text ? fopen(path, "we") : NULL;
    bool good = file && fprintf(file, "%s\n", text) > 0;
    if (file)
        good = fclose(file) == 0 && good;
    if (!good)
        fprintf(stderr, "simdev: cannot write report %s: %s\n", path ? path : report_path,
                strerror(errno));
}

void simdev_report_write(void)
{
    const struct simdev_mem_totals memory = simdev_mem_totals(-1);
    cJSON *devices = render_devices();
    pthread_mutex_lock(&lock);
    const uint64_t violations = noted.violations;
    if (report_path && *report_path) {
        char *path = simdev_report_path(report_path);
        char *text = render_report(memory, devices);
        devices = NULL;
        write_file(path, text);
        free(text);
        free(path);
    }
    pthread_mutex_unlock(&lock);
    cJSON_Delete(devices);
    if (violations > 0)
        fprintf(stderr, "simdev: %llu violation%s\n", (unsigned long long)violations,
                violations == 1 ? "" : "s");
}
