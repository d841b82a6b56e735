/* Writes keys of rules.def from the problem of a site (docs/summary.md). */
#include "cli/tune/rule_keys.h"

#include "cli/common/json_tree.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
    BATCH,
    CHANNELS,
    DEPTH,
    HEIGHT,
    WIDTH,
    EXTENTS
};

struct writer {
    char *text;
    size_t size, length;
};

static void put(struct writer *to, const char *key, const char *value)
{
    int length =
        *value ? snprintf(to->text + to->length, to->size - to->length, "%s = %s\n", key, value)
               : 0;
    if (length > 0 && (size_t)length < to->size - to->length)
        to->length += (size_t)length;
    to->text[to->length] = '\0';
}

static const char *word(const cJSON *problem, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, name));
    return text ? text : "";
}

static int64_t extent(const cJSON *problem, const char *tensor, int at)
{
    const cJSON *of = cJSON_GetObjectItemCaseSensitive(problem, tensor),
                *dims = cJSON_GetObjectItemCaseSensitive(of, "dims"),
                *item = cJSON_GetArrayItem(dims, at);
    return cs_json_whole(item, 0);
}

static void put_number(struct writer *to, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put(to, key, value > 0 ? text : "");
}

/* Channels last with any number of dimensions is nhwc to a rule. */
static const char *layout_of(const char *layout)
{
    size_t length = strlen(layout);
    if (length == 0 || strcmp(layout, "strided") == 0)
        return layout;
    return layout[length - 1] == 'c' ? "nhwc" : "nchw";
}

void cs_rule_keys(const struct cJSON *site, char *text, size_t size)
{
    const cJSON *problem = cJSON_GetObjectItemCaseSensitive(site, "problem"),
                *dimensions = cJSON_GetObjectItemCaseSensitive(problem, "spatial"),
                *groups = cJSON_GetObjectItemCaseSensitive(problem, "groups");
    const int64_t spatial = cs_json_whole(dimensions, 0);
    const int first = spatial > 0 && spatial <= EXTENTS - DEPTH ? EXTENTS - (int)spatial : EXTENTS;
    const char *direction = word(problem, "direction");
    static const char *const axes[] = {[DEPTH] = "d", [HEIGHT] = "h", [WIDTH] = "w"};
    struct writer to = {.text = text, .size = size};
    char kernel[64] = "";
    *text = '\0';
    put(&to, "direction", strcmp(direction, "forward") == 0 ? "fwd" : direction);
    put(&to, "dtype", word(problem, "dtype"));
    put(&to, "layout", layout_of(word(problem, "layout")));
    for (int at = first; at < EXTENTS; at++) {
        size_t length = strlen(kernel);
        snprintf(kernel + length, sizeof kernel - length, "%s%lld", length > 0 ? "x" : "",
                 (long long)extent(problem, "w", at));
    }
    put(&to, "kernel", kernel);
    put_number(&to, "n", extent(problem, "x", BATCH));
    put_number(&to, "c", extent(problem, "x", CHANNELS));
    put_number(&to, "k", extent(problem, "y", CHANNELS));
    for (int at = first; at < EXTENTS; at++)
        put_number(&to, axes[at], extent(problem, "x", at));
    put_number(&to, "groups", cs_json_whole(groups, 0));
}
