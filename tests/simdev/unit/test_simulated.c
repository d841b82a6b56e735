/* The meaning of simulated runs that are made by hand: how they ended, whether they fit, and
 * advice. Columns of the page, the process whose figures are shown, keys of rules. */
#include "base/text.h"
#include "check.h"
#include "cli/common/json_tree.h"
#include "cli/common/read_file.h"
#include "heap.h"
#include "page_data.h"
#include "progress_file.h"
#include "simdev/simulate/simulate.h"
#include <cjson/cJSON.h>
#include <inttypes.h>

static struct cs_sim_program program;
static struct cs_sim_pair pair;
static const int64_t gib = INT64_C(1) << 30;

/* --- how a run ended, and whether it fits into 1 GiB --- */

#define USED .used = true, .planned = true
#define ON_GPU USED, .kernels = 1
#define NEEDS(bytes) ON_GPU, .needed = INT64_C(bytes)

static const char calm[] = "Runs without memory pressure.",
                  unused[] = "Found the GPU, but ran on the CPU. Is the model moved to cuda?",
                  short_of[] = "Out of memory: the last failed allocation was short by 1 KiB. The "
                               "figures end there.";

static const struct {
    struct cs_sim_outcome outcome;
    const char *verdict; /* the whole, or NULL */
    enum cs_sim_fit answer;
    const char *reason;
} ends[] = {
    {{.planned = true}, NULL, CS_SIM_FIT_NONE, "No answer. Ended without a call of CUDA"},
    /* Any sign of use is one. */
    {{USED}, unused, CS_SIM_FIT_NONE, "No answer. Found the GPU"},
    {{USED, .device_peak = -1, .kernels = -1, .launches = -1}, unused, CS_SIM_FIT_NONE, ""},
    {{USED, .device_peak = 1}, calm, CS_SIM_FIT_YES, ""},
    {{USED, .kernels = 1}, calm, CS_SIM_FIT_YES, ""},
    {{USED, .launches = 1}, calm, CS_SIM_FIT_YES, ""},
    {{.used = true, .kernels = 1},
     "NO REAL cuDNN WAS USED: the sizes are from nothing, and the figures may be far off. "
     "Name a cuDNN that plans without a GPU, 9.8 or newer: --cudnn PATH",
     CS_SIM_FIT_NONE,
     ""},
    /* From 129 on the status means a signal. A refused allocation is a stronger sign. */
    {{USED, .status = 1},
     "Failed with status 1, and the GPU refused no allocation.",
     CS_SIM_FIT_NONE,
     "No answer. Failed with status 1"},
    {{USED, .status = 128},
     "Failed with status 128, and the GPU refused no allocation.",
     CS_SIM_FIT_NONE,
     ""},
    {{USED, .status = 129}, "Failed: signal 1 ended the program.", CS_SIM_FIT_NONE, ""},
    {{USED, .status = 137}, "Failed: signal 9 ended the program.", CS_SIM_FIT_NONE, ""},
    {{USED, .status = 1, .refused = 1, .missing_bytes = 1024},
     short_of,
     CS_SIM_FIT_NO,
     "short by 1 KiB"},
    {{USED, .status = 137, .refused = 1, .missing_bytes = 1024}, short_of, CS_SIM_FIT_NO, ""},
    /* Memory pressure, in the singular and the plural. */
    {{ON_GPU, .retries = -1, .refused = 5}, calm, CS_SIM_FIT_YES, ""},
    {{ON_GPU, .retries = -1, .failed = -1, .refused = 1},
     "Runs under memory pressure: 1 failed allocation.",
     CS_SIM_FIT_MAY_FAIL,
     "May fail. Runs under memory pressure: 1 failed"},
    {{ON_GPU, .retries = 1}, "Runs under memory pressure: 1 allocation retry.", CS_SIM_FIT_YES, ""},
    {{ON_GPU, .retries = 2, .failed = 1, .refused = 7},
     "Runs under memory pressure: 2 allocation retries, 1 failed allocation.",
     CS_SIM_FIT_MAY_FAIL,
     ""},
    {{ON_GPU, .failed = 2},
     "Runs under memory pressure: 2 failed allocations.",
     CS_SIM_FIT_MAY_FAIL,
     "Fragmentation may make it fail"},
    /* 95 % of the memory. */
    {{NEEDS(1020054710)}, calm, CS_SIM_FIT_YES, "The GPU has 1024 MiB"},
    {{NEEDS(1020054711)}, calm, CS_SIM_FIT_MAY_FAIL, "fragmentation"},
    /* The framework's own limit. */
    {{USED, .status = 1, .exhausted = true, .limit = 536870912, .framework = "JAX 0.10.2"},
     "Out of memory: the program needs more than the 512 MiB that JAX 0.10.2 may use.",
     CS_SIM_FIT_NO,
     "No. Out of memory: the program needs more than the 512 MiB"},
    /* Memory that a framework took and did not use. */
    {{NEEDS(1073741824), .held = 536870912, .framework = "JAX 0.10.2"},
     calm,
     CS_SIM_FIT_YES,
     "Yes: needs 512 MiB with the context of 4 KiB. The GPU has 1024 MiB, 512 MiB spare. JAX "
     "0.10.2 takes 512 MiB more and does not use it."}};

