/* What `convshim simulate` and `convshim tune` say of runs, here made by hand. */
#include "capture.h"
#include "cli/simulate/peak_table.h"
#include "cli/simulate/simulate.h"
#include "cli/tune/rule_keys.h"
#include "cli/tune/tune.h"
#include <cjson/cJSON.h>

#define SAYS(...) check_says((const char *const[]){__VA_ARGS__, NULL})

static struct cs_simulation simulation;
static struct cs_simulated_pair pair;
static enum cs_format format;

static int print(int argc, char **argv)
{
    (void)argc, (void)argv;
    return cs_simulate_print(&simulation, &pair, format) ? 0 : 1;
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
                                        .tensor_bytes = 4096 + tiled,
                                        .nanoseconds = 2000000,
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
         "  convolutions                      10            10\n"
         "  of them tiled                      -             2\n"
         "  extra launches                     -             2\n"
         "  bytes read again                   -         2 KiB   +50.0 %\n",
         "\nwithout     runs as it would with memory to spare\n"
         "with        runs as it would with memory to spare\n",
         "  * Nothing was computed: 3 kernels and 0 calls of other libraries were counted.\n");
    CHECK(!strstr(captured, "allocation retries"));
    printed(CS_FORMAT_CSV);
    SAYS("figure,without,with\n", "\ndevice_peak,8388608,6291456\n", "\nconvolutions,10,10\n",
         "\nfailed_allocations,0,0\n");
}

/* Nothing is known of a side that was not run, or that did not use the device. */
static void a_side_without_the_device_has_no_figures(void)
{
    pair.result[CS_WITH] = (struct cs_simulated_result){.used = false, .planned = true};
    printed(CS_FORMAT_CSV);
    SAYS("\ndevice_peak,8388608,\n", "\nconvolutions,10,\n");
    pair.chosen[CS_WITH] = false;
    printed(CS_FORMAT_TEXT);
    SAYS("                               without\n", "  device peak                    8 MiB\n");
    CHECK(!strstr(captured, "with convshim\n"));
    pair.result[CS_WITHOUT].status = 128 + 9;
    printed(CS_FORMAT_TEXT);
    SAYS("without     does not run: ended by signal 9\n");
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

static void what_is_held_at_the_peak_of_nothing(void)
{
    struct cs_timeline timeline = {.moments = 0};
    struct cs_table table;
    CHECK(cs_peak_table(&timeline, NULL, NULL, &table));
    CHECK_INT(table.rows, 0);
    cs_table_fini(&table);
}

static void rules_have_what_a_site_says(void)
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

static struct cs_tune tuned;

static int write_tuned(int argc, char **argv)
{
    (void)argc, (void)argv;
    cs_tune_write(&tuned, true, stdout);
    return 0;
}

static void the_file_of_tune_says_what_each_way_takes(void)
{
    static const struct cs_tune_options options = {.fits = 1 << 30};
    static struct cs_device_file device = {.title = "NVIDIA H100"};
    static char *words[] = {"python3", "a.py", NULL};
    simulation.program.command = words;
    tuned = (struct cs_tune){
        .options = &options,
        .simulation = &simulation,
        .device = &device,
        .runs = 5,
        .exposures = {.level = 3 << 20},
        .planning = "cudnn 9.15.0",
        .untiled = {.ran = true, .peak = 8 << 20, .reserved = 9 << 20, .calls = 4},
        .everything = {.ran = true, .peak = 4 << 20, .calls = 4, .tiled = 3, .extra_launches = 7},
        .tuned = {.ran = false}};
    output_of(write_tuned, (const char *const[]){"tune", NULL});
    SAYS(", by 5 runs on a simulated GPU.\n", "simulated; sizes by cudnn 9.15.0\n",
         "# untiled                           8 MiB        9 MiB         0 of 4         0 ",
         "\n# all beyond 64 MiB tiled           4 MiB          0 B         3 of 4         7 ",
         "\n# these rules                does not run\n",
         "# held but for workspaces           3 MiB\n",
         "# With these rules it DOES NOT RUN without falling back on 1024 MiB.\n",
         "\npolicy = off\nmax_slowdown = off\n");
}

static void tune_of_a_summary_alone(void)
{
    output_of(cs_cli_tune,
              (const char *const[]){"tune", "--summary", "tests/data/summary_training.json", NULL});
    CHECK_INT(captured_status, CS_CLI_OK);
    SAYS(" from a summary, tests/data/summary_training.json.\n"
         "# Its convolutions hold 122 MiB at once untiled and 216 B but for workspaces,",
         "[rule tune-1]\n# 1x1x2x2 -> 2 k1x1 s1 p0 f32 nchw, 1 call, stage <0>\n"
         "# requires 100 MiB beside 76 B\ndirection = fwd\ndtype = f32\nlayout = nchw\n"
         "kernel = 1x1\nn = 1\nc = 1\nk = 2\nh = 2\nw = 2\ngroups = 1\npolicy = fit\n"
         "workspace = 64KiB\n",
         "[rule tune-2]\n# 1x2x2x2 -> 3 k1x1 s1 p0 f32 nchw, 1 call, stage <1>\n"
         "# requires 110 MiB beside 124 B\n",
         "[rule tune-8]\n");
    CHECK(!strstr(captured, "tune-9"));
}

int main(void)
{
    TEST(both_sides_are_shown_with_their_difference);
    TEST(a_side_without_the_device_has_no_figures);
    TEST(names_are_counted_and_cut);
    TEST(what_is_held_at_the_peak_of_nothing);
    TEST(rules_have_what_a_site_says);
    TEST(one_side_alone);
    TEST(the_file_of_tune_says_what_each_way_takes);
    TEST(tune_of_a_summary_alone);
    return REPORT();
}
