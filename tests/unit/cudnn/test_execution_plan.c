/* The engine for a plan of the library: the application's own, an equivalent one, or the plain one,
 * by the properties of each and by the workspace of its plan. */
#include "cudnn/plan/execution_plan.h"

#include "cudnn/bind/new_attributes.h"
#include "cudnn/plan/fusion.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

#define NUMERICAL(note) (1u << CUDNN_NUMERICAL_NOTE_##note)
#define BEHAVIOUR(note) (1u << CUDNN_BEHAVIOR_NOTE_##note)

enum {
    INDEX = 34,
    NATIVE = CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API
};

static char handle[16];
static struct cs_engine_choice choice;
static struct cs_vendor plans;
static void *made;
static int64_t workspace;

static void start(void)
{
    static const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    recorded_start();
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)handle,
                          (struct cs_handle_id){1, 0});
    choice.engine =
        (struct cs_engine){.index = INDEX, .knobs = 2, .knob_type = {4, 2}, .knob_value = {1, 8}};
    choice.notes = (struct cs_engine_notes){NUMERICAL(FFT), 1u << NATIVE};
    choice.known = true;
    plans = cs_execution_plan_vendor(&choice);
    cudnn.own.workspace = 70;
    made = NULL;
    workspace = -1;
}

/* An engine of the heuristics that computes and behaves as the application's. */
static struct offer alike(int64_t index, int64_t bytes)
{
    return (struct offer){.engine.index = index,
                          .numerical = choice.notes.numerical,
                          .behaviour = choice.notes.behaviour,
                          .workspace = bytes};
}

static void offer(int list, struct offer engine)
{
    cudnn.offer[list][cudnn.offers[list]++] = engine;
}

static enum cs_status build(enum cs_relaxation relaxation)
{
    struct cs_problem tile = choice.problem;
    tile.tensor[CS_X].dims[CS_N] = 1;
    return plans.build(plans.ctx, &tile, relaxation, &made, &workspace);
}

