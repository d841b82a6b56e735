/* Starts child processes, waits for them, and reads their output. */
#include "cli/program/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST = 4 << 20, /* bytes of output that are kept */
    NOT_FOUND = 127
};

pid_t cs_child_start(int (*body)(void *ctx), void *ctx)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    int status = body(ctx);
    fflush(NULL);
    _exit(status);
}

int cs_child_status(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cs_child_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return cs_child_status(status);
}

bool cs_child_ended(pid_t pid, int *status_p)
{
    int status = NOT_FOUND << 8;
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended != pid && (ended == 0 || errno == EINTR))
        return false;
    *status_p = cs_child_status(status);
    return true;
}

int cs_child_run(int (*body)(void *ctx), void *ctx)
{
    pid_t pid = cs_child_start(body, ctx);
    return pid > 0 ? cs_child_wait(pid) : -1;
}

/* --- a program whose output is read --- */

struct program {
    const char *const *argv, *const *set;
    int output;
};

/* In the child: sets input, outputs and variables, and executes the program. Returns only on
 * failure. */
static int become_program(void *ctx)
{
    const struct program *program = ctx;
    int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(program->output, STDOUT_FILENO);
    dup2(program->output, STDERR_FILENO);
    unsetenv("LD_PRELOAD");
    for (const char *const *set = program->set; set && *set; set++)
        putenv((char *)*set);
    execvp(program->argv[0], (char *const *)program->argv);
    return NOT_FOUND;
}

/* Returns the output up to its end, or the first MOST bytes. NULL: memory is short. */
static char *read_all(int input)
{
    char *text = malloc(MOST + 1);
    size_t length = 0;
    ssize_t got = 1;
    while (text && length < MOST && (got > 0 || (got < 0 && errno == EINTR))) {
        got = read(input, text + length, MOST - length);
        length += got > 0 ? (size_t)got : 0;
    }
    if (text)
        text[length] = '\0';
    return text;
}

int cs_child_output(const char *const *argv, const char *const *set, char **text_p)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    pid_t pid = cs_child_start(become_program, &(struct program){argv, set, ends[1]});
    close(ends[1]);
    char *text = pid > 0 ? read_all(ends[0]) : NULL;
    close(ends[0]);
    int status = pid > 0 ? cs_child_wait(pid) : -1;
    if (!text || status < 0) {
        free(text);
        return -1;
    }
    *text_p = text;
    return status;
}

char *cs_child_line(char **text_p)
{
    char *line = *text_p;
    if (!line || !*line)
        return NULL;
    char *end = strchrnul(line, '\n');
    *text_p = *end ? end + 1 : end;
    *end = '\0';
    return line;
}
