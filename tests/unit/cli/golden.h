/* Whole outputs of commands, run in the test's own process, against files of tests/golden; and that
 * a command gives back all memory that it takes. CONVSHIM_UPDATE_GOLDEN=1 writes the files anew. To
 * be included by one file of a program. */
#ifndef CLI_GOLDEN_H
#define CLI_GOLDEN_H

#include "base/version.h"
#include "check.h"
#include "cli/common/cli.h"
#include "heap.h"
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

typedef int golden_run_fn(void *state);

/* What is compared: outputs one behind the other. */
static char *golden_text;
static size_t golden_length, golden_room;

static void golden_put(const char *text, size_t length)
{
    if (golden_length + length + 1 > golden_room) {
        golden_room = 2 * (golden_length + length + 1);
        char *more = realloc(golden_text, golden_room);
        if (!more)
            abort();
        golden_text = more;
    }
    memcpy(golden_text + golden_length, text, length);
    golden_length += length;
    golden_text[golden_length] = '\0';
}

static void golden_puts(const char *text)
{
    golden_put(text, strlen(text));
}

/* What is another at each run, and what stands for it. */
static struct {
    const char *text, *name;
} golden_hidden[4] = {{CS_VERSION, "VERSION"}};

static inline void golden_hide(const char *text, const char *name)
{
    for (size_t i = 0; i < sizeof golden_hidden / sizeof *golden_hidden; i++)
        if (!golden_hidden[i].text || strcmp(golden_hidden[i].name, name) == 0) {
            golden_hidden[i].text = text;
            golden_hidden[i].name = name;
            return;
        }
    abort();
}

static bool golden_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number is hidden where it is the whole number. */
static void golden_put_file(int file)
{
    off_t length = lseek(file, 0, SEEK_END);
    char *text = malloc((size_t)length + 1);
    CHECK(text && pread(file, text, (size_t)length, 0) == length);
    text[length] = '\0';
    for (const char *from = text; *from;) {
        size_t taken = 0;
        for (size_t i = 0; taken == 0 && i < sizeof golden_hidden / sizeof *golden_hidden; i++) {
            const char *hidden = golden_hidden[i].text;
            bool inside = hidden && golden_digit(*hidden) && from > text && golden_digit(from[-1]);
            if (hidden && !inside && strncmp(from, hidden, strlen(hidden)) == 0 &&
                !(golden_digit(*hidden) && golden_digit(from[strlen(hidden)]))) {
                taken = strlen(hidden);
                golden_puts(golden_hidden[i].name);
            }
        }
        if (taken == 0)
            golden_put(from, taken = 1);
        from += taken;
    }
    free(text);
}

/* Runs it with both streams in a file, which is returned open. */
static int golden_capture(golden_run_fn *run, void *state, int *status_p)
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
    return file;
}

/* What a command may leave behind: blocks of memory, open files, files in memory (not counted: 0).
 */
struct golden_left {
    long long blocks, descriptors, mappings;
};

static struct golden_left golden_taken(bool mapped)
{
    static char maps[1 << 20];
    struct golden_left taken = {.blocks = atomic_load(&heap_taken)};
    for (int i = 0; i < 32; i++)
        taken.descriptors += fcntl(i, F_GETFD) >= 0;
    if (!mapped)
        return taken;
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

/* Where the one file that has its output is open still. */
static void golden_check_left(const char *title, struct golden_left before)
{
    const struct golden_left after = golden_taken(before.mappings > 0);
    const struct {
        const char *what;
        long long left;
    } rows[] = {{"blocks of memory", after.blocks - before.blocks},
                {"open files", after.descriptors - before.descriptors - 1},
                {"files in memory", after.mappings - before.mappings}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].left != 0 && check_failures++ < 20)
            printf("# %s: %lld %s are left behind\n", title, rows[i].left, rows[i].what);
}

/* Runs it, and what it prints is in the file that is returned open. What it takes at its first time
 * may stay, as tables that are made once; a second time leaves nothing. */
static int golden_run(const char *title, golden_run_fn *run, void *state, int *status_p)
{
    int status, again;
    close(golden_capture(run, state, &status));
    struct golden_left before = golden_taken(true);
    int file = golden_capture(run, state, &again);
    golden_check_left(title, before);
    CHECK_INT(again, status);
    *status_p = status;
    return file;
}

/* Adds what it prints and its status under a title. */
static inline void golden_add(const char *title, golden_run_fn *run, void *state)
{
    char ends[64];
    int status, file = golden_run(title, run, state, &status);
    golden_puts("$ ");
    golden_puts(title);
    golden_puts("\n");
    golden_put_file(file);
    snprintf(ends, sizeof ends, "status %d\n\n", status);
    golden_puts(ends);
    close(file);
}

