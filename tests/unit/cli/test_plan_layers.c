/* `predict` over lists: the rule of thumb, equal problems asked once, and failures of any thread
 * told. */
#include "cli/predict/plan_layers.h"

#include "check.h"
#include "cli/predict/estimate.h"
#include "sample_problem.h"
#include <pthread.h>

enum {
    COUNT = 24,
    MIB = 1 << 20
};

/* An engine list of the test's own. */
static struct {
    pthread_mutex_t lock;
    int created, destroyed, asked, most; /* lists that may be created */
    int64_t refused;                     /* extents of problems without an engine */
    size_t done, of;
    bool nomem, build_nomem, profiled, huge;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int list, chosen_engine, plan;

bool cs_engine_list_create(const char *profile, struct cs_engine_list **list_p, char *error,
                           size_t size)
{
    CHECK_STR(profile, "{}");
    pthread_mutex_lock(&fake.lock);
    bool made = fake.created < fake.most;
    fake.created += made;
    pthread_mutex_unlock(&fake.lock);
    *list_p = (struct cs_engine_list *)(void *)&list;
    if (!made)
        snprintf(error, size, "no list");
    return made;
}

void cs_engine_list_destroy(struct cs_engine_list *made)
{
    pthread_mutex_lock(&fake.lock);
    fake.destroyed += made != NULL;
    pthread_mutex_unlock(&fake.lock);
}

enum cs_status cs_engine_list_choose(struct cs_engine_list *made, const struct cs_problem *problem,
                                     enum cs_ask_mode mode, struct cs_ask_offer *offer,
                                     struct cs_chosen_engine **chosen_p)
{
    pthread_mutex_lock(&fake.lock);
    fake.asked++;
    pthread_mutex_unlock(&fake.lock);
    CHECK(made == (struct cs_engine_list *)(void *)&list && mode == CS_ASK_B);
    if (fake.nomem)
        return CS_NOMEM;
    if (problem->tensor[CS_X].dims[CS_N] == fake.refused)
        return CS_REFUSED;
    *offer = (struct cs_ask_offer){.mode = mode,
                                   .engine = {.index = 7},
                                   .workspace = fake.huge ? INT64_MAX
                                                          : problem->tensor[CS_X].dims[CS_N] * MIB};
    *chosen_p = (struct cs_chosen_engine *)(void *)&chosen_engine;
    return CS_OK;
}

void cs_engine_chosen_destroy(struct cs_chosen_engine *chosen)
{
    CHECK(!chosen || chosen == (struct cs_chosen_engine *)(void *)&chosen_engine);
}

static enum cs_status build(void *ctx, const struct cs_problem *problem,
                            enum cs_relaxation relaxation, void **execution_plan_p,
                            int64_t *workspace_p)
{
    (void)ctx, (void)relaxation;
    if (fake.build_nomem)
        return CS_NOMEM;
    *execution_plan_p = &plan;
    *workspace_p = problem->tensor[CS_X].dims[CS_N] * MIB;
    return CS_OK;
}

static enum cs_status fallback(void *ctx, int64_t limit, void **execution_plan_p,
                               int64_t *workspace_p)
{
    (void)ctx, (void)limit;
    *execution_plan_p = &plan;
    *workspace_p = 0;
    return CS_OK;
}

static void destroy(void *built)
{
    CHECK(built == &plan);
}

static const struct cs_profile *profile(void *ctx)
{
    static const struct cs_profile device = {.name = "a GPU",
                                             .capability = 900,
                                             .multiprocessors = 132,
                                             .clock = 1980000,
                                             .memory_clock = 3201000,
                                             .bus_width = 6144,
                                             .l2 = 60 * MIB};
    (void)ctx;
    return &device;
}

struct cs_vendor cs_engine_chosen_vendor(struct cs_chosen_engine *chosen)
{
    (void)chosen;
    return (struct cs_vendor){.build = build,
                              .fallback = fallback,
                              .destroy = destroy,
                              .profile = fake.profiled ? profile : NULL};
}

static void progress(void *ctx, size_t done, size_t of)
{
    CHECK(ctx == &fake);
    CHECK_INT(done, fake.done + 1);
    fake.done = done;
    fake.of = of;
}

static struct cs_predictor predictor_of(int threads)
{
    struct cs_predictor predictor = {
        .profile = "{}", .mode = CS_ASK_B, .threads = threads, .progress = progress, .ctx = &fake};
    predictor.settings.policy = cs_policy_find("fit");
    predictor.settings.limits =
        (struct cs_limits){.workspace = (int64_t)COUNT * MIB, .threshold = -1};
    predictor.settings.most = INT64_MAX;
    fake.created = fake.destroyed = fake.asked = 0;
    fake.most = INT32_MAX;
    fake.refused = 0;
    fake.nomem = fake.build_nomem = fake.profiled = fake.huge = false;
    fake.done = fake.of = 0;
    return predictor;
}

/* 2x4x64x12 of `batch` images. */
static struct cs_problem of_batch(int64_t batch)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    problem.tensor[CS_X].dims[CS_N] = problem.tensor[CS_Y].dims[CS_N] = batch;
    return problem;
}

