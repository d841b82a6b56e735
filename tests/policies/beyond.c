/* More tiles than there are elements. */
#include "nonsense.h"

NONSENSE(beyond, INT64_MAX, candidate->tiles > 1 ? (double)candidate->workspace : INFINITY);
