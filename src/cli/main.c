/* `convshim`: finds the command and hands over to it. */
#include "base/version.h"
#include "cli/common/cli.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
#define CS_COMMAND(name, summary) {#name, summary, cs_cli_##name},
#include "cli/commands.def"
#undef CS_COMMAND
};

enum {
    COMMANDS = sizeof commands / sizeof *commands
};

/* Returns `status`, the exit status. */
static int print_help(int status)
{
    puts("usage: convshim COMMAND [options]\n"
         "       convshim help COMMAND\n"
         "       convshim --help | --version\n\n"
         "Lowers the peak GPU memory of programs that use cuDNN convolutions.\n");
    for (int i = 0; i < COMMANDS; i++)
        printf("  %-9s %s\n", commands[i].name, commands[i].summary);
    puts("\n'convshim COMMAND --help' explains a command.\n"
         "Status: 0: done, or the answer is yes. 1: the answer is no. 2: the command line or\n"
         "an input file is wrong. 3: no answer, because something is missing or failed.\n"
         "'run' returns the status of the program.");
    return status;
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int refuse_command(const char *name)
{
    const char *names[COMMANDS + 1] = {NULL};
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *nearest = cs_cli_nearest(name, names);
    cs_cli_complain("unknown command '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                    nearest ? nearest : "", nearest ? "'?" : "");
    fputs("Try 'convshim --help'.\n", stderr);
    return CS_CLI_USAGE;
}

/* True for a word that requests the help of all commands. It may follow `help`. */
static bool asks_for_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int help_of(const char *name)
{
    if (asks_for_help(name))
        return print_help(CS_CLI_OK);
    const struct command *command = find_command(name);
    char *words[] = {(char *)name, "--help", NULL};
    return command ? command->run(2, words) : refuse_command(name);
}

static int run_command(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct command *command = find_command(name);
    if (command)
        return command->run(argc - 1, argv + 1);
    if (strcmp(name, "--version") == 0) {
        puts("convshim " CS_VERSION);
        return CS_CLI_OK;
    }
    if (strcmp(name, "help") == 0 && argc > 2)
        return help_of(argv[2]);
    if (asks_for_help(name))
        return print_help(CS_CLI_OK);
    return argc > 1 ? refuse_command(name) : print_help(CS_CLI_USAGE);
}

/* Runs the command. Without its results there is no answer. */
int main(int argc, char **argv)
{
    int status = run_command(argc, argv);
    if (fflush(stdout) || ferror(stdout)) {
        cs_cli_complain("standard output: not everything could be written");
        return CS_CLI_NONE;
    }
    return status;
}
