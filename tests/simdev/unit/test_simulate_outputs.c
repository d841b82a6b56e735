/* The outputs of `convshim simulate` for given runs: results, timelines, each form of a pair and of
 * several devices, the page. The files of the runs are in tests/data/runs. All memory must be
 * freed. */
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include "golden.h"
#include "page_data.h"
#include "progress_file.h"
#include "simdev/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <sys/stat.h>

static char folder[] = "/tmp/convshim-outputs-XXXXXX", root[PATH_MAX];

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* --- reading them --- */

static void put(const char *name, int64_t value)
{
    printf("%s %" PRId64 "; ", name, value);
}

static struct cs_sim_run run_of(const char *name, bool with)
{
    struct cs_sim_run run = {.name = name,
                             .memory = 50000000,
                             .with = with,
                             .history = true,
                             .outcome = {.status = with, .seconds = 1.5}};
    snprintf(run.folder, sizeof run.folder, "%s", name);
    return run;
}

/* The numbers that no output of a pair below shows. */
static void put_result(const struct cs_sim_outcome *r, const struct cs_sim_outcome *base)
{
    put("pid", r->pid);
    put("missing_bytes", r->missing_bytes);
    put("other engines", cs_sim_outcome_other_engines(r, base));
    put("out of memory", cs_sim_outcome_out_of_memory(r));
}

static void put_timeline(const struct cs_timeline *timeline)
{
    char line[64];
    put("matched", timeline->matched);
    put("of_framework", timeline->of_framework);
    put("peak", (int64_t)cs_timeline_peak(timeline));
    puts("");
    for (size_t i = 0; i < timeline->moments; i++)
        printf("moment %zu: %" PRId64 "\n", i, timeline->live[i]);
    for (size_t i = 0; i < timeline->blocks; i++) {
        const struct cs_timeline_block *b = &timeline->block[i];
        bool known = cs_timeline_line(timeline, b->stack, line, sizeof line);
        printf("block %zu: at %" PRIx64 " %" PRId64 " from %zu until %zu, workspace %" PRId64
               " of call %ld, %s\n",
               i, b->address, b->bytes, b->from, b->until, b->workspace, b->call,
               known ? line : "-");
    }
    for (size_t i = 0; i < timeline->calls; i++) {
        const struct cs_timeline_call *c = &timeline->call[i];
        printf("call %zu: of %d at %zu in %ld, %" PRIx64 " %" PRId64 " %" PRId64 " %" PRId64
               " %s\n",
               i, c->site, c->moment, c->block, c->address, c->workspace, c->tensor_bytes,
               c->launches, c->plan);
    }
}

static int show_result(void *name)
{
    struct cs_sim_run run = run_of(name, strcmp(name, "tiled") == 0),
                      other = run_of("plain", false);
    struct cs_timeline timeline;
    CHECK(cs_sim_outcome_read(&run) && cs_sim_outcome_read(&other));
    put_result(&run.outcome, &other.outcome);
    if (cs_timeline_read(&run, &timeline)) {
        put_timeline(&timeline);
        cs_timeline_fini(&timeline);
    }
    put("output", cs_sim_outcome_output(&run, stdout));
    cs_sim_outcome_free(&run.outcome);
    cs_sim_outcome_free(&other.outcome);
    return 0;
}

static void files_of_runs_are_read(void)
{
    mkdir("damaged", 0777);
    write_file("damaged/report.3.json", "{");
    write_progress("damaged/progress", (struct simdev_process[]){{.pid = 3, .peak_bytes = 1}, {0}});
    golden_add("plain", show_result, "plain");
    golden_add("tiled", show_result, "tiled");
    golden_add("shared", show_result, "shared");
    golden_check(root, "simulate_results.txt");
    struct cs_sim_run damaged = run_of("damaged", false), nothing = run_of("nothing", false);
    CHECK(!cs_sim_outcome_read(&damaged));
    CHECK(cs_sim_outcome_read(&nothing));
    CHECK(!nothing.outcome.used && nothing.outcome.planned && !nothing.outcome.report);
    CHECK(!cs_sim_outcome_output(&nothing, stderr));
}

