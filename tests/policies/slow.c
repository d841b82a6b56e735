/* Takes 50 ms for every cost. */
#include "nonsense.h"
#include <time.h>

static double after_a_while(double cost)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return cost;
}

NONSENSE(slow, 0,
         after_a_while(candidate->workspace > limits->workspace ? INFINITY
                                                                : (double)candidate->tiles));
