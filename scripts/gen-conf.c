/* Prints the rows of options.def and rules.def as the default ini file or, with --markdown, as
 * tables. See gen-conf. */
#include "convshim/policy.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    COLUMNS = 80,
    TEXT = 1024
};

struct row {
    bool is_key; /* of a rule */
    const char *name, *type, *value, *allowed, *help;
};

static const struct row rows[] = {
#define CS_OPTION(name, type, value, allowed, help) {false, #name, #type, value, allowed, help},
#include "convshim/options.def"
#undef CS_OPTION
};
static const size_t row_count = sizeof rows / sizeof rows[0];

/* The conditions of a rule, and the values that it sets. */
static const struct row conditions[] = {
#define CS_RULE_WHEN(name, type, allowed, help) {true, #name, #type, "", allowed, help},
#define CS_RULE_SET(name, type, allowed, help)
#include "convshim/rules.def"
};
static const struct row settings[] = {
#define CS_RULE_WHEN(name, type, allowed, help)
#define CS_RULE_SET(name, type, allowed, help) {true, #name, #type, "", allowed, help},
#include "convshim/rules.def"
};

static const char rules_help[] =
    "Rules: other settings for some convolutions. Each rule is a section [rule NAME] at the end of "
    "the file. It applies to convolutions that meet all of its conditions. Only the first rule "
    "that "
    "matches applies. A rule with a mistake is dropped. In CONVSHIM_CONFIG: rule.NAME.KEY=VALUE.";

static const char *allowed_of(const struct row *row, char text[TEXT])
{
    size_t length = 0;
    if (strcmp(row->type, "POLICY") != 0 || row->is_key)
        return *row->allowed ? row->allowed : "as the option";
    for (int i = 0; cs_policies[i] && length < TEXT; i++)
        length += (size_t)snprintf(text + length, TEXT - length, "%s%s", i ? ", " : "",
                                   cs_policies[i]->name);
    return text;
}

/* Policies describe themselves. */
static const char *help_of(const struct row *row, char text[TEXT])
{
    size_t length = (size_t)snprintf(text, TEXT, "%s", row->help);
    if (strcmp(row->type, "POLICY") != 0 || row->is_key)
        return row->help;
    for (int i = 0; cs_policies[i] && length < TEXT; i++)
        length += (size_t)snprintf(text + length, TEXT - length, "%s %s: %s", i ? "." : "",
                                   cs_policies[i]->name, cs_policies[i]->summary);
    if (length < TEXT)
        snprintf(text + length, TEXT - length, ".");
    return text;
}

/* Comment lines of at most COLUMNS characters, broken at blanks. */
static void print_comment(const char *text)
{
    while (*text) {
        size_t end = strlen(text), room = COLUMNS - strlen("# ");
        if (end > room) {
            for (end = room; end > 0 && text[end] != ' '; end--)
                continue;
            if (end == 0)
                end = strcspn(text, " ");
        }
        printf("# %.*s\n", (int)end, text);
        text += end + (text[end] == ' ');
    }
}

static void print_option(const struct row *row)
{
    char text[TEXT], allowed[TEXT + 16];
    print_comment(help_of(row, text));
    snprintf(allowed, sizeof allowed, "Allowed: %s.", allowed_of(row, text));
    print_comment(allowed);
    printf(";%s =%s%s\n", row->name, *row->value ? " " : "", row->value);
}

static void print_key(const struct row *row)
{
    char line[TEXT], text[TEXT];
    snprintf(line, sizeof line, "%s: %s Allowed: %s.", row->name, row->help, allowed_of(row, text));
    print_comment(line);
}

/* The example matches convolutions with a large workspace and sets a smaller limit for them. */
static void print_rules(void)
{
    printf("\n");
    print_comment(rules_help);
    printf("#\n# Conditions:\n#\n");
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++)
        print_key(&conditions[i]);
    printf("#\n# Settings:\n#\n");
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        print_key(&settings[i]);
    printf(
        "\n;[rule large]\n;program = python*\n;direction = fwd, dgrad\n;kernel = 3x3\n;h = 512..\n"
        ";required = 256MiB..\n;workspace = 32MiB\n;lanes = 1\n");
}

static void print_ini(void)
{
    print_comment("Options of convshim and their defaults, made by scripts/gen-conf.");
    printf("#\n");
    print_comment("To change one, remove the semicolon before it in a copy at "
                  "~/.config/convshim/convshim.ini, ~/.config/convshim/PROGRAM.ini (of a script: "
                  "main.py.ini), "
                  "/etc/convshim.ini or wherever CONVSHIM_CONFIGFILE points. Sizes: 4096, 512KiB, "
                  "64MiB, 1.5g.");
    for (size_t i = 0; i < row_count; i++) {
        printf("\n");
        print_option(&rows[i]);
    }
    print_rules();
}

static void print_markdown_rows(const struct row *row, size_t count, bool defaults)
{
    char allowed[TEXT], help[TEXT];
    for (size_t i = 0; i < count; i++, row++) {
        printf("| `%s` ", row->name);
        if (defaults && *row->value)
            printf("| `%s` ", row->value);
        else if (defaults)
            printf("| empty ");
        printf("| %s | %s |\n", allowed_of(row, allowed), help_of(row, help));
    }
}

static void print_markdown(void)
{
    printf("| option | default | allowed | |\n|---|---|---|---|\n");
    print_markdown_rows(rows, row_count, true);
    printf("\n| key of a rule that matches | allowed | |\n|---|---|---|\n");
    print_markdown_rows(conditions, sizeof conditions / sizeof conditions[0], false);
    printf("\n| key of a rule that sets | allowed | |\n|---|---|---|\n");
    print_markdown_rows(settings, sizeof settings / sizeof settings[0], false);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--markdown") == 0)
        print_markdown();
    else if (argc == 1)
        print_ini();
    else {
        fprintf(stderr, "usage: scripts/gen-conf [--markdown]\n");
        return 2;
    }
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
