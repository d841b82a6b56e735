/* Reads JSON summaries that the library wrote, and merges those of several processes. */
#include "cli/report/summary.h"

#include "account/summary_json.h"
#include "base/checked.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the members --- */

/* How the numbers of several runs become one. */
enum merge {
    SUM,
    MOST,
    LEAST,
    OWN /* of one run alone */
};

struct number_member {
    const char *place, *name; /* the object that has it, "" for the root; its name there */
    enum merge merge;
    size_t offset;
};

struct text_member {
    const char *place, *name;
    size_t offset;
};

#define RUN(member) offsetof(struct cs_run_summary, member)
static const struct number_member run_numbers[] = {
#define CS_TOTAL(name, merge, value) {"totals", #name, merge, RUN(name)},
#include "account/summary_numbers.def"
#undef CS_TOTAL
    {"own", "peak", SUM, RUN(own_peak)},
    {"process", "pid", OWN, RUN(pid)},
    {"process", "start_ms", LEAST, RUN(start_ms)},
    {"process", "end_ms", MOST, RUN(end_ms)},
};
static const struct text_member run_texts[] = {
    {"process", "program", RUN(program)},
    {"process", "script", RUN(script)},
    {"versions", "convshim", RUN(convshim)},
    {"versions", "vendor", RUN(vendor)},
    {"device", "name", RUN(device)},
    {"config", "source", RUN(source)},
    {"", "bypass", RUN(bypass)},
    {"", "advice", RUN(advice)},
};
#undef RUN

#define SITE(member) offsetof(struct cs_summary_site, member)
static const struct number_member site_numbers[] = {
#define CS_SITE_NUMBER(name, merge, value) {"", #name, merge, SITE(name)},
#include "account/summary_numbers.def"
#undef CS_SITE_NUMBER
};
static const struct text_member site_texts[] = {
    {"", "id", SITE(id)},
    {"", "name", SITE(name)},
    {"problem", "text", SITE(text)},
    {"problem", "direction", SITE(direction)},
};
#undef SITE

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const char **text_at(const struct text_member *member, void *object)
{
    return (const char **)(void *)((char *)object + member->offset);
}

static int64_t *number_at(const struct number_member *member, void *object)
{
    return (int64_t *)(void *)((char *)object + member->offset);
}

/* --- reading --- */

enum {
    PLACE_TEXT = 64
};

/* The state of a reader. `error` contains the first error. Later errors are ignored. */
struct reader {
    const char *path;
    char *error;
    bool wrong;
    char place[PLACE_TEXT]; /* "sites[3]: " */
};

__attribute__((format(printf, 2, 3))) static void refuse_member(struct reader *reader,
                                                                const char *format, ...)
{
    va_list arguments;
    if (reader->wrong)
        return;
    reader->wrong = true;
    int length =
        snprintf(reader->error, CS_SUMMARY_ERROR, "%.300s: %s", reader->path, reader->place);
    va_start(arguments, format);
    vsnprintf(reader->error + length, CS_SUMMARY_ERROR - (size_t)length, format, arguments);
    va_end(arguments);
}

/* The place of a member: `object` itself, or an object in it. */
static const cJSON *place_of(struct reader *reader, const cJSON *object, const char *name)
{
    if (!*name)
        return object;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsObject(item))
        refuse_member(reader, "%s is not an object", name);
    return item;
}

/* A whole number up to 2^53, so that a double holds it exactly. */
static int64_t read_number(struct reader *reader, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    double number = cJSON_GetNumberValue(item);
    if (cJSON_IsNumber(item) && number == floor(number) && number >= 0 && number <= 0x1p53)
        return (int64_t)number;
    refuse_member(reader, "%s is not a whole number of at least 0", name);
    return 0;
}

/* Replaces control characters, which change a terminal's state, by question marks: names may have
 * any source. Returns `text`. */
static const char *clean_text(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return text;
}

static const char *read_text(struct reader *reader, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsString(item))
        return clean_text(item->valuestring);
    refuse_member(reader, "%s: not a text", name);
    return "";
}

/* A text that may be null. */
static const char *read_choice(struct reader *reader, const cJSON *object, const char *name)
{
    bool none = cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, name));
    return none ? NULL : read_text(reader, object, name);
}

static void read_members(struct reader *reader, const cJSON *from,
                         const struct number_member *number, size_t numbers,
                         const struct text_member *text, size_t texts, void *to)
{
    for (size_t i = 0; i < numbers; i++)
        *number_at(&number[i], to) =
            read_number(reader, place_of(reader, from, number[i].place), number[i].name);
    for (size_t i = 0; i < texts; i++)
        *text_at(&text[i], to) =
            read_text(reader, place_of(reader, from, text[i].place), text[i].name);
}

