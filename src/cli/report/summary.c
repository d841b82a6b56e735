/* Reads JSON summaries that the library wrote, and merges those of several processes. Unknown
 * members are skipped. */
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

/* How the members of several runs become one. */
enum merge {
    TEXT,  /* the same, or "(various)" */
    FIRST, /* a text, that of the first */
    SUM,
    MOST,
    LEAST,
    OWN /* of one run alone */
};

struct member {
    const char *place, *name; /* the object that has it, "" for the root; its name there */
    enum merge merge;
    bool younger;  /* older summaries do not have it: then "" or 0 */
    size_t offset; /* of char * or int64_t */
};

#define RUN(place, name, merge, younger, member)                                                   \
    {                                                                                              \
        place, name, merge, younger, offsetof(struct cs_run_summary, member)                       \
    }
static const struct member run_members[] = {
    RUN("process", "pid", OWN, false, pid),
    RUN("process", "program", TEXT, false, program),
    RUN("process", "start_ms", LEAST, false, start_ms),
    RUN("process", "end_ms", MOST, false, end_ms),
    RUN("process", "script", TEXT, true, script),
    RUN("versions", "convshim", TEXT, false, convshim),
    RUN("versions", "vendor", TEXT, false, vendor),
    RUN("device", "name", TEXT, false, device),
    RUN("", "bypass", TEXT, false, bypass),
    RUN("config", "source", TEXT, true, source),
    RUN("totals", "calls", SUM, false, calls),
    RUN("totals", "tiled", SUM, false, tiled_calls),
    RUN("totals", "fallback", SUM, false, fallback),
    RUN("totals", "failed", SUM, false, failed),
    RUN("totals", "launches", SUM, false, launches),
    RUN("totals", "extra_launches", SUM, false, extra_launches),
    RUN("totals", "peak_without", MOST, true, peak_without),
    RUN("totals", "peak_with", MOST, true, peak_with),
    RUN("totals", "required_max", MOST, false, required_max),
    RUN("totals", "reported_max", MOST, false, reported_max),
    RUN("totals", "possible_max", MOST, true, possible_max),
    RUN("totals", "required_sum", SUM, false, required_sum),
    RUN("totals", "reported_sum", SUM, false, reported_sum),
    RUN("totals", "host_ns", SUM, false, host_ns),
    RUN("own", "peak", SUM, false, own_peak),
    RUN("folded", "calls", SUM, false, folded),
    /* A simulation adds the framework's peaks. */
    RUN("framework", "name", TEXT, true, framework),
    RUN("framework", "allocated_without", MOST, true, allocated_without),
    RUN("framework", "allocated_with", MOST, true, allocated_with),
};

#define SITE(place, name, merge, younger, member)                                                  \
    {                                                                                              \
        place, name, merge, younger, offsetof(struct cs_summary_site, member)                      \
    }
static const struct member site_members[] = {
    SITE("", "id", FIRST, false, id),
    SITE("", "name", FIRST, false, name),
    SITE("problem", "text", FIRST, false, text),
    SITE("", "required", MOST, false, required),
    SITE("", "reported", MOST, false, reported),
    SITE("", "possible", MOST, true, possible),
    SITE("", "calls", SUM, false, calls),
    SITE("", "tiled", SUM, false, tiled),
    SITE("", "fallback", SUM, false, fallback),
    SITE("", "failed", SUM, false, failed),
    SITE("", "launches", SUM, false, launches),
    SITE("", "host_ns", SUM, false, host_ns),
};

enum {
    RUN_MEMBERS = sizeof run_members / sizeof *run_members,
    SITE_MEMBERS = sizeof site_members / sizeof *site_members
};

static bool is_text(const struct member *member)
{
    return member->merge == TEXT || member->merge == FIRST;
}

static char **text_at(const struct member *member, void *object)
{
    return (char **)(void *)((char *)object + member->offset);
}

static int64_t *number_at(const struct member *member, void *object)
{
    return (int64_t *)(void *)((char *)object + member->offset);
}

/* --- reading --- */

enum {
    PLACE_TEXT = 64
};

