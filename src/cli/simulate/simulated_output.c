/* The output of a failed program: finds the error in it and whether memory was short. */
#include "cli/simulate/simulation.h"

#include "cli/common/cli.h"
#include "cli/common/read_file.h"
#include <stdlib.h>
#include <string.h>

enum {
    LAST_LINES = 20,
    LINES_AFTER = 10 /* a traceback */
};

/* The program's output, which the caller frees. NUL bytes are replaced by ?. NULL: there is none.
 */
static char *read_output(const struct cs_simulated_run *run, size_t *length_p)
{
    char path[PATH_MAX + 16], error[CS_FILE_ERROR];
    snprintf(path, sizeof path, "%s/output", run->folder);
    char *text = cs_read_file_bytes(path, length_p, error);
    for (size_t i = 0; text && i < *length_p; i++)
        text[i] = text[i] ? text[i] : '?';
    return text;
}

/* The beginning of the last `lines` lines of [text, end). */
static char *last_lines(char *text, char *end, int lines)
{
    char *start = end;
    for (int seen = 0; start > text; start--)
        if (start[-1] == '\n' && start < end && ++seen == lines)
            break;
    return start;
}

/* The last traceback of Python; its end is behind the line that names the exception, the first that
 * is not indented. NULL: there is none, or it has no end. */
static char *last_traceback(char *text, char **end_p)
{
    static const char head[] = "Traceback (most recent call last):\n";
    char *last = NULL;
    for (char *at = strstr(text, head); at; at = strstr(at + 1, head))
        last = at;
    if (!last)
        return NULL;
    char *line = strchr(last, '\n');
    while (line && line[1] == ' ')
        line = strchr(line + 1, '\n');
    if (!line || !line[1])
        return NULL;
    char *after = strchr(line + 1, '\n');
    *end_p = after ? after + 1 : line + 1 + strlen(line + 1);
    return last;
}

static void put_part(char *from, char *until, FILE *out)
{
    char cut = *until;
    *until = '\0';
    cs_cli_put(from, out);
    if (until > from && until[-1] != '\n')
        fputc('\n', out);
    *until = cut;
}

bool cs_simulated_result_output(const struct cs_simulated_run *run, FILE *out)
{
    size_t length = 0;
    char *text = read_output(run, &length), *end = NULL;
    char *traceback = text && length > 0 ? last_traceback(text, &end) : NULL;
    if (traceback) {
        put_part(last_lines(traceback, end, LAST_LINES), end, out);
        char *rest = last_lines(end, text + length, LINES_AFTER);
        if (rest > end)
            fputs("...\n", out);
        if (*rest)
            put_part(rest, text + length, out);
    } else if (length > 0) {
        put_part(last_lines(text, text + length, LAST_LINES), text + length, out);
    }
    free(text);
    return length > 0;
}

/* --- a framework's own limit --- */

/* Texts that frameworks print when an allocation fails. */
static const char *const refusals[] = {
    "OutOfMemoryError",                                      /* PyTorch */
    "CUDA out of memory",                                    /* PyTorch */
    "RESOURCE_EXHAUSTED",                                    /* JAX, TensorFlow */
    "Available memory of ",                                  /* ONNX Runtime, gpu_mem_limit */
    "Failed to allocate memory for requested buffer of size" /* ONNX Runtime */
};

bool cs_simulated_result_refusal(const struct cs_simulated_run *run, char *text_p, size_t size)
{
    size_t length = 0;
    char *text = read_output(run, &length), *end, *found = NULL;
    char *from = text && length > 0 ? last_traceback(text, &end) : NULL;
    if (!from)
        from = text;
    for (size_t i = 0; from && i < sizeof refusals / sizeof *refusals && !found; i++)
        found = strstr(from, refusals[i]);
    if (found)
        snprintf(text_p, size, "%.*s", (int)strcspn(found, "\n"), found);
    free(text);
    return found != NULL;
}
