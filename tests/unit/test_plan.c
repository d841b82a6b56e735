#include "check.h"
#include "convshim/plan.h"
#include "random_problem.h"
#include <stddef.h>

/* The cut is held against three oracles that share no code with it: boundaries found tile by tile,
 * windows in 128-bit intervals, and for small problems every output element and filter tap by byte
 * address. */

enum {
    RANDOM_SMALL = 60000,
    RANDOM_LARGE = 60000,
    SEED = 20262,
    BRUTE_ELEMENTS = 500, /* largest output that is visited whole */
    BRUTE_TAPS = 5000,    /* and most taps of all its elements */
    BRUTE_SPAN = 10000,
    NOMINAL_TILES = 3000 /* most tiles that the boundary oracle walks */
};

__extension__ typedef __int128 wide;

/* The cut axis as the problem says it. */
struct axis {
    int dim;
    int64_t in, out, stride, pre, reach;
};

static struct axis axis_of(const struct cs_problem *problem, enum cs_axis axis)
{
    const int dims[CS_AXES] = {-1, CS_N, CS_D, CS_H, CS_W};
    int dim = dims[axis], i = dim - CS_D;
    struct axis a = {dim, problem->tensor[CS_X].dims[dim], problem->tensor[CS_Y].dims[dim], 1, 0,
                     1};
    if (i >= 0) {
        a.stride = problem->stride[i];
        a.pre = problem->pre[i];
        a.reach = (problem->tensor[CS_FILTER].dims[dim] - 1) * problem->dilation[i] + 1;
    }
    return a;
}

static wide least(wide a, wide b)
{
    return a < b ? a : b;
}

static wide most(wide a, wide b)
{
    return a > b ? a : b;
}

/* Input that output elements [first, end) read, as far as it exists. */
static void reads(const struct axis *a, int64_t first, int64_t end, wide *begin_p, wide *end_p)
{
    wide low = (wide)first * a->stride - a->pre;
    wide high = (wide)(end - 1) * a->stride - a->pre + a->reach;
    *begin_p = most(low, 0);
    *end_p = least(high, a->in);
}

/* Where the tiles have to end, by walking steps: one that reads nothing joins the one behind it, or
 * at the end the one before. Returns their number. */
static int walk_boundaries(const struct axis *a, int64_t step, int64_t ends[NOMINAL_TILES])
{
    int tiles = 0;
    for (int64_t first = 0, end; first < a->out; first = end) {
        wide from, to;
        end = first + step < a->out ? first + step : a->out;
        reads(a, first, end, &from, &to);
        if (to <= 0)
            continue;
        if (from >= a->in && tiles > 0)
            ends[tiles - 1] = end;
        else
            ends[tiles++] = end;
    }
    return tiles;
}

/* Different tiles: by output elements, input elements and padding before; padding behind follows.
 * Counts to one more than allowed. */
static int walk_kinds(const struct axis *a, const int64_t *ends, int tiles)
{
    wide kind[CS_MAX_KINDS + 1][3];
    int kinds = 0;
    for (int t = 0; t < tiles && kinds <= CS_MAX_KINDS; t++) {
        int64_t first = t ? ends[t - 1] : 0;
        wide from, to;
        reads(a, first, ends[t], &from, &to);
        wide pre = from - ((wide)first * a->stride - a->pre);
        int k = 0;
        while (k < kinds &&
               (kind[k][0] != ends[t] - first || kind[k][1] != to - from || kind[k][2] != pre))
            k++;
        kind[k][0] = ends[t] - first;
        kind[k][1] = to - from;
        kind[k][2] = pre;
        kinds += k == kinds;
    }
    return kinds;
}

