/* Reports of `convshim simulate` and `convshim tune` about runs, here made by hand. */
#include "capture.h"
#include "cli/common/read_file.h"
#include "cli/report/summary.h"
#include "cli/simulate/simulate.h"
#include "cli/tune/tune.h"
#include "heap.h"
#include <cjson/cJSON.h>

#define SAYS(...) check_says((const char *const[]){__VA_ARGS__, NULL})

static struct cs_simulation simulation;
static struct cs_simulated_pair pair;
static enum cs_format format;

static int print(int argc, char **argv)
{
    (void)argc, (void)argv;
    if (format == CS_FORMAT_CSV)
        return cs_simulate_print_csv(&pair) ? 0 : 1;
    cs_simulate_print(&simulation, &pair, false);
    return 0;
}

static struct cs_simulated_result result_of(int64_t peak, int64_t tiled)
{
    return (struct cs_simulated_result){.used = true,
                                        .processes = 1,
                                        .planned = true,
                                        .planning = "cudnn 9.15.0",
                                        .device = "h100",
                                        .capacity = 1 << 30,
                                        .device_peak = peak,
                                        .largest_workspace = peak / 2,
                                        .launches = 12,
                                        .reported = -1,
                                        .tensor_bytes = 4096 + tiled,
                                        .predicted_ns = 2000000,
                                        .kernels = 3,
                                        .framework = "PyTorch 2.15.0",
                                        .allocated = peak - 1024,
                                        .reserved = peak,
                                        .calls = 10,
                                        .tiled = tiled,
                                        .extra_launches = tiled};
}

static const char *printed(enum cs_format as)
{
    static char *words[] = {"python3", "a b.py", NULL};
    static struct cs_device_file device = {.title = "NVIDIA H100", .memory = INT64_C(80) << 30};
    simulation.title = "simulate";
    simulation.program.command = words;
    snprintf(simulation.program.folder, sizeof simulation.program.folder, "/lib/cudnn");
    pair.device = &device;
    format = as;
    return output_of(print, (const char *const[]){"simulate", NULL});
}

static void both_sides_are_shown_with_their_difference(void)
{
    memset(&pair, 0, sizeof pair);
    pair.chosen[CS_WITHOUT] = pair.chosen[CS_WITH] = true;
    pair.result[CS_WITHOUT] = result_of(8 << 20, -1);
    pair.result[CS_WITHOUT].tensor_bytes = 4096;
    pair.result[CS_WITH] = result_of(6 << 20, 2);
    pair.result[CS_WITH].tensor_bytes = 6144;
    printed(CS_FORMAT_TEXT);
    CHECK_INT(captured_status, 0);
    SAYS("program     python3 a b.py\ndevice      NVIDIA H100 with 80.00 GiB, simulated\n",
         "sizes       by cuDNN 9.15.0 of PyTorch 2.15.0, in /lib/cudnn\n",
         "                               without with convshim\n",
         "  device peak                    8 MiB         6 MiB   -25.0 %\n",
         "  largest workspace              4 MiB         3 MiB   -25.0 %\n"
         "  convolutions launched             12            12\n"
         "  calls of convolutions             10            10\n"
         "  of them tiled                      -             2\n"
         "  extra launches                     -             2\n"
         "  extra reads of tiles               -         2 KiB   +50.0 %\n",
         "\nwithout     Runs without memory pressure.\n"
         "with        Runs without memory pressure.\n",
         "  * Large operations were counted, not computed: 3 kernels. Files that the program saves "
         "contain no results.\n");
    CHECK(!strstr(captured, "allocation retries"));
    printed(CS_FORMAT_CSV);
    SAYS("figure,without,with\n", "\ndevice_peak,8388608,6291456\n", "\ncalls,10,10\n",
         "\nfailed_allocations,0,0\n");
}

/* Nothing is known of a side that was not run, or that did not use the device. */
static void side_without_the_device_has_no_figures(void)
{
    pair.result[CS_WITH] = (struct cs_simulated_result){.used = false, .planned = true};
    printed(CS_FORMAT_CSV);
    SAYS("\ndevice_peak,8388608,\n", "\ncalls,10,\n");
    pair.chosen[CS_WITH] = false;
    printed(CS_FORMAT_TEXT);
    SAYS("                               without\n", "  device peak                    8 MiB\n");
    CHECK(!strstr(captured, "with convshim\n"));
    pair.result[CS_WITHOUT].status = 128 + 9;
    printed(CS_FORMAT_TEXT);
    SAYS("without     Failed: signal 9 ended the program.\n");
}

