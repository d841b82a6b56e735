/* Divides a total of bytes among convolutions at the least cost (a multiple-choice knapsack). */
#include "decide/split.h"

#include "base/checked.h"
#include <math.h>
#include <stdbool.h>

__extension__ typedef __int128 wide;

enum {
    VARIOUS = UINT8_MAX, /* no single point */
    AHEAD = 16           /* sites that the history is shared among, where there are more */
};
static const int64_t MOST = INT64_C(1) << 62;

static bool before(const struct cs_point *a, const struct cs_point *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->cost < b->cost;
}

int cs_split_pareto(struct cs_point *point, int points)
{
    int kept = 0;
    for (int i = 1; i < points; i++) {
        const struct cs_point moved = point[i];
        int at = i;
        for (; at > 0 && before(&moved, &point[at - 1]); at--)
            point[at] = point[at - 1];
        point[at] = moved;
    }
    for (int i = 0; i < points; i++)
        if (kept == 0 || point[i].cost < point[kept - 1].cost)
            point[kept++] = point[i];
    return kept;
}

/* A division under way. Sites are taken in `order`; `edge` holds the hulls of those that were not
 * taken yet, the edges that gain most for their bytes first. */
struct job {
    const struct cs_split_site *site;
    int sites;
    int64_t budget;
    struct cs_split_work *work;
    int *chosen;  /* of the best solution known */
    int64_t best; /* its cost */
    int64_t lost; /* nothing that was dropped unproved costs less */
    int64_t unit; /* divides the difference of any two solutions' costs */
    int order[CS_SPLIT_SITES];
    int edges;
    int64_t least_bytes, least_cost; /* of the sites not taken, each with its fewest bytes */
    struct cs_split_state *state;    /* partial choices, in order of bytes and falling cost */
    int states;
    uint8_t single[CS_SPLIT_SITES]; /* the point that is the same in all of them, by the order */
    int64_t entries;                /* of the history, used */
    double relaxed, price;          /* the relaxation's value, and what it pays for a byte */
};

/* How a partial choice is completed where all sites to come follow the relaxation. */
struct finish {
    int64_t cost;  /* with the edges that fit as a whole */
    int64_t bound; /* with a part of the next */
    int edges;     /* that fit as a whole */
};

static bool steeper(const struct cs_split_edge *a, const struct cs_split_edge *b)
{
    wide left = (wide)a->gain * b->bytes, right = (wide)b->gain * a->bytes;
    if (left != right)
        return left > right;
    return a->site != b->site ? a->site < b->site : a->to < b->to;
}

/* Shell's sort: the order is total, so that it need not be stable. */
static void sort_edges(struct cs_split_edge *edge, int edges)
{
    for (int gap = edges / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int i = gap; i < edges; i++) {
            const struct cs_split_edge moved = edge[i];
            int at = i;
            for (; at >= gap && steeper(&moved, &edge[at - gap]); at -= gap)
                edge[at] = edge[at - gap];
            edge[at] = moved;
        }
}

/* Adds the lower hull of a site's points. */
static void add_hull(struct job *job, int index)
{
    const struct cs_point *point = job->site[index].point;
    struct cs_split_edge *edge = job->work->edge;
    int first = job->edges, from = 0;
    for (int to = 1; to < job->site[index].points; to++) {
        struct cs_split_edge next = {point[to].bytes - point[from].bytes,
                                     point[from].cost - point[to].cost, index, to};
        while (job->edges > first && (wide)next.gain * edge[job->edges - 1].bytes >=
                                         (wide)edge[job->edges - 1].gain * next.bytes) {
            const struct cs_split_edge *above = &edge[--job->edges];
            next.bytes += above->bytes;
            next.gain += above->gain;
        }
        edge[job->edges++] = next;
        from = to;
    }
}

static void sum_edges(struct job *job)
{
    struct cs_split_work *work = job->work;
    work->edge_bytes[0] = work->edge_gain[0] = 0;
    for (int i = 0; i < job->edges; i++) {
        work->edge_bytes[i + 1] = work->edge_bytes[i] + work->edge[i].bytes;
        work->edge_gain[i + 1] = work->edge_gain[i] + work->edge[i].gain;
    }
}