static void check_boundaries(const struct cs_plan *plan, const struct axis *a, int64_t step,
                             enum cs_status status)
{
    static int64_t ends[NOMINAL_TILES];
    if (a->out / step >= NOMINAL_TILES)
        return;
    int tiles = walk_boundaries(a, step, ends), kinds = walk_kinds(a, ends, tiles);
    bool legal = tiles >= 2 && tiles <= CS_MAX_TILES && kinds <= CS_MAX_KINDS;
    CHECK_INT(status, legal ? CS_OK : CS_ILLEGAL);
    if (status != CS_OK)
        return;
    CHECK_INT(plan->tiles, tiles);
    CHECK_INT(plan->kinds, kinds);
    for (int i = 0; i < tiles && tiles == plan->tiles; i++) {
        struct cs_tile tile;
        cs_plan_tile(plan, i, &tile);
        CHECK_INT(tile.first + tile.count, ends[i]);
    }
}

static wide wide_span(const struct cs_tensor *tensor)
{
    wide elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements += (wide)(tensor->dims[dim] - 1) * tensor->strides[dim];
    return elements * cs_dtype_size(tensor->dtype);
}

static void check_window(const struct cs_plan *plan, const struct axis *a,
                         const struct cs_tile *tile)
{
    const struct cs_problem *whole = &plan->problem, *part = &plan->kind[tile->kind].problem;
    wide low = (wide)tile->first * a->stride - a->pre, begin, end;
    wide high = low + (wide)(tile->count - 1) * a->stride + a->reach;
    reads(a, tile->first, tile->first + tile->count, &begin, &end);
    CHECK(end > begin);
    CHECK(tile->in_first == begin && tile->in_first + tile->in_count == end);
    CHECK(tile->pre == begin - low && tile->post == high - end);
    CHECK_INT((tile->in_count + tile->pre + tile->post - a->reach) / a->stride + 1, tile->count);

    CHECK_INT(part->tensor[CS_X].dims[a->dim], tile->in_count);
    CHECK_INT(part->tensor[CS_Y].dims[a->dim], tile->count);
    if (a->dim >= CS_D) {
        CHECK_INT(part->pre[a->dim - CS_D], tile->pre);
        CHECK_INT(part->post[a->dim - CS_D], tile->post);
    }
    const int64_t first[CS_OPERANDS] = {tile->in_first, 0, tile->first};
    for (int i = 0; i < CS_OPERANDS; i++) {
        const struct cs_tensor *tensor = &whole->tensor[i];
        wide offset = (wide)first[i] * tensor->strides[a->dim] * cs_dtype_size(tensor->dtype);
        CHECK(tile->offset[i] == offset);
        CHECK(offset + wide_span(&part->tensor[i]) <= wide_span(tensor));
    }
}

static bool same_kind(const struct cs_problem *a, const struct cs_problem *b, int dim)
{
    int i = dim - CS_D;
    return a->tensor[CS_X].dims[dim] == b->tensor[CS_X].dims[dim] &&
           a->tensor[CS_Y].dims[dim] == b->tensor[CS_Y].dims[dim] &&
           (i < 0 || (a->pre[i] == b->pre[i] && a->post[i] == b->post[i]));
}

/* Kinds differ, count their tiles, and promise the largest alignment that all of these keep: no
 * more, no less. */
static void check_kinds(const struct cs_plan *plan, const struct axis *a)
{
    int64_t alignment[CS_MAX_KINDS][CS_OPERANDS], tiles[CS_MAX_KINDS] = {0};
    for (int k = 0; k < plan->kinds; k++) {
        for (int i = 0; i < CS_OPERANDS; i++)
            alignment[k][i] = plan->problem.tensor[i].alignment;
        for (int other = 0; other < k; other++)
            CHECK(!same_kind(&plan->kind[k].problem, &plan->kind[other].problem, a->dim));
        CHECK_INT(cs_problem_check(&plan->kind[k].problem), CS_OK);
    }
    for (int64_t t = 0; t < plan->tiles; t++) {
        struct cs_tile tile;
        cs_plan_tile(plan, t, &tile);
        tiles[tile.kind]++;
        for (int i = 0; i < CS_OPERANDS; i++) {
            while (tile.offset[i] % alignment[tile.kind][i])
                alignment[tile.kind][i] /= 2;
        }
    }
    for (int k = 0; k < plan->kinds; k++) {
        CHECK_INT(plan->kind[k].tiles, tiles[k]);
        for (int i = 0; i < CS_OPERANDS; i++)
            CHECK_INT(plan->kind[k].problem.tensor[i].alignment, alignment[k][i]);
    }
}

