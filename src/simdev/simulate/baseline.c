/* Compares an answer with an earlier one: the peaks that grew, and the memory that makes them grow.
 */
#include "simdev/simulate/simulate.h"

#include "base/checked.h"
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

struct cJSON *cs_baseline_read(const char *path)
{
    char error[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, error);
    cJSON *earlier = text ? cJSON_Parse(text) : NULL;
    const bool ours = cs_json_whole_at(earlier, "version", 0) == CS_SIMULATE_JSON_VERSION &&
                      (cs_json_at(earlier, "without.ran") || cs_json_at(earlier, "with.ran"));
    if (!text)
        cs_cli_complain("simulate: --baseline %s: %s", path, error);
    else if (!ours)
        cs_cli_complain("simulate: --baseline %s: %s, not a result of convshim simulate (version "
                        "%d). Write one "
                        "with: convshim simulate --format json -- COMMAND >FILE",
                        path,
                        !earlier                         ? "not JSON"
                        : cs_json_at(earlier, "schema")  ? "a summary"
                        : cs_json_at(earlier, "rows_of") ? "rows of several runs"
                                                         : "other JSON",
                        CS_SIMULATE_JSON_VERSION);
    free(text);
    if (ours)
        return earlier;
    cJSON_Delete(earlier);
    return NULL;
}

/* --- contents of peaks --- */

/* Memory that one layer or line of the program holds at the earlier peak and at the new one. Its
 * texts are the answers'. */
struct content {
    const char *what, *of;
    int64_t before, after;
};

/* True if two texts are equal except for numbers of lines: "vae.py:312 forward" and "vae.py:313
 * forward". */
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

/* Adds the rows of a peak to the list. Rows of the same place become one: their order has no
 * meaning. Returns the number of items. */
static size_t add_contents(struct content *content, size_t contents, const cJSON *peak, bool is_now)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, peak)
    {
        const char *what = cs_json_text(row, "what"), *of = cs_json_text(row, "of");
        size_t i = 0;
        if (!what || !of)
            continue;
        while (i < contents &&
               (strcmp(content[i].what, what) != 0 || !is_same_place(content[i].of, of)))
            i++;
        if (i == contents)
            content[contents++] = (struct content){.what = what, .of = of};
        content[i].of = of;
        *(is_now ? &content[i].after : &content[i].before) += cs_json_whole_at(row, "bytes", 0);
    }
    return contents;
}

static int64_t change_of(const struct content *content)
{
    return content->after - content->before;
}

static int larger_first(const void *left, const void *right)
{
    const int64_t a = llabs(change_of(left)), b = llabs(change_of(right));
    return (a < b) - (a > b);
}

/* Adds a change to the array, and returns it. `of`: the layer or line; NULL: `what` is a peak. */
static cJSON *add_change(cJSON *changes, const char *side, const char *what, const char *of,
                         int64_t before, int64_t after)
{
    cJSON *change = cJSON_CreateObject();
    cJSON_AddStringToObject(change, "run", side);
    cJSON_AddStringToObject(change, "what", what);
    if (of)
        cJSON_AddStringToObject(change, "of", of);
    cJSON_AddNumberToObject(change, "before", (double)before);
    cJSON_AddNumberToObject(change, "after", (double)after);
    cs_json_add(changes, NULL, change);
    return change;
}

/* Adds the largest changes of the contents of a side's peak. */
static void compare_contents(const char *side, const cJSON *before, const cJSON *after,
                             cJSON *changes)
{
    const cJSON *a = cs_json_at(before, "peak"), *b = cs_json_at(after, "peak");
    const size_t rows = (size_t)cJSON_GetArraySize(a) + (size_t)cJSON_GetArraySize(b);
    struct content *content = calloc(rows + 1, sizeof *content);
    if (!content) {
        cs_json_add(changes, NULL, NULL);
        return;
    }
    size_t contents = add_contents(content, 0, a, false);
    contents = add_contents(content, contents, b, true);
    qsort(content, contents, sizeof *content, larger_first);
    for (size_t i = 0; i < contents && i < MOST_SHOWN; i++)
        if (llabs(change_of(&content[i])) >= LEAST_SHOWN)
            (void)add_change(changes, side, content[i].what, content[i].of, content[i].before,
                             content[i].after);
    free(content);
}

/* --- engines --- */

/* Returns the convolution of that text with the largest workspace; NULL: there is none. */
static const cJSON *find_convolution(const cJSON *answer, const char *of)
{
    const cJSON *one, *found = NULL;
    cJSON_ArrayForEach(one, cs_json_at(answer, "convolutions"))
    {
        const char *text = cs_json_text(one, "of");
        if (text && strcmp(text, of) == 0 &&
            (!found ||
             cs_json_whole_at(one, "required", 0) > cs_json_whole_at(found, "required", 0)))
            found = one;
    }
    return found;
}

