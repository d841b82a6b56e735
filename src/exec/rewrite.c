/* Destroys the objects that were built for a convolution. */
#include "exec/rewrite.h"

#include <stdlib.h>

void cs_rewrite_discard(struct cs_rewrite *rewrite)
{
    if (!rewrite)
        return;
    for (int64_t i = 0; i < rewrite->plan.shapes; i++)
        rewrite->destroy(rewrite->execution_plan[i]);
    rewrite->destroy(rewrite->fallback);
    free(rewrite);
}
