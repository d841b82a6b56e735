/* The per-thread nesting counter. It separates the library's and the vendor's internal calls from
 * the application's. */
#include "base/nest.h"

__thread int cs_nest_depth;