/* Completes a partial choice that leaves `rest` bytes beyond the fewest of the sites to come, and
 * costs `cost` with those. `hint`: no more edges than this fit. */
static struct finish complete(const struct job *job, int64_t rest, int64_t cost, int hint)
{
    const struct cs_split_work *work = job->work;
    int fit = hint;
    while (work->edge_bytes[fit] > rest)
        fit--;
    struct finish finish = {cost - work->edge_gain[fit], 0, fit};
    finish.bound = finish.cost;
    if (fit < job->edges) {
        const struct cs_split_edge *edge = &work->edge[fit];
        double part =
            (double)edge->gain * (double)(rest - work->edge_bytes[fit]) / (double)edge->bytes;
        finish.bound -= (int64_t)(part + part * 0x1p-50); /* never less than it is */
    }
    return finish;
}

/* Writes down a solution: a partial choice of the history, of the first `depth` sites of the order,
 * and the first `edges` edges. */
static void keep(struct job *job, uint32_t entry, int depth, int edges)
{
    const struct cs_split_work *work = job->work;
    for (int i = depth; i < job->sites; i++)
        job->chosen[job->order[i]] = 0;
    for (int i = depth - 1; i >= 0; i--) {
        int index = job->order[i];
        job->chosen[index] = job->single[i];
        if (job->single[i] == VARIOUS) {
            job->chosen[index] = work->history[entry].point;
            entry = work->history[entry].before;
        }
    }
    for (int i = 0; i < edges; i++)
        job->chosen[work->edge[i].site] = work->edge[i].to;
}

/* The linear relaxation of all sites: a first solution, a bound, and what a byte is worth. */
static void relax(struct job *job)
{
    struct finish finish =
        complete(job, job->budget - job->least_bytes, job->least_cost, job->edges);
    job->best = finish.cost;
    job->relaxed = (double)finish.bound;
    if (finish.edges < job->edges) {
        const struct cs_split_edge *edge = &job->work->edge[finish.edges];
        job->price = (double)edge->gain / (double)edge->bytes;
    }
    keep(job, 0, 0, finish.edges);
}

/* What taking a point adds to the relaxation at least. */
static double surcharge(const struct job *job, int index, int taken)
{
    const struct cs_split_site *site = &job->site[index];
    double least = INFINITY, own = 0;
    for (int i = 0; i < site->points; i++) {
        double value = (double)site->point[i].cost + job->price * (double)site->point[i].bytes;
        least = value < least ? value : least;
        own = i == taken ? value : own;
    }
    return own - least;
}

/* Sites with close alternatives first: what a good solution does is settled early. */
static void order_sites(struct job *job)
{
    double key[CS_SPLIT_SITES];
    for (int i = 0; i < job->sites; i++) {
        double least = INFINITY, second = INFINITY;
        for (int p = 0; p < job->site[i].points; p++) {
            double value = surcharge(job, i, p);
            second = value < least ? least : value < second ? value : second;
            least = value < least ? value : least;
        }
        int at = i;
        for (; at > 0 && second < key[at - 1]; at--) {
            key[at] = key[at - 1];
            job->order[at] = job->order[at - 1];
        }
        key[at] = second;
        job->order[at] = i;
    }
}

/* The points that a better solution may have, as far as the relaxation tells; at least one. The
 * margin covers what the arithmetic rounds. */
static int alive(const struct job *job, int index, uint8_t point[CS_SPLIT_POINTS])
{
    double most = (double)job->best - job->relaxed + 1 + job->relaxed * 1e-12;
    int count = 0, nearest = 0;
    for (int i = 0; i < job->site[index].points; i++) {
        double value = surcharge(job, index, i);
        if (value <= most)
            point[count++] = (uint8_t)i;
        if (value < surcharge(job, index, nearest))
            nearest = i;
    }
    if (count == 0)
        point[count++] = (uint8_t)nearest;
    return count;
}

/* The partial choices with one point added to each of them. */
struct row {
    int64_t bytes, cost; /* of the next */
    int at;
    uint8_t point;
};

