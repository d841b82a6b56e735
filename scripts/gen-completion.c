/* Prints the completion of `convshim` for bash from the tables of --help and the manual page. The
 * words of an option come from these tables: the list of the library's options, or the list at the
 * start of a help text. */
#include "cli/common/cli.h"
#include "policy_names.h"
#include <stdio.h>
#include <string.h>

enum {
    WORDS = 512 /* characters of a list */
};

static const struct command {
    const char *name;
    const struct cs_cli_command *const *command;
} commands[] = {
#define CS_COMMAND(name, summary) {#name, &cs_cli_command_##name},
#include "cli/commands.def"
#undef CS_COMMAND
};

enum {
    COMMANDS = sizeof commands / sizeof *commands
};

static const struct {
    const char *name, *type, *allowed;
} library_options[] = {
#define CS_OPTION(name, type, value, allowed, help) {#name, #type, allowed},
#include "convshim/options.def"
#undef CS_OPTION
};

/* The text of options.def for an option of the library, or for an option with the same values. */
static const char *library_text(const struct cs_cli_option *option, bool type)
{
    bool own = strcmp(option->argument ? option->argument : "", "VALUE") != 0 &&
               strncmp(option->help, "As the option", strlen("As the option")) != 0;
    for (size_t i = 0; i < sizeof library_options / sizeof *library_options && !own; i++)
        if (strcmp(library_options[i].name, option->name) == 0)
            return type                          ? library_options[i].type
                   : *library_options[i].allowed ? library_options[i].allowed
                                                 : CS_POLICY_NAMES;
    return NULL;
}

/* The length of a text in brackets, or 0. */
static size_t bracket_length(const char *text)
{
    return text[0] == ' ' && text[1] == '(' && strchr(text, ')')
               ? (size_t)(strchr(text, ')') + 1 - text)
               : 0;
}

/* "text, json or csv (bytes). More." becomes "text json csv": the words before the first that is
 * not in the list. */
static void take_words(const char *text, char words[WORDS])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t length = 0;
    int count = 0;
    words[0] = '\0';
    for (;;) {
        if (strncmp(text, "or ", 3) == 0)
            text += 3;
        size_t word = strspn(text, letters);
        const char *after = text + word + bracket_length(text + word);
        bool more = strncmp(after, ", ", 2) == 0 || strncmp(after, " or ", 4) == 0;
        bool last = *after == '\0' || *after == '.';
        if (word == 0 || !(more || last) || length + word + 2 > WORDS)
            break;
        length += (size_t)snprintf(words + length, WORDS - length, "%s%.*s", count ? " " : "",
                                   (int)word, text);
        count++;
        if (last)
            break;
        text = after + (*after == ',' ? 2 : 4);
    }
    if (count < 2)
        words[0] = '\0';
}

/* The possible values of an option: a list, or a word that represents a list. */
static void words_of(const struct cs_cli_option *option, char words[WORDS])
{
    const char *allowed = library_text(option, false), *type = library_text(option, true);
    words[0] = '\0';
    if (!option->argument)
        return;
    if (allowed && strcmp(type, "FORM") == 0)
        snprintf(words, WORDS, "off text json: text,json:");
    else if (allowed && strcmp(type, "PATH") != 0)
        take_words(allowed, words);
    if (allowed)
        return;
    const char *colon = strstr(option->help, ": "), *end = strstr(option->help, ". ");
    take_words(option->help, words);
    if (!*words && colon && (!end || colon < end))
        take_words(colon + 2, words);
}

static bool takes_file(const struct cs_cli_option *option)
{
    static const char *const files[] = {"FILE", "PATH", "DIR"};
    const char *type = library_text(option, true);
    for (size_t i = 0; option->argument && i < sizeof files / sizeof *files; i++)
        if (strcmp(option->argument, files[i]) == 0)
            return true;
    return type && strcmp(type, "PATH") == 0;
}

