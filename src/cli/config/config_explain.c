/* `convshim config --explain`: reads a convolution from text and prints which rule applies to
 * it, and why. */
#include "cli/config/config_command.h"

#include "base/log.h"
#include "cli/common/cli.h"
#include "cli/common/rule_text.h"
#include "cli/layers/layers.h"
#include "cli/layers/plan_layers.h"
#include <stdio.h>
#include <string.h>

enum {
    ENGINE_UNKNOWN = -1,
    LINE = 512
};

/* The content of a text of --explain. */
struct asked {
    struct cs_problem problem;
    int64_t required; /* bytes; -1: not given */
    int64_t engine;
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
    char error[LINE], *word;
    const struct cs_layer_rules rules = {.dtype = NULL};
    *asked = (struct asked){.required = -1, .engine = ENGINE_UNKNOWN};
    while ((word = strrchr(text, ' ')) && strchr(word, '=')) {
        if (!take_word(asked, word + 1, strchr(word, '=') + 1))
            return false;
        *word = '\0';
    }
    if (cs_shape_text(text, &rules, &asked->problem, error, sizeof error))
        return true;
    cs_cli_refuse("config", "--explain: %s", error);
    return false;
}

int cs_config_explain(const struct cs_config *config, const char *program, const char *script,
                      const char *text)
{
    char copy[LINE], size[CS_SIZE_TEXT];
    struct asked asked;
    snprintf(copy, sizeof copy, "%s", text);
    if (!read_text(copy, &asked))
        return CS_CLI_USAGE;
    const bool is_given = asked.required >= 0;
    const int64_t required = is_given ? asked.required : cs_estimate_workspace(&asked.problem);
    struct cs_subject subject =
        cs_rule_subject_of(&asked.problem, required, asked.engine, program ? program : "");
    if (script)
        subject.script = script;
    printf("%s required%s\n", cs_log_size_text(size, required),
           is_given
               ? ""
               : ", by a rule of thumb. Add required=SIZE to use the size that cuDNN requires.");
    cs_explain_rules(&config->rules, &subject, stdout);
    return CS_CLI_OK;
}
