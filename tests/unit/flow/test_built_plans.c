/* Plans built for a decision are kept: built once while no two callers need one at the same time,
 * handed over, never lost. */
#include "flow/built_plans.h"

#include "check.h"
#include "fake_vendor.h"
#include "heap.h"

static struct fake fake;
static const struct cs_vendor real = {
    .ctx = &fake, .build = fake_build, .fallback = fake_fallback, .destroy = fake_destroy};

static long long taken_before; /* memory, before all tests */

static void start(struct cs_built_plans *kept)
{
    fake = (struct fake){.per_byte = 1};
    cs_built_plans_init(kept, &real);
}

static struct cs_problem rows(int64_t count)
{
    return towards(CS_FORWARD, 1, 16, 1, count, 32, 16);
}

static void *built(struct cs_built_plans *kept, int64_t count, enum cs_relaxation relaxation)
{
    struct cs_problem problem = rows(count);
    int64_t workspace = -1;
    void *execution_plan = NULL;
    CHECK_INT(
        kept->vendor.build(kept->vendor.ctx, &problem, relaxation, &execution_plan, &workspace),
        CS_OK);
    CHECK_INT(workspace, formula(&fake, &problem));
    return execution_plan;
}

static void built_plan_is_reused(void)
{
    struct cs_built_plans kept;
    start(&kept);
    void *first = built(&kept, 32, CS_SAME_KNOBS), *second = built(&kept, 32, CS_SAME_KNOBS);
    CHECK_INT(fake.calls, 2); /* the first is still in use */
    kept.vendor.destroy(first);
    kept.vendor.destroy(second);
    kept.vendor.destroy(NULL);
    CHECK_INT(fake.live, 2);
    first = built(&kept, 32, CS_SAME_KNOBS);
    second = built(&kept, 32, CS_SAME_KNOBS);
    CHECK_INT(fake.calls, 2);
    void *other = built(&kept, 31, CS_SAME_KNOBS), *loose = built(&kept, 32, CS_DEFAULT_KNOBS);
    CHECK_INT(fake.calls, 4);
    kept.vendor.destroy(first);
    kept.vendor.destroy(second);
    kept.vendor.destroy(other);
    kept.vendor.destroy(loose);
    cs_built_plans_fini(&kept);
    CHECK_INT(fake.live, 0);
}

/* A plan built with the engine's own knobs may need another workspace than one with the caller's.
 */
static void plan_with_other_relaxation_is_not_reused(void)
{
    struct cs_built_plans kept;
    for (int first = CS_SAME_KNOBS; first < CS_RELAXATIONS; first++) {
        for (int then = CS_SAME_KNOBS; then < CS_RELAXATIONS; then++) {
            start(&kept);
            kept.vendor.destroy(built(&kept, 32, (enum cs_relaxation)first));
            kept.vendor.destroy(built(&kept, 32, (enum cs_relaxation)then));
            CHECK_INT(fake.calls, first == then ? 1 : 2);
            cs_built_plans_fini(&kept);
            CHECK_INT(fake.live, 0);
        }
    }
}

static void released_plan_is_the_callers(void)
{
    struct cs_built_plans kept;
    start(&kept);
    kept.vendor.destroy(built(&kept, 32, CS_SAME_KNOBS));
    void *released = cs_built_plans_release(built(&kept, 32, CS_SAME_KNOBS));
    CHECK_INT(fake.calls, 1);
    kept.vendor.destroy(built(&kept, 32, CS_SAME_KNOBS));
    CHECK_INT(fake.calls, 2);
    cs_built_plans_fini(&kept);
    CHECK_INT(fake.live, 1);
    real.destroy(released);
    CHECK_INT(fake.live, 0);
}

static enum cs_status fallback(struct cs_built_plans *kept, int64_t limit)
{
    int64_t workspace = -1;
    void *execution_plan = NULL;
    enum cs_status status =
        kept->vendor.fallback(kept->vendor.ctx, limit, &execution_plan, &workspace);
    if (status == CS_OK)
        CHECK_INT(workspace, fake.fallback);
    kept->vendor.destroy(execution_plan);
    return status;
}

