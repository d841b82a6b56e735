/* Reads a JSON summary that the library wrote; unknown members are skipped. */
#include "cli/report/summary_reader.h"

#include "account/summary_json.h"
#include "cli/common/read_file.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int64_t count_of(struct reader *reader, const cJSON *object, const char *name)
{
    return read_whole(reader, cJSON_GetObjectItemCaseSensitive(object, name), name, 0);
}

/* The same; `fallback` if the summary is older than the member. */
static int64_t younger_count(struct reader *reader, const cJSON *object, const char *name,
                             int64_t fallback)
{
    return cJSON_HasObjectItem(object, name) ? count_of(reader, object, name) : fallback;
}

/* Copies a text. Names may have any source: control characters, which change a terminal's state,
 * become question marks. */
static char *text_of(struct reader *reader, const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsString(item)) {
        refuse_member(reader, "%s: not a text", name);
        return NULL;
    }
    char *text = strdup(item->valuestring);
    if (!text)
        refuse_member(reader, "out of memory");
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return text;
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
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(problem, "direction"));
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

static void read_site(struct reader *reader, const cJSON *from, struct cs_summary_site *site)
{
    const cJSON *problem = object_of(reader, from, "problem");
    const cJSON *reason = cJSON_GetObjectItemCaseSensitive(from, "reason");
    site->id = text_of(reader, from, "id");
    site->name = text_of(reader, from, "name");
    site->text = text_of(reader, problem, "text");
    site->reason = cJSON_IsNull(reason) ? NULL : text_of(reader, from, "reason");
    site->direction = read_direction(reader, problem);
    site->required = count_of(reader, from, "required");
    site->reported = count_of(reader, from, "reported");
    site->possible = younger_count(reader, from, "possible", site->reported);
    site->calls = count_of(reader, from, "calls");
    site->tiled = count_of(reader, from, "tiled");
    site->fallback = count_of(reader, from, "fallback");
    site->failed = count_of(reader, from, "failed");
    site->launches = count_of(reader, from, "launches");
    site->host_ns = count_of(reader, from, "host_ns");
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

static void read_passed(struct reader *reader, const cJSON *totals, struct cs_run_summary *run)
{
    const cJSON *passed = array_of(reader, totals, "not_tiled"), *item;
    run->passed = room_for(reader, passed, sizeof *run->passed);
    for (item = reader->wrong ? NULL : passed->child; item && !reader->wrong; item = item->next) {
        struct cs_summary_passed *to = &run->passed[run->passed_count++];
        to->id = text_of(reader, item, "id");
        to->text = text_of(reader, item, "text");
        to->calls = count_of(reader, item, "calls");
    }
}

/* A text that older summaries do not have. */
static char *younger_text(struct reader *reader, const cJSON *object, const char *name)
{
    if (cJSON_HasObjectItem(object, name))
        return text_of(reader, object, name);
    char *none = strdup("");
    if (!none)
        refuse_member(reader, "out of memory");
    return none;
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

static void read_process(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *process = object_of(reader, root, "process");
    const cJSON *rank = cJSON_GetObjectItemCaseSensitive(process, "rank");
    const cJSON *versions = object_of(reader, root, "versions");
    run->pid = count_of(reader, process, "pid");
    run->rank = cJSON_IsNull(rank) ? -1 : read_whole(reader, rank, "rank", 0);
    run->program = text_of(reader, process, "program");
    run->start_ms = count_of(reader, process, "start_ms");
    run->end_ms = count_of(reader, process, "end_ms");
    run->script = younger_text(reader, process, "script");
    run->command = read_command(reader, process);
    run->convshim = text_of(reader, versions, "convshim");
    run->vendor = text_of(reader, versions, "vendor");
    run->device = text_of(reader, object_of(reader, root, "device"), "name");
    run->bypass = text_of(reader, root, "bypass");
}

static void read_options(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *config = object_of(reader, root, "config"), *item;
    const cJSON *options = object_of(reader, config, "options");
    run->source = younger_text(reader, config, "source");
    run->option = room_for(reader, options, sizeof *run->option);
    for (item = reader->wrong ? NULL : options->child; item && !reader->wrong; item = item->next) {
        struct cs_run_option *to = &run->option[run->options++];
        to->name = strdup(item->string);
        to->value = text_of(reader, options, item->string);
        if (!to->name)
            refuse_member(reader, "out of memory");
    }
}

static void read_totals(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *totals = object_of(reader, root, "totals");
    run->calls = count_of(reader, totals, "calls");
    run->tiled_calls = count_of(reader, totals, "tiled");
    run->fallback = count_of(reader, totals, "fallback");
    run->failed = count_of(reader, totals, "failed");
    run->launches = count_of(reader, totals, "launches");
    run->extra_launches = count_of(reader, totals, "extra_launches");
    run->peak_without = younger_count(reader, totals, "peak_without", 0);
    run->peak_with = younger_count(reader, totals, "peak_with", 0);
    run->required_max = count_of(reader, totals, "required_max");
    run->reported_max = count_of(reader, totals, "reported_max");
    run->possible_max = younger_count(reader, totals, "possible_max", run->reported_max);
    run->required_sum = count_of(reader, totals, "required_sum");
    run->reported_sum = count_of(reader, totals, "reported_sum");
    run->host_ns = count_of(reader, totals, "host_ns");
    run->own_peak = count_of(reader, object_of(reader, root, "own"), "peak");
    run->folded = count_of(reader, object_of(reader, root, "folded"), "calls");
    read_passed(reader, totals, run);
}

/* A simulation adds the framework's peaks. */
static void read_framework(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const cJSON *framework = cJSON_GetObjectItemCaseSensitive(root, "framework");
    run->framework = framework ? text_of(reader, framework, "name") : strdup("");
    if (!run->framework)
        refuse_member(reader, "out of memory");
    if (framework) {
        run->allocated_without = count_of(reader, framework, "allocated_without");
        run->allocated_with = count_of(reader, framework, "allocated_with");
    }
}

static void read_root(struct reader *reader, const cJSON *root, struct cs_run_summary *run)
{
    const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "schema"));
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
    int64_t version = count_of(reader, root, "version");
    if (version != CS_SUMMARY_VERSION)
        refuse_member(reader, "the summary has version %lld. This convshim reads version %d.",
                      (long long)version, CS_SUMMARY_VERSION);
    read_process(reader, root, run);
    read_options(reader, root, run);
    read_totals(reader, root, run);
    read_sites(reader, root, run);
    read_framework(reader, root, run);
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

static void free_site(struct cs_summary_site *site)
{
    free(site->id);
    free(site->name);
    free(site->text);
    free(site->reason);
}

void cs_summary_fini(struct cs_run_summary *run)
{
    for (size_t i = 0; i < run->sites; i++)
        free_site(&run->site[i]);
    for (size_t i = 0; i < run->passed_count; i++) {
        free(run->passed[i].id);
        free(run->passed[i].text);
    }
    for (size_t i = 0; i < run->options; i++) {
        free(run->option[i].name);
        free(run->option[i].value);
    }
    free(run->option);
    free(run->script);
    free(run->command);
    free(run->source);
    free(run->site);
    free(run->passed);
    free(run->path);
    free(run->program);
    free(run->convshim);
    free(run->vendor);
    free(run->device);
    free(run->bypass);
    free(run->framework);
}
