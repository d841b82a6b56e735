/* Parses and checks the value of one option by its row of options.def. Finds the nearest name of an
 * unknown one. */
#include "config/option.h"

#include "base/checked.h"
#include "base/log.h"
#include <stdio.h>
#include <string.h>

/* Converts a letter in any locale, unlike the C library's functions. */
static char lower_case(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static bool same_word(const char *text, const char *word)
{
    while (*text && lower_case(*text) == *word)
        text++, word++;
    return *text == *word;
}

/* Reads decimal digits up to *end_p. False without a digit or beyond 64 bits. */
static bool parse_digits(const char *text, const char **end_p, int64_t *number_p)
{
    int64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (!cs_mul(number, 10, &number) || !cs_add(number, *at - '0', &number))
            return false;
    }
    if (at == text)
        return false;
    *end_p = at;
    *number_p = number;
    return true;
}

/* Reads up to three digits after a point, in any locale, as thousandths, up to *end_p. 0 without a
 * point. False without a digit after the point, or with more than three. */
static bool parse_decimals(const char *text, const char **end_p, int64_t *thousandths_p)
{
    int64_t thousandths = 0, unit = 1000;
    const char *at = text;
    if (*at == '.') {
        for (at++; *at >= '0' && *at <= '9' && unit > 1; at++)
            thousandths += (*at - '0') * (unit /= 10);
        if (unit == 1000 || (*at >= '0' && *at <= '9'))
            return false;
    }
    *end_p = at;
    *thousandths_p = thousandths;
    return true;
}

/* Reads the unit of a size: its number of bytes, 1 for "". */
static bool parse_unit(const char *text, int64_t *unit_p)
{
    static const char letters[] = "kmgt";
    const char *letter = *text ? strchr(letters, lower_case(*text)) : NULL;
    if (letter)
        text++;
    const bool decimal = same_word(text, "b");
    if (!same_word(text, "") && !decimal && !(letter && same_word(text, "ib")))
        return false;
    *unit_p = 1;
    for (int i = letter ? (int)(letter - letters) : -1; i >= 0; i--)
        *unit_p *= decimal ? 1000 : 1024;
    return true;
}

bool cs_config_size(const char *text, int64_t *bytes_p)
{
    int64_t number, part, unit, bytes;
    if (same_word(text, "auto")) {
        *bytes_p = CS_CONFIG_AUTO;
        return true;
    }
    if (!parse_digits(text, &text, &number) || !parse_decimals(text, &text, &part))
        return false;
    while (*text == ' ' || *text == '\t')
        text++;
    if (!parse_unit(text, &unit) || (part > 0 && unit == 1) || !cs_mul(number, unit, &bytes))
        return false;
    return cs_add(bytes, unit * part / 1000, bytes_p);
}

/* Reads the size that `text` begins with, up to a blank, a comma, a semicolon or the end. */
static bool parse_bound(const char *text, int64_t *bound_p)
{
    char word[CS_CONFIG_NAME];
    size_t length = strcspn(text, " ,;");
    if (length >= sizeof word)
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    return cs_config_size(word, bound_p);
}

/* True if the option allows the word before its numbers: "auto, or", "off, or", "auto, off, or". */
static bool allows_word(const struct cs_option *option, const char *word)
{
    const char *found = strstr(option->allowed, word), *numbers = strstr(option->allowed, ", or ");
    return found && numbers && found < numbers && found[strlen(word)] == ',';
}

/* Reads a number that is written as a word: auto, card, or off and lowest for 0. False if the
 * option does not allow the word. */
static bool parse_word(const struct cs_option *option, const char *text, int64_t *number_p)
{
    static const struct {
        const char *word;
        int64_t number;
    } words[] = {{"auto", CS_CONFIG_AUTO}, {"off", 0}, {"lowest", 0}, {"card", CS_CONFIG_CARD}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (same_word(text, words[i].word) && allows_word(option, words[i].word)) {
            *number_p = words[i].number;
            return true;
        }
    }
    return false;
}

