/* Which cost of a kernel and which gain of lanes should decide for a GPU on which neither was
 * measured?
 *
 *     regret CUDNN LIST FOLDER GPU...
 *
 * Every candidate, a pair of these numbers, decides the layers of a list (CSV, the models in
 * order). Then every true pair judges the decisions: predicted time of a model, and `price` for
 * each byte of its largest convolution. The regret of a candidate is its loss against the best
 * candidate for that truth, in percent of the untiled time, as a mean over models and GPUs
 * (profiles in FOLDER). CUDNN is the folder of cuDNN, or empty. The library cannot know the truth,
 * so the worst one counts. Higher costs of a kernel make higher peaks, so only candidates within
 * MOST_PEAK are allowed.
 *
 * Prints the peaks and the worst regrets of all candidates. TAP: kernel_us_decided and overlap of
 * cost.def must be the allowed candidate of least worst regret. */
#include "base/hash.h"
#include "cli/common/device_files.h"
#include "cli/layers/plan_layers.h"
#include "config/config.h"
#include "config/limits.h"
#include "cudnn/standalone/engine_list.h"
#include "decide/by_rules.h"
#include "decide/cost.h"
#include "decide/pass.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const double kernels[] = {3, 5, 7, 10, 14, 20}, gains[] = {0, 0.25, 0.5, 0.75, 1};

enum {
    KERNELS = sizeof kernels / sizeof *kernels,
    GAINS = sizeof gains / sizeof *gains,
    PAIRS = KERNELS * GAINS,
    MOST_MODELS = 32,
    MOST_ANSWERS = 1024 /* of one layer */
};

/* Largest convolutions of the models, as a multiple of their operands. */
static const double MOST_PEAK = 1.125;

static struct cs_ladder pair_at(int i)
{
    return (struct cs_ladder){true, kernels[i / GAINS], gains[i % GAINS]};
}

_Noreturn static void fail(const char *text)
{
    printf("Bail out! %s\n", text);
    exit(1);
}

/* --- a vendor that queries cuDNN once for each tile, and believes a pair of constants --- */

struct answer {
    uint64_t key;
    enum cs_status status;
    int64_t workspace;
};

struct vendor {
    struct cs_vendor real;
    struct cs_profile profile;
    struct answer answer[MOST_ANSWERS];
    int answers;
};

static struct answer *answer_of(struct vendor *vendor, uint64_t key, bool *known)
{
    for (int i = 0; i < vendor->answers; i++)
        if (vendor->answer[i].key == key) {
            *known = true;
            return &vendor->answer[i];
        }
    if (vendor->answers == MOST_ANSWERS)
        fail("too many tiles of one layer");
    *known = false;
    vendor->answer[vendor->answers].key = key;
    return &vendor->answer[vendor->answers++];
}

static enum cs_status give(struct vendor *vendor, struct answer *answer, void *plan, bool known,
                           void **plan_p, int64_t *workspace_p)
{
    if (!known && answer->status == CS_OK)
        vendor->real.destroy(plan);
    *plan_p = vendor;
    *workspace_p = answer->workspace;
    return answer->status;
}

static enum cs_status build(void *ctx, const struct cs_problem *problem,
                            enum cs_relaxation relaxation, void **plan_p, int64_t *workspace_p)
{
    struct vendor *vendor = ctx;
    int64_t words[CS_PROBLEM_WORDS];
    uint64_t key = cs_hash_words(cs_hash_word(CS_HASH_START, relaxation), words,
                                 cs_problem_words(problem, words));
    bool known;
    void *plan = NULL;
    struct answer *answer = answer_of(vendor, key, &known);
    if (!known)
        answer->status =
            vendor->real.build(vendor->real.ctx, problem, relaxation, &plan, &answer->workspace);
    return give(vendor, answer, plan, known, plan_p, workspace_p);
}

static enum cs_status fall_back(void *ctx, int64_t limit, void **plan_p, int64_t *workspace_p)
{
    struct vendor *vendor = ctx;
    bool known;
    void *plan = NULL;
    struct answer *answer = answer_of(vendor, cs_hash_word(1, (uint64_t)limit), &known);
    if (!known)
        answer->status = vendor->real.fallback(vendor->real.ctx, limit, &plan, &answer->workspace);
    return give(vendor, answer, plan, known, plan_p, workspace_p);
}