/* The shell command that prints the names from the command, or NULL. */
static const char *lister(const struct cs_cli_option *option)
{
    if (strcmp(option->name, "preset") == 0)
        return "convshim run --preset list 2>/dev/null | awk 'NR > 1 { print $1 }'";
    if (strcmp(option->name, "device") == 0)
        return "convshim predict --device list --format csv 2>/dev/null | awk -F, 'NR > 1 { print "
               "$1 }'";
    return NULL;
}

static void bash_value(const struct cs_cli_option *option)
{
    char words[WORDS], name[CS_CLI_NAME];
    words_of(option, words);
    if (!option->argument)
        return;
    printf("        --%s)", cs_cli_spelling(option->name, name));
    if (lister(option))
        printf(" COMPREPLY=($(compgen -W \"$(%s) list\" -- \"$cur\"));;\n", lister(option));
    else if (*words)
        printf(" COMPREPLY=($(compgen -W '%s' -- \"$cur\"));;\n", words);
    else if (takes_file(option))
        printf(" COMPREPLY=($(compgen -f -- \"$cur\"));;\n");
    else
        printf(" COMPREPLY=();;\n");
}

static void bash_command(const struct command *of)
{
    const struct cs_cli_command *command = *of->command;
    char name[CS_CLI_NAME];
    printf("_convshim_%s()\n{\n    case $previous in\n", of->name);
    for (int i = 0; i < command->options; i++)
        bash_value(&command->option[i]);
    printf("        *) return 1;;\n    esac\n}\n_convshim_%s_options='", of->name);
    for (int i = 0; i < command->options; i++)
        printf("--%s ", cs_cli_spelling(command->option[i].name, name));
    printf("--help'\n_convshim_%s_stops=%s\n", of->name, command->stops ? "1" : "");
}

static void print_bash(void)
{
    puts("# Completion of convshim for bash, made by gen-completion from the tables of the "
         "commands.");
    for (int i = 0; i < COMMANDS; i++)
        bash_command(&commands[i]);
    printf(
        "_convshim()\n{\n    local cur=$2 previous=$3 command=${COMP_WORDS[1]} at options stops\n"
        "    local commands='");
    for (int i = 0; i < COMMANDS; i++)
        printf("%s ", commands[i].name);
    puts("help'\n"
         "    COMPREPLY=()\n"
         "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
         "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$cur\"))\n"
         "        return\n"
         "    fi\n"
         "    if [ \"$command\" = help ]; then\n"
         "        COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
         "        return\n"
         "    fi\n"
         "    [[ \" $commands \" == *\" $command \"* ]] || return\n"
         "    options=_convshim_${command}_options stops=_convshim_${command}_stops\n"
         "    # After -- comes a command with separate arguments.\n"
         "    for ((at = 2; at < COMP_CWORD; at++)); do\n"
         "        if [ \"${COMP_WORDS[at]}\" = -- ] && [ -n \"${!stops}\" ]; then\n"
         "            if declare -F _command_offset >/dev/null; then\n"
         "                _command_offset $((at + 1))\n"
         "            elif [ $((at + 1)) = \"$COMP_CWORD\" ]; then\n"
         "                COMPREPLY=($(compgen -c -- \"$cur\"))\n"
         "            else\n"
         "                COMPREPLY=($(compgen -f -- \"$cur\"))\n"
         "            fi\n"
         "            return\n"
         "        fi\n"
         "    done\n"
         "    \"_convshim_$command\" && return\n"
         "    if [[ $cur == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"${!options} ${!stops:+--}\" -- \"$cur\"))\n"
         "    elif [ -n \"${!stops}\" ]; then\n"
         "        COMPREPLY=($(compgen -c -- \"$cur\"))\n"
         "    else\n"
         "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
         "    fi\n"
         "}\n"
         "complete -o filenames -F _convshim convshim");
}

int main(void)
{
    print_bash();
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