static int64_t growth_of(const cJSON *cause)
{
    return llabs(cs_json_whole_at(cause, "after", 0) - cs_json_whole_at(cause, "before", 0));
}

/* Adds a cause to the list, whose first ones have the largest change of the workspace. */
static void insert_cause(cJSON *causes, cJSON *cause)
{
    int at = 0;
    const cJSON *other;
    cJSON_ArrayForEach(other, causes)
    {
        if (growth_of(other) < growth_of(cause))
            break;
        at++;
    }
    if (!cJSON_InsertItemInArray(causes, at, cause))
        cJSON_Delete(cause);
}

/* Returns the convolutions that both answers have and whose engine changed, with the workspaces
 * that their engines require. */
static cJSON *find_causes(const cJSON *earlier, const cJSON *answer)
{
    cJSON *causes = cJSON_CreateArray();
    const cJSON *one;
    cJSON_ArrayForEach(one, cs_json_at(answer, "convolutions"))
    {
        const char *of = cs_json_text(one, "of");
        const cJSON *before = of ? find_convolution(earlier, of) : NULL;
        const int64_t engine = cs_json_whole_at(one, "engine", -1),
                      old = cs_json_whole_at(before, "engine", -1);
        if (!before || find_convolution(answer, of) != one || engine == old)
            continue;
        cJSON *cause = cJSON_CreateObject();
        cJSON_AddStringToObject(cause, "of", of);
        cJSON_AddNumberToObject(cause, "engine_before", (double)old);
        cJSON_AddNumberToObject(cause, "engine_after", (double)engine);
        cJSON_AddNumberToObject(cause, "before", cs_json_double(before, "required"));
        cJSON_AddNumberToObject(cause, "after", cs_json_double(one, "required"));
        insert_cause(causes, cause);
    }
    return causes;
}

/* --- the comparison --- */

/* True if the side ran and used memory of the device. */
static bool is_comparable(const cJSON *side)
{
    return cJSON_IsTrue(cs_json_at(side, "ran")) && cs_json_whole_at(side, "device_peak", 0) > 0;
}

/* Adds the changes of a side's peaks and, with `contents`, of their contents. True if a peak has
 * grown. */
static bool compare_side(const char *side, const cJSON *earlier, const cJSON *answer,
                         double tolerance, bool contents, cJSON *changes)
{
    const cJSON *a = cs_json_at(earlier, side), *b = cs_json_at(answer, side);
    bool any = false;
    if (!is_comparable(a) || !is_comparable(b))
        return false;
    for (int i = 0; i <= CS_FIGURE_device_peak; i++) {
        const int64_t before = cs_json_whole_at(a, cs_figures[i].name, -1),
                      after = cs_json_whole_at(b, cs_figures[i].name, -1);
        if (before < 0 || after < 0)
            continue;
        const bool grown = (double)after > (double)before * (1 + tolerance / 100);
        cJSON_AddBoolToObject(add_change(changes, side, cs_figures[i].title, NULL, before, after),
                              "grown", grown);
        any = any || grown;
    }
    if (contents)
        compare_contents(side, a, b, changes);
    return any;
}

/* True if the largest change of a workspace by another engine is at least half of the growth of the
 * peaks. */
static bool is_explained(const cJSON *causes, const cJSON *earlier, const cJSON *answer)
{
    int64_t grown = 0;
    for (int side = 0; side < CS_SIDES; side++) {
        const cJSON *a = cs_json_at(earlier, cs_side_names[side]),
                    *b = cs_json_at(answer, cs_side_names[side]);
        const char *peak = cs_json_at(b, "allocated_peak") ? "allocated_peak" : "device_peak";
        grown = cs_max(grown, cs_json_whole_at(b, peak, 0) - cs_json_whole_at(a, peak, 0));
    }
    return causes && causes->child && growth_of(causes->child) >= grown / 2;
}

int cs_baseline_compare(const struct cJSON *earlier, const char *path, double tolerance,
                        struct cJSON *answer)
{
    cJSON *object = cJSON_CreateObject(), *changes = cJSON_CreateArray(),
          *causes = find_causes(earlier, answer);
    const bool explained = is_explained(causes, earlier, answer);
    bool grown = false;
    for (int side = 0; side < CS_SIDES; side++)
        if (compare_side(cs_side_names[side], earlier, answer, tolerance, !explained, changes))
            grown = true;
    const bool compared = changes && changes->child;
    cJSON_AddStringToObject(object, "file", path);
    cJSON_AddNumberToObject(object, "tolerance_percent", tolerance);
    if (compared)
        cJSON_AddBoolToObject(object, "grown", grown);
    else
        cJSON_AddNullToObject(object, "grown");
    cs_json_add(object, "changes", changes);
    cs_json_add(object, "causes", causes);
    cJSON_AddBoolToObject(object, "explained", explained);
    cs_json_add(answer, "baseline", object);
    return !compared ? CS_CLI_NONE : grown ? CS_CLI_NO : CS_CLI_OK;
}

