/* Check of the command: does it use tensors in channels_last, whose convolutions often need no
 * workspace? Programs take it as a word of the command, or have it in the file that a Python runs.
 */
#include "cli/common/read_file.h"
#include "cli/doctor/doctor.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As options of programs spell it: --force-channels-last, --opt-channelslast. */
static bool word_asks(const char *word)
{
    return strcasestr(word, "channels-last") || strcasestr(word, "channels_last") ||
           strcasestr(word, "channelslast");
}

static bool ends_with(const char *word, const char *ending)
{
    size_t length = strlen(word), end = strlen(ending);
    return length > end && strcmp(word + length - end, ending) == 0;
}

/* Comments aside. */
static bool source_asks(const char *text)
{
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (memmem(line, strcspn(line, "#\n"), "channels_last", strlen("channels_last")))
            return true;
    return false;
}

static bool file_asks(const char *path)
{
    char why[CS_FILE_ERROR];
    char *text = access(path, R_OK) == 0 ? cs_read_file_text(path, why) : NULL;
    bool asks = text && source_asks(text);
    free(text);
    return asks;
}

/* The word or file that requests channels_last. NULL if there is none. */
static const char *find_request(const struct cs_doctor *doctor)
{
    const char *file = cs_program_script_file(doctor->command);
    for (char **word = doctor->command; word && *word; word++)
        if (word_asks(*word) || (ends_with(*word, ".py") && file_asks(*word)))
            return *word;
    return file && file_asks(file) ? file : NULL;
}

void cs_doctor_layout(struct cs_doctor *doctor)
{
    const char *where = find_request(doctor);
    if (where)
        cs_doctor_add(doctor, CS_CHECK_layout, CS_NOTE, where,
                      "uses channels_last. Such tensors often require no workspace, so that "
                      "convshim saves nothing");
    else if (doctor->command)
        cs_doctor_add(doctor, CS_CHECK_layout, CS_FINE, "layout",
                      "the command and its script do not use channels_last");
    doctor->channels_last = where != NULL;
}
