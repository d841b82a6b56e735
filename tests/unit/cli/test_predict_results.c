/* The results of `convshim predict`: sums of a model, and advice, from
 * predictions that are the test's own. */
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
    layer[i] = (struct cs_layer){.model = (char *)model,
                                 .name = (char *)name,
                                 .line = (int64_t)i + 1,
                                 .recorded.calls = 1,
                                 .problem = rows(CS_FORWARD, 16 + (int64_t)i)};
    prediction[i] = (struct cs_prediction){
        .bytes = {3 * MIB, MIB, 2 * MIB},
        .floor = 6 * MIB,
        .offer = {.mode = (enum cs_ask_mode)(i % CS_ASK_MODES),
                  .engine.index = 57 + (int64_t)i,
                  .workspace = 64 * MIB,
                  .tensor_cores = i % 2 == 0},
        .peak = 70 * MIB,
        .decision = {.reason = CS_REASON_SMALL, .tiles = 1, .reported = 64 * MIB, .free = MIB},
        .tiled_peak = 70 * MIB,
        .seconds = 0.25};
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
    tiled->time_ratio = 1.25;
    tiled->most_ratio = 1.5;
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

static void expect(const char *title, const char *phrase, bool there)
{
    int status;
    char *text = golden_run(title, show_list, NULL, &status);
    CHECK_INT(status, 0);
    if (!strstr(text, phrase) == there && check_fails(__LINE__))
        printf("# %s, \"%s\":\n# %s", title, phrase, text);
    free(text);
}

/* The advice names the layer that is slowest. */
static void advice_on_slow_layers(void)
{
    begin();
    add_unanswered("m", "none");
    add_tiled("m", "two", 2, true);
    add("n", "three");
    add_tiled("", "four", 1, false)->time_ratio = 1.6;
    add_tiled("m", "five", 1, false)->time_ratio = 2.5;
    expect("two slow ones", "five", true);
    expect("two slow ones", "2.5", true);
    begin();
    add_unanswered("m", "none");
    expect("no engine", "nan", false);
    begin();
    expect("no layer", "nan", false);
    for (int64_t engine = 0; engine < 2; engine++) {
        begin();
        add("", "huge")->offer.engine.index = engine;
        layer[0].problem.tensor[CS_X].dims[CS_N] = INT64_C(1) << 31;
        expect("engine 0 is slow", "--huge 2147483648", engine == 0);
    }
}

/* --- sums for each model --- */

static void sums_by_model(void)
{
    size_t count;
    begin();
    add_unanswered("a", "1");
    add_tiled("b", "2", 1, false)->offer.workspace = 65 * MIB;
    struct cs_prediction *largest = add("a", "3");
    largest->peak = 71 * MIB;
    largest->floor = 9 * MIB;
    add_tiled("b", "4", 1, false)->decision.reported = 8 * MIB;
    struct cs_predict_sum *sum = cs_predict_sums(&results, &count);
    CHECK_INT(count, 2);
    CHECK_STR(sum[0].model, "a");
    CHECK_INT(sum[0].layers, 2);
    CHECK_INT(sum[0].unanswered, 1);
    CHECK_INT(sum[0].tiled, 0);
    CHECK_INT(sum[0].peak, 71 * MIB);
    CHECK_INT(sum[0].floor, 9 * MIB);
    CHECK_INT(sum[0].workspace, 64 * MIB);
    CHECK_INT(sum[1].layers, 2);
    CHECK_INT(sum[1].tiled, 2);
    CHECK_INT(sum[1].workspace, 65 * MIB);
    CHECK_INT(sum[1].tiled_workspace, 8 * MIB);
    CHECK_INT(sum[1].tiled_peak, 13 * MIB);
    CHECK_INT(sum[1].unanswered, 0);
    free(sum);
}

static void times_of_a_model_count_each_call(void)
{
    size_t count;
    begin();
    add_tiled("a", "1", 1, false)->seconds = 2; /* 1.25 times */
    add("a", "2")->seconds = 4;
    add_tiled("a", "3", 1, false)->seconds = 0; /* unknown */
    layer[0].recorded.calls = 10;
    struct cs_predict_sum *sum = cs_predict_sums(&results, &count);
    CHECK_INT(count, 1);
    CHECK(sum[0].seconds == 24 && sum[0].tiled_seconds == 29);
    free(sum);
}

static void count_different(void *count, size_t done, size_t of)
{
    CHECK_INT(done, ++*(size_t *)count);
    CHECK_INT(of, 3);
}

/* Equal problems of a program are planned once. */
static void equal_problems_are_planned_once(void)
{
    static const struct cs_rules none;
    size_t different = 0;
    const struct cs_predictor predictor = {
        .settings = {.rules = &none, .program = "", .policy = default_policy(), .most = INT64_MAX},
        .estimate = true,
        .progress = count_different,
        .ctx = &different};
    struct cs_prediction made[5];
    char error[200];
    begin();
    add("m", "one");
    const struct cs_problem *one = &layer[0].problem;
    struct cs_problem two = *one;
    two.direction = CS_BACKWARD_DATA;
    const struct cs_to_predict list[] = {{one, 0, CS_NOT_RECORDED},
                                         {one, 1, CS_NOT_RECORDED},
                                         {&two, 0, CS_NOT_RECORDED},
                                         {one, 0, CS_NOT_RECORDED},
                                         {one, 1, CS_NOT_RECORDED}};
    CHECK(cs_predict(&predictor, list, 5, made, error, sizeof error));
    CHECK_INT(different, 3);
    CHECK_INT(made[3].peak, made[0].peak);
    CHECK_INT(made[4].status, CS_OK);
}

int main(void)
{
    heap_watch();
    TEST(advice_on_slow_layers);
    TEST(sums_by_model);
    TEST(times_of_a_model_count_each_call);
    TEST(equal_problems_are_planned_once);
    return REPORT();
}
