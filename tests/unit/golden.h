/* Runs commands in the test's own process. Their whole outputs are compared with files of
 * tests/golden, or their status and a phrase with a table. Each run must give back all memory and
 * files that it takes. To be included by one file of a program. */
#ifndef GOLDEN_H
#define GOLDEN_H

#include "base/version.h"
#include "check.h"
#include "cli/common/cli.h"
#include "golden_file.h"
#include "heap.h"
#include <fcntl.h>
#include <unistd.h>

typedef int golden_run_fn(void *state);

/* The outputs to compare, one after the other. */
static char golden_text[1 << 18];
static size_t golden_length;

static inline void golden_puts(const char *text)
{
    size_t length = strlen(text);
    CHECK(golden_length + length < sizeof golden_text);
    if (golden_length + length < sizeof golden_text)
        memcpy(golden_text + golden_length, text, length + 1), golden_length += length;
}

/* Texts that differ at each run, and their replacements. */
static struct {
    const char *text, *name;
} golden_hidden[4] = {{CS_VERSION, "VERSION"}};

static inline void golden_hide(const char *text, const char *name)
{
    int i = 0;
    while (golden_hidden[i].name && strcmp(golden_hidden[i].name, name) != 0)
        i++;
    golden_hidden[i].text = text;
    golden_hidden[i].name = name;
}

static bool golden_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A hidden number is replaced only if it is the whole number. */
static inline void golden_put_output(const char *text)
{
    for (const char *from = text; *from;) {
        const char *put = NULL;
        size_t taken = 1;
        for (int i = 0; !put && i < 4 && golden_hidden[i].name; i++) {
            const char *hidden = golden_hidden[i].text;
            const size_t length = strlen(hidden);
            bool whole = strncmp(from, hidden, length) == 0 &&
                         !(golden_digit(*hidden) &&
                           ((from > text && golden_digit(from[-1])) || golden_digit(from[length])));
            if (whole) {
                put = golden_hidden[i].name;
                taken = length;
            }
        }
        golden_puts(put ? put : (const char[]){*from, '\0'});
        from += taken;
    }
}

/* Runs it and returns both of its streams as one text, which the caller frees. */
static char *golden_capture(golden_run_fn *run, void *state, int *status_p)
{
    char name[] = "/tmp/convshim-golden-XXXXXX";
    int file = mkostemp(name, O_APPEND), out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    CHECK(file >= 0 && out >= 0 && err >= 0);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    *status_p = run(state);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    unlink(name);
    long long left = atomic_exchange(&heap_left, -1);
    off_t length = lseek(file, 0, SEEK_END);
    char *text = calloc(1, (size_t)length + 1);
    CHECK(text && pread(file, text, (size_t)length, 0) == length);
    close(file);
    atomic_store(&heap_left, left);
    return text;
}

/* Resources that a command may leave. */
struct golden_left {
    long long blocks, descriptors, mappings;
};

static struct golden_left golden_taken(void)
{
    static char maps[1 << 20];
    struct golden_left taken = {.blocks = atomic_load(&heap_taken)};
    for (int i = 0; i < 32; i++)
        taken.descriptors += fcntl(i, F_GETFD) >= 0;
    int file = open("/proc/self/maps", O_RDONLY);
    size_t length = 0;
    for (ssize_t more = 1; more > 0 && length < sizeof maps - 1; length += (size_t)more)
        more = read(file, maps + length, sizeof maps - 1 - length);
    close(file);
    maps[length] = '\0';
    for (const char *at = maps; (at = strchr(at, '/')); at = at + strcspn(at, "\n"))
        taken.mappings++;
    return taken;
}

/* `text` is the one block that the caller still holds. */
static void golden_check_left(const char *title, struct golden_left before)
{
    const struct golden_left after = golden_taken();
    if ((after.blocks - before.blocks != 1 || after.descriptors != before.descriptors ||
         after.mappings != before.mappings) &&
        check_fails(__LINE__))
        printf("# %s leaves behind: %lld blocks, %lld open files, %lld mapped files\n", title,
               after.blocks - before.blocks - 1, after.descriptors - before.descriptors,
               after.mappings - before.mappings);
}

