/* Parses the options of a command from its .def table: long options, "did you mean", sizes,
 * usage errors. */
#include "cli/common/cli.h"

#include "cli/common/table.h"
#include "cli/common/variables.h"
#include "config/diagnostics.h"
#include "config/option.h"
#include "convshim/policy.h"
#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELP_AT = 26,         /* column in which an option's help begins */
    LEAST_BARE = 1 << 20, /* a smaller number needs a unit: nvidia-smi prints MiB without one */
    COLUMNS = 80
};

/* The values that getopt_long returns for options. They are above every character. */
enum {
    HELP = 256,
    FIRST,                             /* of the first option of the command */
    LIST = 2 + 2 * CS_CLI_MOST_OPTIONS /* help, both spellings of each option, and the end */
};

/* Replaces the bytes of control characters of ASCII and of Latin-1 in UTF-8. `lines`: except the
 * end of a line. */
static void put_harmless(const char *text, bool lines, FILE *out)
{
    for (unsigned char before = 0; *text; before = (unsigned char)*text++) {
        unsigned char byte = (unsigned char)*text, next = (unsigned char)text[1];
        bool first = byte == 0xc2 && next >= 0x80 && next < 0xa0;
        bool second = before == 0xc2 && byte >= 0x80 && byte < 0xa0;
        bool control = (byte < ' ' && !(lines && byte == '\n')) || byte == 0x7f || first || second;
        fputc(control ? '?' : byte, out);
    }
}

void cs_cli_put(const char *text, FILE *out)
{
    put_harmless(text, true, out);
}

void cs_cli_put_line(const char *text, FILE *out)
{
    put_harmless(text, false, out);
}

static void put_formatted(const char *format, va_list list) __attribute__((format(printf, 1, 0)));

static void put_formatted(const char *format, va_list list)
{
    char *text = NULL;
    if (vasprintf(&text, format, list) < 0)
        text = NULL;
    cs_cli_put(text ? text : "out of memory", stderr);
    free(text);
}

void cs_cli_complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("convshim: ", stderr);
    put_formatted(format, list);
    fputc('\n', stderr);
    va_end(list);
}

void cs_cli_note(void *ctx, const char *line)
{
    (void)ctx;
    cs_cli_complain("%s", line);
}

int cs_cli_refuse(const char *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "convshim: %s: ", command);
    put_formatted(format, list);
    fprintf(stderr, "\nTry 'convshim %s --help'.\n", command);
    va_end(list);
    return CS_CLI_USAGE;
}

bool cs_cli_refuse_value(const struct cs_cli_command *command, int option, const char *value,
                         const char *allowed)
{
    char name[CS_CLI_NAME];
    cs_cli_refuse(command->name, "--%s: \"%s\" is not allowed; allowed: %s",
                  cs_cli_spelling(command->option[option].name, name), value, allowed);
    return false;
}

/* Reads a number from `least` to `most`. False after a usage error. */
static bool read_number(const struct cs_cli_command *command, int option, const char *value,
                        int least, int most, int *number_p)
{
    char *end, allowed[64];
    long found = strtol(value, &end, 10);
    snprintf(allowed, sizeof allowed, "%d to %d", least, most);
    if (end == value || *end || found < least || found > most)
        return cs_cli_refuse_value(command, option, value, allowed);
    *number_p = (int)found;
    return true;
}

static bool read_format(const struct cs_cli_command *command, int option, const char *value,
                        enum cs_format *format_p)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            *format_p = (enum cs_format)i;
            return true;
        }
    }
    return cs_cli_refuse_value(command, option, value, "text, json, csv");
}

/* Keeps an option of the library as its variable, which overrides files and CONVSHIM_CONFIG. */
static bool keep_setting(const struct cs_cli_command *command, int option, const char *value,
                         struct cs_child_variables *given)
{
    static struct cs_config scratch;
    char allowed[CS_OPTION_TEXT];
    const char *name = command->option[option].name;
    const int index = cs_option_find(name);
    if (!cs_option_set(&scratch, index, value, cs_policy_names))
        return cs_cli_refuse_value(command, option, value,
                                   cs_option_allowed(&cs_options[index], cs_policy_names, allowed));
    cs_child_variables_set(given, cs_config_variable(name), "%s", value);
    return true;
}