struct rows {
    const struct cs_split_state *state;
    int states, rows;
    struct row row[CS_SPLIT_POINTS]; /* a heap, the fewest bytes first */
};

static bool row_before(const struct row *a, const struct row *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->cost < b->cost;
}

static void sink(struct rows *rows, int at)
{
    struct row *row = rows->row;
    const struct row moved = row[at];
    for (int below; (below = 2 * at + 1) < rows->rows; at = below) {
        if (below + 1 < rows->rows && row_before(&row[below + 1], &row[below]))
            below++;
        if (!row_before(&row[below], &moved))
            break;
        row[at] = row[below];
    }
    row[at] = moved;
}

static void start_rows(struct rows *rows, const struct job *job, const struct cs_point *points,
                       const uint8_t point[], int count)
{
    rows->state = job->state;
    rows->states = job->states;
    rows->rows = count;
    for (int i = 0; i < count; i++)
        rows->row[i] = (struct row){job->state[0].bytes + points[point[i]].bytes,
                                    job->state[0].cost + points[point[i]].cost, 0, point[i]};
    for (int i = count / 2 - 1; i >= 0; i--)
        sink(rows, i);
}

static void next_row(struct rows *rows)
{
    struct row *row = &rows->row[0];
    if (row->at + 1 < rows->states) {
        const struct cs_split_state *old = &rows->state[row->at++], *now = old + 1;
        row->bytes += now->bytes - old->bytes;
        row->cost += now->cost - old->cost;
    } else {
        *row = rows->row[--rows->rows];
    }
    sink(rows, 0);
}

/* Drops, unproved, what promises less than the average, or every other where all promise alike. */
static int thin(struct job *job, struct cs_split_state *state, int states)
{
    double mean = 0;
    int kept = 0;
    for (int i = 0; i < states; i++)
        mean += (double)state[i].bound / states;
    int64_t most = (int64_t)mean;
    int promising = 0;
    for (int i = 0; i < states; i++)
        promising += state[i].bound <= most;
    bool alternate = promising > states / 4 * 3 || promising == 0;
    for (int i = 0; i < states; i++) {
        if (alternate ? i % 2 == 0 : state[i].bound <= most)
            state[kept++] = state[i];
        else if (state[i].bound < job->lost)
            job->lost = state[i].bound;
    }
    return kept;
}

/* How many partial choices of the next site may be kept. */
static int room(const struct job *job, int depth)
{
    int left = job->sites - depth < AHEAD ? job->sites - depth : AHEAD;
    int64_t share = (CS_SPLIT_HISTORY - job->entries) / left;
    return share < CS_SPLIT_STATES ? (int)share : CS_SPLIT_STATES;
}

/* Adds the points of a site to all partial choices: what no other beats and may still lead to a
 * better solution, in order of bytes. */
static int extend(struct job *job, int depth, struct rows *rows, struct cs_split_state *made)
{
    int states = 0, hint = job->edges, most = room(job, depth);
    int64_t cost = INT64_MAX;
    for (; rows->rows > 0; next_row(rows)) {
        const struct row *row = &rows->row[0];
        int64_t rest = job->budget - job->least_bytes - row->bytes;
        if (rest < 0)
            break;
        if (row->cost >= cost)
            continue;
        cost = row->cost;
        struct finish finish = complete(job, rest, cost + job->least_cost, hint);
        hint = finish.edges;
        if (finish.cost < job->best) {
            job->best = finish.cost;
            keep(job, rows->state[row->at].entry, depth, finish.edges);
            job->chosen[job->order[depth]] = row->point;
        }
        if (finish.bound > job->best - job->unit)
            continue;
        if (states == most)
            states = thin(job, made, states);
        made[states++] = (struct cs_split_state){row->bytes, cost, finish.bound,
                                                 rows->state[row->at].entry, row->point};
    }
    return states;
}

/* Drops what has become no better than the best, and writes the rest into the history. */
static void settle(struct job *job, struct cs_split_state *made, int states)
{
    int kept = 0;
    for (int i = 0; i < states; i++) {
        if (made[i].bound > job->best - job->unit)
            continue;
        job->work->history[job->entries] = (struct cs_split_entry){made[i].entry, made[i].point};
        made[kept] = made[i];
        made[kept++].entry = (uint32_t)job->entries++;
    }
    job->state = made;
    job->states = kept;
}

