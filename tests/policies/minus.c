/* Costs below zero: the more tiles and halo, the better. */
#include "nonsense.h"

NONSENSE(minus, 0, -(double)candidate->tiles - (double)candidate->halo);