static void check_intervals(const struct cs_plan *plan, const struct axis *a)
{
    wide read = 0, distinct = 0, read_end = 0,
         row = cs_dtype_size(plan->problem.tensor[CS_X].dtype);
    int64_t next = 0;
    for (int64_t t = 0; t < plan->tiles; t++) {
        struct cs_tile tile;
        cs_plan_tile(plan, t, &tile);
        CHECK_INT(tile.first, next);
        CHECK(tile.count >= 1);
        next += tile.count;
        check_window(plan, a, &tile);
        wide end = tile.in_first + tile.in_count;
        read += tile.in_count;
        distinct += most(end - most(read_end, tile.in_first), 0);
        read_end = most(read_end, end);
    }
    CHECK_INT(next, a->out);
    for (int dim = 0; dim < CS_DIMS; dim++)
        row *= dim == a->dim ? 1 : plan->problem.tensor[CS_X].dims[dim];
    CHECK(plan->halo == (read - distinct) * row);
}

/* Element number `index` of a tensor in the order of its dimensions, as coordinates. */
static void coordinates(const struct cs_tensor *tensor, int64_t index, int64_t at[CS_DIMS])
{
    for (int dim = CS_DIMS - 1; dim >= 0; dim--) {
        at[dim] = index % tensor->dims[dim];
        index /= tensor->dims[dim];
    }
}

static int64_t byte_of(const struct cs_tensor *tensor, const int64_t at[CS_DIMS])
{
    int64_t element = 0;
    for (int dim = 0; dim < CS_DIMS; dim++)
        element += at[dim] * tensor->strides[dim];
    return element * cs_dtype_size(tensor->dtype);
}

static int64_t elements_of(const struct cs_tensor *tensor)
{
    int64_t elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements *= tensor->dims[dim];
    return elements;
}

/* The byte of x that output element `at` reads at a filter tap, or -1 in the padding. */
static int64_t tap_byte(const struct cs_problem *problem, const int64_t at[CS_DIMS],
                        const int64_t tap[CS_DIMS])
{
    const struct cs_tensor *x = &problem->tensor[CS_X];
    int64_t outputs = problem->tensor[CS_FILTER].dims[CS_N] / problem->groups;
    int64_t read[CS_DIMS] = {at[CS_N], at[CS_C] / outputs * problem->tensor[CS_FILTER].dims[CS_C]};
    for (int i = 0; i < CS_SPATIAL; i++) {
        int64_t p = at[CS_D + i] * problem->stride[i] - problem->pre[i] +
                    tap[CS_D + i] * problem->dilation[i];
        if (p < 0 || p >= x->dims[CS_D + i])
            return -1;
        read[CS_D + i] = p;
    }
    return byte_of(x, read);
}

/* Every tap of one output element of a tile reads what the same element of the whole problem reads.
 */
static int differing_taps(const struct cs_problem *whole, const int64_t at[CS_DIMS],
                          const struct cs_problem *part, const int64_t local[CS_DIMS],
                          int64_t offset)
{
    struct cs_tensor taps = whole->tensor[CS_FILTER];
    int differing = 0;
    taps.dims[CS_N] = taps.dims[CS_C] = 1;
    for (int64_t i = 0; i < elements_of(&taps); i++) {
        int64_t tap[CS_DIMS];
        coordinates(&taps, i, tap);
        int64_t want = tap_byte(whole, at, tap), got = tap_byte(part, local, tap);
        differing += want != (got < 0 ? -1 : offset + got);
    }
    return differing;
}

