/* Engines that may divide sums, and the plans of their tiles. */
#include "cudnn/plan/engine_choice.h"

#include "cudnn/plan/execution_plan.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

enum {
    STREAM_K = 38,
    WORKSPACE = CUDNN_KNOB_TYPE_WORKSPACE,
    CLUSTERS = CUDNN_KNOB_TYPE_TILE_CGA_M,
    BYTES = 70, /* of a plan without parts of sums */
    PARTS = 5
};

static char handle[16];
static bool untiled_divides;

static const struct recorded *link_of(const struct recorded *from, int name)
{
    return &cudnn.descriptor[attribute_of(from, name)->value[0]];
}

static const struct recorded *configuration_of(const struct recorded *of)
{
    return of->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR
               ? link_of(of, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
               : of;
}

/* The value of a knob of a plan or a configuration. */
static int64_t knob_value_of(const struct recorded *of, int64_t type)
{
    const struct attribute_set *knobs =
        attribute_of(configuration_of(of), CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
    for (int64_t i = 0; knobs && i < knobs->count; i++) {
        const struct recorded *knob = &cudnn.descriptor[knobs->value[i]];
        if (attribute_of(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE)->value[0] == type)
            return attribute_of(knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)->value[0];
    }
    return -1;
}

/* The workspace of a plan. Tiles, which have one image, always have parts unless a knob forbids
 * them. */
static int64_t with_parts(const struct recorded *of)
{
    const struct recorded *x =
        nth_of(CUDNN_BACKEND_TENSOR_DESCRIPTOR, made_of(CUDNN_BACKEND_TENSOR_DESCRIPTOR) - 3);
    bool tile = attribute_of(x, CUDNN_ATTR_TENSOR_DIMENSIONS)->value[0] == 1;
    bool divides = knob_value_of(of, WORKSPACE) == 0;
    return BYTES + (divides && (tile || untiled_divides) ? PARTS : 0);
}

/* Tiles divide no sums if the untiled plan does not. Then they keep its bits. */
static void tiles_divide_sums_only_if_the_untiled_plan_does(void)
{
    static const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    for (int divides = 0; divides < 2; divides++) {
        struct cs_problem problem = rows(CS_FORWARD, 1), tile = problem;
        struct cs_engine_choice choice;
        recorded_start();
        cudnn.sized = with_parts;
        untiled_divides = divides;
        problem.tensor[CS_X].dims[CS_N] = problem.tensor[CS_Y].dims[CS_N] = 2;
        cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)(void *)handle,
                              (struct cs_handle_id){1, 0});
        choice.engine = (struct cs_engine){
            .index = 67, .knobs = 2, .knob_type = {WORKSPACE, CLUSTERS}, .knob_value = {0, 2}};
        const struct cs_vendor plans = cs_execution_plan_vendor(&choice);
        for (int i = 0; i < 2; i++) {
            struct cs_execution_plan *made;
            int64_t workspace;
            void *opaque;
            CHECK_INT(plans.build(plans.ctx, &tile, CS_SAME_KNOBS, &opaque, &workspace), CS_OK);
            made = opaque;
            CHECK_INT(choice.sums, divides ? CS_SUMS_DIVIDED : CS_SUMS_WHOLE);
            CHECK_INT(knob_value_of((const struct recorded *)made->plan, WORKSPACE), !divides);
            CHECK_INT(workspace, BYTES + (divides ? PARTS : 0));
            CHECK_INT(plans.keeps_bits(made), !divides);
            plans.destroy(made);
            CHECK_INT(cudnn.alive, 0);
        }
    }
}

/* By the knobs STREAM_K and, on engines with clusters, WORKSPACE. */
static void engines_that_may_divide_sums(void)
{
    static const struct {
        int64_t type[2], value[2];
        int divides; /* the place of the knob that changes, -1: none */
        int64_t undivided;
    } rows[] = {{{WORKSPACE, CLUSTERS}, {0, 1}, 0, 1},  {{CLUSTERS, WORKSPACE}, {8, 0}, 1, 1},
                {{WORKSPACE, CLUSTERS}, {1, 1}, -1, 0}, {{WORKSPACE, 2}, {0, 1}, -1, 0},
                {{STREAM_K, CLUSTERS}, {1, 1}, 0, 0},   {{STREAM_K, CLUSTERS}, {0, 1}, -1, 0},
                {{13, CLUSTERS}, {0, 1}, -1, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cs_engine engine = {.index = 67, .knobs = 2}, undivided;
        memcpy(engine.knob_type, rows[i].type, sizeof rows[i].type);
        memcpy(engine.knob_value, rows[i].value, sizeof rows[i].value);
        CASE("row %zu", i);
        CHECK_INT(cs_divided_sums(&engine, &undivided), rows[i].divides >= 0);
        CHECK_INT(undivided.index, 67);
        for (int k = 0; k < 2; k++)
            CHECK_INT(undivided.knob_value[k],
                      k == rows[i].divides ? rows[i].undivided : rows[i].value[k]);
    }
}

int main(void)
{
    TEST(tiles_divide_sums_only_if_the_untiled_plan_does);
    TEST(engines_that_may_divide_sums);
    return REPORT();
}
