/* What `convshim predict` prints of predictions that are the test's own: one convolution and lists,
 * with and without an engine, tiled in every way, slow, too large, in every form; and where no CUDA
 * driver can be loaded. */
#include "cli/predict/predict.h"
#include "cudnn/standalone/open_driver.h"
#include "golden.h"
#include "sample_problem.h"

static char root[PATH_MAX];

/* --- in place of those that ask cuDNN --- */

static bool driver;

bool cs_standalone_driver(void)
{
    return driver;
}

void cs_standalone_stand_in(void) {}

static bool explained;

void cs_why_workspace(const struct cs_problem *problem, const struct cs_prediction *prediction,
                      struct cs_engine_list *list, char first[CS_EXPLAIN_LINE],
                      char second[CS_EXPLAIN_LINE])
{
    (void)problem, (void)list;
    explained = true;
    snprintf(first, CS_EXPLAIN_LINE, "It needs %lld bytes.",
             (long long)prediction->offer.workspace);
    snprintf(second, CS_EXPLAIN_LINE, "%s", prediction->halo > 0 ? "Halves of it" : "");
}

/* --- predictions --- */

enum {
    MOST = 8,
    MIB = 1 << 20
};

static struct cs_prediction prediction[MOST];
static struct cs_layer layer[MOST];
static struct cs_layers layers = {layer, 0, MOST};
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
                                 .problem = rows(CS_FORWARD, 16 + (int64_t)i)};
    prediction[i] = (struct cs_prediction){
        .bytes = {3 * MIB, MIB, 2 * MIB},
        .floor = 6 * MIB,
        .offer = {.mode = (enum cs_ask_mode)(i % CS_ASK_MODES),
                  .engine.index = 57 + (int64_t)i,
                  .workspace = 64 * MIB,
                  .tensor_cores = i % 2 == 0},
        .peak = 70 * MIB,
        .decision = {.reason = CS_REASON_SMALL, .tiles = 1, .reported = 64 * MIB, .limit = MIB},
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
    tiled->decision.asked = 3;
    tiled->tiled_peak = 13 * MIB;
    tiled->halo = MIB / 2;
    tiled->time_ratio = 1.25;
    return tiled;
}

static void add_unanswered(const char *model, const char *name)
{
    struct cs_prediction *none = add(model, name);
    *none = (struct cs_prediction){
        .status = CS_REFUSED, .bytes = {3 * MIB, MIB, 2 * MIB}, .floor = 6 * MIB};
}

static struct cs_predict_fit fit;
static bool asked_to_fit;

static void begin(void)
{
    layers.count = 0;
    driver = explained = false;
    options = (struct cs_predict_options){.format = CS_FORMAT_TEXT};
    options.config.workspace = 8 * MIB;
    snprintf(options.config.policy.text, sizeof options.config.policy.text, "fit");
    snprintf(results.vendor, sizeof results.vendor, "cuDNN 9.19.0");
    results.list = NULL;
    asked_to_fit = false;
}

/* --- one convolution --- */

static int show_one(void *unused)
{
    (void)unused;
    bool good = cs_predict_print_one(&results);
    if (explained)
        puts("(asked why)");
    return !good;
}

static void one_convolution(void)
{
    static int list;
    begin();
    add_unanswered("", "l");
    golden_add("no engine, no driver", show_one, NULL);
    driver = true;
    golden_add("no engine, a driver", show_one, NULL);
    driver = false;
    options.estimate = true;
    golden_add("no engine by the rule of thumb", show_one, NULL);
    begin();
    struct cs_prediction *one = add("", "l");
    golden_add("not tiled", show_one, NULL);
    results.list = (struct cs_engine_list *)&list;
    golden_add("not tiled, and why", show_one, NULL);
    one->halo = 1;
    golden_add("read again, and why in two lines", show_one, NULL);
    one->offer.workspace = 0;
    explained = false;
    golden_add("no workspace: nothing to ask", show_one, NULL);
    results.list = NULL;
    for (int i = 0; i < 8; i++) {
        begin();
        one = add_tiled("", "l", 1 + i % 2 * 2, i & 2);
        if (i & 4)
            one->decision.tiling.axis[0] = CS_AXIS_H_PHASES;
        golden_add("tiled", show_one, NULL);
    }
    one->decision.tiles = 1;
    one->time_ratio = 0;
    golden_add("in one piece", show_one, NULL);
    one->time_ratio = 1.5;
    golden_add("as slow as needs no advice", show_one, NULL);
    one->time_ratio = 1.51;
    golden_add("slow", show_one, NULL);
    golden_check(root, "outputs_predict_results_one.txt");
}

