/* Shows the end of a failed program's output, which contains the error. */
#include "cli/simulate/simulation.h"

#include "cli/common/cli.h"
#include "cli/common/read_file.h"
#include <stdlib.h>
#include <string.h>

enum {
    LINES = 20,      /* to the end of the last traceback, or of the output */
    LINES_AFTER = 10 /* the traceback */
};

/* The end of Python's last traceback: behind the line that names the exception, the first that is
 * not indented. Without a traceback the end of the text. */
static char *end_of_traceback(char *text)
{
    static const char head[] = "Traceback (most recent call last):\n";
    char *at = text, *traceback = NULL;
    while ((at = strstr(at, head)))
        traceback = at++;
    char *line = traceback ? strchr(traceback, '\n') : NULL;
    while (line && line[1] == ' ')
        line = strchr(line + 1, '\n');
    char *end = line ? strchr(line + 1, '\n') : NULL;
    return end ? end + 1 : text + strlen(text);
}

/* Prints the last lines of [text, end), with "..." if these are not all and `marks`. */
static void put_last_lines(char *text, char *end, int lines, bool marks, FILE *out)
{
    const char cut = *end;
    char *begin = end;
    for (int seen = 0; begin > text; begin--)
        if (begin[-1] == '\n' && begin < end && ++seen == lines)
            break;
    if (marks && begin > text)
        fputs("...\n", out);
    *end = '\0';
    cs_cli_put(begin, out);
    if (end > begin && end[-1] != '\n')
        fputc('\n', out);
    *end = cut;
}

bool cs_simulated_result_output(const struct cs_simulated_run *run, FILE *out)
{
    char path[PATH_MAX + 16], error[CS_FILE_ERROR];
    size_t length = 0;
    snprintf(path, sizeof path, "%s/output", run->folder);
    char *text = cs_read_file_bytes(path, &length, error);
    const bool any = text && length > 0;
    for (size_t i = 0; any && i < length; i++)
        text[i] = text[i] ? text[i] : '?';
    if (any) {
        char *end = end_of_traceback(text);
        put_last_lines(text, end, LINES, false, out);
        put_last_lines(end, text + length, LINES_AFTER, true, out);
    }
    free(text);
    return any;
}
