/* Runs a program and collects its output. */
#include "cli/program/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST = 4 << 20,
    NOT_FOUND = 127
};

/* In the child. */
static void run_child(const char *const *argv, const char *const *set, int output)
{
    int input = open("/dev/null", O_RDONLY);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    unsetenv("LD_PRELOAD");
    for (; set && *set; set++)
        putenv((char *)*set);
    execvp(argv[0], (char *const *)argv);
    _exit(NOT_FOUND);
}

/* Returns the output up to its end. Bytes beyond MOST are read and dropped. */
static char *read_all(int input)
{
    char *text = malloc(MOST + 1), dropped[4096];
    size_t length = 0;
    for (;;) {
        bool room = text && length < MOST;
        ssize_t got =
            room ? read(input, text + length, MOST - length) : read(input, dropped, sizeof dropped);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += room ? (size_t)got : 0;
    }
    if (text)
        text[length] = '\0';
    return text;
}

static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int cs_subprocess_run(const char *const *argv, const char *const *set, char **text_p)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        run_child(argv, set, ends[1]);
    close(ends[1]);
    char *text = pid > 0 ? read_all(ends[0]) : NULL;
    close(ends[0]);
    int status = pid > 0 ? wait_for(pid) : -1;
    if (!text || status < 0) {
        free(text);
        return -1;
    }
    *text_p = text;
    return status;
}

char *cs_subprocess_line(char **text_p)
{
    char *line = *text_p;
    if (!line || !*line)
        return NULL;
    char *end = strchrnul(line, '\n');
    *text_p = *end ? end + 1 : end;
    *end = '\0';
    return line;
}