/* Any sign of use is one. */
static void unused_device_is_reported(void)
{
    static const struct {
        int64_t peak, kernels, launches;
        bool used;
    } rows[] = {{0, 0, 0, false}, {-1, -1, -1, false}, {1, 0, 0, true},
                {0, 1, 0, true},  {0, 0, 1, true},     {1, 1, 1, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200];
        memset(&pair, 0, sizeof pair);
        pair.result[CS_WITH] = (struct cs_simulated_result){.used = true,
                                                            .planned = true,
                                                            .device_peak = rows[i].peak,
                                                            .kernels = rows[i].kernels,
                                                            .launches = rows[i].launches};
        cs_simulate_verdict(&pair, CS_WITH, text, sizeof text);
        CHECK_STR(text, rows[i].used
                            ? "Runs without memory pressure."
                            : "Found the GPU, but ran on the CPU. Is the model moved to cuda?");
    }
}

/* Signs of memory pressure, in the singular and the plural. */
static void memory_pressure_is_reported(void)
{
    static const struct {
        int64_t retries, failed, refused;
        const char *said; /* NULL: nothing */
    } rows[] = {{0, 0, 0, NULL},
                {-1, 0, 5, NULL},
                {-1, -1, 0, NULL},
                {-1, -1, 1, "1 failed allocation"},
                {1, 0, 0, "1 allocation retry"},
                {2, 1, 7, "2 allocation retries, 1 failed allocation"},
                {0, 2, 0, "2 failed allocations"},
                {3, -1, 2, "3 allocation retries, 2 failed allocations"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[200], wanted[200] = "Runs without memory pressure.";
        memset(&pair, 0, sizeof pair);
        pair.result[CS_WITH] = (struct cs_simulated_result){.used = true,
                                                            .planned = true,
                                                            .kernels = 1,
                                                            .retries = rows[i].retries,
                                                            .failed = rows[i].failed,
                                                            .refused = rows[i].refused};
        if (rows[i].said)
            snprintf(wanted, sizeof wanted, "Runs under memory pressure: %s.", rows[i].said);
        cs_simulate_verdict(&pair, CS_WITH, text, sizeof text);
        CHECK_STR(text, wanted);
    }
}

static void names_are_counted_and_cut(void)
{
    char text[32];
    struct cs_simulated_result result = {
        .report = cJSON_Parse("{\"missing\":{\"names\":3,\"most\":{\"cudaA\":3,\"cudaB\":1}},"
                              "\"reads_of_nothing_written\":{\"by\":{\"names\":1,\"most\":"
                              "{\"copy\":7}}}}")};
    CHECK(result.report);
    CHECK_INT(cs_simulated_result_names(&result, "missing", text, sizeof text), 3);
    CHECK_STR(text, "cudaA 3, cudaB 1, ...");
    CHECK_INT(cs_simulated_result_names(&result, "missing", text, 12), 3);
    CHECK_STR(text, "cudaA 3");
    CHECK_INT(cs_simulated_result_names(&result, "reads_of_nothing_written.by", text, sizeof text),
              1);
    CHECK_STR(text, "copy 7");
    cJSON_Delete(result.report);
}

static void empty_timeline_has_no_rows(void)
{
    struct cs_timeline timeline = {.moments = 0};
    struct cs_table table;
    CHECK(cs_peak_table(&timeline, NULL, NULL, &table));
    CHECK_INT(table.rows, 0);
    cs_table_fini(&table);
}

static void rules_have_the_keys_of_their_site(void)
{
    char text[256];
    cJSON *site = cJSON_Parse(
        "{\"problem\":{\"direction\":\"forward\",\"dtype\":\"f16\",\"layout\":\"ndhwc\","
        "\"spatial\":3,\"groups\":2,\"x\":{\"dims\":[2,4,5,6,7]},\"w\":{\"dims\":[8,2,1,3,3]},"
        "\"y\":{\"dims\":[2,8,5,6,7]}}}");
    CHECK(site);
    cs_rule_keys(site, text, sizeof text);
    CHECK_STR(text, "direction = fwd\ndtype = f16\nlayout = nhwc\nkernel = 1x3x3\nn = 2\nc = 4\n"
                    "k = 8\nd = 5\nh = 6\nw = 7\ngroups = 2\n");
    cJSON_Delete(site);
}

/* A summary is a file that anybody may have written. */
static void rules_omit_unknown_numbers(void)
{
    static const char *const spatial[] = {"-1", "0", "4", "1e300", "-1e300", "\"two\""};
    char text[256], json[512];
    for (size_t i = 0; i < sizeof spatial / sizeof *spatial; i++) {
        snprintf(json, sizeof json,
                 "{\"problem\":{\"spatial\":%s,\"groups\":1e300,\"x\":{\"dims\":[-2,1e300,5,6,7]},"
                 "\"w\":{\"dims\":[8,2,1,3,3]},\"y\":{\"dims\":[2,9007199254740991,5,6,7]}}}",
                 spatial[i]);
        cJSON *site = cJSON_Parse(json);
        CHECK(site);
        cs_rule_keys(site, text, sizeof text);
        CHECK_STR(text, "k = 9007199254740991\n");
        cJSON_Delete(site);
    }
}

static int options_of(const char *only, struct cs_simulate_options *options)
{
    const char *words[] = {"simulate", "--only", only, "program", NULL};
    int operand = 0, status = cs_simulate_options(4, (char **)words, options, &operand);
    CHECK(status >= 0 || operand == 3);
    return status;
}

static void one_side_alone(void)
{
    struct cs_simulate_options options;
    CHECK_INT(options_of("without", &options), -1);
    CHECK(options.side[CS_WITHOUT] && !options.side[CS_WITH]);
    CHECK_INT(options_of("with", &options), -1);
    CHECK(!options.side[CS_WITHOUT] && options.side[CS_WITH]);
    CHECK_INT(options_of("neither", &options), CS_CLI_USAGE);
}

static void runs_of_a_job_are_merged(void)
{
    struct cs_run_summary runs[2], merged;
    char error[CS_SUMMARY_ERROR];
    for (int i = 0; i < 2; i++)
        CHECK(cs_summary_read("tests/data/summary_training.json", &runs[i], error));
    CHECK(cs_summary_merge(runs, 2, &merged));
    CHECK_INT(merged.rank, -1);
    CHECK_INT(merged.runs, 2);
    CHECK_INT(merged.sites, runs[0].sites);
    CHECK_INT(merged.calls, 2 * runs[0].calls);
    CHECK_INT(merged.required_max, runs[0].required_max);
    for (size_t i = 0; i < merged.sites; i++) {
        CHECK_INT(merged.site[i].calls, 2 * runs[0].site[i].calls);
        CHECK_INT(merged.site[i].launches, 2 * runs[0].site[i].launches);
    }
    cs_summary_fini(&merged);
    for (int i = 0; i < 2; i++)
        cs_summary_fini(&runs[i]);
}

/* The command has a byte that acts on a terminal. */
static void write_summary(const char *path)
{
    char error[CS_FILE_ERROR];
    char *text = cs_read_file_text("tests/data/summary_training.json", error);
    cJSON *root = cJSON_Parse(text);
    cJSON *process = cJSON_GetObjectItem(root, "process");
    CHECK(process);
    cJSON_DeleteItemFromObject(process, "command");
    cJSON_AddItemToObject(process, "command", cJSON_Parse("[\"a\\u007fb\",\"c\\u0001\"]"));
    char *printed_text = cJSON_Print(root);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(printed_text, file) >= 0 && fclose(file) == 0);
    free(printed_text);
    cJSON_Delete(root);
    free(text);
}

