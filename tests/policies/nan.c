/* No cost is a number. */
#include "nonsense.h"

NONSENSE(nan, 0, NAN);
