/* Infinities of either sign. */
#include "nonsense.h"

NONSENSE(infinite, 0, candidate->tiles % 2 ? -INFINITY : INFINITY);