/* --- lists --- */

static int show_list(void *unused)
{
    (void)unused;
    return !cs_predict_print(&results, asked_to_fit ? &fit : NULL);
}

static int show_picture(void *path)
{
    char error[200] = "";
    bool good = cs_predict_svg(&results, path, error, sizeof error);
    if (!good)
        puts(error);
    return !good;
}

static void show(const char *title)
{
    static const char *const names[] = {"text", "CSV", "JSON"};
    static const enum cs_format formats[] = {CS_FORMAT_TEXT, CS_FORMAT_CSV, CS_FORMAT_JSON};
    char line[128];
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        options.format = formats[i];
        snprintf(line, sizeof line, "%s, %s", title, names[i]);
        golden_add(line, show_list, NULL);
    }
}

static void lists(void)
{
    begin();
    add_unanswered("m", "none");
    add_tiled("m", "two", 2, true);
    add("n", "three");
    struct cs_prediction *slow = add_tiled("", "four", 1, false);
    slow->time_ratio = 1.6;
    show("a list");
    golden_add("its picture", show_picture, "-");
    slow = add_tiled("m", "five", 1, false);
    slow->time_ratio = 2.5;
    slow->decision.rule = 1;
    snprintf(options.rules.rule[0].name, sizeof options.rules.rule[0].name, "large");
    options.rules.count = 1;
    options.config.workspace = CS_CONFIG_AUTO;
    options.fits = 16 * MIB;
    show("two slow ones, the worst last");
    begin();
    slow = add_tiled("m", "only", 1, false);
    slow->time_ratio = 3;
    begin();
    add_unanswered("m", "none");
    add_unanswered("m", "nor");
    show("no engine at all");
    golden_add("its picture", show_picture, "-");
    golden_check(root, "outputs_predict_results_lists.txt");
}

/* Every sentence about what fits. */
static void what_fits(void)
{
    static const struct {
        size_t before, after, unanswered;
        bool possible;
    } rows[] = {{0, 0, 0, true},  {1, 0, 0, true},  {2, 1, 0, true},  {2, 1, 1, true},
                {1, 1, 1, true},  {2, 2, 1, false}, {3, 2, 0, false}, {3, 3, 3, true},
                {3, 3, 2, false}, {2, 1, 0, false}};
    for (int count = 1; count <= 3; count += 2)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            begin();
            for (int j = 0; j < count; j++)
                add(j == 1 ? "m" : "", "l");
            options.fits = 16 * MIB;
            asked_to_fit = true;
            fit = (struct cs_predict_fit){.before = rows[i].before,
                                          .after = rows[i].after,
                                          .unanswered = rows[i].unanswered,
                                          .possible = rows[i].possible,
                                          .workspace = 3 * MIB + 1024,
                                          .hopeless = &layer[i % (size_t)count]};
            options.format = CS_FORMAT_TEXT;
            golden_add("whether it fits", show_list, NULL);
        }
    asked_to_fit = false;
    golden_check(root, "outputs_predict_results_fits.txt");
}

/* --- what a model sums to --- */

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