/* True if a number is in the range of an option, whose allowed values end in "MIN to MAX". */
static bool in_range(const struct cs_option *option, int64_t number)
{
    static const char between[] = " to ";
    int64_t least, most;
    const char *middle = strstr(option->allowed, between), *start = middle;
    while (start && start > option->allowed && start[-1] != ' ')
        start--;
    return middle && parse_bound(start, &least) && parse_bound(middle + strlen(between), &most) &&
           number >= least && number <= most;
}

static bool parse_SIZE(const struct cs_option *option, const char *text,
                       const char *const *policies, void *out)
{
    (void)policies;
    int64_t bytes;
    if (!parse_word(option, text, &bytes) &&
        (!cs_config_size(text, &bytes) || !in_range(option, bytes)))
        return false;
    *(cs_option_SIZE *)out = bytes;
    return true;
}

static bool parse_COUNT(const struct cs_option *option, const char *text,
                        const char *const *policies, void *out)
{
    (void)policies;
    int64_t count;
    if (!parse_word(option, text, &count) &&
        (!parse_digits(text, &text, &count) || *text || !in_range(option, count)))
        return false;
    *(cs_option_COUNT *)out = count;
    return true;
}

static bool parse_RATIO(const struct cs_option *option, const char *text,
                        const char *const *policies, void *out)
{
    (void)policies;
    int64_t whole, part = 0, ratio;
    if (!parse_word(option, text, &ratio)) {
        bool number =
            parse_digits(text, &text, &whole) && parse_decimals(text, &text, &part) && !*text;
        /* The largest allowed number has no decimals. */
        if (!number || !in_range(option, whole) || (part > 0 && !in_range(option, whole + 1)))
            return false;
        ratio = whole * 1000 + part;
    }
    *(cs_option_RATIO *)out = ratio;
    return true;
}

static bool parse_LEVEL(const struct cs_option *option, const char *text,
                        const char *const *policies, void *out)
{
    (void)option, (void)policies;
    int level = cs_log_level(text);
    if (level < 0)
        return false;
    *(cs_option_LEVEL *)out = level;
    return true;
}

/* Stores the index of a word in the list of allowed ones. */
static bool parse_CHOICE(const struct cs_option *option, const char *text,
                         const char *const *policies, void *out)
{
    (void)policies;
    size_t length = strlen(text);
    int place = 0;
    for (const char *word = option->allowed;; place++) {
        size_t end = strcspn(word, ",");
        if (end == length && strncmp(word, text, end) == 0)
            break;
        if (!word[end])
            return false;
        word += end + strlen(", ");
    }
    *(cs_option_CHOICE *)out = place;
    return true;
}

static bool parse_POLICY(const struct cs_option *option, const char *text,
                         const char *const *policies, void *out)
{
    (void)option;
    cs_option_POLICY *policy = out;
    while (policies && *policies && strcmp(*policies, text) != 0)
        policies++;
    if ((policies && !*policies) || strlen(text) >= sizeof policy->text)
        return false;
    snprintf(policy->text, sizeof policy->text, "%s", text);
    return true;
}

static bool parse_PATH(const struct cs_option *option, const char *text,
                       const char *const *policies, void *out)
{
    (void)option, (void)policies;
    cs_option_PATH *path = out;
    if (strlen(text) >= sizeof path->text)
        return false;
    snprintf(path->text, sizeof path->text, "%s", text);
    return true;
}

/* Parses "off", "text", "json:PATH" or "text,json:PATH". */
static bool parse_FORM(const struct cs_option *option, const char *text,
                       const char *const *policies, void *out)
{
    static const char *const words[] = {[CS_SUMMARY_OFF] = "off", [CS_SUMMARY_TEXT] = "text"};
    static const char json[] = "json:", both[] = "text,";
    cs_option_FORM *form = out;
    cs_option_PATH path;
    enum cs_summary_form beside = CS_SUMMARY_OFF;
    for (int i = 0; i <= CS_SUMMARY_TEXT; i++) {
        if (strcmp(text, words[i]) == 0) {
            *form = (cs_option_FORM){.form = (enum cs_summary_form)i};
            return true;
        }
    }
    if (strncmp(text, both, strlen(both)) == 0) {
        beside = CS_SUMMARY_TEXT;
        text += strlen(both);
        text += strspn(text, " \t");
    }
    if (strncmp(text, json, strlen(json)) != 0 || !text[strlen(json)] ||
        !parse_PATH(option, text + strlen(json), policies, &path))
        return false;
    form->form = beside | CS_SUMMARY_JSON;
    memcpy(form->path, path.text, sizeof form->path);
    return true;
}