/* The state of a reader. `error` contains the first error. Later errors are ignored. */
struct reader {
    bool list; /* the text begins as a list does */
    const char *path;
    char *error;
    bool wrong;
    char place[PLACE_TEXT]; /* "sites[3]." */
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

/* A whole number from `least` to 2^53, so that a double holds it exactly. */
static int64_t read_whole(struct reader *reader, const cJSON *item, const char *name, int64_t least)
{
    double number = cJSON_GetNumberValue(item);
    if (!cJSON_IsNumber(item) || number != floor(number) || number > 0x1p53 ||
        number < (double)least) {
        refuse_member(reader, "%s is not a whole number of at least %lld", name, (long long)least);
        return least;
    }
    return (int64_t)number;
}

/* Copies a text. Names may have any source: control characters, which change a terminal's state,
 * become question marks. */
static char *copy_member(struct reader *reader, const char *from)
{
    char *text = strdup(from);
    if (!text)
        refuse_member(reader, "out of memory");
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return text;
}

static char *text_of(struct reader *reader, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsString(item))
        return copy_member(reader, item->valuestring);
    refuse_member(reader, "%s: not a text", name);
    return NULL;
}

static const cJSON *object_of(struct reader *reader, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsObject(item))
        refuse_member(reader, "%s is not an object", name);
    return item;
}

static const cJSON *array_of(struct reader *reader, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsArray(item))
        refuse_member(reader, "%s is not an array", name);
    return item;
}

const char *const cs_summary_directions[CS_SUMMARY_DIRECTIONS] = {"forward", "dgrad", "wgrad"};

static int read_direction(struct reader *reader, const cJSON *problem)
{
    const char *text = cs_json_text(problem, "direction");
    for (int i = 0; i < CS_SUMMARY_DIRECTIONS; i++)
        if (text && strcmp(text, cs_summary_directions[i]) == 0)
            return i;
    refuse_member(reader, "direction is not forward, dgrad or wgrad");
    return 0;
}

/* Room for a list's elements; one at least, so that NULL always means that memory ran out. */
static void *room_for(struct reader *reader, const cJSON *array, size_t size)
{
    int count = cJSON_GetArraySize(array);
    void *room = reader->wrong ? NULL : calloc((size_t)count + 1, size);
    if (!room)
        refuse_member(reader, "out of memory");
    return room;
}

static void read_member(struct reader *reader, const struct member *member, const cJSON *root,
                        void *to)
{
    const cJSON *place = root;
    if (*member->place && member->younger)
        place = cJSON_GetObjectItemCaseSensitive(root, member->place);
    else if (*member->place)
        place = object_of(reader, root, member->place);
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(place, member->name);
    bool missing = !item && member->younger;
    if (is_text(member))
        *text_at(member, to) =
            missing ? copy_member(reader, "") : text_of(reader, place, member->name);
    else if (!missing)
        *number_at(member, to) = read_whole(reader, item, member->name, 0);
}

static void read_site(struct reader *reader, const cJSON *from, struct cs_summary_site *site)
{
    const cJSON *reason = cJSON_GetObjectItemCaseSensitive(from, "reason");
    site->possible = -1;
    for (int k = 0; k < SITE_MEMBERS; k++)
        read_member(reader, &site_members[k], from, site);
    if (site->possible < 0)
        site->possible = site->reported;
    site->reason = cJSON_IsNull(reason) ? NULL : text_of(reader, from, "reason");
    if (cJSON_IsString(cJSON_GetObjectItemCaseSensitive(from, "rule")))
        site->rule = text_of(reader, from, "rule");
    site->direction = read_direction(reader, cJSON_GetObjectItemCaseSensitive(from, "problem"));
}

static void read_sites(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *sites = array_of(reader, root, "sites"), *site;
    run->site = room_for(reader, sites, sizeof *run->site);
    for (site = reader->wrong ? NULL : sites->child; site && !reader->wrong; site = site->next) {
        snprintf(reader->place, sizeof reader->place, "sites[%zu]: ", run->sites);
        read_site(reader, site, &run->site[run->sites++]);
    }
    reader->place[0] = '\0';
}

static void read_passed(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *totals = object_of(reader, root, "totals");
    const cJSON *passed = array_of(reader, totals, "not_tiled"), *item;
    run->passed = room_for(reader, passed, sizeof *run->passed);
    for (item = reader->wrong ? NULL : passed->child; item && !reader->wrong; item = item->next) {
        struct cs_summary_passed *to = &run->passed[run->passed_count++];
        to->id = text_of(reader, item, "id");
        to->text = text_of(reader, item, "text");
        to->calls = read_whole(reader, cJSON_GetObjectItemCaseSensitive(item, "calls"), "calls", 0);
    }
}

/* The words of the command line with blanks between them. */
static char *read_command(struct reader *reader, const cJSON *process)
{
    const cJSON *words = cJSON_GetObjectItemCaseSensitive(process, "command"), *word;
    size_t size = 1;
    cJSON_ArrayForEach(word, words) size +=
        strlen(cJSON_IsString(word) ? word->valuestring : "") + 1;
    char *text = calloc(1, size), *end = text;
    if (!text)
        refuse_member(reader, "out of memory");
    for (word = text && words ? words->child : NULL; word; word = word->next) {
        const char *from = cJSON_IsString(word) ? word->valuestring : "";
        if (end > text)
            *end++ = ' ';
        for (; *from; from++)
            *end++ = (char)((unsigned char)*from < ' ' || *from == 0x7f ? '?' : *from);
    }
    return text;
}

