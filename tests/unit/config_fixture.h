/* For the tests of src/config: a folder of files, an environment, and the notes of the last load.
 */
#ifndef CONFIG_FIXTURE_H
#define CONFIG_FIXTURE_H

#include "config/config.h"

#include "base/log.h"
#include "check.h"
#include "config/option.h"
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_NOTES = 64
};

/* The allowed policies: two of this test and, from load() on, the default. */
static const char *policies[] = {"off", "-", "fixed", NULL};
static char folder[256];
static struct cs_config config;
static char notes[MAX_NOTES][1024];
static int note_count;

static inline void take_note(void *ctx, const char *line)
{
    CHECK(ctx == &note_count);
    if (note_count < MAX_NOTES)
        snprintf(notes[note_count], sizeof notes[0], "%s", line);
    note_count++;
}

static inline void load(void)
{
    note_count = 0;
    notes[0][0] = '\0';
    policies[1] = cs_options[CS_OPTION_policy].value;
    cs_config_load(&config, "program", policies, take_note, &note_count);
}

static inline const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "w");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        printf("Bail out! cannot write %s\n", name);
}

static inline void clear_environment(void)
{
    static const char *const names[] = {
        "CONVSHIM",          "CONVSHIM_CONFIG",  "CONVSHIM_CONFIGFILE", "CONVSHIM_LOG",
        "CONVSHIM_LOG_FILE", "CONVSHIM_SUMMARY", "XDG_CONFIG_HOME",     "HOME"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    setenv("CONVSHIM_CONFIGFILE", "/dev/null", 1);
}

/* The options of this file alone. */
static inline void load_bytes(const char *bytes, size_t size)
{
    clear_environment();
    write_file("test.ini", bytes, size);
    setenv("CONVSHIM_CONFIGFILE", path_of("test.ini"), 1);
    load();
}

static inline void load_text(const char *text)
{
    load_bytes(text, strlen(text));
}

static inline void load_items(const char *items)
{
    clear_environment();
    setenv("CONVSHIM_CONFIG", items, 1);
    load();
}

/* The note `index` with "FILE" for the folder of this test. */
static inline const char *note(int index)
{
    static char text[1024];
    size_t length = strlen(folder);
    if (index >= note_count)
        return "(no such note)";
    if (strncmp(notes[index], folder, length) == 0)
        snprintf(text, sizeof text, "FILE%s", notes[index] + length);
    else
        snprintf(text, sizeof text, "%.*s", (int)sizeof text - 1, notes[index]);
    return text;
}

/* True if the note begins so: with its place, option and value. The words that follow are in
 * tests/golden/mistakes.txt alone. */
static inline bool note_is(int index, const char *start)
{
    bool is = strncmp(note(index), start, strlen(start)) == 0;
    return is || !printf("# %s\n", note(index));
}

/* Every option has the value of its row. */
static inline void check_defaults(void)
{
    for (int i = 0; i < CS_OPTIONS; i++) {
        char value[CS_CONFIG_TEXT];
        cs_option_text(&config, i, value, sizeof value);
        CHECK_STR(value, cs_options[i].value);
    }
}

static uint64_t random_state = 0x2545f4914f6cdd1d;

static inline unsigned random_below(unsigned limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state * 0x9e3779b97f4a7c15) >> 33) % limit;
}

/* Makes the folder; false if that fails. */
static inline bool make_folder(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/convshim-test-XXXXXX", base ? base : P_tmpdir);
    return mkdtemp(folder) && chmod(folder, 0755) == 0;
}

static inline bool remove_folder(void)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0;
}

#endif
