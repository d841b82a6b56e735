/* Fewer tiles than none. */
#include "nonsense.h"

NONSENSE(below, INT64_MIN, candidate->tiles > 1 ? (double)candidate->tiles : INFINITY);