/* Reads a percentage from 0 to `most`. False after a usage error. */
static bool read_percent(const struct cs_cli_command *command, int option, const char *value,
                         int most, double *percent_p)
{
    char *end, allowed[64];
    const double found = strtod(value, &end);
    snprintf(allowed, sizeof allowed, "a percentage from 0 to %d, such as 2 or 2%%", most);
    if (!isdigit((unsigned char)*value) || (*end && strcmp(end, "%") != 0) || found > most)
        return cs_cli_refuse_value(command, option, value, allowed);
    *percent_p = found;
    return true;
}

const char *cs_cli_spelling(const char *name, char spelling[CS_CLI_NAME])
{
    snprintf(spelling, CS_CLI_NAME, "%s", name);
    for (char *at = spelling; *at; at++)
        *at = (char)(*at == '_' ? '-' : *at);
    return spelling;
}

const char *cs_cli_nearest(const char *word, const char *const *words)
{
    size_t least = 1 + (strlen(word) + 1) / 3;
    const char *nearest = NULL;
    for (; *words; words++) {
        if (strlen(*words) >= CS_CONFIG_NAME)
            continue;
        size_t distance = cs_option_name_distance(word, *words);
        if (distance < least) {
            least = distance;
            nearest = *words;
        }
    }
    return nearest;
}

bool cs_cli_size(const char *text, int64_t *bytes_p)
{
    int64_t bytes;
    if (!cs_config_size(text, &bytes) || bytes < 0 || cs_diagnostics_doubt("iB", text))
        return false;
    *bytes_p = bytes;
    return true;
}

/* Prints words in lines of at most COLUMNS. Lines after the first begin at `column`. An empty line
 * ends a paragraph. */
static void print_wrapped(const char *text, int column)
{
    int at = column;
    while (*text) {
        int word = (int)strcspn(text, " \n");
        if (at > column && at + 1 + word > COLUMNS)
            at = printf("\n%*s", column, "") - 1;
        at += printf("%s%.*s", at > column ? " " : "", word, text);
        text += word;
        if (strncmp(text, "\n\n", 2) == 0)
            at = printf("\n\n%*s", column, "") - 2;
        text += strspn(text, " \n");
    }
    putchar('\n');
}

static void print_option(const char *name, const char *argument, const char *text)
{
    char spelling[CS_CLI_NAME];
    int width = printf("  --%s%s%s", cs_cli_spelling(name, spelling), argument ? " " : "",
                       argument ? argument : "");
    if (width + 2 > HELP_AT)
        printf("\n%*s", HELP_AT, "");
    else
        printf("%*s", HELP_AT - width, "");
    print_wrapped(text, HELP_AT);
}

static void print_help(const struct cs_cli_command *command)
{
    printf("usage: %s\n\n", command->usage);
    print_wrapped(command->about, 0);
    const char *group = "";
    for (int i = 0; i < command->options; i++) {
        const struct cs_cli_option *option = &command->option[i];
        if (strcmp(group, option->group) != 0)
            printf("\n%s\n", option->group);
        group = option->group;
        print_option(option->name, option->argument, option->help);
    }
    print_option("help", NULL, "Show this text.");
}

/* --- reading --- */

bool cs_cli_take_size(const struct cs_cli_command *command, int option, const char *value,
                      const char *allowed, int64_t *bytes_p)
{
    int64_t bytes;
    if (!cs_cli_size(value, &bytes) || bytes == 0)
        return cs_cli_refuse_value(command, option, value, allowed);
    if (bytes < LEAST_BARE && !value[strspn(value, "0123456789")])
        return cs_cli_refuse_value(command, option, value,
                                   "a size with a unit, such as 8192MiB or 8GiB");
    *bytes_p = bytes;
    return true;
}

/* Passes a value (NULL if the option has none) on to the option's receiver. False after printing
 * why it is not allowed. */