/* The array of that name. Refuses the file if there is none. */
static const cJSON *array_of(struct reader *reader, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsArray(item))
        refuse_member(reader, "%s is not an array", name);
    return item;
}

/* Allocates room for the elements of a list, zeroed. An empty list gets room for one, so NULL
 * always means that the file is refused. *first_p: the first element, NULL if there is none. */
static void *begin_list(struct reader *reader, const cJSON *list, size_t size,
                        const cJSON **first_p)
{
    void *room = reader->wrong ? NULL : calloc((size_t)cJSON_GetArraySize(list) + 1, size);
    if (!room)
        refuse_member(reader, "out of memory");
    *first_p = room ? list->child : NULL;
    return room;
}

static void read_sites(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *item, *sites = array_of(reader, root, "sites");
    run->site = begin_list(reader, sites, sizeof *run->site, &item);
    for (; item && !reader->wrong; item = item->next) {
        struct cs_summary_site *site = &run->site[run->sites];
        snprintf(reader->place, sizeof reader->place, "sites[%zu]: ", run->sites++);
        read_members(reader, item, site_numbers, LENGTH(site_numbers), site_texts,
                     LENGTH(site_texts), site);
        site->reason = read_choice(reader, item, "reason");
        site->rule = read_choice(reader, item, "rule");
    }
    reader->place[0] = '\0';
}

static void read_passed(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *item, *totals = place_of(reader, root, "totals");
    const cJSON *passed = array_of(reader, totals, "not_tiled");
    run->passed = begin_list(reader, passed, sizeof *run->passed, &item);
    for (; item && !reader->wrong; item = item->next)
        run->passed[run->passed_count++] =
            (struct cs_summary_passed){.id = read_text(reader, item, "id"),
                                       .text = read_text(reader, item, "text"),
                                       .calls = read_number(reader, item, "calls")};
}

/* Joins the words of the command line with blanks. The JSON owns the text. */
static void read_command(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    cJSON *process = cJSON_GetObjectItemCaseSensitive(root, "process"), *word;
    const cJSON *words = cJSON_GetObjectItemCaseSensitive(process, "command");
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    cJSON_ArrayForEach(word, words)
    {
        if (out)
            fprintf(out, "%s%s", word == words->child ? "" : " ",
                    cJSON_IsString(word) ? word->valuestring : "");
    }
    bool whole = out && fclose(out) == 0 && text;
    const cJSON *joined =
        whole ? cJSON_AddStringToObject(process, "joined", clean_text(text)) : NULL;
    free(text);
    run->command = joined ? joined->valuestring : "";
    if (!joined)
        refuse_member(reader, "out of memory");
}

static void read_options(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *item, *config = place_of(reader, root, "config");
    const cJSON *options = place_of(reader, config, "options");
    run->option = begin_list(reader, options, sizeof *run->option, &item);
    for (; item && !reader->wrong; item = item->next)
        run->option[run->options++] = (struct cs_run_option){
            clean_text(item->string), read_text(reader, options, item->string)};
}

static bool is_summary(struct reader *reader, const cJSON *root, const char *text)
{
    const char *schema = cs_json_text(root, "schema");
    if (text[strspn(text, " \t\r\n")] == '[')
        refuse_member(
            reader,
            "this is a trace for Perfetto, not a summary. To write a summary: --summary json:PATH");
    else if (!root)
        refuse_member(reader, "not valid JSON");
    else if (!schema || strcmp(schema, "convshim summary") != 0)
        refuse_member(reader, "not a summary of convshim");
    if (reader->wrong)
        return false;
    int64_t version = read_number(reader, root, "version");
    if (version != CS_SUMMARY_VERSION)
        refuse_member(reader, "the summary has version %lld. This convshim reads version %d.",
                      (long long)version, CS_SUMMARY_VERSION);
    return !reader->wrong;
}

static void read_root(struct reader *reader, cJSON *root, struct cs_run_summary *run)
{
    const cJSON *process = place_of(reader, root, "process");
    read_members(reader, root, run_numbers, LENGTH(run_numbers), run_texts, LENGTH(run_texts), run);
    run->rank = cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(process, "rank"))
                    ? -1
                    : read_number(reader, process, "rank");
    read_command(reader, root, run);
    read_options(reader, root, run);
    read_passed(reader, root, run);
    read_sites(reader, root, run);
}