static void each_end_of_a_run_has_its_verdict_and_answer(void)
{
    const struct cs_device_file device = {.title = "Tesla T4", .memory = 14 * gib};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char verdict[512], why[512];
        struct cs_text of_verdict = {verdict, sizeof verdict, 0}, of_why = {why, sizeof why, 0};
        CASE("row %zu", i);
        pair = (struct cs_sim_pair){
            .device = &device, .memory = gib, .context = 4096, .chosen = {true}};
        pair.run[CS_WITHOUT].outcome = ends[i].outcome;
        cs_sim_answer_verdict(&program, &pair, CS_WITHOUT, &of_verdict);
        if (ends[i].verdict)
            CHECK_STR(verdict, ends[i].verdict);
        CHECK_INT(cs_sim_answer_fits(&program, &pair, CS_WITHOUT, &of_why), ends[i].answer);
        if (!strstr(why, ends[i].reason))
            CHECK_STR(why, ends[i].reason);
    }
}

static void too_little_memory_follows_from_the_run_with_enough(void)
{
    const struct cs_device_file device = {.title = "Tesla T4", .memory = 14 * gib};
    char why[512];
    struct cs_text text = {why, sizeof why, 0};
    pair = (struct cs_sim_pair){.device = &device,
                                .memory = device.memory,
                                .context = gib,
                                .base = {{.name = "with enough memory"}}};
    pair.run[CS_WITHOUT].outcome = (struct cs_sim_outcome){.used = true, .status = 1, .refused = 3};
    pair.base[CS_WITHOUT].outcome = (struct cs_sim_outcome){.used = true, .needed = 16 * gib};
    CHECK_INT(cs_sim_answer_fits(&program, &pair, CS_WITHOUT, &text), CS_SIM_FIT_NO);
    CHECK_STR(why, "No: needs 16 GiB with the context of 1024 MiB. Tesla T4 has 14 GiB, "
                   "2048 MiB too little.");
}

/* --- work --- */

static cJSON *report_of(const char *problems, int64_t total)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"problems\":{\"total\":%" PRId64 ",\"most\":{%s}},\"plans\":{\"total\":%" PRId64
             "}}",
             total, problems, total);
    return cJSON_Parse(text);
}

/* A run of a program that made these convolutions. */
static struct cs_sim_outcome outcome_of(const char *problems, int64_t refused)
{
    struct cs_sim_outcome outcome = {.used = true,
                                     .planned = true,
                                     .device_peak = 1,
                                     .needed = gib / 2,
                                     .refused = refused,
                                     .failed = refused,
                                     .report = report_of(problems, 10)};
    outcome.work = cs_sim_work_read(&outcome);
    return outcome;
}

