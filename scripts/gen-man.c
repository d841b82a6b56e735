/* Prints the manual pages and docs/commands.md from the tables of --help, of the option parser and
 * of the checks of doctor: `gen-man convshim` for the command, `gen-man convshim.ini` for its
 * files, `gen-man commands` for the page. */
#include "base/version.h"
#include "cli/common/cli.h"
#include "convshim/policy.h"
#include "policy_names.h"
#include <stdio.h>
#include <string.h>

/* Text for roff, escaped so that it contains no requests. */
static void print_text(const char *s)
{
    for (bool begins = true; *s; begins = *s++ == '\n') {
        if (begins && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
    }
}

/* Paragraphs, separated by empty lines. */
static void paragraphs(const char *s)
{
    for (const char *end; (end = strstr(s, "\n\n")); s = end + 2) {
        char paragraph[2048];
        snprintf(paragraph, sizeof paragraph, "%.*s", (int)(end - s), s);
        print_text(paragraph);
        puts("\n.PP");
    }
    print_text(s);
    putchar('\n');
}

static void print_head(const char *page, const char *section, const char *of, const char *about)
{
    printf(".\\\" Made by scripts/gen-man.c from the tables in the sources.\n");
    printf(".TH \"%s\" %s \"\" \"convshim %s\" \"%s\"\n.SH NAME\n", page, section, CS_VERSION, of);
    printf("%s \\- %s\n.nh\n", page, about);
}

/* A term and its description. */
static void print_term(const char *name, const char *argument, const char *about)
{
    printf(".TP\n\\fB");
    print_text(name);
    printf("\\fR");
    if (argument) {
        printf(" \\fI");
        print_text(argument);
        printf("\\fR");
    }
    putchar('\n');
    print_text(about);
    putchar('\n');
}

static void usage_of(const struct cs_cli_command *command)
{
    puts(".nf");
    for (const char *line = command->usage; *line;) {
        char usage[512];
        line += strspn(line, " ");
        size_t length = strcspn(line, "\n");
        snprintf(usage, sizeof usage, "%.*s", (int)length, line);
        print_text(usage);
        putchar('\n');
        line += length + (line[length] == '\n');
    }
    puts(".fi");
}

static void describe_command(const struct cs_cli_command *command)
{
    const char *group = "";
    printf(".SS \"convshim %s\"\n", command->name);
    usage_of(command);
    puts(".PP");
    paragraphs(command->about);
    for (int i = 0; i < command->options; i++) {
        const struct cs_cli_option *option = &command->option[i];
        char name[128], spelling[CS_CLI_NAME];
        bool begins = strcmp(group, option->group) != 0;
        group = option->group;
        if (begins) {
            puts(".PP");
            print_text(group);
            puts(strcmp(group, CS_LIBRARY_GROUP) == 0
                     ? ": \\fB\\-\\-NAME\\fR \\fIVALUE\\fR, for each option in convshim.ini(5)."
                     : ":");
        }
        if (strcmp(group, CS_LIBRARY_GROUP) == 0)
            continue;
        snprintf(name, sizeof name, "--%s", cs_cli_spelling(option->name, spelling));
        print_term(name, option->argument, option->help);
    }
    print_term("--help", NULL, "Show this text.");
}

static void list_checks(void)
{
    puts(".SH CHECKS\nThe checks of \\fBconvshim doctor\\fR, and the remedy if one fails:");
#define CS_CHECK(id, what, advice) print_term(#id, NULL, what ". " advice);
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK
}

static void list_variables(void)
{
    puts(".SH ENVIRONMENT");
    print_term("CONVSHIM", NULL, "0 switches the library off for a program.");
    print_term("CONVSHIM_CONFIG", NULL,
               "Options of the library, \"name=value;name=value\". They override those of files.");
    print_term("CONVSHIM_CONFIGFILE", NULL,
               "The only file of options to read. See convshim.ini(5).");
    print_term(
        "CONVSHIM_WORKSPACE, CONVSHIM_SUMMARY, CONVSHIM_BUDGET, ...", NULL,
        "Every option has a variable: CONVSHIM_ and its name in capitals, a dot become _. They win "
        "over CONVSHIM_CONFIG. A line names those that begin with CONVSHIM_ and are unknown.");
    print_term(
        "CONVSHIM_RUN", NULL,
        "Set by convshim run: the id of the process that prints the run's result at its end.");
    print_term(
        "XDG_RUNTIME_DIR", NULL,
        "Its folder holds the data of running convshim processes. /tmp/convshim-UID is used if it "
        "is unset or missing.");
    print_term("LD_PRELOAD", NULL, "Loads the library into a program. convshim run extends it.");
}

static void list_files(void)
{
    puts(".SH FILES");
    print_term("$XDG_CONFIG_HOME/convshim/convshim.ini", NULL,
               "Options of the user. convshim.ini(5) lists all places.");
    print_term("/etc/convshim.ini", NULL, "Options of the machine, if the user has no file.");
    print_term("$XDG_RUNTIME_DIR/convshim", NULL,
               "Counters of running processes, for convshim status.");
}

static void print_examples(void)
{
    static const char *const examples[][2] = {
        {"convshim run -- python app.py", "Run a program with convshim."},
        {"convshim run --preset look -- python app.py", "Measure how much could be saved."},
        {"convshim simulate --device rtx3060 -- python app.py",
         "Show the memory of a program on a GPU that is not installed."},
        {"convshim predict '1x512x512x512 -> 512 k3x3 p1' --device rtx4090",
         "Show the memory of one convolution."},
        {"convshim doctor -- python app.py", "Find out why a program is not intercepted."},
        {"convshim verify", "Compare results and times on this GPU."}};
    puts(".SH EXAMPLES");
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        print_term(examples[i][0], NULL, examples[i][1]);
}

static void print_command_page(void)
{
    print_head("convshim", "1", "User Commands", "lower the peak GPU memory of cuDNN convolutions");
    puts(".SH SYNOPSIS");
#define CS_COMMAND(name, summary) usage_of(cs_cli_command_##name);
#include "cli/commands.def"
#undef CS_COMMAND
    puts(".nf");
    print_text("convshim help COMMAND\nconvshim --help | --version\n");
    puts(".fi\n.SH DESCRIPTION");
    print_text(
        "convshim is a library that is preloaded into a program. It reports a small size to "
        "cuDNN's\n"
        "workspace queries, and runs oversized convolutions as tiles in that size. This command "
        "runs\n"
        "programs with the library, predicts the savings, and shows why programs are not "
        "intercepted.\n");
    puts(".SH COMMANDS");
#define CS_COMMAND(name, summary) print_term(#name, NULL, summary ".");
#include "cli/commands.def"
#undef CS_COMMAND
#define CS_COMMAND(name, summary) describe_command(cs_cli_command_##name);
#include "cli/commands.def"
#undef CS_COMMAND
    list_checks();
    puts(".SH EXIT STATUS");
    print_text(
        "0: success. 1: the answer is no, or an error. 2: invalid input. If a command uses others, "
        "they\n"
        "are listed with the command.\n");
    list_variables();
    list_files();
    print_examples();
    puts(".SH SEE ALSO\n.BR convshim.ini (5)");
}

static void print_options(void)
{
    static const struct {
        const char *name, *value, *allowed, *help;
    } rows[] = {
#define CS_OPTION(name, type, value, allowed, help) {#name, value, allowed, help},
#include "convshim/options.def"
#undef CS_OPTION
    };
    puts(".SH OPTIONS");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[128], help[1024];
        snprintf(name, sizeof name, "%s =", rows[i].name);
        snprintf(help, sizeof help, "%s Allowed: %s.", rows[i].help,
                 *rows[i].allowed ? rows[i].allowed : CS_POLICY_NAMES);
        print_term(name, *rows[i].value ? rows[i].value : NULL, help);
    }
}

