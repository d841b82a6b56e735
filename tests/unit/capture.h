/* The output of a command, on standard output or standard error, run in the test's own process. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "check.h"
#include "cli/common/cli.h"
#include <fcntl.h>
#include <unistd.h>

enum {
    CAPTURED = 1 << 17
};
static char captured[CAPTURED];
static int captured_status;

typedef int cli_command_fn(int argc, char **argv);

/* Runs a command with the given words, which end with NULL. Returns its output on that stream, at
 * most 64 KiB. */
static const char *said_on(int stream, cli_command_fn *command, const char *const words[])
{
    char name[] = "/tmp/convshim-captured-XXXXXX";
    int argc = 0, file = mkstemp(name), kept = dup(stream);
    while (words[argc])
        argc++;
    CHECK(file >= 0 && kept >= 0);
    fflush(stdout);
    dup2(file, stream);
    captured_status = command(argc, (char **)words);
    fflush(stdout);
    dup2(kept, stream);
    ssize_t length = pread(file, captured, CAPTURED - 1, 0);
    captured[length > 0 ? length : 0] = '\0';
    close(kept);
    close(file);
    unlink(name);
    return captured;
}

static inline const char *output_of(cli_command_fn *command, const char *const words[])
{
    return said_on(STDOUT_FILENO, command, words);
}

/* Checks that the output contains all texts, which end with NULL, in their order. */
static inline void check_says(const char *const texts[])
{
    const char *at = captured;
    for (int i = 0; texts[i] && at; i++) {
        const char *found = strstr(at, texts[i]);
        if (!found && check_fails(__LINE__))
            printf("# not said: \"%s\" in\n# %s\n", texts[i], at);
        at = found ? found + strlen(texts[i]) : NULL;
    }
}

#endif
