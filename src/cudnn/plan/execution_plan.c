/* Builds cuDNN execution plans for tiles with the application's engine, and fallback plans for
 * the whole problem. */
#include "cudnn/plan/execution_plan.h"

#include "cudnn/plan/engine_choice.h"

enum {
    PLAIN = 0,    /* the engine that accepts every convolution */
    RESULTS = 12, /* heuristic results that are examined if the application's engine does not accept
                     a tile */
    SPLIT_K = 0,  /* CUDNN_KNOB_TYPE_SPLIT_K, whose name is deprecated */
    FALLBACKS = 3 /* examined for a fallback plan: those after engine 0 may have to be compiled */
};

static bool is_compiled(const struct cs_engine_choice *choice)
{
    return choice->notes.behaviour & 1u << CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
}

static cudnnBackendDescriptor_t configure_engine(struct cs_descriptor_builder *builder,
                                                 const struct cs_target *target,
                                                 const struct cs_problem *problem,
                                                 const struct cs_engine *engine)
{
    cudnnBackendDescriptor_t graph = cs_descriptors_graph(builder, target, problem);
    cudnnBackendDescriptor_t chosen = cs_descriptors_engine(builder, target, graph, engine->index);
    return cs_descriptors_configuration(builder, chosen, engine);
}

static enum cs_status build_finished(const struct cs_target *target,
                                     const struct cs_problem *problem,
                                     const struct cs_engine *engine, void **execution_plan_p,
                                     int64_t *workspace_p)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t configuration = configure_engine(&builder, target, problem, engine);
    return cs_finished_plan(&builder, target, configuration, execution_plan_p, workspace_p);
}

static enum cs_status build_late(const struct cs_recipe *recipe, void **execution_plan_p,
                                 int64_t *workspace_p)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t configuration =
        configure_engine(&builder, &recipe->target, &recipe->problem, &recipe->engine);
    return cs_late_plan(&builder, recipe, configuration, execution_plan_p, workspace_p);
}

/* Builds a plan on a kept engine, for which earlier plans were queried. */
static enum cs_status build_on_kept(const struct cs_engine_choice *choice,
                                    const struct cs_recipe *recipe, void **execution_plan_p,
                                    int64_t *workspace_p)
{
    struct cs_kept_engine *kept = cs_kept_engine_take(&recipe->target, choice->id.number,
                                                      &recipe->problem, recipe->engine.index);
    if (!kept)
        return CS_NOMEM;
    struct cs_descriptor_builder builder = {.status = kept->builder.status};
    cudnnBackendDescriptor_t configuration =
        cs_descriptors_configuration(&builder, kept->engine, &recipe->engine);
    enum cs_status status =
        cs_late_plan(&builder, recipe, configuration, execution_plan_p, workspace_p);
    cs_kept_engine_give(kept);
    return status;
}

/* Builds a plan of an engine. It is finalized when it first runs, because most queried plans never
 * run. */
static enum cs_status build_engine(const struct cs_engine_choice *choice,
                                   const struct cs_problem *problem, const struct cs_engine *engine,
                                   void **execution_plan_p, int64_t *workspace_p)
{
    const struct cs_recipe recipe = {choice->target, *problem, *engine};
    return choice->many && choice->target.handle
               ? build_on_kept(choice, &recipe, execution_plan_p, workspace_p)
               : build_late(&recipe, execution_plan_p, workspace_p);
}

static bool has_settings(const struct cs_engine_settings *settings)
{
    return settings->sm_count > 0 || settings->shared_memory > 0 || settings->no_clusters;
}

/* Builds the plan of a configuration of the heuristics. If the application limits its engine beyond
 * the knobs, such as its multiprocessors, an engine of the same number and knobs is built under the
 * same limits. */