bool cs_summary_read(const char *path, struct cs_run_summary *run_p, char error[CS_SUMMARY_ERROR])
{
    struct reader reader = {.path = path, .error = error};
    struct cs_run_summary run = {.path = path, .runs = 1};
    char why[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, why);
    if (!text) {
        refuse_member(&reader, "%s", why);
        return false;
    }
    run.json = cJSON_ParseWithOpts(text, NULL, true);
    if (is_summary(&reader, run.json, text))
        read_root(&reader, run.json, &run);
    free(text);
    if (reader.wrong)
        cs_summary_fini(&run);
    else
        *run_p = run;
    return !reader.wrong;
}

void cs_summary_fini(struct cs_run_summary *run)
{
    cJSON_Delete(run->json);
    free(run->site);
    free(run->passed);
    free(run->option);
}

/* --- merging --- */

/* Merges the text of another run. *to_p is NULL before the first run. */
static void merge_text(const char **to_p, const char *text)
{
    if (!*to_p)
        *to_p = text;
    else if (strcmp(*to_p, text) != 0)
        *to_p = "(various)";
}

/* `first`: nothing was merged into `to` before. False if a sum exceeds 63 bits. */
static bool merge_numbers(const struct number_member *member, size_t members, void *to,
                          const void *from, bool first)
{
    bool good = true;
    for (size_t i = 0; i < members; i++) {
        int64_t *number = number_at(&member[i], to);
        int64_t amount = *number_at(&member[i], (void *)from); /* is only read */
        if (member[i].merge == SUM)
            good = cs_add(*number, amount, number) && good;
        else if (member[i].merge == MOST)
            cs_raise(number, amount);
        else if (member[i].merge == LEAST)
            *number = first || amount < *number ? amount : *number;
    }
    return good;
}

/* If a site was tiled in only one of the runs, the merged site counts as tiled. */
static bool add_site(struct cs_run_summary *merged, const struct cs_summary_site *site)
{
    size_t i = 0;
    while (i < merged->sites && strcmp(merged->site[i].id, site->id) != 0)
        i++;
    if (i == merged->sites) {
        merged->site[merged->sites++] = *site;
        return true;
    }
    struct cs_summary_site *to = &merged->site[i];
    to->reason = site->reason ? to->reason : NULL;
    to->name = *to->name ? to->name : site->name;
    return merge_numbers(site_numbers, LENGTH(site_numbers), to, site, false);
}

static bool add_passed(struct cs_run_summary *merged, const struct cs_summary_passed *passed)
{
    for (size_t i = 0; i < merged->passed_count; i++)
        if (strcmp(merged->passed[i].id, passed->id) == 0)
            return cs_add(merged->passed[i].calls, passed->calls, &merged->passed[i].calls);
    merged->passed[merged->passed_count++] = *passed;
    return true;
}

static void add_option(struct cs_run_summary *merged, const struct cs_run_option *option)
{
    size_t i = 0;
    while (i < merged->options && strcmp(merged->option[i].name, option->name) != 0)
        i++;
    if (i == merged->options)
        merged->option[merged->options++].name = option->name;
    merge_text(&merged->option[i].value, option->value);
}

static bool add_run(struct cs_run_summary *to, const struct cs_run_summary *run)
{
    bool good = merge_numbers(run_numbers, LENGTH(run_numbers), to, run, to->runs == 0);
    for (size_t i = 0; i < LENGTH(run_texts); i++)
        merge_text(text_at(&run_texts[i], to), *text_at(&run_texts[i], (void *)run));
    merge_text(&to->command, run->command);
    to->runs += run->runs;
    for (size_t i = 0; i < run->options; i++)
        add_option(to, &run->option[i]);
    for (size_t i = 0; i < run->sites; i++)
        good = add_site(to, &run->site[i]) && good;
    for (size_t i = 0; i < run->passed_count; i++)
        good = add_passed(to, &run->passed[i]) && good;
    return good;
}

bool cs_summary_merge(const struct cs_run_summary *runs, size_t count,
                      struct cs_run_summary *merged_p)
{
    struct cs_run_summary merged = {.rank = -1};
    size_t sites = 1, passed = 1, options = 1;
    for (size_t i = 0; i < count; i++) {
        sites += runs[i].sites;
        passed += runs[i].passed_count;
        options += runs[i].options;
    }
    merged.site = calloc(sites, sizeof *merged.site);
    merged.passed = calloc(passed, sizeof *merged.passed);
    merged.option = calloc(options, sizeof *merged.option);
    bool good = merged.site && merged.passed && merged.option;
    for (size_t i = 0; i < count && good; i++)
        good = add_run(&merged, &runs[i]);
    if (good)
        *merged_p = merged;
    else
        cs_summary_fini(&merged);
    return good;
}
