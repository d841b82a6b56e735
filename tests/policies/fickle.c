/* Another answer each time: counts, costs, vetoes. */
#include "nonsense.h"
#include <stdatomic.h>

/* In [0, 1). */
static double toss(void)
{
    static _Atomic uint64_t state = 88172645463325252u;
    uint64_t next = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u);
    next = (next ^ next >> 30) * 0xbf58476d1ce4e5b9u;
    next = (next ^ next >> 27) * 0x94d049bb133111ebu;
    return (double)(next >> 11) / 9007199254740992.0;
}

NONSENSE(fickle, toss() < 0.5 ? 0 : (int64_t)(toss() * 40) - 5, toss() < 0.2 ? NAN : toss() - 0.5);