static void read_options(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *config = object_of(reader, root, "config"), *item;
    const cJSON *options = object_of(reader, config, "options");
    run->option = room_for(reader, options, sizeof *run->option);
    for (item = reader->wrong ? NULL : options->child; item && !reader->wrong; item = item->next) {
        struct cs_run_option *to = &run->option[run->options++];
        to->name = strdup(item->string);
        to->value = text_of(reader, options, item->string);
        if (!to->name)
            refuse_member(reader, "out of memory");
    }
}

static void read_root(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const char *schema = cs_json_text(root, "schema");
    if (reader->list && (!root || cJSON_IsArray(root))) {
        refuse_member(
            reader,
            "this is a trace for Perfetto, not a summary. To write a summary: --summary json:PATH");
        return;
    }
    if (!root) {
        refuse_member(reader, "not valid JSON");
        return;
    }
    if (!schema || strcmp(schema, "convshim summary") != 0) {
        refuse_member(reader, "not a summary of convshim");
        return;
    }
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, "version");
    int64_t version = read_whole(reader, item, "version", 0);
    if (version != CS_SUMMARY_VERSION)
        refuse_member(reader, "the summary has version %lld. This convshim reads version %d.",
                      (long long)version, CS_SUMMARY_VERSION);
    run->possible_max = -1;
    for (int k = 0; k < RUN_MEMBERS; k++)
        read_member(reader, &run_members[k], root, run);
    if (run->possible_max < 0)
        run->possible_max = run->reported_max;
    const cJSON *process = cJSON_GetObjectItemCaseSensitive(root, "process");
    const cJSON *rank = cJSON_GetObjectItemCaseSensitive(process, "rank");
    run->rank = cJSON_IsNull(rank) ? -1 : read_whole(reader, rank, "rank", 0);
    run->command = read_command(reader, process);
    read_options(reader, root, run);
    read_passed(reader, root, run);
    read_sites(reader, root, run);
}

bool cs_summary_read(const char *path, struct cs_run_summary *run_p, char error[CS_SUMMARY_ERROR])
{
    struct reader reader = {.path = path, .error = error};
    struct cs_run_summary run = {.path = strdup(path), .runs = 1};
    char why[CS_FILE_ERROR];
    char *text = cs_read_file_text(path, why);
    if (!run.path)
        refuse_member(&reader, "out of memory");
    if (text) {
        cJSON *root = cJSON_ParseWithOpts(text, NULL, true);
        reader.list = text[strspn(text, " \t\r\n")] == '[';
        read_root(&reader, root, &run);
        cJSON_Delete(root);
    } else {
        refuse_member(&reader, "%s", why);
    }
    free(text);
    if (reader.wrong)
        cs_summary_fini(&run);
    else
        *run_p = run;
    return !reader.wrong;
}

void cs_summary_fini(struct cs_run_summary *run)
{
    for (size_t i = 0; i < run->sites; i++) {
        for (int k = 0; k < SITE_MEMBERS; k++)
            if (is_text(&site_members[k]))
                free(*text_at(&site_members[k], &run->site[i]));
        free(run->site[i].reason);
        free(run->site[i].rule);
    }
    for (size_t i = 0; i < run->passed_count; i++) {
        free(run->passed[i].id);
        free(run->passed[i].text);
    }
    for (size_t i = 0; i < run->options; i++) {
        free(run->option[i].name);
        free(run->option[i].value);
    }
    for (int k = 0; k < RUN_MEMBERS; k++)
        if (is_text(&run_members[k]))
            free(*text_at(&run_members[k], run));
    free(run->command);
    free(run->path);
    free(run->site);
    free(run->passed);
    free(run->option);
}

/* --- merging --- */

struct merger {
    struct cs_run_summary merged;
    bool broken; /* memory ran out, or a sum left 63 bits */
};

static void add_to_sum(struct merger *merger, int64_t *to, int64_t amount)
{
    merger->broken = merger->broken || !cs_add(*to, amount, to);
}

static char *copy_text(struct merger *merger, const char *text)
{
    char *copied = text ? strdup(text) : NULL;
    merger->broken = merger->broken || (text && !copied);
    return copied;
}

