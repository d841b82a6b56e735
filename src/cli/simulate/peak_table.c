/* Adds up the blocks that are held at a run's peak. */
#include "cli/simulate/peak_table.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_column columns[] = {{"what", "what", CS_CELL_TEXT},
                                           {"of", "of", CS_CELL_TEXT},
                                           {"bytes", "size", CS_CELL_BYTES},
                                           {"blocks", "blocks", CS_CELL_COUNT}};

enum {
    COLUMNS = sizeof columns / sizeof *columns,
    TEXT = 256
};

/* Blocks that one line of the program allocated. */
struct group {
    char line[TEXT];
    bool workspace;
    int64_t bytes, blocks;
};

/* The text of the convolution of that call; "": not known. */
static const char *text_of_call(const struct cs_timeline *names, const cJSON *summary, size_t call)
{
    int index = names && call < names->calls ? names->call[call].site : CS_NO_SITE;
    const cJSON *sites = cJSON_GetObjectItemCaseSensitive(summary, "sites"),
                *site = index >= 0 ? cJSON_GetArrayItem(sites, index) : NULL,
                *problem = cJSON_GetObjectItemCaseSensitive(site, "problem");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "text"));
    return text ? text : "";
}

/* The first call, at or after this moment, whose workspace is in the block. */
static size_t call_of(const struct cs_timeline *timeline, long block, size_t moment)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < timeline->calls; i++)
        if (timeline->call[i].block == block) {
            found = i;
            if (timeline->call[i].moment >= moment)
                break;
        }
    return found;
}

static void describe(const struct cs_timeline *timeline, const struct cs_timeline *names,
                     const cJSON *summary, size_t index, size_t moment, struct group *to)
{
    const struct cs_timeline_block *block = &timeline->block[index];
    char line[TEXT / 2] = "";
    *to = (struct group){.workspace = block->workspace > 0, .bytes = block->bytes, .blocks = 1};
    (void)cs_timeline_line(timeline, block->stack, line, sizeof line);
    if (!to->workspace) {
        snprintf(to->line, sizeof to->line, "%s", line);
        return;
    }
    const char *text = text_of_call(names, summary, call_of(timeline, (long)index, moment));
    snprintf(to->line, sizeof to->line, "%.120s%s%s", text, *text && *line ? ", " : "", line);
}

static int larger_first(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->line, b->line);
}

/* Adds to the group of the same line, or a new one. */
static size_t add(struct group *group, size_t groups, const struct group *one)
{
    for (size_t i = 0; i < groups; i++)
        if (group[i].workspace == one->workspace && strcmp(group[i].line, one->line) == 0) {
            group[i].bytes += one->bytes;
            group[i].blocks += one->blocks;
            return groups;
        }
    group[groups] = *one;
    return groups + 1;
}

bool cs_peak_table(const struct cs_timeline *timeline, const struct cs_timeline *names,
                   const struct cJSON *summary, struct cs_table *table_p)
{
    const size_t peak = cs_timeline_peak(timeline);
    struct group *group = calloc(timeline->blocks + 2, sizeof *group), one;
    size_t groups = 0;
    int64_t rest = timeline->moments > 0 ? timeline->live[peak] : 0;
    if (!group)
        return false;
    for (size_t i = 0; i < timeline->blocks; i++) {
        const struct cs_timeline_block *block = &timeline->block[i];
        if (block->from > peak || block->until <= peak)
            continue;
        describe(timeline, names, summary, i, peak, &one);
        groups = add(group, groups, &one);
        rest -= block->bytes;
    }
    if (rest > 0)
        group[groups++] = (struct group){.line = "mapped memory or memory pools", .bytes = rest};
    qsort(group, groups, sizeof *group, larger_first);
    cs_table_init(table_p, columns, COLUMNS);
    for (size_t i = 0; i < groups; i++) {
        const struct cs_value row[COLUMNS] = {
            {.text = group[i].workspace ? "workspace" : "tensors"},
            {.text = *group[i].line ? group[i].line : "-"},
            {.number = group[i].bytes},
            {.number = group[i].blocks}};
        cs_table_add(table_p, row);
    }
    free(group);
    return true;
}
