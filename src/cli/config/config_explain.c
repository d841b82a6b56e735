/* `convshim config --explain`: describes a convolution given as text and says which rule applies
 * to it and why. */
#include "cli/config/config_explain.h"

#include "base/checked.h"
#include "base/log.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/layers/estimate.h"
#include "cli/layers/shape.h"
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENGINE_UNKNOWN = -1,
    WORD_BYTES = 64,
    LINE = 512
};

/* The content of a text of --explain. */
struct asked {
    struct cs_shape shape;
    int dims;
    int64_t per_group; /* channels that the filter takes */
    int64_t required;  /* bytes; -1: not said */
    int64_t engine;
};

static bool refuse(const char *word, const char *allowed)
{
    cs_cli_refuse("config", "--explain: \"%s\" is not %s", word, allowed);
    return false;
}

static bool take_extents(struct asked *asked, const char *input, const char *filter)
{
    int64_t in[CS_DIMS], kernel[CS_DIMS];
    asked->dims = cs_shape_numbers(input, in, CS_DIMS);
    if (asked->dims < 3)
        return refuse(input, "an input: 3 to 5 numbers with x between them, such as 1x512x64x64");
    if (cs_shape_numbers(filter, kernel, CS_DIMS) != asked->dims)
        return refuse(filter, "a filter with as many numbers as the input, such as 512x512x3x3");
    asked->per_group = kernel[1];
    asked->shape = (struct cs_shape){.spatial = asked->dims == 5 ? 3 : 2,
                                     .n = in[0],
                                     .c = in[1],
                                     .k = kernel[0],
                                     .groups = 1,
                                     .in = {1, 1, 1},
                                     .kernel = {1, 1, 1},
                                     .stride = {1, 1, 1},
                                     .dilation = {1, 1, 1},
                                     .dtype = CS_F16};
    for (int i = 2; i < asked->dims; i++) {
        asked->shape.in[CS_SPATIAL - asked->dims + i] = in[i];
        asked->shape.kernel[CS_SPATIAL - asked->dims + i] = kernel[i];
    }
    return true;
}

/* One number for all spatial dimensions, or one for each. */
static bool take_window(const struct asked *asked, const char *value, int64_t to[CS_SPATIAL])
{
    int64_t numbers[CS_SPATIAL];
    int spatial = asked->dims - 2, count = cs_shape_numbers(value, numbers, CS_SPATIAL);
    if (count != 1 && count != spatial)
        return refuse(value, "one number, or one for each spatial dimension");
    for (int i = 0; i < spatial; i++)
        to[CS_SPATIAL - spatial + i] = numbers[count == 1 ? 0 : i];
    return true;
}

static bool take_value(struct asked *asked, const char *name, const char *value)
{
    struct cs_shape *shape = &asked->shape;
    if (strcmp(name, "pad") == 0)
        return take_window(asked, value, shape->pad);
    if (strcmp(name, "stride") == 0)
        return take_window(asked, value, shape->stride);
    if (strcmp(name, "dilation") == 0)
        return take_window(asked, value, shape->dilation);
    if (strcmp(name, "groups") == 0)
        return cs_shape_numbers(value, &shape->groups, 1) == 1 || refuse(value, "a number");
    if (strcmp(name, "engine") == 0)
        return cs_shape_numbers(value, &asked->engine, 1) == 1 || refuse(value, "a number");
    if (strcmp(name, "required") == 0)
        return cs_cli_size(value, &asked->required) || refuse(value, "a size such as 64MiB");
    return refuse(name, "one of pad, stride, dilation, groups, required, engine");
}

static bool take_word(struct asked *asked, char *word)
{
    char *value = strchr(word, '=');
    if (value) {
        *value = '\0';
        return take_value(asked, word, value + 1);
    }
    return cs_shape_dtype(word, &asked->shape.dtype) ||
           cs_shape_direction(word, &asked->shape.direction) ||
           cs_shape_layout(word, &asked->shape.layout) ||
           refuse(word, "a data type, a direction, a layout or NAME=VALUE");
}

/* Cuts the next word off; false if it does not fit. */
static bool next_word(const char **text, char word[WORD_BYTES])
{
    size_t length = strcspn(*text, ",");
    if (length >= WORD_BYTES)
        return refuse(*text, "short enough");
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length + ((*text)[length] == ',');
    return true;
}