/* The last lines of a failed program, from its traceback on where there is one. */
static void output_of_failed_programs(void)
{
    static const char begin[] =
        "Traceback (most recent call last):\n  File \"x\", line 1\n    f()\n";
    struct cs_sim_run run = {.folder = "."};
    char text[4096];
    for (int lines = 0; lines < 60; lines++) {
        char *shown = NULL;
        size_t size = 0;
        size_t at = (size_t)snprintf(text, sizeof text, "first\n%sValueError: v\n", begin);
        for (int i = 0; i < lines; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "line %d\n", i);
        snprintf(text + at, sizeof text - at, "the end");
        write_file("output", text);
        FILE *out = open_memstream(&shown, &size);
        CHECK(cs_sim_outcome_output(&run, out));
        fclose(out);
        size_t shown_lines = 0;
        for (const char *line = shown; (line = strchr(line, '\n')); line++)
            shown_lines++;
        CHECK(shown_lines > 0 && shown_lines <= 40);
        CHECK(strstr(shown, "the end"));
        CHECK(lines > 5 || strstr(shown, "Traceback"));
        free(shown);
    }
    write_file("output", "");
    CHECK(!cs_sim_outcome_output(&run, stderr));
    /* Printed before the fork, and the report of nanobind at the end of a fork. */
    char *shown = NULL;
    size_t size = 0;
    snprintf(run.origin, sizeof run.origin, "before");
    mkdir("before", 0777);
    write_file("before/output", "an odd width\n");
    write_file("output", "a warning\nnanobind: leaked 2 types!\n - leaked type \"t\"\n");
    FILE *out = open_memstream(&shown, &size);
    CHECK(cs_sim_outcome_output(&run, out));
    fclose(out);
    CHECK_STR(shown, "an odd width\na warning\n");
    free(shown);
}

/* --- pairs --- */

static struct cs_simulation simulation;
static struct cs_sim_pair pair[3];
static struct cs_device_file device[] = {{.name = "h100", .title = "NVIDIA H100"},
                                         {.name = "t4", .title = "Tesla <T4>"},
                                         {.name = "x", .title = "X"}};

/* Each input of a figure, a verdict or a note in turn. */
static void make_pair(struct cs_sim_pair *to, int variant)
{
    static const char *const names[] = {"plain", "tiled"};
    *to = (struct cs_sim_pair){.device = &device[variant % 3], .history = true};
    device[variant % 3].memory = INT64_C(80) << 30 >> (variant % 3);
    to->memory = variant == 3 ? 50000000 : to->device->memory;
    for (int side = 0; side < CS_SIDES; side++) {
        to->chosen[side] = variant != 1 + side;
        to->run[side] = run_of(names[side], side == CS_WITH);
        to->run[side].outcome.status = 0;
        CHECK(cs_sim_outcome_read(&to->run[side]));
        to->run[side].outcome.predicted_most_ns = to->run[side].outcome.predicted_ns + 1500000;
    }
    struct cs_sim_outcome *a = &to->run[CS_WITHOUT].outcome, *b = &to->run[CS_WITH].outcome;
    if (variant >= 3)
        b->status = variant == 4 ? 128 + 9 : variant == 5 ? 7 : 1;
    if (variant >= 6) {
        b->status = 0;
        to->base[CS_WITH] = run_of("plain", false);
        CHECK(cs_sim_outcome_read(&to->base[CS_WITH]));
        a->smallest = 33 << 20;
        a->smallest_same_engines = variant == 6 ? 0 : (40 << 20) + 1;
        b->smallest = variant == 7 ? 0 : 30 << 20;
        b->smallest_same_engines = (35 << 20) - 1;
    }
    if (variant == 8) {
        a->planned = false;
        a->planning[0] = '\0';
        b->retries = 2;
        b->failed = 1;
    }
    if (variant == 9) {
        a->used = b->used = false;
        b->status = 3;
    }
    if (variant == 10) {
        a->device_peak = a->kernels = a->launches = 0;
        b->failed = -1;
        b->refused = 3;
        b->tensor_bytes = a->tensor_bytes - 1;
        *b->framework = '\0';
        b->planned = false;
        snprintf(b->planning, sizeof b->planning, "a table");
    }
    if (variant == 11) {
        a->allocated = 26000000;
        a->reserved = 0;
        b->refused = b->failed = b->retries = 0;
        b->allocated = 20000000;
    }
}