static void keep(void *plan)
{
    (void)plan;
}

static const struct cs_profile *profile_of(void *ctx)
{
    return &((struct vendor *)ctx)->profile;
}

/* --- layers, models and costs of decisions --- */

struct layer {
    const struct cs_problem *problem;
    double times; /* equal layers of the model; 0: an earlier one counts it */
    int64_t required, operands;
    struct vendor *vendor;
};

/* A GPU's models under every candidate and truth. */
struct model {
    int64_t record[PAIRS];        /* by candidate: bytes of the largest convolution */
    int64_t floor;                /* the same without workspace; 0: no layer has an engine */
    double byte_seconds;          /* `price` on the GPU */
    double seconds[PAIRS][PAIRS]; /* by candidate and truth */
    double untiled[PAIRS];
};

/* The decision of the default policy after those of the model's earlier layers, by the believed
 * constants.
 */
static struct cs_decision decide(const struct layer *layer, const struct cs_settings *settings,
                                 struct cs_vendor *vendor, struct cs_ladder belief, int64_t record)
{
    const struct cs_decide_call call = {.problem = layer->problem, .required = layer->required};
    const struct cs_peak_level level = {record, 0};
    struct cs_limits limits = settings->limits;
    layer->vendor->profile.ladder.known = false;
    struct cs_decision decision = cs_decide_by_rules(settings, &call, vendor, &level);
    if (decision.reason == CS_REASON_BELOW_PEAK || decision.reason == CS_REASON_SMALL)
        return decision;
    layer->vendor->profile.ladder = belief;
    limits.free = decision.free;
    return cs_decide(layer->problem, layer->required, settings->policy, &limits, vendor);
}

static double untiled_seconds(const struct layer *layer, struct cs_ladder truth)
{
    layer->vendor->profile.ladder = truth;
    return cs_cost_untiled(layer->problem, layer->required, &layer->vendor->profile).decided;
}

static double tiled_seconds(const struct layer *layer, struct cs_plan *plan, struct cs_ladder truth)
{
    layer->vendor->profile.ladder = truth;
    return cs_cost_of(plan, &layer->vendor->profile).decided;
}

static bool cut(const struct layer *layer, const struct cs_decision *decision, struct cs_plan *plan)
{
    if (decision->tiles < 2 || cs_plan_cut(layer->problem, &decision->tiling, plan) != CS_OK)
        return false;
    for (int64_t i = 0; i < plan->shapes; i++) {
        struct cs_problem tile;
        void *unused;
        cs_plan_problem(plan, i, &tile);
        if (build(layer->vendor, &tile, plan->shape[i].relaxation, &unused,
                  &plan->shape[i].workspace) != CS_OK)
            fail("a tile of a decision has no plan");
    }
    cs_plan_settle(plan);
    return true;
}

static void judge(const struct layer *layer, const struct cs_settings *settings,
                  struct model *model)
{
    static struct cs_plan plan;
    struct cs_vendor vendor = layer->vendor->real;
    vendor.ctx = layer->vendor;
    vendor.build = build;
    vendor.fallback = fall_back;
    vendor.destroy = keep;
    vendor.profile = profile_of;
    if (layer->operands > model->floor)
        model->floor = layer->operands;
    for (int truth = 0; truth < PAIRS; truth++)
        model->untiled[truth] += layer->times * untiled_seconds(layer, pair_at(truth));
    for (int i = 0; i < PAIRS; i++) {
        const struct cs_decision decision =
            decide(layer, settings, &vendor, pair_at(i), model->record[i]);
        const bool tiled = cut(layer, &decision, &plan);
        for (int truth = 0; truth < PAIRS; truth++)
            model->seconds[i][truth] +=
                layer->times * (tiled ? tiled_seconds(layer, &plan, pair_at(truth))
                                      : untiled_seconds(layer, pair_at(truth)));
        if (layer->operands + decision.reported > model->record[i])
            model->record[i] = layer->operands + decision.reported;
    }
}

