/* Check of the command: does it ask for tensors in channels_last, whose convolutions often need no
 * workspace? Who does says so in a word of the command, in the file that a Python runs, or in the
 * script that starts it. */
#include "cli/common/read_file.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/start_script.h"
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
    bool asks = text && (ends_with(path, ".sh") ? word_asks(text) : source_asks(text));
    if (asks && ends_with(path, ".sh")) {
        char *plain = cs_start_script_expand(text);
        asks = plain && word_asks(plain);
        free(plain);
    }
    free(text);
    return asks;
}

static bool named_file_asks(const struct cs_doctor *doctor, const char *ending,
                            char where[PATH_MAX])
{
    char word[PATH_MAX], path[PATH_MAX];
    for (const char *at = doctor->script_text; cs_start_script_file(&at, ending, word);)
        for (int i = 0; cs_doctor_place(doctor, i, word, path); i++)
            if (file_asks(path)) {
                strcpy(where, word);
                return true;
            }
    return false;
}

/* The word or file that requests channels_last; "" if there is none. */
static void find_who(const struct cs_doctor *doctor, char where[PATH_MAX])
{
    const char *file = cs_doctor_python_file(doctor->command);
    where[0] = '\0';
    for (char **word = doctor->command; word && *word && !*where; word++)
        if (word_asks(*word) || (ends_with(*word, ".py") && file_asks(*word)))
            snprintf(where, PATH_MAX, "%s", *word);
    if (!*where && file && file_asks(file))
        snprintf(where, PATH_MAX, "%s", file);
    if (*where || !doctor->script_text)
        return;
    if (word_asks(doctor->script_text))
        snprintf(where, PATH_MAX, "%s", doctor->script);
    else if (!named_file_asks(doctor, ".py", where))
        (void)named_file_asks(doctor, ".sh", where);
}

void cs_doctor_layout(struct cs_doctor *doctor)
{
    char where[PATH_MAX];
    find_who(doctor, where);
    if (*where)
        cs_doctor_add(doctor, CS_CHECK_layout, CS_NOTE, where,
                      "uses channels_last. Such tensors often require no workspace, so that "
                      "convshim saves nothing");
    else if (doctor->command)
        cs_doctor_add(doctor, CS_CHECK_layout, CS_FINE, "layout",
                      "the command and its script do not use channels_last");
    doctor->channels_last = *where;
}