struct view {
    size_t pairs;
    enum cs_format format;
    const char *page;
};

static int show_pairs(void *state)
{
    static char *words[] = {"python3", "a b.py", "<&>", NULL};
    const struct view *view = state;
    const struct cs_simulate_options options = {.format = view->format, .html = view->page};
    simulation.title = "simulate";
    simulation.program.command = words;
    snprintf(simulation.program.folder, sizeof simulation.program.folder, "/lib/cudnn");
    snprintf(simulation.program.cudnn, sizeof simulation.program.cudnn, "cuDNN 9.15.0");
    return cs_sim_answers_show(&simulation, &options, pair, view->pairs, NULL);
}

/* Checks that `text` has each member of the tree in backticks. */
static void check_documented(const cJSON *item, const char *text)
{
    char quoted[80];
    for (; item; item = item->next) {
        if (item->string) {
            snprintf(quoted, sizeof quoted, "`%s`", item->string);
            if (!strstr(text, quoted))
                printf("# docs/simulate-json.md has no %s\n", quoted);
            CHECK(strstr(text, quoted));
        }
        check_documented(item->child, text);
    }
}

static void free_pair(struct cs_sim_pair *of)
{
    for (int side = 0; side < CS_SIDES; side++) {
        cs_sim_outcome_free(&of->run[side].outcome);
        cs_sim_outcome_free(&of->base[side].outcome);
    }
}

static void every_format(void)
{
    static const struct {
        int variant;
        enum cs_format format;
    } rows[] = {{0, CS_FORMAT_TEXT},
                {0, CS_FORMAT_CSV},
                {1, CS_FORMAT_JSON},
                {6, CS_FORMAT_TEXT},
                {9, CS_FORMAT_TEXT}};
    char title[64];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct view view = {.pairs = 1, .format = rows[i].format};
        make_pair(pair, rows[i].variant);
        snprintf(title, sizeof title, "pair %d, format %d", rows[i].variant, (int)rows[i].format);
        golden_add(title, show_pairs, &view);
        free_pair(pair);
    }
    for (int i = 0; i < 3; i++)
        make_pair(&pair[i], 6 + i);
    golden_add("three devices", show_pairs, &(struct view){.pairs = 3});
    for (int i = 0; i < 3; i++)
        free_pair(&pair[i]);
    golden_check(root, "simulate.txt");
}

static void members_are_documented(void)
{
    char path[PATH_MAX + 32], error[CS_FILE_ERROR];
    snprintf(path, sizeof path, "%s/docs/simulate-json.md", root);
    char *page = cs_read_file_text(path, error);
    CHECK(page);
    make_pair(pair, 6);
    pair->gpus = 2;
    for (int side = 0; side < CS_SIDES; side++) {
        pair->run[side].outcome.gpus = 2;
        cJSON_Delete(pair->run[side].outcome.framework_peaks);
        pair->run[side].outcome.framework_peaks =
            cJSON_Parse("{\"unknown\":[{\"operation\":\"item\",\"line\":\"a.py:1\",\"count\":2}]}");
    }
    pair->run[CS_WITH].outcome.predicted_most_ns = 1;
    cJSON *tree = cs_sim_answer(&simulation, pair, false);
    check_documented(tree, page);
    cJSON_Delete(tree);
    free(page);
    free_pair(pair);
}

