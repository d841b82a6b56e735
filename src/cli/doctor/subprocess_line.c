/* Cuts the output of a program into lines. */
#include "cli/doctor/subprocess.h"

#include <string.h>

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