static void contents_of_a_summary_are_shown(void)
{
    char path[] = "/tmp/convshim-summary-XXXXXX", error[CS_SUMMARY_ERROR] = "";
    struct cs_run_summary run;
    int file = mkstemp(path);
    CHECK(file >= 0 && close(file) == 0);
    write_summary(path);
    CHECK(cs_summary_read(path, &run, error));
    CHECK_STR(error, "");
    CHECK_STR(run.command, "a?b c?");
    cs_summary_fini(&run);
    unlink(path);
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* Of several processes the one that held most, the first of equals; of the others nothing stays. */
static void the_process_that_held_most(void)
{
    static const struct {
        int peak[3]; /* 0: no report */
        int pid, processes;
    } rows[] = {{{5, 0, 0}, 11, 1}, {{5, 3, 0}, 11, 2}, {{3, 5, 0}, 12, 2},
                {{5, 5, 0}, 11, 2}, {{1, 9, 4}, 12, 3}, {{0, 0, 2}, 13, 1}};
    char folder_of_run[] = "/tmp/convshim-most-XXXXXX", command[64];
    struct cs_simulated_run run = {.with = false};
    CHECK(mkdtemp(folder_of_run));
    snprintf(run.folder, sizeof run.folder, "%s", folder_of_run);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_simulated_result result = {.used = false};
        for (int p = 0; p < 3; p++) {
            char path[96];
            snprintf(path, sizeof path, "%s/report.%d.json", folder_of_run, 11 + p);
            (void)unlink(path);
            FILE *file = rows[i].peak[p] > 0 ? fopen(path, "we") : NULL;
            CHECK(rows[i].peak[p] == 0 ||
                  (file && fprintf(file, "{\"peak_bytes\":%d}", rows[i].peak[p]) > 0 &&
                   fclose(file) == 0));
        }
        long long taken = atomic_load(&heap_taken);
        CHECK(cs_simulated_result_read(&run, &result));
        CHECK_INT(result.pid, rows[i].pid);
        CHECK_INT(result.processes, rows[i].processes);
        cs_simulated_result_free(&result);
        CHECK(i == 0 || atomic_load(&heap_taken) == taken); /* the first fills caches */
    }
    snprintf(command, sizeof command, "rm -r %s", folder_of_run);
    CHECK(system(command) == 0);
}