static bool brute_force(const struct cs_plan *plan)
{
    static int owner[BRUTE_SPAN], hits[BRUTE_ELEMENTS];
    const struct cs_problem *whole = &plan->problem;
    const struct cs_tensor *y = &whole->tensor[CS_Y];
    const struct cs_tensor *w = &whole->tensor[CS_FILTER];
    int64_t elements = elements_of(y), size = cs_dtype_size(y->dtype);
    int64_t taps = elements_of(w) / w->dims[CS_N] / w->dims[CS_C];
    if (elements > BRUTE_ELEMENTS || elements * taps > BRUTE_TAPS ||
        wide_span(y) / size > BRUTE_SPAN)
        return false;
    memset(owner, -1, (size_t)(wide_span(y) / size) * sizeof *owner);
    memset(hits, 0, (size_t)elements * sizeof *hits);
    for (int64_t i = 0; i < elements; i++) {
        int64_t at[CS_DIMS];
        coordinates(y, i, at);
        owner[byte_of(y, at) / size] = (int)i;
    }
    int strays = 0, differing = 0, misses = 0;
    for (int64_t t = 0; t < plan->tiles; t++) {
        struct cs_tile tile;
        cs_plan_tile(plan, t, &tile);
        const struct cs_problem *part = &plan->kind[tile.kind].problem;
        for (int64_t i = 0; i < elements_of(&part->tensor[CS_Y]); i++) {
            int64_t local[CS_DIMS], at[CS_DIMS];
            coordinates(&part->tensor[CS_Y], i, local);
            int64_t byte = tile.offset[CS_Y] + byte_of(&part->tensor[CS_Y], local);
            int index = byte < 0 || byte >= wide_span(y) ? -1 : owner[byte / size];
            if (index < 0) {
                strays++;
                continue;
            }
            hits[index]++;
            coordinates(y, index, at);
            differing += differing_taps(whole, at, part, local, tile.offset[CS_X]);
        }
    }
    for (int64_t i = 0; i < elements; i++)
        misses += hits[i] != 1;
    CHECK_INT(strays, 0);
    CHECK_INT(differing, 0);
    CHECK_INT(misses, 0);
    return true;
}

/* One-row tiles, tiles just short of the whole, and everything between. */
static int64_t random_step(struct rng *rng, int64_t extent)
{
    switch (rng_between(rng, 0, 3)) {
    case 0:
        return 1;
    case 1:
        return extent - 1;
    case 2:
        return (extent + 999) / 1000 + rng_between(rng, 0, 2);
    default:
        return rng_between(rng, 1, extent - 1);
    }
}

struct tally {
    long problems, cut, illegal, brute, uncuttable;
};

static void cut_and_check(struct rng *rng, const struct cs_problem *problem, struct tally *tally)
{
    static struct cs_plan plan;
    enum cs_axis axis = (enum cs_axis)rng_between(rng, CS_AXIS_N, CS_AXIS_W);
    tally->problems++;
    for (int turn = 0; turn < 4 && cs_axis_extent(problem, axis) < 2; turn++)
        axis = axis == CS_AXIS_W ? CS_AXIS_N : axis + 1;
    if (cs_axis_extent(problem, axis) < 2) {
        tally->uncuttable++;
        return;
    }
    struct axis a = axis_of(problem, axis);
    int64_t step = random_step(rng, a.out);
    enum cs_status status = cs_plan_cut(problem, axis, step, &plan);
    CHECK(status == CS_OK || status == CS_ILLEGAL);
    check_boundaries(&plan, &a, step, status);
    if (status != CS_OK) {
        tally->illegal++;
        return;
    }
    tally->cut++;
    check_intervals(&plan, &a);
    check_kinds(&plan, &a);
    CHECK_INT(cs_plan_validate(&plan, 0), CS_OK);
    tally->brute += brute_force(&plan);
}

