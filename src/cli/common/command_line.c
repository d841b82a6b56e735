/* Parses the options of a command from its .def table: long options, "did you mean", sizes,
 * usage errors. */
#include "cli/common/cli.h"

#include "cli/common/library_options.h"
#include "cli/common/table.h"
#include "config/diagnostics.h"
#include "config/option.h"
#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_OPTIONS = 48,
    HELP_AT = 26,         /* column in which an option's help begins */
    LEAST_BARE = 1 << 20, /* a smaller number needs a unit: nvidia-smi prints MiB without one */
    COLUMNS = 80
};

/* Replaces control characters of ASCII and of Latin-1 in UTF-8, except the end of a line. */
void cs_cli_put(const char *text, FILE *out)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text, next = (unsigned char)text[1];
        bool pair = byte == 0xc2 && next >= 0x80 && next < 0xa0;
        bool control = (byte < ' ' && byte != '\n') || byte == 0x7f || pair;
        fputc(control ? '?' : byte, out);
        text += pair;
    }
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

static bool read_format(const char *command, const char *value, enum cs_format *format_p)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(value, names[i]) == 0) {
            *format_p = (enum cs_format)i;
            return true;
        }
    }
    cs_cli_refuse(command, "--format: \"%s\" is not allowed; allowed: text, json, csv", value);
    return false;
}

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

bool cs_cli_folder(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0 || (size_t)length >= size - 1)
        return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
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

static int refuse_option(const struct cs_cli_command *command, const char *word)
{
    const char *names[MAX_OPTIONS + 2] = {"help"};
    char name[CS_CONFIG_NAME];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    for (int i = 0; i < command->options && i < MAX_OPTIONS; i++)
        names[i + 1] = command->option[i].name;
    const char *bare = name + strspn(name, "-");
    const char *nearest = cs_cli_nearest(bare, names);
    char spelling[CS_CLI_NAME];
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], bare) == 0)
            return cs_cli_refuse(command->name, "option '--%s' takes no value", bare);
    return cs_cli_refuse(command->name, "option '%s' is unknown or ambiguous%s%s%s", name,
                         nearest ? "; did you mean '--" : "",
                         nearest ? cs_cli_spelling(nearest, spelling) : "", nearest ? "'?" : "");
}

enum {
    HELP = MAX_OPTIONS + 1,
    MISSING = ':',
    UNKNOWN = '?',
    FIRST = UCHAR_MAX + 1 /* an option's number for getopt: beyond all characters */
};

/* The names for getopt: every option's name, and its twin with - for _ or _ for -. */
struct known {
    struct option option[2 * MAX_OPTIONS + 2];
    char twin[MAX_OPTIONS][CS_CONFIG_NAME];
};

/* Swaps - and _ in a name. False if it has neither. */
static bool make_twin(const char *name, char twin[CS_CONFIG_NAME])
{
    snprintf(twin, CS_CONFIG_NAME, "%s", name);
    for (char *at = twin; *at; at++)
        *at = (char)(*at == '-' ? '_' : *at == '_' ? '-' : *at);
    return strcmp(name, twin) != 0;
}

static void list_options(const struct cs_cli_command *command, struct known *known)
{
    int count = command->options < MAX_OPTIONS ? command->options : MAX_OPTIONS;
    struct option *to = known->option;
    for (int i = 0; i < count; i++) {
        const struct cs_cli_option *option = &command->option[i];
        *to = (struct option){option->name, option->argument ? required_argument : no_argument,
                              NULL, FIRST + i};
        if (make_twin(option->name, known->twin[i])) {
            to[1] = to[0];
            (++to)->name = known->twin[i];
        }
        to++;
    }
    *to++ = (struct option){"help", no_argument, NULL, FIRST + HELP};
    *to = (struct option){NULL, 0, NULL, 0};
}

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

static bool take_option(const struct cs_cli_command *command, int index, const char *value,
                        cs_cli_take_fn *take, void *to)
{
    const struct cs_cli_option *option = &command->option[index];
    void *member = (char *)to + option->at;
    char spelling[CS_CLI_NAME];
    switch (option->kind) {
    case CS_CLI_TAKEN:
        return take(to, index, value);
    case CS_CLI_KEEPS_TEXT:
        if (!*value)
            cs_cli_refuse(command->name, "option '--%s' needs a value",
                          cs_cli_spelling(option->name, spelling));
        *(const char **)member = value;
        return *value != '\0';
    case CS_CLI_SETS_FLAG:
        return *(bool *)member = true;
    case CS_CLI_READS_SIZE:
        return cs_cli_take_size(command, index, value, "a size such as 8GiB", member);
    case CS_CLI_READS_NUMBER:
        return read_number(command, index, value, option->least, option->most, member);
    case CS_CLI_READS_PERCENT:
        return read_percent(command, index, value, option->most, member);
    case CS_CLI_READS_FORMAT:
        return read_format(command->name, value, member);
    case CS_CLI_SETS_LIBRARY:
        return cs_library_options_take(member, command->name, cs_option_find(option->name), value);
    }
    return false;
}

int cs_cli_parse(const struct cs_cli_command *command, int argc, char **argv, cs_cli_take_fn *take,
                 void *to, int *operand_p)
{
    struct known known;
    list_options(command, &known);
    optind = 0; /* begin again, in the manner of GNU */
    opterr = 0;
    for (;;) {
        int found = getopt_long(argc, argv, command->stops ? "+:h" : ":h", known.option, NULL);
        if (found == -1)
            break;
        if (found == FIRST + HELP || found == 'h') {
            print_help(command);
            return CS_CLI_OK;
        }
        if (found == MISSING)
            return cs_cli_refuse(command->name, "option '%s' needs a value", argv[optind - 1]);
        if (found == UNKNOWN)
            return refuse_option(command, argv[optind - 1]);
        if (!take_option(command, found - FIRST, optarg, take, to))
            return CS_CLI_USAGE;
    }
    *operand_p = optind;
    return -1;
}