static const struct recorded *configuration_of(const void *execution_plan)
{
    const struct recorded *plan =
        (const struct recorded *)((const struct cs_execution_plan *)execution_plan)->plan;
    CHECK(plan && plan->finalized && !plan->destroyed);
    return &cudnn.descriptor[attribute_of(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->value[0]];
}

static int knobs_of(const struct recorded *configuration)
{
    const struct attribute_set *knobs =
        attribute_of(configuration, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
    return knobs ? (int)knobs->count : 0;
}

static int64_t index_of(const struct recorded *configuration)
{
    if (configuration->offer)
        return configuration->offer->engine.index;
    int64_t engine = attribute_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE)->value[0];
    return attribute_of(&cudnn.descriptor[engine], CUDNN_ATTR_ENGINE_GLOBAL_INDEX)->value[0];
}

/* Checks that the plan has that engine and number of knobs, and that all other descriptors are
 * destroyed. */
static void check_made(int64_t index, int knobs, int64_t bytes)
{
    CHECK(made != NULL);
    if (!made)
        return;
    CHECK_INT(index_of(configuration_of(made)), index);
    CHECK_INT(knobs_of(configuration_of(made)), knobs);
    CHECK_INT(workspace, bytes);
    CHECK_INT(cudnn.alive, 1);
    plans.destroy(made);
    made = NULL;
    CHECK_INT(cudnn.alive, 0);
}

static void check_none(enum cs_status got, enum cs_status want)
{
    CHECK_INT(got, want);
    CHECK(made == NULL);
    CHECK_INT(cudnn.alive, 0);
}

static void application_engine_is_first(void)
{
    start();
    CHECK_INT(build(CS_SAME_KNOBS), CS_OK);
    CHECK_SET(nth_of(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 0), CUDNN_ATTR_TENSOR_DIMENSIONS,
              CUDNN_TYPE_INT64, 1, 4, 64, 12); /* the tile's */
    check_made(INDEX, 2, 70);
    CHECK_INT(build(CS_DEFAULT_KNOBS), CS_OK);
    check_made(INDEX, 0, 70);
    CHECK_INT(made_of(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), 0);
}

/* Refuses plans made by an engine's number; accepts those from the heuristics. */
static cudnnStatus_t refuse_own(const struct recorded *plan)
{
    const struct attribute_set *of = attribute_of(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    return attribute_of(&cudnn.descriptor[of->value[0]], CUDNN_ATTR_ENGINECFG_ENGINE)
               ? CUDNN_STATUS_NOT_SUPPORTED
               : offer_of(plan)->plan;
}

static cudnnStatus_t refuse_knobs(const struct recorded *plan)
{
    const struct attribute_set *of = attribute_of(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    return knobs_of(&cudnn.descriptor[of->value[0]]) > 0 ? CUDNN_STATUS_NOT_SUPPORTED
                                                         : CUDNN_STATUS_SUCCESS;
}

/* The engine's own defaults if its knobs do not fit, then the heuristics' engines. */
static void refused_engine_is_replaced(void)
{
    start();
    cudnn.judge = refuse_knobs;
    CHECK_INT(build(CS_SAME_KNOBS), CS_OK);
    check_made(INDEX, 0, 70);
    for (int knobs = 0; knobs <= 2; knobs++) {
        start();
        cudnn.own = alike(99, 9); /* properties of an engine that was not offered */
        choice.engine.knobs = knobs;
        cudnn.judge = refuse_own;
        offer(0, alike(1, 10));
        cudnn.offer[0][0].numerical = 0;
        offer(0, alike(2, 20));
        cudnn.offer[0][1].behaviour = 0;
        offer(0, alike(3, 30));
        cudnn.offer[0][2].plan = CUDNN_STATUS_NOT_SUPPORTED;
        offer(0, alike(4, 500));
        offer(0, alike(5, 50));
        CHECK_INT(build(CS_SAME_KNOBS), CS_OK);
        CHECK_INT(cudnn.asked_mode, CUDNN_HEUR_MODE_A);
        CHECK_INT(cudnn.asked_capacity, 12);
        /* Two of the offers, and the own engine once or twice. */
        CHECK_INT(made_of(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), 3 + (knobs > 0));
        check_made(4, 0, 500);
        check_none(build(CS_DEFAULT_KNOBS), CS_REFUSED);
        cudnn.offers[0] = 3;
        check_none(build(CS_SAME_KNOBS), CS_REFUSED);
    }
}

static void a_moment_without_memory_is_no_refusal(void)
{
    start();
    cudnn.own.plan = CUDNN_STATUS_ALLOC_FAILED;
    offer(0, alike(1, 10));
    check_none(build(CS_SAME_KNOBS), CS_NOMEM);
    CHECK_INT(made_of(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), 1);
    cudnn.own.plan = CUDNN_STATUS_NOT_SUPPORTED;
    cudnn.offer[0][0].plan = CUDNN_STATUS_ALLOC_FAILED;
    offer(0, alike(2, 10));
    check_none(build(CS_SAME_KNOBS), CS_NOMEM);
}

static void smallest_equivalent_is_chosen(void)
{
    static const struct {
        int64_t bytes[4];
        int count;
        int64_t index;
    } cases[] = {{{300, 100, 200}, 3, 2},
                 {{100, 100, 200}, 3, 1},
                 {{300, 200, 100}, 3, 3},
                 {{0, 5}, 2, 1},
                 {{9}, 1, 1},
                 {{1, 0}, 2, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start();
        for (int j = 0; j < cases[i].count; j++)
            offer(0, alike(j + 1, cases[i].bytes[j]));
        offer(0, alike(8, 0));
        cudnn.offer[0][cases[i].count].numerical = NUMERICAL(WINOGRAD);
        offer(0, alike(9, 0));
        cudnn.offer[0][cases[i].count + 1].plan = CUDNN_STATUS_NOT_SUPPORTED;
        CHECK_INT(build(CS_SIMILAR_ENGINE), CS_OK);
        CHECK_INT(cudnn.asked_mode, CUDNN_HEUR_MODE_A);
        CHECK_INT(cudnn.asked_capacity, 12);
        if (cases[i].bytes[0] == 0) /* cannot be improved */
            CHECK_INT(made_of(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), 1);
        check_made(cases[i].index, 0, cases[i].bytes[cases[i].index - 1]);
    }
    start();
    cudnn.own = alike(99, 9);
    check_none(build(CS_SIMILAR_ENGINE), CS_REFUSED);
}

/* An engine whose notes cannot be read is not taken for one without notes. */
static void unreadable_engine_is_not_equivalent(void)
{
    for (int at = 0, calls = 1; at <= calls; at++) {
        start();
        choice.notes = (struct cs_engine_notes){0, 0};
        offer(0, (struct offer){.engine.index = 1, .numerical = NUMERICAL(TENSOR_CORE)});
        offer(0, (struct offer){.engine.index = 2, .behaviour = BEHAVIOUR(RUNTIME_COMPILATION)});
        cudnn.judge = refuse_own;
        cudnn.fails_at = at;
        cudnn.failure = CUDNN_STATUS_INTERNAL_ERROR;
        check_none(build(CS_SIMILAR_ENGINE), CS_REFUSED);
        check_none(build(CS_SAME_KNOBS), CS_REFUSED);
        calls = at == 0 ? cudnn.calls : calls;
    }
}

static enum cs_status fall_back(int64_t limit)
{
    return plans.fallback(plans.ctx, limit, &made, &workspace);
}

static void a_fallback_plan_is_the_plain_engine_s(void)
{
    start();
    CHECK_INT(fall_back(70), CS_OK);
    CHECK_SET(nth_of(CUDNN_BACKEND_TENSOR_DESCRIPTOR, 0), CUDNN_ATTR_TENSOR_DIMENSIONS,
              CUDNN_TYPE_INT64, 2, 4, 64, 12); /* the whole problem's */
    check_made(0, 0, 70);
    check_none(fall_back(69), CS_REFUSED);
    cudnn.own.plan = CUDNN_STATUS_NOT_SUPPORTED;
    check_none(fall_back(1000), CS_REFUSED);
    cudnn.own.plan = CUDNN_STATUS_ALLOC_FAILED;
    check_none(fall_back(1000), CS_NOMEM);
    CHECK_INT(made_of(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), 0);
}

/* A step that leaves y unchanged. */
static void add_a_step(void)
{
    choice.problem.tensor[CS_Y].is_virtual = true;
    choice.problem.tensor[3] = choice.problem.tensor[CS_Y];
    choice.problem.tensors = 4;
    choice.problem.steps = 1;
    cs_fusion_pack(
        &(struct cs_pointwise){.mode = CUDNN_POINTWISE_RELU_FWD, .operand = {CS_Y, -1, -1, 3}},
        &choice.problem.step[0]);
}

static void fused_graph_may_fall_back_to_other_engines(void)
{
    start();
    add_a_step();
    cudnn.judge = refuse_own;
    offer(2, (struct offer){.engine.index = 1, .numerical = NUMERICAL(WINOGRAD)});
    offer(2, (struct offer){.engine.index = 2, .workspace = 101});
    offer(2, (struct offer){.engine.index = 3, .workspace = 100});
    CHECK_INT(fall_back(100), CS_OK);
    CHECK_INT(cudnn.asked_mode, CUDNN_HEUR_MODE_FALLBACK);
    CHECK_INT(cudnn.asked_capacity, 3);
    check_made(3, 0, 100);
    CHECK_INT(fall_back(101), CS_OK);
    check_made(2, 0, 101);
    check_none(fall_back(99), CS_REFUSED);
    cudnn.offer[2][1].plan = CUDNN_STATUS_ALLOC_FAILED;
    check_none(fall_back(100), CS_NOMEM);
    cudnn.offer[2][0].numerical = 0;
    CHECK_INT(fall_back(100), CS_OK);
    check_made(1, 0, 0);
    cudnn.judge = NULL; /* the plain one is first */
    CHECK_INT(fall_back(100), CS_OK);
    check_made(0, 0, 70);
}

/* Of a list of plans for one problem few are ever run. */
static void one_of_many_is_finalized_later(void)
{
    for (int fused = 0; fused <= 1; fused++) {
        start();
        cudnn.tells_workspace = true;
        choice.many = true;
        if (fused)
            add_a_step();
        CHECK_INT(fall_back(70), CS_OK);
        CHECK_INT(cs_execution_plan_is_ready(made), fused);
        CHECK_INT(workspace, 70);
        plans.destroy(made);
        made = NULL;
        CHECK_INT(fall_back(69), CS_REFUSED);
        cs_kept_engine_forget();
        check_none(CS_OK, CS_OK);
    }
}

static void a_fallback_plan_may_come_later(void)
{
    start();
    CHECK_INT(plans.fallback_later(plans.ctx, 70, &made), CS_OK);
    CHECK_INT(cudnn.calls, 0);
    CHECK(!cs_execution_plan_is_ready(made));
    CHECK(cs_execution_plan_make_ready(made, (cudnnHandle_t)(void *)handle));
    workspace = 70;
    check_made(0, 0, 70);
    CHECK_INT(plans.fallback_later(plans.ctx, 69, &made), CS_OK);
    CHECK(!cs_execution_plan_make_ready(made, (cudnnHandle_t)(void *)handle));
    plans.destroy(made);
    made = NULL;
    add_a_step();
    check_none(plans.fallback_later(plans.ctx, 70, &made), CS_REFUSED);
    start();
    choice.target.handle = NULL;
    check_none(plans.fallback_later(plans.ctx, 70, &made), CS_REFUSED);
}

static cudnnStatus_t refuse_the_first(const struct recorded *plan)
{
    const struct attribute_set *of = attribute_of(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    int64_t index = index_of(&cudnn.descriptor[of->value[0]]);
    return index == INDEX || index == 0 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

/* An engine made by its number, which is under the limits of the application's. */
static void check_limits(const struct cs_engine_settings *limits)
{
    const struct recorded *configuration = configuration_of(made);
    const struct attribute_set *named = attribute_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE);
    CHECK(named != NULL);
    if (!named)
        return;
    const struct recorded *engine = &cudnn.descriptor[named->value[0]];
    const struct attribute_set *sm_count = attribute_of(engine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET),
                               *no_clusters = attribute_of(engine, CS_ATTR_ENGINE_NO_CLUSTERS),
                               *memory = attribute_of(engine, CS_ATTR_ENGINE_SHARED_MEMORY);
    CHECK_INT(sm_count ? sm_count->value[0] : 0, limits->sm_count);
    CHECK_INT(no_clusters ? no_clusters->value[0] : 0, limits->no_clusters);
    CHECK_INT(memory ? memory->value[0] : 0, limits->shared_memory);
}

/* The heuristics' list does not contain these limits. */
static void limits_hold_for_offered_engines(void)
{
    static const struct cs_engine_settings limits[] = {
        {20, 0, false}, {0, 4096, false}, {0, 0, true}};
    static const enum cs_relaxation ways[] = {CS_SAME_KNOBS, CS_SIMILAR_ENGINE};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (size_t way = 0; way <= sizeof ways / sizeof *ways; way++) {
            bool falls_back = way == sizeof ways / sizeof *ways;
            start();
            choice.target.settings = limits[i];
            cudnn.judge = refuse_the_first;
            struct offer offered = alike(5, 70);
            offered.engine.knobs = 1;
            offer(falls_back ? 2 : 0, offered);
            if (falls_back)
                add_a_step();
            CHECK_INT(falls_back ? fall_back(70) : build(ways[way]), CS_OK);
            check_limits(&limits[i]);
            check_made(5, 1, 70);
        }
}

/* Nor are those that cannot be read taken without them. */
static void unreadable_offers_are_refused(void)
{
    for (int at = 1, calls = 2; at < calls; at++) {
        start();
        choice.target.settings.sm_count = 20;
        offer(0, alike(5, 70));
        cudnn.fails_at = at;
        cudnn.failure = CUDNN_STATUS_INTERNAL_ERROR;
        check_none(build(CS_SIMILAR_ENGINE), CS_REFUSED);
        CHECK_INT(cudnn.calls >= at, true);
        start();
        choice.target.settings.sm_count = 20;
        offer(0, alike(5, 70));
        CHECK_INT(build(CS_SIMILAR_ENGINE), CS_OK);
        calls = cudnn.calls;
        check_made(5, 0, 70);
    }
}

static struct {
    int64_t index[8], required[8];
    int looks, until;
    bool wrong; /* an engine that must not be examined */
} looked;

static bool look(void *to, const struct cs_engine *engine, int64_t required,
                 const struct cs_vendor *of)
{
    void *own;
    int64_t bytes;
    const struct cs_engine_choice *other = of->ctx;
    CHECK(to == &looked);
    CHECK_INT(other->id.number, choice.id.number);
    CHECK_INT(other->id.gpu, choice.id.gpu);
    int64_t word[CS_PROBLEM_WORDS], own_word[CS_PROBLEM_WORDS];
    int words = cs_problem_words(&other->problem, word);
    CHECK_INT(words, cs_problem_words(&choice.problem, own_word));
    CHECK(memcmp(word, own_word, (size_t)words * sizeof *word) == 0);
    CHECK(memcmp(other->target.uid, choice.target.uid, sizeof choice.target.uid) == 0);
    looked.wrong = looked.wrong || (engine->index != 5 && engine->index != 6);
    if (cudnn.fails_at > 0)
        return false;
    looked.index[looked.looks] = engine->index;
    looked.required[looked.looks++] = required;
    CHECK_INT(of->build(of->ctx, &choice.problem, CS_SAME_KNOBS, &own, &bytes), CS_OK);
    CHECK_INT(index_of(configuration_of(own)), engine->index);
    if (choice.target.settings.sm_count > 0) {
        made = own;
        check_limits(&choice.target.settings);
    }
    of->destroy(own);
    return looked.looks == looked.until;
}

static void offer_others(void)
{
    start();
    memset(&looked, 0, sizeof looked);
    choice.id = (struct cs_handle_id){77, 3};
    choice.notes.numerical = NUMERICAL(TENSOR_CORE) | NUMERICAL(FFT);
    offer(0, (struct offer){.engine.index = 1, .numerical = NUMERICAL(WINOGRAD)});
    offer(0, (struct offer){.engine.index = 2, .numerical = NUMERICAL(FFT)});
    offer(0, (struct offer){.engine.index = 3,
                            .numerical = NUMERICAL(TENSOR_CORE),
                            .behaviour = BEHAVIOUR(RUNTIME_COMPILATION)});
    offer(0, (struct offer){.engine.index = 4,
                            .numerical = NUMERICAL(TENSOR_CORE),
                            .plan = CUDNN_STATUS_NOT_SUPPORTED});
    offer(0,
          (struct offer){.engine.index = 5, .numerical = NUMERICAL(TENSOR_CORE), .workspace = 500});
    offer(0, (struct offer){.engine.index = 6,
                            .numerical = NUMERICAL(TENSOR_CORE) | NUMERICAL(FFT),
                            .workspace = 600});
}

static void equivalent_engines_are_examined(void)
{
    for (int until = 0; until <= 3; until++) {
        offer_others();
        looked.until = until;
        CHECK_INT(plans.others(plans.ctx, look, &looked), until == 1 || until == 2);
        CHECK_INT(looked.looks, until == 1 ? 1 : 2);
        CHECK(!looked.wrong);
        CHECK(looked.index[0] == 5 && looked.required[0] == 500);
        CHECK(until == 1 || (looked.index[1] == 6 && looked.required[1] == 600));
        CHECK_INT(cudnn.asked_mode, CUDNN_HEUR_MODE_A);
        CHECK_INT(cudnn.asked_capacity, 12);
        CHECK_INT(cudnn.alive, 0);
    }
    start(); /* without tensor cores of its own, an equivalent must have none */
    memset(&looked, 0, sizeof looked);
    choice.notes.numerical = 0;
    offer(0, (struct offer){.engine.index = 2});
    CHECK(!plans.others(plans.ctx, look, &looked));
    CHECK_INT(looked.looks, 1);
}

static void others_are_under_the_same_limits(void)
{
    start();
    memset(&looked, 0, sizeof looked);
    looked.until = 1;
    choice.notes.numerical = 0;
    choice.target.settings.sm_count = 20;
    offer(0, (struct offer){.engine.index = 5});
    CHECK(plans.others(plans.ctx, look, &looked));
    CHECK(!looked.wrong);
    CHECK_INT(looked.required[0], 70);
}

/* Engines that cannot be read are skipped, and leave no descriptor. */
static void others_that_cannot_be_read_are_passed_over(void)
{
    offer_others();
    CHECK(!plans.others(plans.ctx, look, &looked));
    int calls = cudnn.calls;
    CHECK(calls > 300);
    for (int at = 1; at <= calls; at++) {
        offer_others();
        cudnn.fails_at = at;
        cudnn.failure = CUDNN_STATUS_INTERNAL_ERROR;
        cudnn.own.numerical = NUMERICAL(TENSOR_CORE);
        cudnn.offer[0][0].numerical = NUMERICAL(TENSOR_CORE) | NUMERICAL(WINOGRAD);
        CHECK(!plans.others(plans.ctx, look, &looked));
        CHECK(!looked.wrong);
        CHECK_INT(cudnn.alive, 0);
    }
}

/* Of a device that is described each has its own description. */
static void equivalents_on_a_described_device_leave_no_object(void)
{
    offer_others();
    choice.target.handle = NULL;
    choice.target.device = &cudnn.descriptor[cudnn.made++];
    CHECK(!plans.others(plans.ctx, look, &looked));
    CHECK_INT(looked.looks, 2);
    CHECK_INT(cudnn.alive, 0);
    choice.target.device = NULL;
}

static const struct cs_profile *profile_of(unsigned numerical, int knobs, const int64_t *type,
                                           const int64_t *value)
{
    start();
    cudnn.device = "{\"deviceVer\":900}";
    choice.target.handle = NULL;
    choice.target.device = &cudnn.descriptor[cudnn.made++];
    choice.notes.numerical = numerical;
    choice.engine.knobs = knobs;
    choice.engine.knob_type[knobs] = 0; /* no knob of it: one that would split */
    choice.engine.knob_value[knobs] = 99;
    for (int i = 0; i < knobs; i++) {
        choice.engine.knob_type[i] = type[i];
        choice.engine.knob_value[i] = value[i];
    }
    return plans.profile(plans.ctx);
}

static void the_engine_s_traits_are_read(void)
{
    static const struct {
        unsigned numerical;
        int winograd;
        bool cores;
    } notes[] = {{0, 0, false},
                 {NUMERICAL(TENSOR_CORE), 0, true},
                 {NUMERICAL(WINOGRAD), 1, false},
                 {NUMERICAL(WINOGRAD) | NUMERICAL(WINOGRAD_TILE_4x4), 4, false},
                 {NUMERICAL(WINOGRAD) | NUMERICAL(WINOGRAD_TILE_6x6), 6, false},
                 {NUMERICAL(WINOGRAD) | NUMERICAL(WINOGRAD_TILE_13x13), 13, false},
                 {NUMERICAL(WINOGRAD_TILE_4x4) | NUMERICAL(TENSOR_CORE), 4, true}};
    static const struct {
        int knobs;
        int64_t type[3], value[3], splits;
    } splits[] = {{0, {0}, {0}, 0},
                  {1, {0}, {4}, 4},
                  {1, {1}, {4}, 0},
                  {1, {CUDNN_KNOB_TYPE_SPLIT_K_SLC}, {3}, 3},
                  {1, {CUDNN_KNOB_TYPE_SPLIT_K_BUF}, {3}, 0},
                  {2, {0, CUDNN_KNOB_TYPE_SPLIT_K_SLC}, {5, 2}, 5},
                  {3, {0, 9, CUDNN_KNOB_TYPE_SPLIT_K_SLC}, {2, 50, 6}, 6}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        const struct cs_profile *profile = profile_of(notes[i].numerical, 0, NULL, NULL);
        CHECK(profile && profile->capability == 900);
        CHECK(profile && profile->engine.known);
        CHECK(profile && profile->engine.winograd == notes[i].winograd);
        CHECK(profile && profile->engine.tensor_cores == notes[i].cores);
    }
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        const struct cs_profile *profile =
            profile_of(0, splits[i].knobs, splits[i].type, splits[i].value);
        CHECK(profile && profile->engine.splits == splits[i].splits);
    }
    cudnn.device = NULL;
    CHECK(plans.profile(plans.ctx) == NULL);
    choice.target.device = NULL;
}

static void vendor_reports_properties_of_its_plans(void)
{
    for (int i = 0; i < 4; i++) {
        start();
        choice.notes.behaviour =
            i & 1 ? BEHAVIOUR(RUNTIME_COMPILATION) : ~BEHAVIOUR(RUNTIME_COMPILATION);
        choice.many = i & 2;
        plans = cs_execution_plan_vendor(&choice);
        CHECK_INT(plans.compiles, i & 1);
        CHECK_INT(plans.many, i / 2);
        CHECK(!plans.rigid);
    }
}

int main(void)
{
    TEST(application_engine_is_first);
    TEST(refused_engine_is_replaced);
    TEST(a_moment_without_memory_is_no_refusal);
    TEST(smallest_equivalent_is_chosen);
    TEST(unreadable_engine_is_not_equivalent);
    TEST(a_fallback_plan_is_the_plain_engine_s);
    TEST(fused_graph_may_fall_back_to_other_engines);
    TEST(one_of_many_is_finalized_later);
    TEST(a_fallback_plan_may_come_later);
    TEST(limits_hold_for_offered_engines);
    TEST(unreadable_offers_are_refused);
    TEST(equivalent_engines_are_examined);
    TEST(others_are_under_the_same_limits);
    TEST(others_that_cannot_be_read_are_passed_over);
    TEST(equivalents_on_a_described_device_leave_no_object);
    TEST(the_engine_s_traits_are_read);
    TEST(vendor_reports_properties_of_its_plans);
    return REPORT();
}
