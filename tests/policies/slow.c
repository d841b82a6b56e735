/* Takes a moment for every cost. */
#include "nonsense.h"
#include <time.h>

static double after_a_moment(double cost)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000}, NULL);
    return cost;
}

NONSENSE(slow, 0,
         after_a_moment(candidate->workspace > limits->workspace ? INFINITY
                                                                 : (double)candidate->tiles));