/* Three calls, at the second, third and fifth of six moments: a quarter of the 480 columns leads to
 * each, and one after the last. */
static void the_page_goes_by_calls(void)
{
    char folder[] = "/tmp/convshim-page-XXXXXX", path[64], error[CS_FILE_ERROR];
    CHECK(mkdtemp(folder));
    write_text(folder, "record.7",
               "m 1000\na 10000 1000\nm 5000\na 20000 4000\nc 20000 3000 100 10 5000 first\n"
               "m 6000\nc 20000 3000 100 10 6000 first\nm 8000\nm 7000\n"
               "c 20000 3000 100 10 7000 first\nm 2000\n");
    memset(&pair, 0, sizeof pair);
    printed(CS_FORMAT_CSV); /* sets the device */
    pair.chosen[CS_WITHOUT] = true;
    pair.result[CS_WITHOUT] = result_of(8000, -1);
    pair.result[CS_WITHOUT].pid = 7;
    pair.result[CS_WITHOUT].summary =
        cJSON_Parse("{\"order\":[0,0,0],\"sites\":[{\"problem\":{\"text\":\"one\"},\"calls\":3,"
                    "\"tiled\":0,\"required\":3000}]}");
    snprintf(pair.run[CS_WITHOUT].folder, sizeof pair.run[CS_WITHOUT].folder, "%s", folder);
    snprintf(path, sizeof path, "%s/page.html", folder);
    CHECK(cs_simulate_html(&simulation, &pair, path));
    char *page = cs_read_file_text(path, error);
    snprintf(captured, CAPTURED, "%s", page ? page : error);
    free(page);
    static const struct {
        int column, call;
        const char *held;
    } steps[] = {{0, 0, "1000 B"},    {119, 0, "1000 B"},  {120, 1, "4.9 KiB"}, {239, 1, "4.9 KiB"},
                 {240, 2, "5.9 KiB"}, {299, 2, "5.9 KiB"}, {300, 2, "7.8 KiB"}, {359, 2, "7.8 KiB"},
                 {360, 3, "7.8 KiB"}, {361, 3, "6.8 KiB"}, {420, 3, "6.8 KiB"}, {479, 3, "2 KiB"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char want[160];
        snprintf(want, sizeof want,
                 "<rect class=\"hit\" x=\"%.1f\" width=\"2.0\" height=\"240\"><title>call %d: %s "
                 "without</title>",
                 2.0 * steps[i].column, steps[i].call, steps[i].held);
        SAYS(want);
    }
    cJSON_Delete(pair.result[CS_WITHOUT].summary);
    unlink(path);
    snprintf(path, sizeof path, "%s/record.7", folder);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

int main(void)
{
    heap_watch();
    TEST(both_sides_are_shown_with_their_difference);
    TEST(side_without_the_device_has_no_figures);
    TEST(unused_device_is_reported);
    TEST(memory_pressure_is_reported);
    TEST(names_are_counted_and_cut);
    TEST(empty_timeline_has_no_rows);
    TEST(rules_have_the_keys_of_their_site);
    TEST(rules_omit_unknown_numbers);
    TEST(one_side_alone);
    TEST(runs_of_a_job_are_merged);
    TEST(the_process_that_held_most);
    TEST(the_page_goes_by_calls);
    TEST(contents_of_a_summary_are_shown);
    return REPORT();
}
