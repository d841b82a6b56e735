/* Accepts no candidate, not even the untiled call. */
#include "nonsense.h"

NONSENSE(veto, 0, INFINITY);
