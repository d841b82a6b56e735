/* Who comes in is handled once: what comes back to us on the same thread, whatever calls it, gets
 * the real call. Entries that only note are no different, but for what they write. */
#include "base/nest.h"
#include "check.h"
#include "flow/instance.h"
#include "flow/renewal.h"
#include "flow/sign_of_life.h"
#include "intercept/cudnn_host.h"
#include "intercept/intercept.h"
#include "intercept/loader/caller.h"
#include <pthread.h>
#include <stdlib.h>

typedef int enter(struct cs_entry_call *call, const void *caller);

const struct cs_host cs_host;

static struct cs *instance;
static struct {
    int handled, replayed, inner, renewals, signs;
    int cancel_state, cancel_type; /* while the call was handled */
    bool off, unready, of_cudnn;
    enter *again;
} fake;

struct cs *cs_instance(const struct cs_host *host)
{
    CHECK(host == &cs_host);
    return fake.unready ? NULL : instance;
}

bool cs_instance_off(void)
{
    return fake.off;
}

bool cs_caller_is_cudnn(const void *address)
{
    (void)address;
    return fake.of_cudnn;
}

void cs_renewal_pass(struct cs *cs)
{
    CHECK(cs == instance && cs_nested());
    fake.renewals++;
}

void cs_sign_pass(struct cs *cs)
{
    CHECK(cs == instance && cs_nested());
    fake.signs++;
}

static int inner_replay(struct cs_entry_call *call)
{
    (void)call;
    fake.inner++;
    return 7;
}

static int never(struct cs *cs, struct cs_entry_call *call)
{
    (void)cs, (void)call;
    CHECK(!"handled within a call that is being handled");
    return 0;
}

static int replay(struct cs_entry_call *call)
{
    (void)call;
    fake.replayed++;
    return 5;
}

static int handle(struct cs *cs, struct cs_entry_call *call)
{
    struct cs_entry_call inner = {inner_replay, never};
    (void)call;
    CHECK(cs == instance);
    fake.handled++;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &fake.cancel_state);
    pthread_setcancelstate(fake.cancel_state, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &fake.cancel_type);
    CHECK_INT(fake.again(&inner, NULL), 7);
    return 3;
}

static enter *const ways[] = {cs_intercept_from, cs_intercept_note_from};

static void start(enter *again)
{
    instance = instance ? instance : calloc(1, sizeof *instance);
    memset(&fake, 0, sizeof fake);
    fake.again = again;
}

static void a_call_within_a_call_gets_the_real_one(void)
{
    for (int outer = 0; outer < 2; outer++)
        for (int inner = 0; inner < 2; inner++) {
            struct cs_entry_call call = {replay, handle};
            start(ways[inner]);
            for (int round = 1; round <= 2; round++) {
                CHECK_INT(ways[outer](&call, NULL), 3);
                CHECK(!cs_nested());
                CHECK_INT(fake.handled, round);
                CHECK_INT(fake.inner, round);
            }
            CHECK_INT(fake.replayed, 0);
            CHECK_INT(fake.renewals, outer == 0 ? 2 : 0);
            CHECK_INT(fake.signs, outer == 0 ? 2 : 0);
        }
}

static void nothing_is_handled_where_it_must_not_be(void)
{
    bool *const why[] = {&fake.off, &fake.unready, &fake.of_cudnn};
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < 3; i++) {
            struct cs_entry_call call = {replay, handle};
            start(ways[way]);
            *why[i] = true;
            CHECK_INT(ways[way](&call, NULL), 5);
            CHECK_INT(fake.replayed, 1);
            CHECK_INT(fake.handled, 0);
            CHECK(!cs_nested());
        }
}

/* No thread ends in the middle; afterwards it may again, as before. */
static void a_thread_is_cancelled_as_before_behind_it(void)
{
    static const int types[] = {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS};
    for (int way = 0; way < 2; way++)
        for (int i = 0; i < 2; i++) {
            struct cs_entry_call call = {replay, handle};
            int state, type;
            start(ways[way]);
            pthread_setcanceltype(types[i], NULL);
            CHECK_INT(ways[way](&call, NULL), 3);
            pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
            pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
            CHECK_INT(state, PTHREAD_CANCEL_ENABLE);
            if (way == 0)
                CHECK_INT(fake.cancel_state, PTHREAD_CANCEL_DISABLE);
            else
                CHECK_INT(fake.cancel_type, PTHREAD_CANCEL_DEFERRED);
            if (way == 1)
                CHECK_INT(type, types[i]);
        }
}

int main(void)
{
    TEST(a_call_within_a_call_gets_the_real_one);
    TEST(nothing_is_handled_where_it_must_not_be);
    TEST(a_thread_is_cancelled_as_before_behind_it);
    return REPORT();
}