/* The same in a line or two: that it is fine, or what is said. */
static inline void golden_add_short(const char *title, golden_run_fn *run, void *state)
{
    int status, file = golden_run(title, run, state, &status);
    golden_puts(title);
    golden_puts(status == 0 ? ": taken\n" : ":\n  ");
    if (status != 0)
        golden_put_file(file);
    close(file);
}

struct golden_command {
    int (*command)(int argc, char **argv);
    const char *const *words;
};

static int golden_call(void *state)
{
    const struct golden_command *call = state;
    char *words[40];
    int argc = 0;
    for (; call->words[argc]; argc++)
        words[argc] = (char *)call->words[argc];
    words[argc] = NULL;
    return call->command(argc, words);
}

/* The same of a command line, which ends with NULL. */
static inline void golden_line(int (*command)(int argc, char **argv), const char *const words[])
{
    char title[1024] = "";
    size_t length = 0;
    for (int i = 0; words[i] && length < sizeof title; i++)
        length +=
            (size_t)snprintf(title + length, sizeof title - length, "%s%s", i ? " " : "", words[i]);
    struct golden_command call = {command, words};
    golden_add(title, golden_call, &call);
}

/* All of a file, which is closed. */
static inline char *golden_read(int file)
{
    off_t length = lseek(file, 0, SEEK_END);
    char *text = calloc(1, (size_t)length + 1);
    CHECK(text && pread(file, text, (size_t)length, 0) == length);
    close(file);
    return text;
}

#ifdef HEAP_REFUSES
/* In words of ours, which may be all that is left of a line that needs memory itself; or of the
 * system's where it fails. The parser of JSON tells no more than that it failed. */
static bool golden_tells_of_memory(const char *text, int status)
{
    return strstr(text, "out of memory") ||
           (status != 0 && (strstr(text, "Cannot allocate memory") || strstr(text, "not JSON") ||
                            strstr(text, "no device profile")));
}
#endif

/* It is run with each of its requests for memory refused in turn: it gives back what it has taken,
 * and says all the same as ever, or that memory is short; where it fails, too. */
static inline void golden_short_of_memory(const char *title, golden_run_fn *run, void *state)
{
#ifdef HEAP_REFUSES
    int status, usual;
    bool all = false;
    char *whole = golden_read(golden_capture(run, state, &usual));
    for (long long n = 0; !all; n++) {
        struct golden_left before = golden_taken(false);
        atomic_store(&heap_left, n);
        int file = golden_capture(run, state, &status);
        all = atomic_exchange(&heap_left, -1) >= 0;
        golden_check_left(title, before);
        char *text = golden_read(file);
        bool told = golden_tells_of_memory(text, status);
        bool same = status == usual && strcmp(text, whole) == 0;
        if (!told && !same && check_failures++ < 20)
            printf("# %s: without request %lld it ends with %d and does not say why: %s\n", title,
                   n, status, text);
        free(text);
    }
    free(whole);
#else
    (void)title, (void)run, (void)state;
#endif
}

static void golden_differs(const char *path, const char *want)
{
    int line = 1;
    const char *got = golden_text, *begin = got, *wanted = want;
    for (; *got && *got == *want; got++, want++)
        if (*got == '\n') {
            line++;
            begin = got + 1;
            wanted = want + 1;
        }
    check_failures++;
    printf("# %s:%d: is \"%.*s\", not \"%.*s\"\n", path, line, (int)strcspn(begin, "\n"), begin,
           (int)strcspn(wanted, "\n"), wanted);
}

/* All that was added is what stands in that file of `folder`; begins anew. */
static void golden_check(const char *folder, const char *name)
{
    char path[PATH_MAX + 256];
    const char *update = getenv("CONVSHIM_UPDATE_GOLDEN");
    snprintf(path, sizeof path, "%s/tests/golden/%s", folder, name);
    FILE *file = fopen(path, update && *update == '1' ? "we" : "re");
    CHECK(file);
    if (file && update && *update == '1') {
        CHECK(fwrite(golden_text, 1, golden_length, file) == golden_length);
    } else if (file) {
        char *want = calloc(1, golden_length + 2);
        size_t length = want ? fread(want, 1, golden_length + 1, file) : 0;
        if (length != golden_length || memcmp(want, golden_text, length) != 0)
            golden_differs(path, want);
        free(want);
    }
    if (file)
        CHECK(fclose(file) == 0);
    golden_length = 0;
}

#endif
