/* The results of `convshim predict`: sums of a model, from predictions that are the
 * test's own. */
#include "cli/predict/predict.h"
#include "golden.h"
#include "policies.h"
#include "sample_problem.h"

/* --- predictions --- */

enum {
    MOST = 8,
    MIB = 1 << 20
};

static struct cs_prediction prediction[MOST];
static struct cs_layer layer[MOST];
static struct cs_layers layers = {.layer = layer};
static struct cs_device_file device = {.name = "h9", .title = "A GPU"};
static struct cs_predict_options options;
static struct cs_predict_results results = {
    .options = &options, .device = &device, .layers = &layers, .prediction = prediction};

static struct cs_prediction *add(const char *model, const char *name)
{
    size_t i = layers.count++;
    layer[i] = (struct cs_layer){
        .model = (char *)model, .name = (char *)name, .problem = rows(CS_FORWARD, 16 + (int64_t)i)};
    prediction[i] = (struct cs_prediction){
        .bytes = {3 * MIB, MIB, 2 * MIB},
        .floor = 6 * MIB,
        .offer = {.engine.index = 57 + (int64_t)i,
                  .workspace = 64 * MIB,
                  .tensor_cores = i % 2 == 0},
        .peak = 70 * MIB,
        .decision = {.reason = CS_REASON_SMALL, .tiles = 1, .reported = 64 * MIB, .free = MIB},
        .tiled_peak = 70 * MIB,
        .untiled = {0.25, 0.25}};
    return &prediction[i];
}

static struct cs_prediction *add_tiled(const char *model, const char *name, int lanes, bool raised)
{
    struct cs_prediction *tiled = add(model, name);
    tiled->decision.reason = CS_REASON_NONE;
    tiled->decision.tiling =
        (struct cs_tiling){.axis = {CS_AXIS_H, CS_AXIS_NONE}, .step = {4, 1}, .lanes = lanes};
    tiled->decision.tiles = 5;
    tiled->decision.reported = 7 * MIB;
    tiled->decision.raised = raised;
    tiled->decision.queries = 3;
    tiled->tiled_peak = 13 * MIB;
    tiled->halo = MIB / 2;
    tiled->ratio = (struct cs_times){1.25, 1.5};
    return tiled;
}

static void add_unanswered(const char *model, const char *name)
{
    struct cs_prediction *none = add(model, name);
    *none = (struct cs_prediction){
        .status = CS_REFUSED, .bytes = {3 * MIB, MIB, 2 * MIB}, .floor = 6 * MIB};
}

static void begin(void)
{
    layers.count = 0;
    options = (struct cs_predict_options){.format = CS_FORMAT_TEXT};
    options.config.workspace = 8 * MIB;
    snprintf(options.config.policy.text, sizeof options.config.policy.text, "%s",
             default_policy()->name);
    snprintf(results.vendor, sizeof results.vendor, "cuDNN 9.19.0");
}

static int show_list(void *unused)
{
    (void)unused;
    return !cs_predict_print(&results);
}

/* Likewise, with the command's line if memory is short. */
static int show_short(void *unused)
{
    const int status = show_list(unused);
    if (status)
        cs_cli_complain("predict: out of memory");
    return status;
}

/* --- formats --- */

static void fill_list(enum cs_format format)
{
    begin();
    options.format = format;
    add_tiled("b", "wide", 2, true);
    add("a", "quoted, \"so\"");
    layer[1].problem.direction = CS_BACKWARD_FILTER;
    add_unanswered("b", "none");
}

static void every_format(void)
{
    begin();
    options.shape = "given";
    add_tiled("", "convolution", 2, false);
    golden_add("one convolution", show_list, NULL);
    fill_list(CS_FORMAT_TEXT);
    golden_add("a list as text", show_list, NULL);
    fill_list(CS_FORMAT_CSV);
    golden_add("a list as CSV", show_list, NULL);
    fill_list(CS_FORMAT_JSON);
    golden_add("a list as JSON", show_list, NULL);
    golden_check(".", "predict.txt");
}

static void memory_that_runs_short(void)
{
    static const enum cs_format formats[] = {CS_FORMAT_TEXT, CS_FORMAT_CSV, CS_FORMAT_JSON};
    for (int i = 0; i < 3; i++) {
        fill_list(formats[i]);
        golden_short_of_memory("a list", show_short, NULL);
    }
}

int main(void)
{
    heap_watch();
    TEST(every_format);
    TEST(memory_that_runs_short);
    return REPORT();
}