static void print_tally(const struct tally *tally)
{
    printf("# seed %d: %ld problems, %ld cut (%ld checked element by element), %ld cuts illegal, "
           "%ld too small to cut\n",
           SEED, tally->problems, tally->cut, tally->brute, tally->illegal, tally->uncuttable);
}

static void small_problems(void)
{
    struct rng rng = {SEED};
    struct tally tally = {0};
    for (int i = 0; i < RANDOM_SMALL; i++) {
        struct cs_problem problem = random_small(&rng);
        cut_and_check(&rng, &problem, &tally);
    }
    print_tally(&tally);
    CHECK(tally.cut > RANDOM_SMALL / 2);
    CHECK(tally.brute > tally.cut / 2);
}

static void large_problems(void)
{
    struct rng rng = {SEED + 1};
    struct tally tally = {0};
    for (int i = 0; i < RANDOM_LARGE; i++) {
        struct cs_problem problem = random_large(&rng);
        cut_and_check(&rng, &problem, &tally);
    }
    print_tally(&tally);
    CHECK(tally.cut > RANDOM_LARGE / 2);
}

/* 1xCx64xW f16, 3x3, pad 1: rows in four kinds of place. */
static struct cs_problem rows(int64_t out_pad)
{
    return (struct cs_problem){
        .compute = CS_F32,
        .spatial = 2,
        .groups = 1,
        .pre = {0, 1, 1},
        .post = {0, out_pad, 1},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{{2, 4, 1, 64, 12}, {3072, 768, 0, 12, 1}, 16, CS_F16},
                   {{8, 4, 1, 3, 3}, {36, 9, 0, 3, 1}, 16, CS_F16},
                   {{2, 8, 1, 63 + out_pad, 12},
                    {8 * 12 * (63 + out_pad), 12 * (63 + out_pad), 0, 12, 1},
                    16,
                    CS_F16}},
    };
}

/* A problem whose every part exists: stride, dilation, groups, gaps, lopsided padding. */
static struct cs_problem awkward(void)
{
    return (struct cs_problem){
        .compute = CS_F32,
        .spatial = 3,
        .groups = 2,
        .pre = {9, 0, 1},
        .post = {7, 2, 1},
        .stride = {2, 3, 1},
        .dilation = {2, 1, 1},
        .alpha = 1,
        .tensor = {{{1, 4, 10, 20, 6}, {9000, 2000, 130, 6, 1}, 32, CS_F32},
                   {{6, 2, 3, 2, 3}, {36, 18, 6, 3, 1}, 16, CS_F32},
                   {{1, 6, 11, 7, 6}, {2772, 1, 252, 36, 6}, 64, CS_F32}},
    };
}

static void dump_into(char *text, size_t size, const struct cs_problem *problem, enum cs_axis axis,
                      int64_t step)
{
    static struct cs_plan plan;
    size_t used = strlen(text);
    CHECK_INT(cs_problem_check(problem), CS_OK);
    CHECK_INT(cs_plan_cut(problem, axis, step, &plan), CS_OK);
    for (int k = 0; k < plan.kinds; k++)
        plan.kind[k].workspace = 1000 + 10 * k;
    cs_plan_settle(&plan);
    CHECK_INT(cs_plan_validate(&plan, plan.workspace), CS_OK);
    int need = cs_plan_dump(&plan, NULL, 0);
    int wrote = cs_plan_dump(&plan, text + used, size - used);
    CHECK_INT(wrote, need);
    CHECK_INT(strlen(text + used), need);

    char cut[40];
    CHECK_INT(cs_plan_dump(&plan, cut, sizeof cut), need);
    CHECK_INT(strlen(cut), sizeof cut - 1);
    CHECK(memcmp(cut, text + used, sizeof cut - 1) == 0);
}

