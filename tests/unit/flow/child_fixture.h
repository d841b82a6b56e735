/* For tests whose cases are child processes: a host for an instance, a child's status and output, a
 * folder for its files. */
#ifndef CHILD_FIXTURE_H
#define CHILD_FIXTURE_H

#include "check.h"
#include "flow/instance.h"
#include <sys/wait.h>
#include <unistd.h>

enum {
    OUTPUT = 16384,
    GOOD = 0
};

static const char *vendor_now = "cuDNN 9.1.0", *file_now = "", *bypass_now = "";
static char output[OUTPUT];
static char folder[64];

static inline void version(char *text, size_t size)
{
    snprintf(text, size, "%s", vendor_now);
}

static inline void file(char *text, size_t size)
{
    snprintf(text, size, "%s", file_now);
}

static inline bool supported(void)
{
    return true;
}

static inline void fork_host(bool before)
{
    (void)before;
}

static inline size_t bypassed(char *text, size_t size)
{
    snprintf(text, size, "%s", bypass_now);
    return *bypass_now ? 1 : 0;
}

static const struct cs_device device;
static const char *second_now;
static const char *second_copy(void)
{
    return second_now;
}

static const struct cs_host host = {.device = &device,
                                    .version = version,
                                    .file = file,
                                    .supported = supported,
                                    .second_copy = second_copy,
                                    .fork = fork_host,
                                    .bypassed = bypassed};

/* The child's status as wait reports it. `output` gets the child's standard error, without the
 * prefix of each line. */
static inline int status_of(int (*child_does)(void))
{
    int ends[2], status = -1;
    char raw[OUTPUT];
    size_t used = 0, kept = 0;
    fflush(NULL);
    if (pipe(ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        _exit(child_does());
    }
    close(ends[1]);
    for (ssize_t got; used < sizeof raw - 1; used += (size_t)got)
        if ((got = read(ends[0], raw + used, sizeof raw - 1 - used)) <= 0)
            break;
    raw[used] = '\0';
    close(ends[0]);
    for (char *line = raw, *end; (end = strchr(line, '\n')); line = end + 1) {
        char *text = strstr(line, "]: ");
        text = text && text < end ? text + 3 : line;
        memcpy(output + kept, text, (size_t)(end + 1 - text));
        kept += (size_t)(end + 1 - text);
    }
    output[kept] = '\0';
    return waitpid(child, &status, 0) == child ? status : -1;
}

#define RETURN_IF(wrong)                                                                           \
    do {                                                                                           \
        if (wrong)                                                                                 \
            return __LINE__ % 250 + 1;                                                             \
    } while (0)

static inline void check_child(int (*child_does)(void))
{
    int status = status_of(child_does);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), GOOD); /* otherwise the number of the failing line */
}

/* A folder in which the test reads no file of the machine and leaves none; false if it cannot be
 * made. */
static inline bool enter_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/test_child.XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return false;
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("HOME", folder, 1);
    setenv("CONVSHIM_CONFIGFILE", "/dev/null", 1);
    unsetenv("CONVSHIM_RUN");
    return true;
}

static inline bool leave_folder(void)
{
    char remove[128];
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return chdir("/") == 0 && system(remove) == 0;
}

#endif