static enum cs_status build_configured(const struct cs_engine_choice *choice,
                                       const struct cs_problem *problem,
                                       cudnnBackendDescriptor_t configuration,
                                       void **execution_plan_p, int64_t *workspace_p)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    struct cs_engine engine;
    if (!has_settings(&choice->target.settings))
        return cs_finished_plan(&builder, &choice->target, configuration, execution_plan_p,
                                workspace_p);
    if (!cs_engine_choice_engine_of(configuration, &engine))
        return CS_REFUSED;
    return build_finished(&choice->target, problem, &engine, execution_plan_p, workspace_p);
}

/* True if an engine has the same notes as the application's. */
static bool behaves_alike(const struct cs_engine_choice *choice,
                          cudnnBackendDescriptor_t configuration)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    struct cs_engine_notes notes = cs_descriptors_notes(&builder, configuration);
    cs_descriptor_builder_clear(&builder);
    return builder.status == CUDNN_STATUS_SUCCESS && notes.numerical == choice->notes.numerical &&
           notes.behaviour == choice->notes.behaviour;
}

/* A choice among the heuristics' configurations. */
struct search {
    cudnnBackendHeurMode_t mode;
    int most; /* configurations that are examined, at most RESULTS */
    bool (*suits)(const struct cs_engine_choice *choice, cudnnBackendDescriptor_t configuration);
    bool least;    /* the plan with least workspace instead of the first */
    int64_t limit; /* bytes of workspace */
};

/* The best plan so far. */
struct found {
    void *execution_plan; /* NULL: none */
    int64_t workspace;    /* bytes that it requires; without a plan the limit */
};

/* Builds a configuration's plan, and keeps the better one of it and the best so far. */
static enum cs_status try_configuration(const struct cs_engine_choice *choice,
                                        const struct cs_problem *problem,
                                        cudnnBackendDescriptor_t configuration, struct found *best)
{
    struct found built;
    enum cs_status status =
        build_configured(choice, problem, configuration, &built.execution_plan, &built.workspace);
    if (status != CS_OK)
        return status;
    bool is_better = best->execution_plan ? built.workspace < best->workspace
                                          : built.workspace <= best->workspace;
    cs_execution_plan_destroy(is_better ? best->execution_plan : built.execution_plan);
    if (is_better)
        *best = built;
    return CS_OK;
}

/* Builds the plans of suitable configurations within the limit, and keeps the first or the one with
 * least workspace. CS_REFUSED if there is none. */
static enum cs_status build_found(const struct cs_engine_choice *choice,
                                  const struct cs_problem *problem, const struct search *search,
                                  void **execution_plan_p, int64_t *workspace_p)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t configuration[RESULTS];
    enum cs_status status = CS_REFUSED;
    struct found best = {NULL, search->limit};
    int results = cs_descriptors_heuristics(&builder, &choice->target, problem, search->mode,
                                            configuration, search->most);
    for (int i = 0; i < results && (status == CS_OK || status == CS_REFUSED); i++) {
        bool is_final = best.execution_plan && (!search->least || best.workspace == 0);
        if (is_final)
            break;
        if (search->suits(choice, configuration[i]))
            status = try_configuration(choice, problem, configuration[i], &best);
    }
    cs_descriptor_builder_clear(&builder);
    if (!best.execution_plan)
        return status == CS_OK ? CS_REFUSED : status;
    *execution_plan_p = best.execution_plan;
    *workspace_p = best.workspace;
    return CS_OK;
}

/* The search for the first plan of an engine that has the notes of the application's engine. */
static const struct search first_alike = {
    .mode = CUDNN_HEUR_MODE_A, .most = RESULTS, .suits = behaves_alike, .limit = INT64_MAX};

/* The search for the plan with least workspace of such an engine. */
static const struct search least_alike = {.mode = CUDNN_HEUR_MODE_A,
                                          .most = RESULTS,
                                          .suits = behaves_alike,
                                          .least = true,
                                          .limit = INT64_MAX};