static void a_program_that_adapts_runs(void)
{
    static const char large[] = "\"forward 32x3x9x9 8x3x3x3\":6,\"forward 32x8x9x9 8x8x3x3\":5",
                      small[] = "\"forward 32x3x9x9 8x3x3x3\":1,\"forward 16x3x9x9 8x3x3x3\":6,"
                                "\"forward 16x8x9x9 8x8x3x3\":5",
                      part[] = "\"forward 32x3x9x9 8x3x3x3\":3",
                      twice[] = "\"forward 32x3x9x9 8x3x3x3\":6,\"forward 32x8x9x9 8x8x3x3\":7",
                      other[] = "\"forward 32x3x5x5 8x3x3x3\":6,\"forward 32x8x5x5 8x8x3x3\":5";
    const struct cs_device_file device = {.title = "G", .memory = gib};
    static const struct {
        const char *run, *base;
        int status;
        int64_t errors; /* that reached the program */
        enum cs_sim_fit fit;
        const char *why;
    } rows[] = {
        {small, large, 0, 0, CS_SIM_FIT_ADAPTS,
         "Runs: it adapts to the memory. With enough memory it does other work (batch 32 instead "
         "of 16, 11 instead of 12 calls of convolutions) and takes 2048 MiB."},
        {other, large, 0, 0, CS_SIM_FIT_ADAPTS,
         "Runs: it adapts to the memory. With enough memory it does other work (convolutions of "
         "other sizes) and takes 2048 MiB."},
        {part, large, 0, 0, CS_SIM_FIT_ADAPTS,
         "Runs: it adapts to the memory. With enough memory it does other work (11 instead of 3 "
         "calls of convolutions) and takes 2048 MiB."},
        {twice, large, 0, 0, CS_SIM_FIT_MAY_FAIL,
         "May fail. Runs under memory pressure: 4 failed allocations. With enough memory it takes "
         "2048 MiB. Fragmentation may make it fail on a real GPU."},
        {twice, large, 0, 1, CS_SIM_FIT_ADAPTS,
         "Runs: it adapts to the memory. With enough memory it does other work (11 instead of 13 "
         "calls of convolutions) and takes 2048 MiB."},
        {large, large, 0, 1, CS_SIM_FIT_ADAPTS,
         "Runs: it handles 1 out-of-memory error itself. With enough memory it takes 2048 MiB."},
        {large, large, 0, 2, CS_SIM_FIT_ADAPTS,
         "Runs: it handles 2 out-of-memory errors itself. With enough memory it takes 2048 MiB."},
        {part, large, 1, 0, CS_SIM_FIT_NO,
         "No: needs 2048 MiB with the context of 0 B. G has 1024 MiB, 1024 MiB too little."},
        {small, large, 1, 0, CS_SIM_FIT_NO,
         "No. Out of memory: the last failed allocation was short by 0 B. The figures end there."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char why[512];
        struct cs_text text = {why, sizeof why, 0};
        CASE("row %zu", i);
        pair = (struct cs_sim_pair){.device = &device,
                                    .memory = gib,
                                    .chosen = {true},
                                    .base = {{.name = "with enough memory"}}};
        pair.run[CS_WITHOUT].outcome = outcome_of(rows[i].run, 4);
        pair.run[CS_WITHOUT].outcome.status = rows[i].status;
        pair.run[CS_WITHOUT].outcome.errors = rows[i].errors;
        pair.base[CS_WITHOUT].outcome = outcome_of(rows[i].base, 0);
        pair.base[CS_WITHOUT].outcome.needed = 2 * gib;
        CHECK_INT(cs_sim_answer_fits(&program, &pair, CS_WITHOUT, &text), rows[i].fit);
        CHECK_STR(why, rows[i].why);
        CHECK(!cs_sim_outcome_same_engines(&pair.run[CS_WITHOUT].outcome,
                                           &pair.base[CS_WITHOUT].outcome) ||
              rows[i].run == large || rows[i].run == twice);
        cs_sim_pair_free(&pair);
    }
}

static void a_larger_batch_with_convshim_is_a_gain(void)
{
    static const struct {
        const char *without, *with, *text;
    } rows[] = {
        {"\"forward 376x3x9x9 8x3x3x3\":2", "\"forward 406x3x9x9 8x3x3x3\":2",
         "Gain with convshim: batch 406 instead of 376 (batch +8.0 %). The runs did other work, so "
         "no other figures are compared."},
        {"\"forward 40x3x9x9 8x3x3x3\":2", "\"forward 38x3x9x9 8x3x3x3\":2",
         "Other work with convshim: batch 38 instead of 40. The runs did other work, so no other "
         "figures are compared."},
        {"\"forward 40x3x9x9 8x3x3x3\":2", "\"forward 40x3x9x9 8x3x3x3\":3", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512] = "";
        struct cs_text text = {line, sizeof line, 0};
        CASE("row %zu", i);
        pair = (struct cs_sim_pair){.chosen = {true, true}};
        pair.run[CS_WITHOUT].outcome = outcome_of(rows[i].without, 0);
        pair.run[CS_WITH].outcome = outcome_of(rows[i].with, 0);
        pair.run[CS_WITH].outcome.calls = 2;
        cs_sim_answer_work(&pair, &text);
        CHECK_STR(line, rows[i].text);
        CHECK(cs_sim_pair_gains_nothing(&pair) == !*rows[i].text);
        cs_sim_pair_free(&pair);
    }
}

/* --- no gain --- */

/* The text of a layer is the beginning of that of its gradient. */
static void no_gain_has_the_reason_of_the_layer_itself(void)
{
    static const char summary[] =
        "{\"totals\":{\"not_tiled\":[{\"id\":\"SLOW\",\"text\":\"tiling is slow\",\"calls\":1}]},"
        "\"sites\":[{\"problem\":{\"text\":\"a k3x3\"},\"reason\":null,\"reported\":9},"
        "{\"problem\":{\"text\":\"a k3x3 wgrad\"},\"reason\":\"SLOW\",\"reported\":8}]}";
    static const struct {
        const char *row, *reason;
    } rows[] = {{"a k3x3 wgrad", ": tiling is slow. "},
                {"a k3x3 wgrad, net.py:3 f", ": tiling is slow. "},
                {"a k3x3, net.py:3 f", ": it is tiled, and smaller tiles would take"},
                {"a k3x", ": its convolution is not known. "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[512] = "", peak[256];
        struct cs_text text = {line, sizeof line, 0};
        CASE("row %zu", i);
        pair = (struct cs_sim_pair){.chosen = {true, true}};
        pair.run[CS_WITHOUT].outcome = outcome_of("", 0);
        pair.run[CS_WITH].outcome = outcome_of("", 0);
        pair.run[CS_WITH].outcome.calls = 2;
        pair.run[CS_WITH].outcome.summary = cJSON_Parse(summary);
        snprintf(peak, sizeof peak, "[{\"what\":\"workspace\",\"of\":\"%s\",\"bytes\":9}]",
                 rows[i].row);
        cJSON *tree = cJSON_Parse(peak);
        cs_sim_answer_why(&pair, tree, &text);
        CHECK(strstr(line, rows[i].reason) || !fprintf(stderr, "# %s\n", line));
        cJSON_Delete(tree);
        cs_sim_pair_free(&pair);
    }
}

/* --- advice --- */

/* Expandable segments are advised if a PyTorch program without them needs a larger GPU with the
 * library. A difference up to 2 % is none. */
static void expandable_segments_are_advised_if_a_larger_device_is_needed(void)
{
    static const char pytorch[] = "PyTorch 2.15.0", split[] = "max_split_size_mb:512";
    static const struct {
        int64_t smallest[CS_SIDES], peak[CS_SIDES];
        int status[CS_SIDES];
        int64_t refused[CS_SIDES];
        bool advised;
        const char *framework, *settings; /* NULL: as in the first row */
    } rows[] = {
        {{0, 0}, {1000, 1021}, {0, 0}, {0, 0}, true, pytorch, split},
        {{0, 0}, {1000, 1020}, {0, 0}, {0, 0}, false, NULL, NULL},
        {{0, 0}, {1000, 500}, {0, 0}, {0, 0}, false, NULL, NULL},
        {{0, 0}, {0, 500}, {0, 0}, {0, 0}, false, NULL, NULL},
        /* If the smallest devices of both are known, they decide. */
        {{2000, 2040}, {1000, 2000}, {0, 0}, {0, 0}, false, NULL, NULL},
        {{2000, 2041}, {1000, 1000}, {0, 0}, {0, 0}, true, NULL, NULL},
        {{2000, 1000}, {1000, 2000}, {0, 0}, {0, 0}, false, NULL, NULL},
        {{0, 2021}, {1000, 1000}, {0, 0}, {0, 0}, false, NULL, NULL},
        {{2000, 0}, {1000, 1021}, {0, 0}, {0, 0}, true, NULL, NULL},
        /* Out of memory with the library alone. */
        {{0, 0}, {1000, 900}, {0, 1}, {0, 1}, true, NULL, NULL},
        {{0, 0}, {1000, 2000}, {0, 1}, {0, 0}, false, NULL, NULL},
        {{0, 0}, {1000, 2000}, {1, 0}, {0, 0}, false, NULL, NULL},
        {{0, 0}, {1000, 900}, {1, 1}, {0, 1}, false, NULL, NULL},
        /* Peaks of a run that was short of memory are no evidence. */
        {{0, 0}, {1000, 1021}, {0, 0}, {79, 0}, false, NULL, NULL},
        {{2000, 2041}, {1000, 1021}, {0, 0}, {79, 0}, true, NULL, NULL},
        {{0, 0}, {1000, 1021}, {0, 0}, {0, 0}, false, "JAX 0.10", NULL},
        {{0, 0}, {1000, 1021}, {0, 0}, {0, 0}, false, "", NULL},
        /* The simulation sets them if the user has no settings. */
        {{0, 0}, {1000, 1021}, {0, 0}, {0, 0}, false, NULL, ""},
        {{0, 0}, {1000, 1021}, {0, 0}, {0, 0}, false, NULL, "expandable_segments:False"},
    };
    static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %zu", i);
        pair = (struct cs_sim_pair){.chosen = {true, true}};
        for (int side = 0; side < CS_SIDES; side++) {
            struct cs_sim_outcome *outcome = &pair.run[side].outcome;
            outcome->smallest = rows[i].smallest[side];
            outcome->device_peak = rows[i].peak[side];
            outcome->status = rows[i].status[side];
            outcome->refused = rows[i].refused[side];
            outcome->used = true;
            snprintf(outcome->framework, sizeof outcome->framework, "%s",
                     rows[i].framework ? rows[i].framework : pytorch);
        }
        setenv(names[i % 2], rows[i].settings ? rows[i].settings : split, 1);
        unsetenv(names[(i + 1) % 2]);
        const char *advice = cs_sim_answer_advice(&program, &pair);
        CHECK_INT(advice != NULL, rows[i].advised);
        CHECK(!advice || strstr(advice, "add expandable_segments:True"));
        pair.chosen[i % 2] = false;
        CHECK(!cs_sim_answer_advice(&program, &pair));
        pair.chosen[i % 2] = true;
        snprintf(program.framework, sizeof program.framework, "ONNX Runtime 1.31.1");
        CHECK(!rows[i].advised || strstr(cs_sim_answer_advice(&program, &pair), "gpu_mem_limit"));
        *program.framework = '\0';
    }
}

/* --- contents of results --- */

static void names_are_counted_and_cut(void)
{
    char text[32];
    struct cs_sim_outcome outcome = {
        .report = cJSON_Parse("{\"missing\":{\"names\":2,\"most\":{\"cudaA\":3,\"cudaB\":1}},"
                              "\"reads_of_nothing_written\":{\"by\":{\"names\":1,\"most\":"
                              "{\"copy\":7}}}}")};
    CHECK_INT(cs_sim_outcome_names(&outcome, "missing", text, sizeof text), 2);
    CHECK_STR(text, "cudaA 3, cudaB 1");
    CHECK_INT(cs_sim_outcome_names(&outcome, "missing", text, 13), 2);
    CHECK_STR(text, "cudaA 3, ...");
    CHECK_INT(cs_sim_outcome_names(&outcome, "missing", text, 12), 2);
    CHECK_STR(text, "cudaA 3");
    CHECK_INT(cs_sim_outcome_names(&outcome, "reads_of_nothing_written.by", text, sizeof text), 1);
    CHECK_STR(text, "copy 7");
    cs_sim_outcome_free(&outcome);
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

#define HELD(id, peak)                                                                             \
    {                                                                                              \
        .pid = id, .peak_bytes = peak, .refused = 1, .last_refused_bytes = 100,                    \
        .last_refused_live = peak                                                                  \
    }

/* Of several processes the one that held most, the first of equals, or the one of the run's number.
 * If none used the device, the first that looked for it. Nothing stays of the others. */
static void the_process_that_held_most(void)
{
    static const struct {
        struct simdev_process process[2];
        int wanted, pid, processes;
        bool reports, used, cut_short;
    } rows[] = {{{HELD(11, 5), {0}}, 0, 11, 1, true, true, false},
                {{HELD(11, 5), HELD(12, 3)}, 0, 11, 2, true, true, false},
                {{HELD(11, 3), HELD(12, 5)}, 0, 12, 2, true, true, false},
                {{HELD(11, 5), HELD(12, 5)}, 0, 11, 2, true, true, false},
                {{HELD(11, 3), HELD(12, 5)}, 1, 11, 2, true, true, false},
                {{HELD(11, 0), HELD(12, 5)}, 0, 12, 1, true, true, false},
                {{HELD(11, 0), HELD(12, 0)}, 0, 11, 0, true, true, false},
                /* Killed processes leave no report. */
                {{HELD(11, 3), HELD(12, 5)}, 0, 12, 2, false, true, true},
                {{HELD(11, 0), {0}}, 0, 11, 0, false, false, false}};
    struct cs_sim_run run = {.folder = ".", .memory = 64};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %zu", i);
        write_progress("progress", rows[i].process);
        for (int p = 0; p < 2; p++) {
            static const char *const names[] = {"report.11.json", "report.12.json"};
            if (rows[i].reports)
                write_text(names[p], "{\"times\":{\"asked\":3}}");
            else
                (void)unlink(names[p]);
        }
        run.process = rows[i].wanted;
        long long taken = atomic_load(&heap_taken);
        CHECK(cs_sim_outcome_read(&run));
        CHECK_INT(run.outcome.pid, rows[i].pid);
        CHECK_INT(run.outcome.processes, rows[i].processes);
        CHECK_INT(run.outcome.used, rows[i].used);
        CHECK_INT(run.outcome.cut_short, rows[i].cut_short);
        if (rows[i].cut_short)
            CHECK_INT(run.outcome.missing_bytes, 5 + 100 - 64);
        CHECK_INT(cs_json_whole_at(run.outcome.report, "times.asked", -1),
                  rows[i].reports ? 3 : -1);
        cs_sim_outcome_free(&run.outcome);
        CHECK(i == 0 || atomic_load(&heap_taken) == taken); /* the first fills caches */
    }
}

/* A parent that ends because its child ran out of memory: the child's failures count. */
static void failures_of_all_processes(void)
{
    struct cs_sim_run run = {.folder = ".", .memory = 64, .outcome = {.status = 1}};
    write_progress("progress", (struct simdev_process[]){{.pid = 11, .peak_bytes = 60},
                                                         {.pid = 12,
                                                          .peak_bytes = 4,
                                                          .refused = 3,
                                                          .last_refused_bytes = 10,
                                                          .last_refused_live = 64}});
    write_text("python.11.json", "{\"retries\":1,\"failed\":0,\"errors\":0,\"allocated\":50}");
    write_text("python.12.json", "{\"retries\":3,\"failed\":2,\"errors\":1,\"allocated\":4}");
    CHECK(cs_sim_outcome_read(&run));
    CHECK_INT(run.outcome.pid, 11);
    CHECK_INT(run.outcome.allocated, 50);
    CHECK_INT(run.outcome.refused, 3);
    CHECK_INT(run.outcome.missing_bytes, 10);
    CHECK_INT(run.outcome.retries, 4);
    CHECK_INT(run.outcome.errors, 1);
    CHECK_INT(cs_sim_outcome_failures(&run.outcome), 2);
    CHECK(cs_sim_outcome_out_of_memory(&run.outcome));
    cs_sim_outcome_free(&run.outcome);
    (void)unlink("python.12.json");
    CHECK(cs_sim_outcome_read(&run)); /* not Python: the device's count */
    CHECK_INT(cs_sim_outcome_failures(&run.outcome), 3);
    cs_sim_outcome_free(&run.outcome);
    (void)unlink("python.11.json");
}

/* --- tables and pages --- */

static void empty_timeline_has_no_rows(void)
{
    const struct cs_timelines timelines = {.same_calls = true};
    cJSON *rows = cs_timelines_peak(&timelines, CS_WITHOUT);
    CHECK(cJSON_IsArray(rows) && !rows->child);
    cJSON_Delete(rows);
}

/* Three calls, at the second, third and fifth of six moments: a quarter of the 480 columns leads to
 * each, and one after the last. */
static void the_page_goes_by_calls(void)
{
    static char *words[] = {"python3", "a b.py", NULL};
    static const struct cs_device_file device = {.title = "NVIDIA H100", .memory = 1 << 30};
    static struct cs_simulation simulation = {.title = "simulate", .program = {.command = words}};
    char error[CS_FILE_ERROR];
    cs_json_begin();
    write_text("record.7",
               "m 1000\na 10000 1000\nm 5000\na 20000 4000\nc 20000 3000 100 10 5000 first\n"
               "m 6000\nc 20000 3000 100 10 6000 first\nm 8000\nm 7000\n"
               "c 20000 3000 100 10 7000 first\nm 2000\n");
    pair = (struct cs_sim_pair){.device = &device, .memory = device.memory, .chosen = {true}};
    pair.run[CS_WITHOUT] = (struct cs_sim_run){
        .folder = ".",
        .history = true,
        .outcome = {USED, .pid = 7, .summary = cJSON_Parse("{\"order\":[0,0,0],\"sites\":[{}]}")}};
    cJSON *answer = cJSON_CreateObject();
    CHECK(cs_sim_page_write(&simulation, &pair, answer, "page.html"));
    char *page = cs_read_file_text("page.html", error);
    cJSON *data = page_data(page);
    const cJSON *timeline = cs_json_at(data, "timeline"), *held = cs_json_at(timeline, "without");
    static const struct {
        int column;
        double held;
    } steps[] = {{0, 1000},   {119, 1000}, {120, 5000}, {239, 5000}, {240, 6000}, {299, 6000},
                 {300, 8000}, {359, 8000}, {360, 8000}, {361, 7000}, {420, 7000}, {479, 2000}};
    CHECK_INT(cs_json_whole_at(timeline, "calls", -1), 3);
    CHECK(!cs_json_at(timeline, "with"));
    CHECK_INT(cJSON_GetArraySize(held), 480);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        CHECK(cJSON_GetNumberValue(cJSON_GetArrayItem(held, steps[i].column)) == steps[i].held);
    cJSON_Delete(data);
    cJSON_Delete(answer);
    free(page);
    cs_sim_outcome_free(&pair.run[CS_WITHOUT].outcome);
}

int main(void)
{
    char folder[] = "/tmp/convshim-simulated-XXXXXX", remove[64];
    heap_watch();
    if (!mkdtemp(folder) || chdir(folder) != 0)
        return 1;
    TEST(each_end_of_a_run_has_its_verdict_and_answer);
    TEST(too_little_memory_follows_from_the_run_with_enough);
    TEST(a_program_that_adapts_runs);
    TEST(a_larger_batch_with_convshim_is_a_gain);
    TEST(no_gain_has_the_reason_of_the_layer_itself);
    TEST(expandable_segments_are_advised_if_a_larger_device_is_needed);
    TEST(names_are_counted_and_cut);
    TEST(the_process_that_held_most);
    TEST(failures_of_all_processes);
    TEST(empty_timeline_has_no_rows);
    TEST(the_page_goes_by_calls);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    return REPORT() || chdir("/") != 0 || system(remove) != 0;
}
