/* Dynamic programming over tile sizes: the cheapest way to make up an extent. */
#include "decide/division.h"

#include <stdbool.h>
#include <string.h>

/* The best way to make up a number of units. */
struct sum {
    double seconds;
    int64_t tiles; /* 0: there is none, but for 0 units */
    int last;      /* a portion that it ends with */
};

static bool better(const struct sum *a, const struct sum *b)
{
    return b->tiles == 0 || a->seconds < b->seconds ||
           (a->seconds <= b->seconds && a->tiles < b->tiles);
}

static void extend(struct sum *sum, int64_t units, const struct cs_portion *portion, int number)
{
    if (portion->extent < 1 || portion->extent > units)
        return;
    const struct sum *rest = &sum[units - portion->extent];
    const struct sum longer = {rest->seconds + portion->seconds, rest->tiles + 1, number};
    if ((rest->tiles > 0 || portion->extent == units) && better(&longer, &sum[units]))
        sum[units] = longer;
}

enum cs_status cs_division_best(int64_t total, const struct cs_portion *portion, int portions,
                                int64_t *count)
{
    struct sum sum[CS_MAX_UNITS + 1];
    if (total < 1 || total > CS_MAX_UNITS || portions < 1 || portions > CS_MAX_PORTIONS)
        return CS_ILLEGAL;
    memset(sum, 0, (size_t)(total + 1) * sizeof *sum);
    memset(count, 0, (size_t)portions * sizeof *count);
    for (int64_t units = 1; units <= total; units++)
        for (int i = 0; i < portions; i++)
            extend(sum, units, &portion[i], i);
    if (sum[total].tiles == 0)
        return CS_ILLEGAL;
    for (int64_t units = total; units > 0; units -= portion[sum[units].last].extent)
        count[sum[units].last]++;
    return CS_OK;
}