static bool same_layer(const struct cs_layer *a, const struct cs_layer *b)
{
    return strcmp(a->model, b->model) == 0 && cs_problem_same(&a->problem, &b->problem);
}

/* Sums over models and GPUs. */
struct sums {
    int models;
    double peak[PAIRS];        /* by candidate: relative to the floor */
    double loss[PAIRS][PAIRS]; /* by candidate and truth, as parts of the untiled time */
};

static void add_model(const struct model *model, struct sums *sums)
{
    if (model->floor == 0)
        return;
    sums->models++;
    for (int i = 0; i < PAIRS; i++)
        sums->peak[i] += (double)model->record[i] / (double)model->floor;
    for (int truth = 0; truth < PAIRS; truth++)
        for (int i = 0; i < PAIRS; i++)
            sums->loss[i][truth] +=
                (model->seconds[i][truth] + model->byte_seconds * (double)model->record[i]) /
                model->untiled[truth];
}

/* The plans that a program takes by default, after those that are refused. */
static struct cs_prediction *predict(const struct cs_layers *layers, const char *profile,
                                     const struct cs_settings *settings)
{
    struct cs_prediction *prediction = calloc(layers->count, sizeof *prediction);
    char error[400];
    if (!prediction)
        fail("out of memory");
    const struct cs_predictor predictor = {.profile = profile, .settings = *settings};
    if (!cs_predict(&predictor, layers, prediction, error, sizeof error))
        fail(error);
    return prediction;
}

static void judge_layer(struct layer *layer, struct cs_engine_list *list,
                        const struct cs_prediction *prediction, const struct cs_settings *settings,
                        struct model *model)
{
    struct cs_engine_choice *chosen;
    struct cs_ask_offer offer;
    const struct cs_engine_wish wish = {prediction->offer.engine.index, prediction->offer.workspace,
                                        0};
    if (cs_engine_list_choose(list, layer->problem, wish, &offer, &chosen) != CS_OK)
        fail("cuDNN does not offer the same engine again");
    layer->required = offer.workspace;
    layer->operands = cs_pass_operands(layer->problem);
    layer->vendor = calloc(1, sizeof *layer->vendor);
    if (!layer->vendor)
        fail("out of memory");
    layer->vendor->real = cs_engine_chosen_vendor(chosen);
    layer->vendor->profile = *layer->vendor->real.profile(layer->vendor->real.ctx);
    model->byte_seconds =
        (double)settings->limits.price / 1000 / cs_cost_bandwidth(&layer->vendor->profile);
    judge(layer, settings, model);
    free(layer->vendor);
    cs_engine_chosen_destroy(chosen);
}

static void judge_gpu(const struct cs_layers *layers, const int *model_of, const char *folder,
                      const char *gpu, const struct cs_settings *settings, struct sums *sums)
{
    static struct model model[MOST_MODELS];
    struct cs_device_file device;
    struct cs_engine_list *list;
    struct layer *layer = calloc(layers->count, sizeof *layer);
    char error[CS_DEVICE_FILE_ERROR];
    if (!layer || !cs_device_file_load(gpu, folder, &device, error) ||
        !cs_engine_list_create(device.text, true, &list, error, sizeof error))
        fail("a GPU cannot be planned for");
    struct cs_prediction *prediction = predict(layers, device.text, settings);
    memset(model, 0, sizeof model);
    for (size_t i = 0; i < layers->count; i++) {
        size_t first = 0;
        while (!same_layer(&layers->layer[first], &layers->layer[i]))
            first++;
        layer[i].problem = &layers->layer[i].problem;
        layer[first].times++;
    }
    for (size_t i = 0; i < layers->count; i++)
        if (layer[i].times > 0 && prediction[i].status == CS_OK)
            judge_layer(&layer[i], list, &prediction[i], settings, &model[model_of[i]]);
    for (int i = 0; i < MOST_MODELS; i++)
        add_model(&model[i], sums);
    free(prediction);
    free(layer);
    cs_engine_list_destroy(list);
    cs_device_file_fini(&device);
}