static void dumps_are_as_ever(void)
{
    static char text[16384], golden[16384];
    struct cs_problem even = rows(1), odd = rows(0), hard = awkward();
    text[0] = 0;
    dump_into(text, sizeof text, &even, CS_AXIS_NONE, 1);
    dump_into(text, sizeof text, &even, CS_AXIS_N, 1);
    dump_into(text, sizeof text, &even, CS_AXIS_H, 16);
    dump_into(text, sizeof text, &odd, CS_AXIS_H, 20);
    dump_into(text, sizeof text, &hard, CS_AXIS_D, 1);
    dump_into(text, sizeof text, &hard, CS_AXIS_H, 3);
    dump_into(text, sizeof text, &hard, CS_AXIS_W, 4);

    FILE *file = fopen("tests/golden/plans.txt", "r");
    CHECK(file != NULL);
    if (!file)
        return;
    golden[fread(golden, 1, sizeof golden - 1, file)] = 0;
    fclose(file);
    CHECK(strcmp(text, golden) == 0);
    if (strcmp(text, golden) != 0)
        printf("# now:\n%s", text);
}

static void whole_is_one_kind(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(1);
    struct cs_tile tile;
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_NONE, 1, &plan), CS_OK);
    CHECK_INT(plan.tiles, 1);
    CHECK_INT(plan.kinds, 1);
    CHECK_INT(plan.halo, 0);
    int64_t want[CS_PROBLEM_WORDS], got[CS_PROBLEM_WORDS];
    int used = cs_problem_words(&problem, want);
    CHECK_INT(cs_problem_words(&plan.kind[0].problem, got), used);
    CHECK(memcmp(want, got, (size_t)used * sizeof *want) == 0);
    cs_plan_tile(&plan, 0, &tile);
    CHECK_INT(tile.kind, 0);
    for (int i = 0; i < CS_OPERANDS; i++)
        CHECK_INT(tile.offset[i], 0);
}

static void steps_out_of_range(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(1);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_H, 0, &plan), CS_ILLEGAL);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_H, -3, &plan), CS_ILLEGAL);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_H, 64, &plan), CS_ILLEGAL);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_H, INT64_MAX, &plan), CS_ILLEGAL);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_D, 1, &plan), CS_ILLEGAL);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_H, 63, &plan), CS_OK);
    CHECK_INT(plan.tiles, 2);
    CHECK_STR(cs_axis_name(CS_AXIS_NONE), "-");
    CHECK_STR(cs_axis_name(CS_AXIS_N), "N");
    CHECK_STR(cs_axis_name(CS_AXIS_W), "W");
    CHECK_INT(cs_axis_extent(&problem, CS_AXIS_NONE), 1);
    CHECK_INT(cs_axis_extent(&problem, CS_AXIS_H), 64);
}

/* Input rows of nearly 2^62 bytes, read twice and more: the bytes themselves fit, their sum does
 * not. */
static void halo_overflow_is_told(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = {
        .compute = CS_F32,
        .spatial = 1,
        .groups = 1,
        .pre = {0, 0, 20},
        .post = {0, 0, 20},
        .stride = {1, 1, 1},
        .dilation = {1, 1, 1},
        .alpha = 1,
        .tensor = {{{1, INT64_C(1) << 56, 1, 1, 16}, {1, 16, 0, 0, 1}, 16, CS_F16},
                   {{1, INT64_C(1) << 56, 1, 1, 16}, {1, 16, 0, 0, 1}, 16, CS_F16},
                   {{1, 1, 1, 1, 41}, {41, 41, 0, 0, 1}, 16, CS_F16}},
    };
    CHECK_INT(cs_problem_check(&problem), CS_OK);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_W, 3, &plan), CS_OVERFLOW);
    CHECK_INT(cs_plan_cut(&problem, CS_AXIS_W, 20, &plan), CS_OK);
}

int main(void)
{
    TEST(small_problems);
    TEST(large_problems);
    TEST(dumps_are_as_ever);
    TEST(whole_is_one_kind);
    TEST(steps_out_of_range);
    TEST(halo_overflow_is_told);
    return REPORT();
}