/* Merges a text of the runs: the text if it is equal in all runs, else "(various)". */
static void merge_text(struct merger *merger, char **to, const char *text)
{
    if (*to && strcmp(*to, text) == 0)
        return;
    const char *agreed = *to ? "(various)" : text;
    free(*to);
    *to = copy_text(merger, agreed);
}

/* `first`: nothing was merged into `to` before. */
static void merge_member(struct merger *merger, const struct member *member, void *to,
                         const void *from, bool first)
{
    void *other = (void *)from; /* is only read */
    if (is_text(member)) {
        if (member->merge == TEXT || !*text_at(member, to))
            merge_text(merger, text_at(member, to), *text_at(member, other));
        return;
    }
    int64_t *number = number_at(member, to), amount = *number_at(member, other);
    if (member->merge == SUM)
        add_to_sum(merger, number, amount);
    else if (member->merge == MOST)
        cs_raise(number, amount);
    else if (member->merge == LEAST)
        *number = first || amount < *number ? amount : *number;
}

static struct cs_summary_site *site_of(struct merger *merger, const struct cs_summary_site *site)
{
    struct cs_run_summary *merged = &merger->merged;
    for (size_t i = 0; i < merged->sites; i++)
        if (merged->site[i].id && strcmp(merged->site[i].id, site->id) == 0)
            return &merged->site[i];
    struct cs_summary_site *added = &merged->site[merged->sites++];
    *added = (struct cs_summary_site){.reason = copy_text(merger, site->reason),
                                      .rule = copy_text(merger, site->rule),
                                      .direction = site->direction};
    return added;
}

/* If a site was tiled in only one of the runs, the merged site counts as tiled. */
static void add_site(struct merger *merger, const struct cs_summary_site *site)
{
    struct cs_summary_site *to = site_of(merger, site);
    if (!site->reason && to->reason) {
        free(to->reason);
        to->reason = NULL;
    }
    for (int k = 0; k < SITE_MEMBERS; k++)
        merge_member(merger, &site_members[k], to, site, false);
}

static void add_passed(struct merger *merger, const struct cs_summary_passed *passed)
{
    struct cs_run_summary *merged = &merger->merged;
    size_t i = 0;
    while (i < merged->passed_count &&
           (!merged->passed[i].id || strcmp(merged->passed[i].id, passed->id) != 0))
        i++;
    if (i == merged->passed_count)
        merged->passed[merged->passed_count++] = (struct cs_summary_passed){
            .id = copy_text(merger, passed->id), .text = copy_text(merger, passed->text)};
    add_to_sum(merger, &merged->passed[i].calls, passed->calls);
}

static void add_option(struct merger *merger, const struct cs_run_option *option)
{
    struct cs_run_summary *merged = &merger->merged;
    size_t i = 0;
    while (i < merged->options && merged->option[i].name &&
           strcmp(merged->option[i].name, option->name) != 0)
        i++;
    if (i == merged->options)
        merged->option[merged->options++].name = copy_text(merger, option->name);
    merge_text(merger, &merged->option[i].value, option->value);
}

static void add_run(struct merger *merger, const struct cs_run_summary *run)
{
    struct cs_run_summary *to = &merger->merged;
    for (int k = 0; k < RUN_MEMBERS; k++)
        merge_member(merger, &run_members[k], to, run, to->runs == 0);
    merge_text(merger, &to->command, run->command);
    add_to_sum(merger, &to->runs, run->runs);
    for (size_t i = 0; i < run->options && !merger->broken; i++)
        add_option(merger, &run->option[i]);
    for (size_t i = 0; i < run->sites && !merger->broken; i++)
        add_site(merger, &run->site[i]);
    for (size_t i = 0; i < run->passed_count && !merger->broken; i++)
        add_passed(merger, &run->passed[i]);
}

bool cs_summary_merge(const struct cs_run_summary *runs, size_t count,
                      struct cs_run_summary *merged_p)
{
    struct merger merger = {.merged = {.rank = -1}};
    size_t sites = 1, passed = 1, options = 1;
    for (size_t i = 0; i < count; i++) {
        sites += runs[i].sites;
        passed += runs[i].passed_count;
        options += runs[i].options;
    }
    merger.merged.site = calloc(sites, sizeof *merger.merged.site);
    merger.merged.passed = calloc(passed, sizeof *merger.merged.passed);
    merger.merged.option = calloc(options, sizeof *merger.merged.option);
    merger.broken = !merger.merged.site || !merger.merged.passed || !merger.merged.option;
    for (size_t i = 0; i < count && !merger.broken; i++)
        add_run(&merger, &runs[i]);
    if (merger.broken)
        cs_summary_fini(&merger.merged);
    else
        *merged_p = merger.merged;
    return !merger.broken;
}
