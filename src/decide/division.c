#include "decide/division.h"

#include <stdbool.h>
#include <string.h>

/* The best way to make up a number of units. */
struct sum {
    double seconds;
    int64_t tiles; /* 0: there is none, but for 0 units */
    int last;      /* a share that it ends with */
};

static bool better(const struct sum *a, const struct sum *b)
{
    return b->tiles == 0 || a->seconds < b->seconds ||
           (a->seconds <= b->seconds && a->tiles < b->tiles);
}

static void extend(struct sum *sum, int64_t units, const struct cs_portion *share, int number)
{
    if (share->extent < 1 || share->extent > units)
        return;
    const struct sum *rest = &sum[units - share->extent];
    const struct sum longer = {rest->seconds + share->seconds, rest->tiles + 1, number};
    if ((rest->tiles > 0 || share->extent == units) && better(&longer, &sum[units]))
        sum[units] = longer;
}

enum cs_status cs_divide(int64_t total, const struct cs_portion *share, int shares, int64_t *count)
{
    struct sum sum[CS_MAX_UNITS + 1];
    if (total < 1 || total > CS_MAX_UNITS || shares < 1 || shares > CS_MAX_PORTIONS)
        return CS_ILLEGAL;
    memset(sum, 0, (size_t)(total + 1) * sizeof *sum);
    memset(count, 0, (size_t)shares * sizeof *count);
    for (int64_t units = 1; units <= total; units++)
        for (int i = 0; i < shares; i++)
            extend(sum, units, &share[i], i);
    if (sum[total].tiles == 0)
        return CS_ILLEGAL;
    for (int64_t units = total; units > 0; units -= share[sum[units].last].extent)
        count[sum[units].last]++;
    return CS_OK;
}