const struct cs_option cs_options[CS_OPTIONS] = {
#define CS_OPTION(name, type, value, allowed, help)                                                \
    {#name, value, allowed, parse_##type, offsetof(struct cs_config, name)},
#include "convshim/options.def"
#undef CS_OPTION
};

#define CS_OPTION(name, type, value, allowed, help)                                                \
    _Static_assert(sizeof #name <= CS_CONFIG_NAME, "name too long: " #name);
#include "convshim/options.def"
#undef CS_OPTION

/* Each name with ", " before it. The first comma is skipped below. */
static const char names[] =
#define CS_OPTION(name, type, value, allowed, help) ", " #name
#include "convshim/options.def"
#undef CS_OPTION
    ;

const char *cs_option_names(void)
{
    return names + 2;
}

int cs_option_find(const char *name)
{
    for (int i = 0; i < CS_OPTIONS; i++) {
        if (strcmp(name, cs_options[i].name) == 0)
            return i;
    }
    return -1;
}

bool cs_option_is_output(int option)
{
    return option == CS_OPTION_log || option == CS_OPTION_log_file || option == CS_OPTION_summary;
}

const char *cs_option_allowed(const struct cs_option *option, const char *const *policies,
                              char text[CS_OPTION_TEXT])
{
    size_t length = 0;
    if (*option->allowed)
        return option->allowed;
    text[0] = '\0';
    for (; policies && *policies && length < CS_OPTION_TEXT; policies++)
        length += (size_t)snprintf(text + length, CS_OPTION_TEXT - length, "%s%s",
                                   length ? ", " : "", *policies);
    return text;
}

/* The part after the last dot, or the whole name. */
static const char *bare_name(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_swapped(const char *a, const char *b)
{
    return lower_case(a[0]) == lower_case(b[1]) && lower_case(a[1]) == lower_case(b[0]);
}

/* Computes the distance row by row: row i contains the distances of the first i letters of `a` to
 * the beginnings of `b`. Only the last three rows are kept. */
size_t cs_option_name_distance(const char *a, const char *b)
{
    size_t rows[3][CS_CONFIG_NAME], width = strlen(b), i;
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (i = 1; a[i - 1]; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t change = above[j - 1] + (lower_case(a[i - 1]) != lower_case(b[j - 1]));
            row[j] = least_of(change, least_of(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && is_swapped(a + i - 2, b + j - 2))
                row[j] = least_of(row[j], second[j - 2] + 1);
        }
    }
    return rows[(i + 2) % 3][width];
}

size_t cs_option_name_too_far(size_t length)
{
    return 1 + (length + 1) / 3;
}

const char *cs_option_nearest(const char *name)
{
    size_t length = strlen(name), best = cs_option_name_too_far(length);
    const char *nearest = NULL;
    if (length >= CS_CONFIG_NAME)
        return NULL;
    for (int i = 0; i < CS_OPTIONS; i++) {
        const bool qualified = strcmp(bare_name(name), cs_options[i].name) == 0;
        size_t distance = qualified ? 0 : cs_option_name_distance(name, cs_options[i].name);
        if (distance < best) {
            best = distance;
            nearest = cs_options[i].name;
        }
    }
    return nearest;
}

bool cs_option_set(struct cs_config *config, int index, const char *text,
                   const char *const *policies)
{
    const struct cs_option *option = &cs_options[index];
    return option->parse(option, text, policies, (char *)config + option->offset);
}
