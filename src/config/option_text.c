/* Prints values of options and their sources. */
#include "config/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef void write_fn(const struct cs_option *option, const void *value, char *text, size_t size);

/* Writes the n-th word of a list "a, b, c", from 0. */
static void write_word(const char *words, int n, char *text, size_t size)
{
    for (; n > 0 && strchr(words, ','); n--)
        words = strchr(words, ',') + strlen(", ");
    snprintf(text, size, "%.*s", (int)strcspn(words, ","), words);
}

/* Writes a number whose option spells it as a word. False if it has no word. */
static bool write_special(const struct cs_option *option, int64_t number, char *text, size_t size)
{
    const char *word = NULL;
    if (number == 0 && strstr(option->allowed, "off, "))
        word = "off";
    else if (number == 0 && strstr(option->allowed, "lowest, "))
        word = "lowest";
    else if (number == CS_CONFIG_AUTO)
        word = "auto";
    else if (number == CS_CONFIG_CARD)
        word = "card";
    if (word)
        snprintf(text, size, "%s", word);
    return word != NULL;
}

static void write_SIZE(const struct cs_option *option, const void *value, char *text, size_t size)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    int64_t bytes = *(const cs_option_SIZE *)value;
    int unit = 0;
    if (write_special(option, bytes, text, size))
        return;
    for (; unit < 4 && bytes != 0 && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    snprintf(text, size, "%" PRId64 "%s", bytes, units[unit]);
}

static void write_COUNT(const struct cs_option *option, const void *value, char *text, size_t size)
{
    int64_t count = *(const cs_option_COUNT *)value;
    if (!write_special(option, count, text, size))
        snprintf(text, size, "%" PRId64, count);
}

static void write_RATIO(const struct cs_option *option, const void *value, char *text, size_t size)
{
    int64_t ratio = *(const cs_option_RATIO *)value;
    if (write_special(option, ratio, text, size))
        return;
    snprintf(text, size, "%" PRId64 ".%03d", ratio / 1000, (int)(ratio % 1000));
    char *end = strchr(text, '\0');
    while (end && end[-1] == '0')
        *--end = '\0';
    if (end && end[-1] == '.')
        end[-1] = '\0';
}

static void write_CHOICE(const struct cs_option *option, const void *value, char *text, size_t size)
{
    write_word(option->allowed, *(const cs_option_CHOICE *)value, text, size);
}

/* Levels are listed in the order of enum cs_level. */
static void write_LEVEL(const struct cs_option *option, const void *value, char *text, size_t size)
{
    write_word(option->allowed, *(const cs_option_LEVEL *)value, text, size);
}

static void write_POLICY(const struct cs_option *option, const void *value, char *text, size_t size)
{
    (void)option;
    snprintf(text, size, "%s", ((const cs_option_POLICY *)value)->text);
}

static void write_PATH(const struct cs_option *option, const void *value, char *text, size_t size)
{
    (void)option;
    snprintf(text, size, "%s", ((const cs_option_PATH *)value)->text);
}

static void write_FORM(const struct cs_option *option, const void *value, char *text, size_t size)
{
    const cs_option_FORM *form = value;
    if (form->form & CS_SUMMARY_JSON)
        snprintf(text, size, "%sjson:%s", form->form & CS_SUMMARY_TEXT ? "text," : "", form->path);
    else
        write_word(option->allowed, (int)form->form, text, size);
}

static write_fn *const writers[CS_OPTIONS] = {
#define CS_OPTION(name, type, value, allowed, help) write_##type,
#include "convshim/options.def"
#undef CS_OPTION
};

void cs_option_text(const struct cs_config *config, int option, char *text, size_t size)
{
    const struct cs_option *row = &cs_options[option];
    writers[option](row, (const char *)config + row->offset, text, size);
}

void cs_option_origin_text(const struct cs_config *config, int option, char *text, size_t size)
{
    const struct cs_origin *origin = &config->origin[option];
    if (origin->variable && origin->line)
        snprintf(text, size, "%s:%d", origin->variable, origin->line);
    else if (origin->variable)
        snprintf(text, size, "%s", origin->variable);
    else if (origin->line)
        snprintf(text, size, "%.*s:%d", (int)config->file_length, config->source, origin->line);
    else
        snprintf(text, size, "built-in");
}