/* The workspace of the untiled plan of an engine. -1 if it has none. */
static int64_t untiled_workspace(const struct cs_engine_choice *choice,
                                 const struct cs_engine *engine)
{
    void *execution_plan;
    int64_t workspace;
    if (build_engine(choice, &choice->problem, engine, &execution_plan, &workspace) != CS_OK)
        return -1;
    cs_execution_plan_destroy(execution_plan);
    return workspace;
}

/* Sets choice->sums: the parts of divided sums are in the workspace. */
static void read_sums(struct cs_engine_choice *choice)
{
    struct cs_engine undivided;
    bool divided = false;
    if (choice->sums != CS_SUMS_UNKNOWN)
        return;
    if (cs_divided_sums(&choice->engine, &undivided)) {
        int64_t least = untiled_workspace(choice, &undivided);
        divided = least < 0 || untiled_workspace(choice, &choice->engine) != least;
    }
    choice->sums = divided ? CS_SUMS_DIVIDED : CS_SUMS_WHOLE;
}

/* Builds a plan with the application's engine and knobs. If the untiled plan divides no sums, the
 * plan divides none either, so it keeps the bits of the untiled plan. */
static enum cs_status build_same(struct cs_engine_choice *choice, const struct cs_problem *problem,
                                 void **execution_plan_p, int64_t *workspace_p)
{
    struct cs_engine undivided;
    enum cs_status status = CS_REFUSED;
    read_sums(choice);
    bool may_divide = cs_divided_sums(&choice->engine, &undivided);
    bool keeps_bits = choice->sums == CS_SUMS_WHOLE;
    if (keeps_bits)
        status = build_engine(choice, problem, &undivided, execution_plan_p, workspace_p);
    if (status == CS_REFUSED && (may_divide || !keeps_bits)) {
        status = build_engine(choice, problem, &choice->engine, execution_plan_p, workspace_p);
        keeps_bits = false;
    }
    if (status == CS_OK)
        ((struct cs_execution_plan *)*execution_plan_p)->keeps_bits = keeps_bits;
    return status;
}

/* Builds a plan with the application's engine and knobs. If a smaller problem does not accept the
 * knobs, they become the engine's defaults. If it does not accept the engine, an engine with the
 * same notes is used. */
static enum cs_status build_near(struct cs_engine_choice *choice, const struct cs_problem *problem,
                                 void **execution_plan_p, int64_t *workspace_p)
{
    const struct cs_engine plain = {.index = choice->engine.index};
    enum cs_status status = build_same(choice, problem, execution_plan_p, workspace_p);
    if (status == CS_REFUSED && choice->engine.knobs > 0)
        status = build_engine(choice, problem, &plain, execution_plan_p, workspace_p);
    if (status == CS_REFUSED)
        status = build_found(choice, problem, &first_alike, execution_plan_p, workspace_p);
    return status;
}

/* True if an engine has no numerical effect that the application's engine lacks. Tensor cores are
 * exact for 16-bit operands. */
static bool computes_alike(const struct cs_engine_choice *choice, unsigned numerical)
{
    unsigned exact =
        choice->problem.tensor[CS_X].dtype == CS_F32 ? 0 : 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    return (numerical & ~(choice->notes.numerical | exact)) == 0;
}

/* Builds a plan as struct cs_vendor describes (build). */
static enum cs_status build_plan(void *ctx, const struct cs_problem *problem,
                                 enum cs_relaxation relaxation, void **execution_plan_p,
                                 int64_t *workspace_p)
{
    struct cs_engine_choice *choice = ctx;
    const struct cs_engine plain = {.index = choice->engine.index};
    switch (relaxation) {
    case CS_DEFAULT_KNOBS:
        return build_engine(choice, problem, &plain, execution_plan_p, workspace_p);
    case CS_SIMILAR_ENGINE:
        return build_found(choice, problem, &least_alike, execution_plan_p, workspace_p);
    default:
        return build_near(choice, problem, execution_plan_p, workspace_p);
    }
}