/* The page of every pair that has a history. */
static void pages(void)
{
    struct view view = {.pairs = 1, .page = "page.html"},
                nowhere = {.pairs = 1, .page = "no/such/page.html"};
    char error[CS_FILE_ERROR];
    int status;
    for (int variant = 0; variant < 3; variant++) {
        make_pair(pair, variant);
        if (variant == 2) { /* its calls are not known */
            cJSON_Delete(pair->run[CS_WITHOUT].outcome.summary);
            pair->run[CS_WITHOUT].outcome.summary = NULL;
        }
        free(golden_run("a page", show_pairs, &view, &status));
        CHECK_INT(status, 0);
        char *page = cs_read_file_text("page.html", error);
        cJSON *data = page_data(page), *answer = cs_sim_answer(&simulation, pair, false);
        CHECK_STR(cJSON_GetStringValue(cJSON_GetArrayItem(cs_json_at(data, "command"), 2)), "<&>");
        cJSON_DeleteItemFromObject(data, "timeline");
        CHECK(cJSON_Compare(data, answer, true));
        cJSON_Delete(data);
        cJSON_Delete(answer);
        free(page);
        free(golden_run("nowhere", show_pairs, &nowhere, &status));
        CHECK_INT(status, 3);
        free_pair(pair);
    }
}

static void memory_that_runs_short(void)
{
    static const enum cs_format formats[] = {CS_FORMAT_TEXT, CS_FORMAT_CSV, CS_FORMAT_JSON};
    for (int i = 0; i < 3; i++) {
        make_pair(&pair[0], 6 + i);
        make_pair(&pair[1], 0);
        struct view one = {.pairs = 1, .format = formats[i]},
                    two = {.pairs = 2, .format = formats[i]};
        golden_short_of_memory("a pair", show_pairs, &one);
        golden_short_of_memory("two devices", show_pairs, &two);
        free_pair(&pair[0]);
        free_pair(&pair[1]);
    }
    make_pair(pair, 0);
    golden_short_of_memory("a page", show_pairs, &(struct view){.pairs = 1, .page = "page.html"});
    free_pair(pair);
}

/* The runs of tests/data/runs, with the progress of their processes. */
static void copy_runs(void)
{
    char copy[PATH_MAX + 64];
    snprintf(copy, sizeof copy, "cp -r '%s'/tests/data/runs/* .", root);
    CHECK(system(copy) == 0);
    write_progress("plain/progress",
                   (struct simdev_process[]){{.pid = 5, .peak_bytes = 10, .convolutions = 77},
                                             {.pid = 7,
                                              .peak_bytes = 40000000,
                                              .convolutions = 4,
                                              .kernels = 31,
                                              .library_calls = 12,
                                              .largest_workspace = 9000000,
                                              .tensor_bytes = 5000000,
                                              .planning = "cudnn 9.15.0"}});
    write_progress("tiled/progress", (struct simdev_process[]){{.pid = 9,
                                                                .peak_bytes = 30000000,
                                                                .convolutions = 8,
                                                                .kernels = 31,
                                                                .library_calls = 12,
                                                                .largest_workspace = 1000000,
                                                                .tensor_bytes = 6000000,
                                                                .refused = 1,
                                                                .last_refused_bytes = 40000000,
                                                                .last_refused_live = 20000000,
                                                                .planning = "cudnn 9.15.0"},
                                                               {0}});
    write_progress("shared/progress", (struct simdev_process[]){{.pid = 4, .peak_bytes = 10}, {0}});
}

int main(void)
{
    char remove[64];
    heap_watch();
    if (!mkdtemp(folder) || !getcwd(root, sizeof root) || chdir(folder) != 0)
        return 1;
    copy_runs();
    TEST(files_of_runs_are_read);
    TEST(output_of_failed_programs);
    TEST(every_format);
    TEST(members_are_documented);
    TEST(pages);
    TEST(memory_that_runs_short);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
