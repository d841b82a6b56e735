/* Writing raises no signal in the program, and removes none of the program's own. */
#include "base/signals.h"

#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static bool pending(int number)
{
    sigset_t set;
    return sigpending(&set) == 0 && sigismember(&set, number) == 1;
}

static bool blocked(int number)
{
    sigset_t set;
    return pthread_sigmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, number) == 1;
}

static void block(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(how, &set, NULL);
}

static void signals_raised_by_writing_are_removed(void)
{
    static const int deadly[] = {SIGPIPE, SIGXFSZ};
    for (int i = 0; i < 2; i++) {
        struct cs_signals held;
        cs_signals_hold(&held);
        CHECK(blocked(SIGPIPE) && blocked(SIGXFSZ));
        pthread_kill(pthread_self(), deadly[i]);
        CHECK(pending(deadly[i]));
        cs_signals_release(&held); /* it would end the process now */
        CHECK(!pending(deadly[i]));
        CHECK(!blocked(SIGPIPE) && !blocked(SIGXFSZ));
    }
}

static void signals_pending_before_stay_pending(void)
{
    static const int deadly[] = {SIGPIPE, SIGXFSZ};
    for (int i = 0; i < 2; i++) {
        struct cs_signals held;
        block(SIG_BLOCK, deadly[i]);
        pthread_kill(pthread_self(), deadly[i]);
        cs_signals_hold(&held);
        pthread_kill(pthread_self(), deadly[1 - i]);
        cs_signals_release(&held);
        CHECK(pending(deadly[i]) && !pending(deadly[1 - i]));
        CHECK(blocked(deadly[i]) && !blocked(deadly[1 - i]));
        signal(deadly[i], SIG_IGN); /* which forgets it */
        block(SIG_UNBLOCK, deadly[i]);
        signal(deadly[i], SIG_DFL);
    }
}

static void earlier_mask_is_restored(void)
{
    struct cs_signals held;
    block(SIG_BLOCK, SIGPIPE);
    cs_signals_hold(&held);
    cs_signals_release(&held);
    CHECK(blocked(SIGPIPE) && !blocked(SIGXFSZ));
    block(SIG_UNBLOCK, SIGPIPE);
}

int main(void)
{
    TEST(signals_raised_by_writing_are_removed);
    TEST(signals_pending_before_stay_pending);
    TEST(earlier_mask_is_restored);
    return REPORT();
}