static struct cs_problem problem[COUNT];
static const struct cs_problem *pointer[COUNT];
static struct cs_prediction prediction[COUNT];
static char error[160];

static bool predict(const struct cs_predictor *predictor)
{
    for (int i = 0; i < COUNT; i++) {
        problem[i] = of_batch(1 + i % (COUNT / 2));
        pointer[i] = &problem[i];
        prediction[i] = (struct cs_prediction){.status = CS_INVALID};
    }
    error[0] = '\0';
    return cs_predict(predictor, pointer, COUNT, prediction, error, sizeof error);
}

static void each_problem_is_asked_once(void)
{
    for (int threads = 1; threads <= 16; threads *= 2) {
        struct cs_predictor predictor = predictor_of(threads);
        fake.refused = 3;
        CHECK(predict(&predictor));
        CHECK_INT(fake.asked, COUNT / 2);
        CHECK(fake.created >= 1 && fake.created <= 8 && fake.created <= threads);
        CHECK_INT(fake.destroyed, fake.created);
        CHECK_INT(fake.done, COUNT / 2);
        CHECK_INT(fake.of, COUNT / 2);
        for (int i = 0; i < COUNT; i++) {
            int64_t batch = 1 + i % (COUNT / 2), x = batch * 3072 * 2, y = batch * 8 * 64 * 12 * 2;
            CHECK_INT(prediction[i].status, batch == 3 ? CS_REFUSED : CS_OK);
            CHECK_INT(prediction[i].bytes[CS_X], x);
            CHECK_INT(prediction[i].bytes[CS_FILTER], 288 * 2);
            CHECK_INT(prediction[i].floor, x + y + 288 * 2);
            CHECK_INT(prediction[i].offer.workspace, batch == 3 ? 0 : batch * MIB);
            CHECK_INT(prediction[i].peak, batch == 3 ? 0 : x + y + 288 * 2 + batch * MIB);
        }
    }
}

static void a_tiled_prediction_weighs_its_tiles(void)
{
    struct cs_predictor predictor = predictor_of(2);
    predictor.settings.limits.workspace = 4 * MIB;
    CHECK(predict(&predictor));
    for (int i = 0; i < COUNT; i++) {
        const struct cs_prediction *p = &prediction[i];
        int64_t batch = 1 + i % (COUNT / 2);
        CHECK(p->tiled_peak - p->floor == p->decision.reported);
        if (batch <= 4)
            continue;
        CHECK_INT(p->decision.reason, CS_REASON_NONE);
        CHECK(p->decision.reported <= 4 * MIB && p->tiled_peak < p->peak);
        CHECK_INT(p->halo, 0);     /* images share nothing */
        CHECK(p->time_ratio == 0); /* of a device that is not known */
    }
}

static void a_known_device_has_times(void)
{
    struct cs_predictor predictor = predictor_of(1);
    predictor.settings.limits.workspace = 4 * MIB;
    fake.profiled = true;
    CHECK(predict(&predictor));
    for (int i = 0; i < COUNT; i++) {
        bool tiled = prediction[i].decision.reason == CS_REASON_NONE;
        CHECK(tiled == (i % (COUNT / 2) >= 4));
        CHECK(tiled ? prediction[i].time_ratio > 1 : prediction[i].time_ratio == 0);
    }
}

static void a_peak_beyond_all_numbers_is_the_largest(void)
{
    struct cs_predictor predictor = predictor_of(1);
    predictor.settings.limits.workspace = 4 * MIB;
    fake.huge = true;
    CHECK(predict(&predictor));
    for (int i = 0; i < COUNT; i++)
        CHECK_INT(prediction[i].peak, INT64_MAX);
}