/* Keeps an execution plan only if it stays within the limit. */
static enum cs_status keep_within(enum cs_status status, int64_t limit, void **execution_plan_p,
                                  const int64_t *workspace_p)
{
    if (status == CS_OK && *workspace_p > limit) {
        cs_execution_plan_destroy(*execution_plan_p);
        return CS_REFUSED;
    }
    return status;
}

/* True if an engine may run the fallback plan. */
static bool may_fall_back(const struct cs_engine_choice *choice,
                          cudnnBackendDescriptor_t configuration)
{
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    struct cs_engine_notes notes = cs_descriptors_notes(&builder, configuration);
    cs_descriptor_builder_clear(&builder);
    return builder.status == CUDNN_STATUS_SUCCESS && computes_alike(choice, notes.numerical);
}

/* Builds the plan of engine 0 for the whole problem. The plan of a plain convolution is finalized
 * when it first runs, also for the first plan of a graph, so that all plans of a graph are decided
 * alike. The plan of a fused graph is finalized here, because engine 0 refuses some. */
static enum cs_status build_plain(const struct cs_engine_choice *choice, void **execution_plan_p,
                                  int64_t *workspace_p)
{
    static const struct cs_engine engine = {.index = PLAIN};
    if (choice->problem.steps == 0)
        return build_engine(choice, &choice->problem, &engine, execution_plan_p, workspace_p);
    return build_finished(&choice->target, &choice->problem, &engine, execution_plan_p,
                          workspace_p);
}

/* Builds the fallback plan: of engine 0, which needs no workspace and accepts every supported
 * convolution and most fused ones, else of a fallback engine. */
static enum cs_status build_fallback(void *ctx, int64_t limit, void **execution_plan_p,
                                     int64_t *workspace_p)
{
    const struct cs_engine_choice *choice = ctx;
    const struct search engines = {.mode = CUDNN_HEUR_MODE_FALLBACK,
                                   .most = FALLBACKS,
                                   .suits = may_fall_back,
                                   .limit = limit};
    void *execution_plan;
    int64_t workspace;
    enum cs_status status = build_plain(choice, &execution_plan, &workspace);
    status = keep_within(status, limit, &execution_plan, &workspace);
    if (status == CS_REFUSED && choice->problem.steps > 0)
        status = build_found(choice, &choice->problem, &engines, &execution_plan, &workspace);
    if (status != CS_OK)
        return status;
    *execution_plan_p = execution_plan;
    *workspace_p = workspace;
    return CS_OK;
}

static enum cs_status fallback_later(void *ctx, int64_t limit, void **execution_plan_p)
{
    const struct cs_engine_choice *choice = ctx;
    const struct cs_recipe recipe = {choice->target, choice->problem, {.index = PLAIN}};
    if (!choice->target.handle || choice->problem.steps > 0)
        return CS_REFUSED;
    return cs_unqueried_plan(&recipe, limit, execution_plan_p);
}

/* The number of parts that sums are split into. 0 if no knob sets it. */
static int64_t splits_of(const struct cs_engine *engine)
{
    int64_t splits = 0;
    for (int i = 0; i < engine->knobs; i++)
        if (engine->knob_type[i] == SPLIT_K || engine->knob_type[i] == CUDNN_KNOB_TYPE_SPLIT_K_SLC)
            splits = engine->knob_value[i] > splits ? engine->knob_value[i] : splits;
    return splits;
}

static bool has_clusters(const struct cs_engine *engine)
{
    for (int i = 0; i < engine->knobs; i++)
        if (engine->knob_type[i] == CUDNN_KNOB_TYPE_TILE_CGA_M)
            return true;
    return false;
}

/* The extent of Winograd's tiles. 1 if it is not known, 0 without Winograd. */
static int winograd_of(unsigned numerical)
{
    static const struct {
        cudnnBackendNumericalNote_t note;
        int extent;
    } notes[] = {{CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4, 4},
                 {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, 6},
                 {CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13, 13},
                 {CUDNN_NUMERICAL_NOTE_WINOGRAD, 1}};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (numerical >> notes[i].note & 1)
            return notes[i].extent;
    return 0;
}