/* The description of a rule's key. */
static void rule_key(const char *name, const char *allowed, const char *about)
{
    char help[1024];
    snprintf(help, sizeof help, "%s%s%s%s", about, *allowed ? " Allowed: " : "", allowed,
             *allowed ? "." : "");
    print_term(name, NULL, help);
}

static void print_rules(void)
{
    puts(".SH RULES");
    paragraphs(
        "A section [rule NAME] sets other values for some convolutions, or leaves them untiled. "
        "All "
        "its keys that match must fit. Only the first rule that matches a convolution applies. In "
        "CONVSHIM_CONFIG a key is written rule.NAME.KEY. A rule with an error is ignored, with one "
        "line for each error. \"convshim config --explain SHAPE\" shows the rule that applies.\n\n"
        "Keys that match:");
#define CS_RULE_WHEN(name, type, allowed, help) rule_key(#name, allowed, help);
#define CS_RULE_SET(name, type, allowed, help)
#include "convshim/rules.def"
    puts(".PP\nKeys that set:");
#define CS_RULE_WHEN(name, type, allowed, help)
#define CS_RULE_SET(name, type, allowed, help) rule_key(#name, allowed, help);
#include "convshim/rules.def"
}

static void list_policies(void)
{
    puts(".SH POLICIES");
    for (int i = 0; cs_policies[i]; i++)
        print_term(cs_policies[i]->name, NULL, cs_policies[i]->summary);
}

