/* Compares a simulation with an earlier one: the peaks that grew, and the memory that makes them
 * grow. */
#include "cli/simulate/simulate.h"

#include "cli/common/array.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SHOWN = 8,         /* rows of contents for each side */
    LEAST_SHOWN = 64 * 1024 /* bytes: smaller changes are not shown */
};

bool cs_baseline_read(struct cs_baseline *baseline, const char *path, double tolerance)
{
    char error[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, error);
    *baseline = (struct cs_baseline){.path = path, .tolerance = tolerance};
    baseline->earlier = text ? cJSON_Parse(text) : NULL;
    const bool ours = cs_json_whole_at(baseline->earlier, "version", 0) == CS_SIMULATE_JSON_VERSION;
    if (!text)
        cs_cli_complain("simulate: --baseline %s: %s", path, error);
    else if (!ours)
        cs_cli_complain(
            "simulate: --baseline %s: no JSON of version %d of convshim simulate. Write it "
            "with: convshim simulate --format json -- COMMAND >FILE",
            path, CS_SIMULATE_JSON_VERSION);
    free(text);
    return ours;
}

void cs_baseline_free(struct cs_baseline *baseline)
{
    cJSON_Delete(baseline->earlier);
    baseline->earlier = NULL;
}

/* Tables that were not read from a file have their numbers as text (cs_table_json). */
static int64_t number_of(const cJSON *object, const char *name)
{
    const cJSON *item = cs_json_at(object, name);
    return cJSON_IsRaw(item) ? strtoll(item->valuestring, NULL, 10) : cs_json_whole(item, -1);
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cs_json_text(object, name);
    return text ? text : "";
}

/* --- contents of peaks --- */

/* Equal except for numbers of lines: "vae.py:312 forward" and "vae.py:313 forward". */
static bool is_same_place(const char *a, const char *b)
{
    while (*a && *a == *b) {
        const bool line = *a == ':' && isdigit((unsigned char)a[1]) && isdigit((unsigned char)b[1]);
        a++, b++;
        if (line) {
            a += strspn(a, "0123456789");
            b += strspn(b, "0123456789");
        }
    }
    return *a == *b;
}

struct growths {
    struct cs_growth *item;
    size_t count;
    bool broken;
};

static struct cs_growth *add_growth(struct growths *list)
{
    struct cs_growth *added = cs_array_add(&list->item, &list->count, sizeof *added);
    list->broken = list->broken || !added;
    return added;
}

/* The item of the same place, from index `from` on; NULL: there is none. */
static struct cs_growth *find_growth(struct growths *list, size_t from, const char *what,
                                     const char *of)
{
    for (size_t i = from; i < list->count; i++)
        if (strcmp(list->item[i].what, what) == 0 && is_same_place(list->item[i].of, of))
            return &list->item[i];
    return NULL;
}

/* Adds the rows of a peak. Rows of the same place become one: their order has no meaning. */
static void add_contents(struct growths *list, size_t from, enum cs_side side, const cJSON *rows,
                         bool is_now)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        const char *what = text_of(row, "what"), *of = text_of(row, "of");
        struct cs_growth *growth = find_growth(list, from, what, of);
        if (!growth)
            growth = add_growth(list);
        if (!growth)
            return;
        const int64_t bytes = number_of(row, "bytes");
        growth->side = side;
        snprintf(growth->what, sizeof growth->what, "%s", what);
        if (is_now || !*growth->of)
            snprintf(growth->of, sizeof growth->of, "%s", of);
        *(is_now ? &growth->after : &growth->before) += bytes > 0 ? bytes : 0;
    }
}

static int64_t change_of(const struct cs_growth *growth)
{
    return growth->after - growth->before;
}

static int larger_first(const void *left, const void *right)
{
    const int64_t a = llabs(change_of(left)), b = llabs(change_of(right));
    return (a < b) - (a > b);
}

static void compare_contents(struct growths *list, enum cs_side side, const cJSON *before,
                             const cJSON *now)
{
    const size_t from = list->count;
    add_contents(list, from, side, cs_json_at(before, "peak"), false);
    add_contents(list, from, side, cs_json_at(now, "peak"), true);
    if (list->broken || list->count == from)
        return;
    qsort(&list->item[from], list->count - from, sizeof *list->item, larger_first);
    size_t shown = 0;
    while (from + shown < list->count && shown < MOST_SHOWN &&
           llabs(change_of(&list->item[from + shown])) >= LEAST_SHOWN)
        shown++;
    list->count = from + shown;
}

/* --- sides --- */

static bool is_grown(const struct cs_baseline *baseline, int64_t before, int64_t after)
{
    return (double)after > (double)before * (1 + baseline->tolerance / 100);
}

/* True if the side ran and used memory of the device. */
static bool is_comparable(const cJSON *side)
{
    return cJSON_IsTrue(cs_json_at(side, "ran")) && number_of(side, "device_peak") > 0;
}

