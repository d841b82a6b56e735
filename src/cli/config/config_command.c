/* `convshim config`: the options in force, mistakes in their text, and the rule that applies to a
 * convolution. */
#include "cli/layers/config_advice.h"

#include "cli/common/cli.h"
#include "cli/common/rule_text.h"
#include "cli/common/table.h"
#include "cli/layers/layers.h"
#include "config/option.h"
#include "convshim/policy.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct request {
    const char *program, *script, *check, *explain;
    enum cs_format format;
};

#define CS_CLI_TARGET struct request
#define CS_CLI_OPTIONS "cli/config/config_options.def"
#include "cli/common/command_options.def"

static const struct cs_cli_command command = {
    .name = "config",
    .usage = "convshim config [options]",
    .about = "Shows every option with its value, its default and its source: the built-in\n"
             "default, a line of a file, an item of CONVSHIM_CONFIG or a variable. The text\n"
             "format also shows the rules, in the order in which they are tried.\n\n"
             "Status: 0; 1 if there are mistakes, with a line for each on standard error.",
    .option = rows,
    .options = sizeof rows / sizeof *rows,
};
const struct cs_cli_command *const cs_cli_command_config = &command;

static const struct cs_column columns[] = {{"option", "option", CS_CELL_TEXT},
                                           {"value", "value", CS_CELL_TEXT},
                                           {"default", "default", CS_CELL_TEXT},
                                           {"source", "from", CS_CELL_TEXT}};

/* Prints a mistake, and counts it in `ctx`, an int (cs_config_note_fn). */
static void count_note(void *ctx, const char *line)
{
    int *notes = ctx;
    ++*notes;
    cs_cli_complain("%s", line);
}

/* --- the rule that applies --- */

enum {
    UNKNOWN = -1, /* matches no range */
    LINE = 512
};

/* A convolution as the text of --explain describes it. */
struct asked {
    struct cs_problem problem;
    int64_t required, engine; /* UNKNOWN: not given */
};

static bool refuse_word(const char *word, const char *allowed)
{
    cs_cli_refuse("config", "--explain: \"%s\" is not %s", word, allowed);
    return false;
}

/* Takes a word "NAME=VALUE"; `value` is the part behind the =. False after printing the reason. */
static bool take_word(struct asked *asked, const char *word, const char *value)
{
    if (strncmp(word, "required=", strlen("required=")) == 0)
        return cs_cli_size(value, &asked->required) || refuse_word(value, "a size such as 64MiB");
    if (strncmp(word, "engine=", strlen("engine=")) == 0)
        return cs_shape_numbers(value, &asked->engine, 1) == 1 || refuse_word(value, "a number");
    return refuse_word(word, "required=SIZE or engine=NUMBER");
}

/* Takes words with a = off the end of `text`, and reads the rest as a convolution. False after
 * printing the reason. */
static bool read_text(char *text, struct asked *asked)
{
    char error[CS_LAYERS_ERROR], *word;
    const struct cs_layer_rules rules = {.dtype = NULL};
    *asked = (struct asked){.required = UNKNOWN, .engine = UNKNOWN};
    while ((word = strrchr(text, ' ')) && strchr(word, '=')) {
        if (!take_word(asked, word + 1, strchr(word, '=') + 1))
            return false;
        *word = '\0';
    }
    if (cs_shape_text(text, &rules, &asked->problem, error))
        return true;
    cs_cli_refuse("config", "--explain: %s", error);
    return false;
}

/* Prints which rule applies to the convolution of --explain, and why. Returns the exit status. */
static int explain_shape(const struct request *request, const struct cs_config *config)
{
    char copy[LINE];
    struct asked asked;
    snprintf(copy, sizeof copy, "%s", request->explain);
    if (!read_text(copy, &asked))
        return CS_CLI_USAGE;
    struct cs_subject subject = cs_rule_subject_of(&asked.problem, asked.required, asked.engine,
                                                   request->program ? request->program : "");
    if (request->script)
        subject.script = request->script;
    cs_explain_rules(&config->rules, &subject, stdout);
    return CS_CLI_OK;
}

/* --- options --- */

/* Checks the file of --check. Returns the exit status. */
static int check_file(const struct request *request)
{
    static struct cs_config config;
    const char *path = request->check;
    int notes = 0;
    if (!cs_config_load_file(&config, path, cs_policy_names, count_note, &notes)) {
        cs_cli_complain("%s: cannot be read: %s", path, strerror(errno));
        return CS_CLI_USAGE;
    }
    cs_config_advise(&config, count_note, &notes);
    if (notes == 0 && request->explain)
        return explain_shape(request, &config);
    if (notes == 0)
        printf("%s: ok\n", path);
    return notes > 0 ? CS_CLI_NO : CS_CLI_OK;
}

static void add_row(struct cs_table *table, const struct cs_config *config, int option)
{
    char value[CS_CONFIG_TEXT], source[CS_CONFIG_TEXT + 32];
    cs_option_text(config, option, value, sizeof value);
    cs_option_origin_text(config, option, source, sizeof source);
    cs_table_add(table, (const struct cs_value[]){{.text = cs_options[option].name},
                                                  {.text = value},
                                                  {.text = cs_options[option].value},
                                                  {.text = source}});
}

/* Prints the options in force and the rules, or the rule of --explain. Returns the exit status. */
static int show_options(const struct request *request)
{
    static struct cs_config config;
    struct cs_table table;
    int notes = 0;
    cs_config_load_script(&config, request->program, request->script, cs_policy_names, count_note,
                          &notes);
    if (!config.enabled)
        cs_cli_complain("CONVSHIM=0 switches convshim off, so it reads no options");
    if (request->explain)
        return explain_shape(request, &config);
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < CS_OPTIONS; i++)
        add_row(&table, &config, i);
    bool printed = cs_table_print(&table, request->format, stdout);
    cs_table_fini(&table);
    for (int i = 0; i < config.rules.count && request->format == CS_FORMAT_TEXT; i++) {
        putchar('\n');
        cs_explain_rule(&config.rules.rule[i], stdout);
    }
    if (!printed)
        cs_cli_complain("out of memory");
    return !printed ? CS_CLI_NONE : notes > 0 ? CS_CLI_NO : CS_CLI_OK;
}

int cs_cli_config(int argc, char **argv)
{
    struct request request = {.format = CS_FORMAT_TEXT};
    int operand, status = cs_cli_parse(&command, argc, argv, NULL, &request, &operand);
    if (status >= 0)
        return status;
    if (operand < argc)
        return cs_cli_refuse(command.name,
                             "\"%s\" is not an option. To check an ini file: --check FILE",
                             argv[operand]);
    if (request.explain && request.format != CS_FORMAT_TEXT)
        return cs_cli_refuse(command.name, "--explain prints text: leave out --format");
    return request.check ? check_file(&request) : show_options(&request);
}
