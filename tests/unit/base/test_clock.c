/* Time by the system's clocks, against the system's own. */
#include "base/clock.h"
#include "check.h"

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static void cs_clock_lies_between_two_system_readings(void)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME,
                                       CLOCK_REALTIME_COARSE};
    for (int i = 0; i < 4; i++) {
        struct timespec before, after;
        CHECK(clock_gettime(clocks[i], &before) == 0);
        int64_t now = cs_clock(clocks[i]);
        CHECK(clock_gettime(clocks[i], &after) == 0);
        CHECK(nanoseconds(&before) <= now && now <= nanoseconds(&after));
    }
}

static void units(void)
{
    CHECK_INT(CS_SECOND, 1000 * CS_MILLISECOND);
    CHECK_INT(CS_MILLISECOND, 1000000);
}

int main(void)
{
    TEST(cs_clock_lies_between_two_system_readings);
    TEST(units);
    return REPORT();
}
