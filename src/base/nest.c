#include "base/nest.h"

__thread int cs_nest_depth;