/* --- text --- */

/* Prints a change of a peak, or of its contents. */
static void print_change(const cJSON *change, FILE *out)
{
    char before_text[CS_BYTES_TEXT], after_text[CS_BYTES_TEXT], bytes[CS_BYTES_TEXT];
    const char *what = cs_json_text(change, "what"), *of = cs_json_text(change, "of");
    const int64_t before = cs_json_whole_at(change, "before", 0),
                  after = cs_json_whole_at(change, "after", 0), more = after - before;
    (void)cs_table_bytes_text(before_text, before);
    (void)cs_table_bytes_text(after_text, after);
    if (of) {
        fprintf(out, "    %c%-11s %s of ", more < 0 ? '-' : '+',
                cs_table_bytes_text(bytes, llabs(more)), what);
        cs_cli_put(strcmp(of, "-") == 0 ? "an unknown layer or line" : of, out);
        fprintf(out, ", %s -> %s\n", before_text, after_text);
        return;
    }
    fprintf(out, "  %-14s %s -> %s", what, before_text, after_text);
    if (before > 0)
        fprintf(out, ", %+.2f %%", 100 * (double)more / (double)before);
    fputs(cJSON_IsTrue(cs_json_at(change, "grown")) ? ": GROWN\n" : "\n", out);
}

/* Returns the planner's version of an answer, "?" if it is not known. */
static const char *version_of(const cJSON *answer)
{
    const char *planning = cs_json_text(answer, "planning"),
               *version = planning ? cs_planning_version(planning) : NULL;
    return version ? version : "?";
}

/* Prints the convolutions whose engine changed, and that cuDNN did. */
static void print_causes(const cJSON *earlier, const cJSON *answer, FILE *out)
{
    const cJSON *causes = cs_json_at(answer, "baseline.causes"), *cause;
    const char *before = version_of(earlier), *after = version_of(answer);
    const int all = cJSON_GetArraySize(causes);
    char from[CS_BYTES_TEXT], to[CS_BYTES_TEXT];
    int shown = 0;
    if (all == 0)
        return;
    fputs(cJSON_IsTrue(cs_json_at(answer, "baseline.explained")) ? "why\n" : "engines\n", out);
    if (strcmp(before, after) != 0)
        fprintf(out, "  cuDNN changed, %s -> %s, and chose other engines for %d convolution%s:\n",
                before, after, all, all == 1 ? "" : "s");
    else
        fprintf(out, "  cuDNN %s chose other engines for %d convolution%s:\n", after, all,
                all == 1 ? "" : "s");
    cJSON_ArrayForEach(cause, causes)
    {
        if (shown++ == MOST_SHOWN)
            break;
        fputs("    ", out);
        cs_cli_put(cs_json_text(cause, "of"), out);
        fprintf(out, ": workspace %s -> %s, engine %.0f -> %.0f\n",
                cs_table_bytes_text(from, cs_json_whole_at(cause, "before", 0)),
                cs_table_bytes_text(to, cs_json_whole_at(cause, "after", 0)),
                cs_json_double(cause, "engine_before"), cs_json_double(cause, "engine_after"));
    }
}

void cs_baseline_print(const struct cJSON *earlier, const struct cJSON *answer, FILE *out)
{
    const char *planning = cs_json_text(earlier, "planning"),
               *device = cs_json_text(earlier, "device"),
               *version = planning ? cs_planning_version(planning) : NULL, *side = "";
    const cJSON *of = cs_json_at(answer, "baseline"), *grown = cs_json_at(of, "grown"), *change;
    fprintf(out, "\nbaseline    %s, by %s%s on %s\n", cs_json_text(of, "file"),
            version ? "cuDNN " : "",
            version    ? version
            : planning ? planning
                       : "",
            device ? device : "");
    cJSON_ArrayForEach(change, cs_json_at(of, "changes"))
    {
        const char *run = cs_json_text(change, "run");
        if (strcmp(run, side) != 0)
            fprintf(out, "%s\n", strcmp(run, "with") == 0 ? "with convshim" : run);
        side = run;
        print_change(change, out);
    }
    print_causes(earlier, answer, out);
    if (cJSON_IsNull(grown))
        fputs("  No answer: a program did not run, or no side is in both.\n", out);
    else
        fprintf(out, "%s by more than %g %%.\n",
                cJSON_IsTrue(grown) ? "A peak has grown" : "No peak has grown",
                cs_json_double(of, "tolerance_percent"));
}