static void a_list_that_cannot_be_made_is_an_error(void)
{
    struct cs_predictor predictor = predictor_of(4);
    fake.most = 0;
    CHECK(!predict(&predictor));
    CHECK_STR(error, "no list");
    fake.most = 1; /* one thread has one, the others do not */
    CHECK(!predict(&predictor));
    CHECK_STR(error, "no list");
    CHECK_INT(fake.destroyed, fake.created);
}

static void memory_that_runs_out_is_an_error(void)
{
    struct cs_predictor predictor = predictor_of(1);
    fake.nomem = true;
    CHECK(!predict(&predictor));
    CHECK_STR(error, "out of memory");
    CHECK_INT(fake.asked, 1); /* the first to fail ends it */
    CHECK_INT(fake.destroyed, 1);
    predictor = predictor_of(1);
    predictor.settings.limits.workspace = 4 * MIB;
    fake.build_nomem = true; /* or while it is decided */
    CHECK(!predict(&predictor));
    CHECK_STR(error, "out of memory");
}

static void an_estimate_asks_nobody(void)
{
    struct cs_predictor predictor = predictor_of(3);
    predictor.estimate = true;
    fake.most = 0;
    CHECK(predict(&predictor));
    CHECK_INT(fake.asked, 0);
    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(prediction[i].status, CS_OK);
        CHECK_INT(prediction[i].offer.workspace, cs_estimate_workspace(&problem[i]));
    }
}

/* Tensors of channels by eights that lie last need no copy; others do, padded to eights. */
static void the_rule_of_thumb(void)
{
    enum {
        PIXELS = 2 * 5 * 5
    };
    struct cs_problem p = deep();
    for (int i = 0; i < CS_OPERANDS; i++)
        CHECK_INT(p.tensor[i].dtype, CS_BF16);
    /* x has 20 channels, first: a copy of 24; w has them last, but 20; y has 24, first */
    int64_t x = 24 * PIXELS * 2, w = 24 * 24 * 9 * 2, y = 24 * 2 * 9 * 2;
    CHECK_INT(cs_estimate_workspace(&p), x + w + y);
    p.tensor[CS_Y].strides[CS_C] = 1;
    CHECK_INT(cs_estimate_workspace(&p), x + w);
    p.tensor[CS_X].dims[CS_C] = p.tensor[CS_FILTER].dims[CS_C] = 16;
    CHECK_INT(cs_estimate_workspace(&p), 16 * PIXELS * 2); /* the filter is as it is to be */
    p.tensor[CS_FILTER].dims[CS_N] = 23; /* neither extent of a filter may be odd */
    CHECK_INT(cs_estimate_workspace(&p), 16 * PIXELS * 2 + 23 * 16 * 9 * 2);
    p.tensor[CS_X].dims[CS_N] = 3; /* which is the batch of any other tensor */
    p.tensor[CS_X].strides[CS_C] = 1;
    CHECK_INT(cs_estimate_workspace(&p), 23 * 16 * 9 * 2);
    p.groups = 2; /* channels of groups are not padded */
    CHECK_INT(cs_estimate_workspace(&p), 0);
    p.tensor[CS_X].dims[CS_C] = 17;
    p.tensor[CS_X].strides[CS_C] = 2;
    CHECK_INT(cs_estimate_workspace(&p), 17 * 3 * 25 * 2);
    p.tensor[CS_X].dims[CS_C] = 1; /* one channel lies last wherever it lies */
    CHECK_INT(cs_estimate_workspace(&p), 0);
    p.groups = 1;
    CHECK_INT(cs_estimate_workspace(&p), 8 * 3 * 25 * 2 + 23 * 16 * 9 * 2);
    p.tensor[CS_X].dims[CS_N] = INT64_MAX / 4;
    CHECK_INT(cs_estimate_workspace(&p), INT64_MAX);
}

int main(void)
{
    TEST(each_problem_is_asked_once);
    TEST(a_tiled_prediction_weighs_its_tiles);
    TEST(a_known_device_has_times);
    TEST(a_peak_beyond_all_numbers_is_the_largest);
    TEST(a_list_that_cannot_be_made_is_an_error);
    TEST(memory_that_runs_out_is_an_error);
    TEST(an_estimate_asks_nobody);
    TEST(the_rule_of_thumb);
    return REPORT();
}