/* The summary's own text. */
static bool read_summary_text(const char *text, struct asked *asked, struct cs_problem *problem)
{
    char error[LINE];
    *asked = (struct asked){.required = -1, .engine = ENGINE_UNKNOWN, .shape.dtype = CS_F16};
    if (cs_shape_text(text, &asked->shape, error, sizeof error) &&
        cs_shape_problem(&asked->shape, problem, error, sizeof error))
        return true;
    cs_cli_refuse("config", "--explain: %s", error);
    return false;
}

static bool read_text(const char *text, struct asked *asked, struct cs_problem *problem)
{
    char word[WORD_BYTES], filter[WORD_BYTES], error[LINE];
    int64_t channels;
    *asked = (struct asked){.dims = 0};
    if (!next_word(&text, word) || !next_word(&text, filter) || !take_extents(asked, word, filter))
        return false;
    asked->required = -1;
    asked->engine = ENGINE_UNKNOWN;
    while (*text)
        if (!next_word(&text, word) || !take_word(asked, word))
            return false;
    if (!cs_mul(asked->per_group, asked->shape.groups, &channels) || channels != asked->shape.c)
        return refuse(filter, "a filter whose channels times groups are the channels of the input");
    if (cs_shape_problem(&asked->shape, problem, error, sizeof error))
        return true;
    cs_cli_refuse("config", "--explain: %s", error);
    return false;
}

/* The explanation; to be freed, NULL: out of memory. */
static char *explain(const struct cs_config *config, const struct cs_subject *subject)
{
    int length = cs_explain_rules(&config->rules, subject, NULL, 0);
    char *text = malloc((size_t)length + 1);
    if (text)
        cs_explain_rules(&config->rules, subject, text, (size_t)length + 1);
    return text;
}

static void print_text(int64_t required, bool said, const char *explanation)
{
    char size[CS_SIZE_TEXT];
    printf("%s required%s\n%s", cs_log_size_text(size, required),
           said ? ""
                : ", by a rule of thumb. Add required=SIZE to use the size that cuDNN requires.",
           explanation);
}

/* The lines of the explanation, "rule NAME: TEXT", as objects; the last line may be none of a rule.
 */
static void add_rules(cJSON *root, char *explanation)
{
    static const char applies[] = "applies", rule[] = "rule ";
    cJSON *rules = cJSON_AddArrayToObject(root, "rules");
    const char *follows = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(explanation, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strstr(line, ": ");
        if (strncmp(line, rule, strlen(rule)) != 0 || !colon)
            continue;
        *colon = '\0';
        cJSON *object = cJSON_CreateObject();
        bool matches = strncmp(colon + 2, applies, strlen(applies)) == 0;
        follows = matches ? line + strlen(rule) : NULL;
        cJSON_AddStringToObject(object, "name", line + strlen(rule));
        cJSON_AddBoolToObject(object, "applies", matches);
        cJSON_AddStringToObject(object, "text", colon + 2);
        cs_json_add(rules, NULL, object);
    }
    if (follows)
        cJSON_AddStringToObject(root, "rule", follows);
    else
        cJSON_AddNullToObject(root, "rule");
}

static bool print_json(int64_t required, bool said, char *explanation)
{
    cs_json_begin();
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "required_bytes", (double)required);
    cJSON_AddBoolToObject(root, "estimate", !said);
    add_rules(root, explanation);
    return cs_json_print(root, stdout);
}

int cs_config_explain(const struct cs_config *config, const char *program, const char *script,
                      const char *text, enum cs_format format)
{
    struct asked asked;
    struct cs_problem problem;
    bool printed = true;
    if (!(cs_shape_is_text(text) ? read_summary_text : read_text)(text, &asked, &problem))
        return CS_CLI_USAGE;
    bool said = asked.required >= 0;
    int64_t required = said ? asked.required : cs_estimate_workspace(&problem);
    struct cs_subject subject =
        cs_rule_subject_of(&problem, required, asked.engine, program ? program : "");
    if (script)
        subject.script = script;
    char *explanation = explain(config, &subject);
    if (explanation && format == CS_FORMAT_JSON)
        printed = print_json(required, said, explanation);
    else if (explanation)
        print_text(required, said, explanation);
    if (!explanation || !printed)
        cs_cli_complain("out of memory");
    bool good = explanation && printed;
    free(explanation);
    return good ? CS_CLI_OK : CS_CLI_NO;
}