/* Runs it twice: tables that are made once may stay after the first time. The caller frees the
 * output. */
static char *golden_run(const char *title, golden_run_fn *run, void *state, int *status_p)
{
    int again;
    free(golden_capture(run, state, status_p));
    struct golden_left before = golden_taken();
    char *text = golden_capture(run, state, &again);
    golden_check_left(title, before);
    CHECK_INT(again, *status_p);
    return text;
}

/* Adds the output and the status under a title. */
static inline void golden_add(const char *title, golden_run_fn *run, void *state)
{
    char ends[64];
    int status;
    char *text = golden_run(title, run, state, &status);
    golden_puts("$ ");
    golden_puts(title);
    golden_puts("\n");
    golden_put_output(text);
    snprintf(ends, sizeof ends, "status %d\n\n", status);
    golden_puts(ends);
    free(text);
}

/* A command line: words between blanks, or in single quotes. */
struct golden_command {
    int (*command)(int argc, char **argv);
    const char *line;
};

static int golden_call(void *state)
{
    const struct golden_command *call = state;
    static char copy[8192];
    char *words[40];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", call->line);
    for (char *at = copy + strspn(copy, " "); *at && argc < 39; at += strspn(at, " ")) {
        char end = *at == '\'' ? '\'' : ' ';
        words[argc++] = at += end == '\'';
        at += strcspn(at, (const char[]){end, '\0'});
        if (*at)
            *at++ = '\0';
    }
    words[argc] = NULL;
    return call->command(argc, words);
}

static inline void golden_line(int (*command)(int argc, char **argv), const char *line)
{
    struct golden_command call = {command, line};
    golden_add(line, golden_call, &call);
}

/* The output and status of a command line, for tests of properties; the caller frees the text. */
static inline char *golden_output(int (*command)(int argc, char **argv), const char *line,
                                  int *status_p)
{
    struct golden_command call = {command, line};
    return golden_run(line, golden_call, &call, status_p);
}

/* A command line, its status and a phrase of its output. */
struct golden_answer {
    const char *line;
    int status;
    const char *phrase;
};

static inline void golden_answers(int (*command)(int argc, char **argv),
                                  const struct golden_answer *answer, size_t answers)
{
    for (size_t i = 0; i < answers; i++) {
        int status;
        char *text = golden_output(command, answer[i].line, &status);
        bool good = status == answer[i].status && strstr(text, answer[i].phrase);
        if (!good && check_fails(__LINE__))
            printf("# %s: status %d, without \"%s\":\n# %s", answer[i].line, status,
                   answer[i].phrase, text);
        free(text);
    }
}

/* Runs the command once for each of its allocations, which is refused. It must free its memory, and
 * print the usual output or that memory is short. The parser of JSON reports only failure. */
static inline void golden_short_of_memory(const char *title, golden_run_fn *run, void *state)
{
#ifdef HEAP_REFUSES
    int status, usual;
    bool all = false;
    char *whole = golden_capture(run, state, &usual);
    for (long long n = 0; !all; n++) {
        struct golden_left before = golden_taken();
        atomic_store(&heap_left, n);
        char *text = golden_capture(run, state, &status);
        all = atomic_exchange(&heap_left, -1) >= 0;
        golden_check_left(title, before);
        bool reported =
            strstr(text, "out of memory") ||
            (status != 0 &&
             (strstr(text, "Cannot allocate memory") || strstr(text, "not valid JSON") ||
              strstr(text, "invalid JSON") || strstr(text, "not a device profile")));
        bool same = status == usual && strcmp(text, whole) == 0;
        if (!reported && !same && check_fails(__LINE__))
            printf("# %s: without request %lld it ends with %d: %s\n", title, n, status, text);
        free(text);
    }
    free(whole);
#else
    (void)title, (void)run, (void)state;
#endif
}

static inline void golden_short(int (*command)(int argc, char **argv), const char *line)
{
    golden_short_of_memory(line, golden_call, &(struct golden_command){command, line});
}

/* Compares all that was added with that file of tests/golden below `root`, and starts again. */
static inline void golden_check(const char *root, const char *name)
{
    golden_file(root, name, golden_text);
    golden_length = 0;
    golden_text[0] = '\0';
}

#endif