static bool take_option(const struct cs_cli_command *command, int index, const char *value,
                        cs_cli_take_fn *take, void *to)
{
    const struct cs_cli_option *option = &command->option[index];
    const char *text = value ? value : ""; /* flags have none */
    void *member = (char *)to + option->at;
    switch (option->kind) {
    case CS_CLI_TAKEN:
        return take(to, index, value);
    case CS_CLI_KEEPS_TEXT:
        *(const char **)member = value;
        return true;
    case CS_CLI_SETS_FLAG:
        return *(bool *)member = true;
    case CS_CLI_READS_SIZE:
        return cs_cli_take_size(command, index, text, "a size such as 8GiB", member);
    case CS_CLI_READS_NUMBER:
        return read_number(command, index, text, option->least, option->most, member);
    case CS_CLI_READS_PERCENT:
        return read_percent(command, index, text, option->most, member);
    case CS_CLI_READS_FORMAT:
        return read_format(command, index, text, member);
    case CS_CLI_SETS_LIBRARY:
        return keep_setting(command, index, text, member);
    }
    return false;
}

/* Fills `list` for getopt_long: the options of the command, each with - and with _ in its name. */
static void list_options(const struct cs_cli_command *command, char spelling[][CS_CLI_NAME],
                         struct option *list)
{
    *list++ = (struct option){"help", no_argument, NULL, HELP};
    for (int i = 0; i < command->options; i++) {
        const struct cs_cli_option *row = &command->option[i];
        const int argument = row->argument ? required_argument : no_argument;
        const char *name = cs_cli_spelling(row->name, spelling[i]);
        *list++ = (struct option){name, argument, NULL, FIRST + i};
        *list++ = (struct option){row->name, argument, NULL, FIRST + i};
    }
    *list = (struct option){.name = NULL};
}

static int refuse_option(const struct cs_cli_command *command, const char *word)
{
    const char *names[CS_CLI_MOST_OPTIONS + 2] = {"help"};
    char name[CS_CONFIG_NAME], spelling[CS_CLI_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < command->options; i++)
        names[i + 1] = command->option[i].name;
    const char *nearest = cs_cli_nearest(name + strspn(name, "-"), names);
    return cs_cli_refuse(command->name, "option '%s' is unknown or ambiguous%s%s%s", name,
                         nearest ? "; did you mean '--" : "",
                         nearest ? cs_cli_spelling(nearest, spelling) : "", nearest ? "'?" : "");
}

/* Takes the result of getopt_long for `word`. Returns -1 to go on, or the status to end with. */
static int take_found(const struct cs_cli_command *command, int found, const char *word,
                      cs_cli_take_fn *take, void *to)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    char name[CS_CLI_NAME];
    if (found == HELP || found == 'h') {
        print_help(command);
        return CS_CLI_OK;
    }
    if (found == '?' && optopt >= HELP)
        return cs_cli_refuse(command->name, "option '%.*s' takes no value", (int)strcspn(word, "="),
                             word);
    if (found == '?')
        return refuse_option(command, optopt ? letter : word);
    const int index = (found == ':' ? optopt : found) - FIRST;
    if (found == ':' || (optarg && !*optarg))
        return cs_cli_refuse(command->name, "option '--%s' needs a value",
                             cs_cli_spelling(command->option[index].name, name));
    if (optarg && optarg == word && strncmp(word, "--", 2) == 0)
        return cs_cli_refuse(command->name, "option '--%s' needs a value, but '%s' follows",
                             cs_cli_spelling(command->option[index].name, name), word);
    return take_option(command, index, optarg, take, to) ? -1 : CS_CLI_USAGE;
}

int cs_cli_parse(const struct cs_cli_command *command, int argc, char **argv, cs_cli_take_fn *take,
                 void *to, int *operand_p)
{
    struct option list[LIST];
    char spelling[CS_CLI_MOST_OPTIONS][CS_CLI_NAME];
    int found, status = -1;
    list_options(command, spelling, list);
    opterr = 0;
    optind = 0; /* getopt_long starts again */
    while (status < 0 &&
           (found = getopt_long(argc, argv, command->stops ? "+:h" : ":h", list, NULL)) >= 0)
        status = take_found(command, found, argv[optind - 1], take, to);
    *operand_p = optind;
    return status;
}