/* What is left beside the tensors is asked for in whole KiB; less than one is nothing. */
static void the_largest_workspace_with_which_all_fits(void)
{
    static const struct cs_rules none;
    const struct cs_predictor predictor = {.settings = {.rules = &none,
                                                        .program = "",
                                                        .policy = cs_policy_find("fit"),
                                                        .most = INT64_MAX},
                                           .estimate = true,
                                           .threads = 1};
    struct cs_predict_fit found;
    char error[200];
    begin();
    add("m", "first");
    add("m", "second");
    struct cs_prediction *large = add("m", "third");
    add_unanswered("m", "fourth");
    options.fits = 70 * MIB;
    CHECK(cs_predict_fits(&results, &predictor, &found, error, sizeof error));
    CHECK_INT(found.before, 1); /* the one without an engine */
    CHECK_INT(found.unanswered, 1);
    CHECK(found.possible && found.workspace == 0);
    for (int left = 1022; left < 1026; left++) {
        large->floor = 70 * MIB - left;
        large->peak = large->tiled_peak = 70 * MIB + 1;
        CHECK(cs_predict_fits(&results, &predictor, &found, error, sizeof error));
        CHECK_INT(found.before, 2);
        CHECK_INT(found.after, 2);
        CHECK_INT(found.workspace, left < 1024 ? 0 : 1024);
        CHECK(left >= 1024 ? !found.hopeless : found.hopeless == &layer[2]);
        CHECK_INT(found.possible, left >= 1024);
    }
    prediction[1].peak = 70 * MIB + 1;
    prediction[1].floor = 70 * MIB - 5000; /* 4 KiB are left, and 1 of the third */
    CHECK(cs_predict_fits(&results, &predictor, &found, error, sizeof error));
    CHECK_INT(found.before, 3);
    CHECK_INT(found.after, 2);
    CHECK_INT(found.workspace, 1024);
    large->floor = 70 * MIB - 9000;
    CHECK(cs_predict_fits(&results, &predictor, &found, error, sizeof error));
    CHECK_INT(found.workspace, 4096);
    begin(); /* the first of all counts as any */
    options.fits = 70 * MIB;
    add("m", "first")->peak = 70 * MIB + 1;
    add("m", "second");
    prediction[0].floor = 70 * MIB - 9000;
    CHECK(cs_predict_fits(&results, &predictor, &found, error, sizeof error));
    CHECK_INT(found.before, 1);
    CHECK_INT(found.workspace, 8192);
    CHECK(found.possible);
}

/* What was found is asked once more of all: with that workspace none may be larger, and one that is
 * just as large fits. */
static void the_workspace_is_confirmed(void)
{
    static const struct cs_rules none;
    const struct cs_predictor predictor = {.settings = {.rules = &none,
                                                        .program = "",
                                                        .policy = cs_policy_find("fit"),
                                                        .limits.workspace = 64 * MIB,
                                                        .most = INT64_MAX},
                                           .estimate = true,
                                           .threads = 1};
    struct cs_predict_fit found;
    struct cs_prediction with;
    const struct cs_problem *problem = &layer[0].problem;
    struct cs_predictor other = predictor;
    char error[200];
    begin();
    add("m", "first")->peak = INT64_MAX;
    other.settings.limits.workspace = 4096;
    CHECK(cs_predict(&other, &problem, 1, &with, error, sizeof error));
    CHECK_INT(with.status, CS_OK);
    for (int more = -1; more < 2; more++) {
        options.fits = with.tiled_peak + more;
        prediction[0].floor = options.fits - 4096;
        CHECK(cs_predict_fits(&results, &predictor, &found, error, sizeof error));
        CHECK_INT(found.workspace, 4096);
        CHECK_INT(found.possible, more >= 0);
        CHECK(more >= 0 ? !found.hopeless : found.hopeless == &layer[0]);
    }
}

int main(void)
{
    heap_watch();
    if (!getcwd(root, sizeof root))
        return 1;
    TEST(one_convolution);
    TEST(lists);
    TEST(what_fits);
    TEST(sums_by_model);
    TEST(the_largest_workspace_with_which_all_fits);
    TEST(the_workspace_is_confirmed);
    free(golden_text);
    return REPORT();
}
