/* A simulation advises expandable segments if a PyTorch program without them needs a larger device
 * with the library. */
#include "cli/simulate/simulate.h"

#include "check.h"
#include <stdlib.h>
#include <string.h>

enum {
    ENDED_SHORT = 1
};

/* Without the library and with it: the smallest devices, peaks, how it ended. */
static const struct figures {
    int64_t smallest[CS_SIDES], peak[CS_SIDES];
    int status[CS_SIDES];
    int64_t missing; /* bytes that the one with the library was short of */
    bool advised;
} cases[] = {
    {{0, 0}, {1000, 1020}, {0, 0}, 0, false},
    {{0, 0}, {1000, 1021}, {0, 0}, 0, true},
    {{0, 0}, {1000, 500}, {0, 0}, 0, false},
    {{0, 0}, {0, 500}, {0, 0}, 0, false},
    {{2000, 2040}, {1000, 2000}, {0, 0}, 0, false}, /* the smallest devices decide */
    {{2000, 2041}, {1000, 1000}, {0, 0}, 0, true},
    {{2000, 1000}, {1000, 2000}, {0, 0}, 0, false},
    {{0, 2021}, {1000, 1000}, {0, 0}, 0, false}, /* where both are known */
    {{2000, 0}, {1000, 1021}, {0, 0}, 0, true},
    {{0, 0}, {1000, 900}, {0, ENDED_SHORT}, 64, true},
    {{0, 0}, {1000, 2000}, {0, ENDED_SHORT}, 0, false}, /* it failed otherwise */
    {{0, 0}, {1000, 2000}, {ENDED_SHORT, 0}, 0, false},
    {{0, 0}, {1000, 900}, {ENDED_SHORT, ENDED_SHORT}, 64, false},
};

static struct cs_simulated_pair pair_of(const struct figures *figures)
{
    struct cs_simulated_pair pair = {.chosen = {true, true}};
    for (int side = 0; side < CS_SIDES; side++) {
        pair.smallest[side].runs = figures->smallest[side];
        pair.result[side].device_peak = figures->peak[side];
        pair.result[side].status = figures->status[side];
        pair.result[side].used = true;
        snprintf(pair.result[side].framework, sizeof pair.result[side].framework, "PyTorch 2.15.0");
    }
    pair.result[CS_WITH].refused = figures->missing > 0;
    pair.result[CS_WITH].missing_bytes = figures->missing;
    return pair;
}

static struct cs_simulated_program program;

static bool names_the_option(const struct cs_simulated_pair *pair)
{
    const char *advice = cs_simulate_advice(&program, pair);
    CHECK(!advice || strstr(advice, "add expandable_segments:True"));
    return advice != NULL;
}

static void expandable_segments_are_advised_if_a_larger_device_is_needed(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cs_simulated_pair pair = pair_of(&cases[i]);
        if (names_the_option(&pair) != cases[i].advised)
            CHECK_INT((int64_t)i, -1);
    }
}

static void advice_needs_both_runs_of_pytorch(void)
{
    struct cs_simulated_pair pair = pair_of(&cases[1]);
    CHECK(names_the_option(&pair));
    for (int side = 0; side < CS_SIDES; side++) {
        pair.chosen[side] = false;
        CHECK(!names_the_option(&pair));
        pair.chosen[side] = true;
    }
    snprintf(pair.result[CS_WITHOUT].framework, sizeof pair.result[CS_WITHOUT].framework,
             "JAX 0.10");
    CHECK(!names_the_option(&pair));
    *pair.result[CS_WITHOUT].framework = '\0';
    CHECK(!names_the_option(&pair));
}

/* A run that was short of memory is no evidence. */
static void no_advice_after_memory_pressure(void)
{
    struct cs_simulated_pair pair = pair_of(&cases[1]);
    pair.result[CS_WITHOUT].refused = 79;
    CHECK(!names_the_option(&pair));
    pair.smallest[CS_WITHOUT].runs = 2000;
    pair.smallest[CS_WITH].runs = 2041;
    CHECK(names_the_option(&pair));
}

static void a_limit_to_onnx_runtime(void)
{
    struct cs_simulated_pair pair = pair_of(&cases[1]);
    *pair.result[CS_WITHOUT].framework = '\0';
    snprintf(program.framework, sizeof program.framework, "ONNX Runtime 1.31.1");
    CHECK(strstr(cs_simulate_advice(&program, &pair), "gpu_mem_limit"));
    *program.framework = '\0';
}

/* Under both names of the variable, for any setting in it. The simulation sets them if neither is
 * set. */
static void unless_segments_are_chosen_already(void)
{
    static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    const struct cs_simulated_pair pair = pair_of(&cases[1]);
    unsetenv(names[0]);
    CHECK(!names_the_option(&pair));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv(names[i], "max_split_size_mb:512", 1);
        CHECK(names_the_option(&pair));
        setenv(names[i], "max_split_size_mb:512,expandable_segments:False", 1);
        CHECK(!names_the_option(&pair));
        unsetenv(names[i]);
    }
    setenv(names[0], "max_split_size_mb:512", 1);
}

int main(void)
{
    setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512", 1);
    unsetenv("PYTORCH_ALLOC_CONF");
    TEST(expandable_segments_are_advised_if_a_larger_device_is_needed);
    TEST(advice_needs_both_runs_of_pytorch);
    TEST(unless_segments_are_chosen_already);
    TEST(no_advice_after_memory_pressure);
    TEST(a_limit_to_onnx_runtime);
    return REPORT();
}
