/* The shortlist's one question that takes more than a line. */
#include "decide/shortlist.h"

const struct cs_candidate *cs_shortlist_fewest(const struct cs_shortlist *list)
{
    const struct cs_candidate *least = NULL;
    for (int i = 1; i < list->count; i++) {
        const struct cs_candidate *tiling = &list->candidate[i];
        if (tiling->dear)
            continue;
        if (!least || tiling->tiles < least->tiles ||
            (tiling->tiles == least->tiles &&
             (tiling->halo < least->halo ||
              (tiling->halo == least->halo && tiling->shapes < least->shapes))))
            least = tiling;
    }
    return least;
}
