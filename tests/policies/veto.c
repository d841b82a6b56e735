/* Nothing may be taken, not even the call as it is. */
#include "nonsense.h"

NONSENSE(veto, 0, INFINITY);