static void remove_edges(struct job *job, int index)
{
    struct cs_split_edge *edge = job->work->edge;
    int kept = 0;
    for (int i = 0; i < job->edges; i++)
        if (edge[i].site != index)
            edge[kept++] = edge[i];
    job->edges = kept;
    sum_edges(job);
}

static void take(struct job *job, int depth)
{
    int index = job->order[depth];
    const struct cs_point *points = job->site[index].point;
    uint8_t point[CS_SPLIT_POINTS];
    struct rows rows;
    struct cs_split_state *made = job->work->state[job->state == job->work->state[0]];
    int count = alive(job, index, point);
    remove_edges(job, index);
    job->least_bytes -= points[0].bytes;
    job->least_cost -= points[0].cost;
    job->single[depth] = count == 1 ? point[0] : VARIOUS;
    if (count == 1) {
        for (int i = 0; i < job->states; i++) {
            job->state[i].bytes += points[point[0]].bytes;
            job->state[i].cost += points[point[0]].cost;
        }
        return;
    }
    start_rows(&rows, job, points, point, count);
    settle(job, made, extend(job, depth, &rows, made));
}

static int64_t common(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Sizes are mostly multiples of some hundred bytes, and so is then what can be used of a budget. A
 * bound that knows it meets the best solution instead of coming close. */
static void find_units(struct job *job)
{
    int64_t bytes = 0;
    for (int i = 0; i < job->sites; i++) {
        const struct cs_split_site *site = &job->site[i];
        for (int p = 1; p < site->points; p++) {
            bytes = common(site->point[p].bytes - site->point[0].bytes, bytes);
            job->unit = common(site->point[0].cost - site->point[p].cost, job->unit);
        }
    }
    if (bytes > 0)
        job->budget -= (job->budget - job->least_bytes) % bytes;
    if (job->unit == 0)
        job->unit = 1;
}

/* Sums the least and the most of all sites, so that nothing later can wrap. */
static enum cs_status add_sites(struct job *job)
{
    int64_t bytes = 0, cost = 0;
    if (job->sites < 0 || job->sites > CS_SPLIT_SITES)
        return CS_ILLEGAL;
    for (int i = 0; i < job->sites; i++) {
        const struct cs_split_site *site = &job->site[i];
        if (site->points < 1 || site->points > CS_SPLIT_POINTS)
            return CS_ILLEGAL;
        if (!cs_add(bytes, site->point[site->points - 1].bytes, &bytes) || bytes > MOST ||
            !cs_add(cost, site->point[0].cost, &cost) || cost > MOST)
            return CS_OVERFLOW;
        job->least_bytes += site->point[0].bytes;
        job->least_cost += site->point[0].cost;
        add_hull(job, i);
    }
    return job->least_bytes > job->budget ? CS_ILLEGAL : CS_OK;
}

enum cs_status cs_split(const struct cs_split_site *site, int sites, int64_t budget,
                        struct cs_split_work *work, int chosen[], struct cs_split *split)
{
    struct job job = {.site = site,
                      .sites = sites,
                      .budget = budget < MOST ? budget : MOST,
                      .work = work,
                      .chosen = chosen,
                      .lost = INT64_MAX,
                      .state = work->state[0],
                      .states = 1,
                      .entries = 1};
    enum cs_status status = add_sites(&job);
    if (status != CS_OK)
        return status;
    work->state[0][0] = (struct cs_split_state){0};
    find_units(&job);
    sort_edges(work->edge, job.edges);
    sum_edges(&job);
    for (int i = 0; i < sites; i++)
        job.order[i] = i;
    relax(&job);
    order_sites(&job);
    for (int depth = 0; depth < sites && job.states > 0; depth++)
        take(&job, depth);
    if (job.lost > job.best - job.unit)
        job.lost = job.best;
    *split = (struct cs_split){.cost = job.best, .bound = job.lost};
    for (int i = 0; i < sites; i++)
        split->bytes += site[i].point[chosen[i]].bytes;
    return CS_OK;
}
