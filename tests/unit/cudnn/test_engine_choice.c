/* Decisions are kept by scope: a number that differs where plans may need other workspaces, and
 * with every handle that is destroyed. */
#include "cudnn/plan/engine_choice.h"

#include "intercept/entry/entry.h"
#include "intercept/legacy/dispatch.h"
#include "intercept/legacy/plan_cache.h"
#include "vendor_fixture.h"

static int forgotten, destroyed;
static char first[16], second[16];

int cs_intercept_from(struct cs_entry_call *call, const void *caller)
{
    (void)caller;
    return call->handle(NULL, call);
}

void cs_plan_cache_forget(cudnnHandle_t handle)
{
    CHECK((void *)handle == first);
    CHECK_INT(destroyed, 0); /* its plans are destroyed while it is still there */
    forgotten++;
}

bool cs_legacy_unfiltered(const struct cs *cs, const struct cs_legacy_call *call)
{
    (void)cs, (void)call;
    return true;
}

bool cs_legacy_settle(struct cs *cs, int status)
{
    (void)cs, (void)status;
    return true;
}

bool cs_legacy_run(struct cs *cs, struct cs_legacy_call *call, int *status_p)
{
    (void)cs, (void)call, (void)status_p;
    return false;
}

cudnnStatus_t cs_legacy_call_run(const struct cs_legacy_call *call)
{
    (void)call;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t destroy(cudnnHandle_t handle)
{
    CHECK((void *)handle == first);
    destroyed++;
    return CUDNN_STATUS_SUCCESS;
}

static int64_t scope_of(void *handle, int sm_count, int shared_memory, bool no_clusters)
{
    static const struct cs_problem problem;
    static const int64_t uid[CS_MAX_TENSORS];
    struct cs_engine_choice choice;
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)handle);
    choice.target.sm_count = sm_count;
    choice.target.shared_memory = shared_memory;
    choice.target.no_clusters = no_clusters;
    int64_t scope = cs_engine_choice_scope(&choice);
    cs_engine_choice_fini(&choice);
    return scope;
}

/* What a plan needs may follow from them: one that differs must not be told another's size. */
static void settings_of_an_engine_have_scopes_of_their_own(void)
{
    int64_t scopes[] = {scope_of(first, 0, 0, false),  scope_of(first, 8, 0, false),
                        scope_of(first, 9, 0, false),  scope_of(first, 0, 8, false),
                        scope_of(first, 0, 9, false),  scope_of(first, 0, 0, true),
                        scope_of(first, 8, 8, false),  scope_of(first, 8, 0, true),
                        scope_of(second, 0, 0, false), scope_of(second, 8, 0, false)};
    int count = (int)(sizeof scopes / sizeof *scopes);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            CHECK(scopes[i] != scopes[j]);
    CHECK_INT(scope_of(first, 8, 8, true), scope_of(first, 8, 8, true));
}

/* Its address is handed out again, for another device. */
static void a_destroyed_handle_leaves_nothing_to_the_next_one(void)
{
    vendor = (struct cs_real){.cudnnDestroy = destroy};
    int64_t before = scope_of(first, 0, 0, false), other = scope_of(second, 0, 0, false);
    CHECK_INT(scope_of(first, 0, 0, false), before);
    CHECK_INT(cudnnDestroy((cudnnHandle_t)(void *)first), CUDNN_STATUS_SUCCESS);
    CHECK_INT(forgotten, 1);
    CHECK_INT(destroyed, 1);
    CHECK(scope_of(first, 0, 0, false) != before);
    /* What was told for another handle is not forgotten. */
    CHECK_INT(scope_of(second, 0, 0, false), other);
}

int main(void)
{
    TEST(settings_of_an_engine_have_scopes_of_their_own);
    TEST(a_destroyed_handle_leaves_nothing_to_the_next_one);
    return REPORT();
}