static void fallback_serves_limits_from_its_need_to_its_own_limit(void)
{
    static const struct {
        int64_t limit;
        enum cs_status status;
        int calls;
    } cases[] = {{59, CS_REFUSED, 2}, {60, CS_OK, 1}, {100, CS_OK, 1}, {101, CS_OK, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cs_built_plans kept;
        start(&kept);
        fake.fallback = 60;
        CHECK_INT(fallback(&kept, 100), CS_OK);
        CHECK_INT(cs_built_plans_has_fallback(&kept, cases[i].limit), cases[i].calls == 1);
        CHECK_INT(fallback(&kept, cases[i].limit), cases[i].status);
        CHECK_INT(fake.calls, cases[i].calls);
        cs_built_plans_fini(&kept);
        CHECK_INT(fake.live, 0);
    }
}

static void latest_plans_are_kept(void)
{
    enum {
        MANY = 200
    };
    struct cs_built_plans kept;
    start(&kept);
    for (int64_t i = 1; i <= MANY; i++)
        kept.vendor.destroy(built(&kept, i, CS_SAME_KNOBS));
    CHECK_INT(fake.live, 48);
    CHECK_INT(kept.count, 48);
    int64_t last = MANY - fake.live + 1;
    kept.vendor.destroy(built(&kept, last, CS_SAME_KNOBS));
    CHECK_INT(fake.calls, MANY);
    kept.vendor.destroy(built(&kept, last - 1, CS_SAME_KNOBS));
    CHECK_INT(fake.calls, MANY + 1);
    cs_built_plans_fini(&kept);
    CHECK_INT(fake.live, 0);
}

static void failures_are_passed_on(void)
{
    struct cs_built_plans kept;
    struct cs_problem problem = rows(32);
    int64_t workspace = -1;
    void *execution_plan = NULL;
    start(&kept);
    fake.refuses_all = true;
    CHECK_INT(
        kept.vendor.build(kept.vendor.ctx, &problem, CS_SAME_KNOBS, &execution_plan, &workspace),
        CS_REFUSED);
    fake.nomem_at = 2;
    CHECK_INT(fallback(&kept, 100), CS_NOMEM);
    CHECK(execution_plan == NULL && workspace == -1);
    cs_built_plans_fini(&kept);
}

/* Not even one for no bytes, in memory that a problem's plan of the same shape was kept in. */
static void a_fallback_is_no_plan_of_a_problem(void)
{
    struct cs_built_plans kept;
    start(&kept);
    kept.vendor.destroy(built(&kept, 32, CS_SAME_KNOBS));
    CHECK(!cs_built_plans_has_fallback(&kept, 0));
    real.destroy(cs_built_plans_release(built(&kept, 32, CS_SAME_KNOBS)));
    CHECK_INT(fallback(&kept, 0), CS_OK);
    CHECK_INT(fake.calls, 2);
    void *anew = built(&kept, 32, CS_SAME_KNOBS);
    CHECK_INT(fake.calls, 3);
    CHECK(cs_built_plans_has_fallback(&kept, 0));
    CHECK(!cs_built_plans_has_fallback(&kept, 1));
    CHECK_INT(kept.count, 1);
    kept.vendor.destroy(anew);
    cs_built_plans_fini(&kept);
    CHECK_INT(kept.count + fake.live, 0);
}

/* A request without memory fails, and loses no kept plan. */
static void without_memory(void)
{
#ifdef HEAP_REFUSES
    struct cs_built_plans kept;
    struct cs_problem problem = rows(31);
    int64_t workspace = -1;
    void *execution_plan = NULL;
    start(&kept);
    kept.vendor.destroy(built(&kept, 32, CS_SAME_KNOBS));
    heap_left = 0;
    CHECK_INT(
        kept.vendor.build(kept.vendor.ctx, &problem, CS_SAME_KNOBS, &execution_plan, &workspace),
        CS_NOMEM);
    heap_left = 0;
    CHECK_INT(fallback(&kept, 100), CS_NOMEM);
    heap_left = -1;
    CHECK(execution_plan == NULL && workspace == -1);
    CHECK_INT(kept.count, 1);
    CHECK_INT(fake.calls, 1);
    kept.vendor.destroy(built(&kept, 32, CS_SAME_KNOBS));
    CHECK_INT(fake.calls, 1);
    cs_built_plans_fini(&kept);
    CHECK_INT(fake.live, 0);
#endif
}

/* After all the others. */
static void all_memory_is_freed(void)
{
    CHECK_INT(heap_taken - taken_before, 0);
}

int main(void)
{
    heap_watch();
    TEST(built_plan_is_reused);
    taken_before = heap_taken; /* the first line has taken a buffer */
    TEST(plan_with_other_relaxation_is_not_reused);
    TEST(released_plan_is_the_callers);
    TEST(fallback_serves_limits_from_its_need_to_its_own_limit);
    TEST(latest_plans_are_kept);
    TEST(failures_are_passed_on);
    TEST(without_memory);
    TEST(a_fallback_is_no_plan_of_a_problem);
    TEST(all_memory_is_freed);
    return REPORT();
}
