/* The table of notes about backend descriptors: the memory that each type needs, all of it freed,
 * thousands of descriptors at once, under locks. */
#include "intercept/graph/shadow.h"

#include "heap.h"
#include "vendor_fixture.h"

static char places[16][16];

static struct cs_shadow *fresh(int number, int type)
{
    cs_shadow_remove(places[number]);
    cs_shadow_add(places[number], (cudnnBackendDescriptorType_t)type);
    struct cs_shadow *shadow = cs_shadow_find(places[number]);
    CHECK(shadow && shadow->descriptor == places[number] && (int)shadow->type == type);
    return shadow;
}

static struct cs_rewrite *discarded;

static void destroy_fallback(void *fallback)
{
    discarded = fallback;
}

/* Each type has the memory that it needs, and all of it is freed. */
static void notes_are_freed(void)
{
    static const int types[] = {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                                CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
                                CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
                                CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
                                CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                                CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
                                CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
                                CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                                CUDNN_BACKEND_ENGINECFG_DESCRIPTOR};
    for (int i = 0; i < 16; i++)
        cs_shadow_remove(places[i]);
    long long before = heap_taken;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        fresh(0, types[i]);
        CHECK_INT(heap_taken - before, 1);
        cs_shadow_add(places[0], CUDNN_BACKEND_TENSOR_DESCRIPTOR); /* handed out again */
        CHECK_INT(heap_taken - before, 1);
        cs_shadow_remove(places[0]);
        CHECK_INT(heap_taken - before, 0);
        CHECK(cs_shadow_find(places[0]) == NULL);
    }
    struct cs_shadow *plan = fresh(0, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan->plan.verdict.rewrite = calloc(1, sizeof *plan->plan.verdict.rewrite);
    if (!plan->plan.verdict.rewrite)
        exit(1);
    *plan->plan.verdict.rewrite =
        (struct cs_rewrite){.fallback = plan->plan.verdict.rewrite, .destroy = destroy_fallback};
    struct cs_rewrite *rewrite = plan->plan.verdict.rewrite;
    int cancel = -1;
    CHECK_INT(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL), 0);
    cs_shadow_remove(places[0]);
    CHECK_INT(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel), 0);
    CHECK_INT(cancel, PTHREAD_CANCEL_ENABLE);
    CHECK(discarded == rewrite);
    CHECK_INT(heap_taken - before, 0);
}

/* Many at once, each under its address. */
static void thousands_of_descriptors_have_separate_notes(void)
{
    enum {
        MANY = 9000
    };
    static char many[MANY][16];
    for (int i = 0; i < MANY; i++) {
        cs_shadow_add(many[i], CUDNN_BACKEND_TENSOR_DESCRIPTOR);
        cs_shadow_find(many[i])->tensor.uid = i;
    }
    for (int i = 0; i < MANY; i += 3)
        cs_shadow_remove(many[i]);
    for (int i = 0; i < MANY; i++) {
        const struct cs_shadow *shadow = cs_shadow_find(many[i]);
        CHECK_INT(shadow != NULL, i % 3 != 0);
        CHECK(!shadow || shadow->tensor.uid == i);
    }
    for (int i = 0; i < MANY; i++)
        cs_shadow_remove(many[i]);
}

/* A thread that claims to hold the innermost lock breaks the order with every other lock that it
 * takes. */
static int locks_since(int *faults)
{
    int before = *faults;
    *faults = cs_lock_faults();
    cs_locks_held = 1U << CS_RANKS;
    return *faults - before;
}

static void the_table_is_used_under_its_locks(void)
{
    int faults = 0;
    locks_since(&faults);
    cs_shadow_add(places[0], CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    CHECK_INT(locks_since(&faults), 1);
    CHECK(cs_shadow_find(places[0]) != NULL);
    CHECK_INT(locks_since(&faults), 1);
    cs_shadow_remove(places[0]);
    CHECK_INT(locks_since(&faults), 1);
    cs_locks_held = 0;
    faults = cs_lock_faults();
    cs_shadow_fork(true);
    CHECK_INT(cs_locks_held, 1U << CS_RANK_SHADOW);
    cs_shadow_fork(false);
    CHECK_INT(cs_locks_held, 0);
    CHECK_INT(cs_lock_faults(), faults);
}

/* A graph stays until the last of its users has given it back. */
static void graphs_count_their_users(void)
{
    long long taken = heap_taken;
    struct cs_graph *graph = calloc(1, sizeof *graph);
    atomic_store(&graph->references, 1);
    CHECK(cs_graph_keep(graph) == graph);
    CHECK_INT(atomic_load(&graph->references), 2);
    cs_graph_drop(graph);
    CHECK_INT(atomic_load(&graph->references), 1);
    cs_graph_drop(graph);
    CHECK_INT(heap_taken - taken, 0);
    CHECK(cs_graph_keep(NULL) == NULL);
    cs_graph_drop(NULL);
}

int main(void)
{
    heap_watch();
    TEST(notes_are_freed);
    TEST(graphs_count_their_users);
    TEST(thousands_of_descriptors_have_separate_notes);
    TEST(the_table_is_used_under_its_locks);
    return REPORT();
}