/* True if the application may use the other engine instead: it computes alike, also on tensor cores
 * if the chosen one does, and is not compiled. */
static bool may_replace(const struct cs_engine_choice *other, const struct cs_engine_choice *choice)
{
    unsigned cores = 1u << CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    bool loses_cores = choice->notes.numerical & cores & ~other->notes.numerical;
    return computes_alike(choice, other->notes.numerical) && !loses_cores && !is_compiled(other);
}

/* Reads another engine as if the application had chosen it, and the workspace of its plan. False if
 * it may not replace the chosen one, or has no plan. */
static bool read_other(const struct cs_engine_choice *choice,
                       cudnnBackendDescriptor_t configuration, struct cs_engine_choice *other,
                       int64_t *required_p)
{
    void *execution_plan;
    cs_engine_choice_init(other, &choice->problem, choice->target.uid, choice->target.handle,
                          choice->id);
    if (!cs_engine_choice_read(other, configuration) || !may_replace(other, choice) ||
        build_configured(choice, &choice->problem, configuration, &execution_plan, required_p) !=
            CS_OK)
        return false;
    other->target.settings = choice->target.settings;
    cs_execution_plan_destroy(execution_plan);
    return true;
}

/* Calls `look` with other engines, as struct cs_vendor describes (others). */
static bool list_others(void *ctx,
                        bool (*look)(void *to, const struct cs_engine *engine, int64_t required,
                                     const struct cs_vendor *vendor),
                        void *to)
{
    const struct cs_engine_choice *choice = ctx;
    struct cs_descriptor_builder builder = {.status = CUDNN_STATUS_SUCCESS};
    cudnnBackendDescriptor_t configuration[RESULTS];
    bool found = false;
    int results = cs_descriptors_heuristics(&builder, &choice->target, &choice->problem,
                                            CUDNN_HEUR_MODE_A, configuration, RESULTS);
    for (int i = 0; i < results && !found; i++) {
        struct cs_engine_choice other;
        int64_t required;
        if (read_other(choice, configuration[i], &other, &required)) {
            struct cs_vendor vendor = cs_execution_plan_vendor(&other);
            found = look(to, &other.engine, required, &vendor);
        }
        cs_engine_choice_fini(&other);
    }
    cs_descriptor_builder_clear(&builder);
    return found;
}

static enum cs_status make_ready(void *ctx, void *execution_plan)
{
    const struct cs_engine_choice *choice = ctx;
    if (!cs_execution_plan_make_ready(execution_plan, choice->target.handle))
        return CS_REFUSED;
    cs_late_plan_settle(execution_plan);
    return CS_OK;
}

static bool plan_keeps_bits(const void *execution_plan)
{
    return ((const struct cs_execution_plan *)execution_plan)->keeps_bits;
}

static const struct cs_profile *read_profile(void *ctx)
{
    struct cs_engine_choice *choice = ctx;
    if (!cs_device_profile_of(&choice->target, choice->id.gpu, &choice->profile))
        return NULL;
    choice->profile.engine = (struct cs_engine_traits){
        .known = choice->known,
        .tensor_cores = choice->notes.numerical >> CUDNN_NUMERICAL_NOTE_TENSOR_CORE & 1,
        .clusters = is_compiled(choice) || has_clusters(&choice->engine),
        .winograd = winograd_of(choice->notes.numerical),
        .splits = splits_of(&choice->engine)};
    return &choice->profile;
}

struct cs_vendor cs_execution_plan_vendor(struct cs_engine_choice *choice)
{
    return (struct cs_vendor){.ctx = choice,
                              .compiles = is_compiled(choice),
                              .build = build_plan,
                              .ready = make_ready,
                              .fallback = build_fallback,
                              .fallback_later = fallback_later,
                              .many = choice->many,
                              .others = list_others,
                              .keeps_bits = plan_keeps_bits,
                              .destroy = cs_execution_plan_destroy,
                              .profile = read_profile};
}