/* In a separate process, because cuDNN lists engines by the first GPU (engine_list.h). */
static void judge_apart(const struct cs_layers *layers, const int *model_of, const char *folder,
                        const char *gpu, const struct cs_settings *settings, struct sums *sums)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        judge_gpu(layers, model_of, folder, gpu, settings, sums);
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("a GPU was not judged");
}

/* Numbers the models of a list. */
static int *models_of(const struct cs_layers *layers)
{
    int *model = calloc(layers->count, sizeof *model);
    for (size_t i = 1; model && i < layers->count; i++)
        model[i] = model[i - 1] + (strcmp(layers->layer[i].model, layers->layer[i - 1].model) != 0);
    if (!model || model[layers->count - 1] >= MOST_MODELS)
        fail("too many models");
    return model;
}

static double peak_of(const struct sums *sums, int candidate)
{
    return sums->peak[candidate] / sums->models;
}

/* In percent. */
static double worst_regret(const struct sums *sums, int candidate)
{
    double worst = 0;
    for (int truth = 0; truth < PAIRS; truth++) {
        double least = sums->loss[candidate][truth];
        for (int i = 0; i < PAIRS; i++)
            least = fmin(least, sums->loss[i][truth]);
        worst = fmax(worst, 100 * (sums->loss[candidate][truth] - least) / sums->models);
    }
    return worst;
}

static void print_table(const struct sums *sums,
                        double (*value)(const struct sums *sums, int candidate), const char *title)
{
    printf("# %s; rows: microseconds of a kernel, columns: gain of lanes\n#     ", title);
    for (int gain = 0; gain < GAINS; gain++)
        printf(" %6g", gains[gain]);
    for (int i = 0; i < PAIRS; i++) {
        if (i % GAINS == 0)
            printf("\n# %4g", pair_at(i).kernel_us);
        printf(" %6.3f", value(sums, i));
    }
    printf("\n");
}

/* The allowed candidate of least worst regret. -1: none is allowed. */
static int safest_pair(const struct sums *sums)
{
    int best = -1;
    for (int i = 0; i < PAIRS; i++)
        if (peak_of(sums, i) <= MOST_PEAK &&
            (best < 0 || worst_regret(sums, i) < worst_regret(sums, best)))
            best = i;
    return best;
}

static int judge_defaults(const struct sums *sums)
{
    const struct cs_coefficients *own = &cs_cost_defaults;
    print_table(sums, peak_of, "largest convolutions relative to their operands");
    print_table(sums, worst_regret, "worst regret in percent");
    const int best = safest_pair(sums);
    if (best < 0)
        fail("every candidate makes higher peaks than allowed");
    const struct cs_ladder pair = pair_at(best);
    const bool good = fabs(pair.kernel_us - own->kernel_us_decided) < 1e-9 &&
                      fabs(pair.lane_gain - own->overlap) < 1e-9;
    printf("%sok 1 - safest: a kernel of %g us and a gain of %g; kernel_us_decided is %g, overlap "
           "%g\n1..1\n",
           good ? "" : "not ", pair.kernel_us, pair.lane_gain, own->kernel_us_decided,
           own->overlap);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct sums *sums =
        mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static struct cs_config config;
    struct cs_layers layers = {0};
    char error[CS_LAYERS_ERROR];
    if (sums == MAP_FAILED)
        fail("out of memory");
    if (argc < 5 || !cs_layers_csv(&layers, argv[2], &(struct cs_layer_rules){0}, error))
        fail("usage: regret CUDNN LIST FOLDER GPU...");
    if (!cs_find_cudnn("regret", *argv[1] ? argv[1] : NULL)) {
        puts("ok 1 - regret # SKIP no real cuDNN\n1..1");
        return 0;
    }
    cs_config_default(&config);
    struct cs_settings settings = {.program = "",
                                   .policy = cs_policy_find(config.policy.text),
                                   .limits = cs_limits_of(&config, &config.rules),
                                   .most = INT64_MAX};
    settings.limits.lent = false;
    int *model = models_of(&layers);
    for (int i = 4; i < argc; i++)
        judge_apart(&layers, model, argv[3], argv[i], &settings, sums);
    free(model);
    cs_layers_fini(&layers);
    return judge_defaults(sums);
}