static void list_ini_files(void)
{
    puts(".SH FILES");
    print_term("$CONVSHIM_CONFIGFILE", NULL, "If this variable is set, the only file.");
    print_term("$XDG_CONFIG_HOME/convshim/SCRIPT.ini", NULL,
               "Of a script or module: main.py.ini for python main.py. The default of "
               "XDG_CONFIG_HOME is ~/.config.");
    print_term("$XDG_CONFIG_HOME/convshim/PROGRAM.ini", NULL, "Of a program, by its file name.");
    print_term("$XDG_CONFIG_HOME/convshim/convshim.ini", NULL, "Of all programs of the user.");
    print_term("/etc/convshim.ini", NULL, "Of all programs of the machine.");
}

static void print_ini_page(void)
{
    print_head("convshim.ini", "5", "File Formats", "options of the library convshim");
    puts(".SH DESCRIPTION");
    paragraphs(
        "Lines \"name = value\". A comment starts with a semicolon, or with a # at the beginning "
        "of "
        "a line. Options come before the sections [rule NAME]. Examples of sizes: 4096, "
        "512KiB, 64MiB, 1.5g (2^30 bytes), 1.5GB (10^9 bytes). A bad value or an unknown name "
        "prints one line with the allowed "
        "values, and the default is used.\n\n"
        "One file is read, the first in FILES that exists. The current folder is not searched. "
        "Items of CONVSHIM_CONFIG, \"name=value;name=value\", override the "
        "file. The variable of one option, such as CONVSHIM_WORKSPACE, overrides both.\n\n"
        "\"convshim config\" shows the values and their sources. \"convshim config --check FILE\" "
        "lists mistakes. The text of each option gives its default.");
    print_options();
    list_policies();
    print_rules();
    list_ini_files();
    puts(".SH EXAMPLES\n.nf");
    print_text("workspace = 64MiB\nlanes = 2\n\n"
               "[rule large-images]\nlayout = nchw\nh = 1024..\nworkspace = 256MiB\n");
    puts(".fi\n.SH SEE ALSO\n.BR convshim (1)");
}

/* --- docs/commands.md --- */

static void print_cell(const char *s)
{
    for (; *s; s++)
        printf(*s == '|' || *s == '<' ? "\\%c" : "%c", *s);
}

static void tabulate_command(const struct cs_cli_command *command, const char *summary)
{
    char spelling[CS_CLI_NAME];
    bool library = false;
    printf("\n## convshim %s\n\n%s:\n\n", command->name, summary);
    for (const char *line = command->usage; *line; line += *line == '\n') {
        line += strspn(line, " ");
        printf("* `%.*s`\n", (int)strcspn(line, "\n"), line);
        line += strcspn(line, "\n");
    }
    puts("\n| Option | Meaning |\n|---|---|");
    for (int i = 0; i < command->options; i++) {
        const struct cs_cli_option *option = &command->option[i];
        library = strcmp(option->group, CS_LIBRARY_GROUP) == 0;
        if (library)
            break;
        printf("| `--%s%s%s` | ", cs_cli_spelling(option->name, spelling),
               option->argument ? " " : "", option->argument ? option->argument : "");
        print_cell(option->help);
        puts(" |");
    }
    if (library)
        puts("\nEvery option of the library, as `--NAME VALUE`: [options.md](options.md).");
}

static void tabulate_checks(void)
{
    puts("\n## Checks of convshim doctor\n\n| Check | Subject |\n|---|---|");
#define CS_CHECK(id, what, advice)                                                                 \
    printf("| `%s` | ", #id);                                                                      \
    print_cell(what);                                                                              \
    puts(" |");
#include "cli/doctor/doctor_checks.def"
#undef CS_CHECK
}

static void print_commands(void)
{
    puts(
        "# What does each command do, and which options does it have?\n\n"
        "`make conf` writes this page from the tables in src/cli. `convshim COMMAND --help` prints "
        "the same.");
#define CS_COMMAND(name, summary) tabulate_command(cs_cli_command_##name, summary);
#include "cli/commands.def"
#undef CS_COMMAND
    tabulate_checks();
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "convshim") == 0)
        print_command_page();
    else if (argc == 2 && strcmp(argv[1], "convshim.ini") == 0)
        print_ini_page();
    else if (argc == 2 && strcmp(argv[1], "commands") == 0)
        print_commands();
    else {
        fprintf(stderr, "usage: gen-man convshim | convshim.ini | commands\n");
        return 2;
    }
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