static void compare_side(const struct cs_baseline *baseline, enum cs_side side, const cJSON *now,
                         struct growths *list, bool *grown_p)
{
    const cJSON *a = cs_json_at(baseline->earlier, cs_side_names[side]),
                *b = cs_json_at(now, cs_side_names[side]);
    if (!is_comparable(a) || !is_comparable(b))
        return;
    for (int i = 0; i <= CS_FIGURE_device_peak; i++) {
        const struct cs_figure_kind *peak = &cs_figures[i];
        const int64_t before = number_of(a, peak->name), after = number_of(b, peak->name);
        struct cs_growth *growth = before >= 0 && after >= 0 ? add_growth(list) : NULL;
        if (!growth)
            continue;
        *growth = (struct cs_growth){.side = side, .before = before, .after = after};
        snprintf(growth->what, sizeof growth->what, "%s", peak->title);
        growth->grown = is_grown(baseline, before, after);
        *grown_p = *grown_p || growth->grown;
    }
    compare_contents(list, side, a, b);
}

struct cs_growth *cs_baseline_compare(const struct cs_baseline *baseline, const struct cJSON *now,
                                      size_t *growths_p, bool *grown_p)
{
    struct growths list = {.item = calloc(1, sizeof *list.item)};
    list.broken = !list.item;
    *grown_p = false;
    for (int side = 0; side < CS_SIDES && !list.broken; side++)
        compare_side(baseline, (enum cs_side)side, now, &list, grown_p);
    if (list.broken) {
        free(list.item);
        cs_cli_complain("out of memory");
        return NULL;
    }
    *growths_p = list.count;
    return list.item;
}

/* --- output --- */

static void print_growth(const struct cs_growth *growth, FILE *out)
{
    char before[CS_BYTES_TEXT], after[CS_BYTES_TEXT], change[CS_BYTES_TEXT];
    const int64_t bytes = change_of(growth);
    (void)cs_table_bytes_text(before, growth->before);
    (void)cs_table_bytes_text(after, growth->after);
    if (*growth->of) {
        fprintf(out, "    %c%-11s %s of ", bytes < 0 ? '-' : '+',
                cs_table_bytes_text(change, llabs(bytes)), growth->what);
        cs_cli_put(strcmp(growth->of, "-") == 0 ? "an unknown layer or line" : growth->of, out);
        fprintf(out, ", %s -> %s\n", before, after);
        return;
    }
    fprintf(out, "  %-14s %s -> %s", growth->what, before, after);
    if (growth->before > 0)
        fprintf(out, ", %+.2f %%", 100 * (double)bytes / (double)growth->before);
    fprintf(out, "%s\n", growth->grown ? ": GROWN" : "");
}

static void print_growths(const struct cs_baseline *baseline, const struct cs_growth *growth,
                          size_t growths, bool grown, FILE *out)
{
    const char *planning = text_of(baseline->earlier, "planning"),
               *version = cs_planning_version(planning);
    fprintf(out, "\nbaseline    %s, by %s%s on %s\n", baseline->path, version ? "cuDNN " : "",
            version ? version : planning, text_of(baseline->earlier, "device"));
    if (growths == 0)
        fputs("  No answer: a program did not run, or no side is in both.\n", out);
    for (size_t i = 0; i < growths; i++) {
        if (i == 0 || growth[i].side != growth[i - 1].side)
            fprintf(out, "%s\n", growth[i].side == CS_WITH ? "with convshim" : "without");
        print_growth(&growth[i], out);
    }
    if (growths > 0)
        fprintf(out, "%s by more than %g %%.\n", grown ? "A peak has grown" : "No peak has grown",
                baseline->tolerance);
}

static cJSON *growths_json(const struct cs_baseline *baseline, const struct cs_growth *growth,
                           size_t growths, bool grown)
{
    cJSON *object = cJSON_CreateObject(), *list = cJSON_CreateArray();
    cJSON_AddStringToObject(object, "file", baseline->path);
    cJSON_AddNumberToObject(object, "tolerance_percent", baseline->tolerance);
    if (growths == 0)
        cJSON_AddNullToObject(object, "grown");
    else
        cJSON_AddBoolToObject(object, "grown", grown);
    for (size_t i = 0; i < growths; i++) {
        cJSON *one = cJSON_CreateObject();
        cJSON_AddStringToObject(one, "run", cs_side_names[growth[i].side]);
        cJSON_AddStringToObject(one, "what", growth[i].what);
        if (*growth[i].of)
            cJSON_AddStringToObject(one, "of", growth[i].of);
        cJSON_AddNumberToObject(one, "before", (double)growth[i].before);
        cJSON_AddNumberToObject(one, "after", (double)growth[i].after);
        if (!*growth[i].of)
            cJSON_AddBoolToObject(one, "grown", growth[i].grown);
        cs_json_add(list, NULL, one);
    }
    cs_json_add(object, "changes", list);
    return object;
}

int cs_baseline_report(const struct cs_baseline *baseline, struct cJSON *now, FILE *out)
{
    size_t growths;
    bool grown;
    struct cs_growth *growth = cs_baseline_compare(baseline, now, &growths, &grown);
    if (!growth)
        return CS_CLI_NONE;
    if (out)
        print_growths(baseline, growth, growths, grown, out);
    else
        cs_json_add(now, "baseline", growths_json(baseline, growth, growths, grown));
    free(growth);
    return growths == 0 ? CS_CLI_NONE : grown ? CS_CLI_NO : CS_CLI_OK;
}
