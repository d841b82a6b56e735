/* Staged tensors on the host: a copy in gives the view, element by element; a copy out changes the
 * view alone. */
#include "host_copy.h"
#include "sample_problem.h"
#include <stdlib.h>

enum {
    PROBLEMS = 20000,
    MOST_BYTES = 100000, /* of a tensor */
    MOST_TILES = 40,
    EDGE = 64 /* bytes around a buffer that nothing may touch */
};

static int64_t element_at(const struct cs_tensor *tensor, const int64_t strides[CS_DIMS],
                          int64_t index)
{
    int64_t element = 0;
    for (int dim = CS_DIMS - 1; dim >= 0; dim--) {
        element += index % tensor->dims[dim] * strides[dim];
        index /= tensor->dims[dim];
    }
    return element * cs_problem_dtype_size(tensor->dtype);
}

static int64_t elements_of(const struct cs_tensor *tensor)
{
    int64_t elements = 1;
    for (int dim = 0; dim < CS_DIMS; dim++)
        elements *= tensor->dims[dim];
    return elements;
}

static void fill(char *bytes, int64_t count, unsigned seed)
{
    for (int64_t i = 0; i < count; i++)
        bytes[i] = (char)((uint64_t)(i + seed) * 0x9e3779b97f4a7c15u >> 56);
}

/* Number of wrong bytes after a copy in, new contents, and a copy out. */
static int64_t wrong_bytes(const struct cs_tensor *untiled, const struct cs_tensor *packed,
                           const struct cs_copy *copy, int64_t offset)
{
    static char before[MOST_BYTES], after[MOST_BYTES], tile[MOST_BYTES + 2 * EDGE];
    int64_t span, bytes, size = cs_problem_dtype_size(untiled->dtype), wrong = 0;
    CHECK_INT(cs_problem_tensor_span(untiled, &span), CS_OK);
    CHECK_INT(cs_problem_tensor_bytes(packed, &bytes), CS_OK);
    fill(before, span, 1);
    memset(tile, 'e', sizeof tile);
    host_copy(copy, before + offset, tile + EDGE, true);
    for (int64_t i = 0; i < elements_of(packed); i++)
        wrong += memcmp(before + offset + element_at(packed, untiled->strides, i),
                        tile + EDGE + element_at(packed, packed->strides, i), (size_t)size) != 0;
    for (int64_t i = 0; i < EDGE; i++)
        wrong += tile[i] != 'e' || tile[EDGE + bytes + i] != 'e';
    fill(tile + EDGE, bytes, 12345);
    memcpy(after, before, (size_t)span);
    host_copy(copy, after + offset, tile + EDGE, false);
    for (int64_t i = 0; i < elements_of(packed); i++)
        memcpy(before + offset + element_at(packed, untiled->strides, i),
               tile + EDGE + element_at(packed, packed->strides, i), (size_t)size);
    return wrong + (memcmp(before, after, (size_t)span) != 0);
}

struct tally {
    long plans, staged, rows, planes, boxes, refused, aligned;
};

static bool is_small(const struct cs_problem *problem)
{
    for (int i = 0; i < problem->tensors; i++) {
        int64_t span;
        if (cs_problem_tensor_span(&problem->tensor[i], &span) != CS_OK || span > MOST_BYTES)
            return false;
    }
    return true;
}

static void check_tile(const struct cs_plan *plan, int64_t index, struct tally *tally)
{
    static struct cs_problem shape;
    struct cs_stage stage[CS_MAX_TENSORS];
    struct cs_tile tile;
    cs_plan_tile(plan, index, &tile);
    cs_plan_problem(plan, tile.shape, &shape);
    int stages = cs_plan_stages(plan, tile.shape, stage), expected = 0;
    for (int i = 0; i < shape.tensors; i++)
        expected += plan->is_staged[i];
    CHECK_INT(stages, expected);
    for (int i = 0; i < stages; i++) {
        int t = stage[i].tensor;
        const struct cs_copy *copy = &stage[i].copy;
        CHECK_INT(wrong_bytes(&plan->problem.tensor[t], &shape.tensor[t], copy, tile.offset[t]), 0);
        tally->rows += copy->height > 1;
        tally->planes += copy->depth > 1;
        tally->boxes += copy->times > 1;
    }
}

/* Nothing that a cut leaves in pieces is handed to the vendor as a view. */
static void check_pieces(const struct cs_plan *plan)
{
    static struct cs_problem shape;
    for (int64_t k = 0; k < plan->shapes; k++) {
        cs_plan_problem(plan, k, &shape);
        for (int i = 0; i < shape.tensors; i++) {
            const struct cs_tensor *part = &shape.tensor[i];
            int64_t span, bytes;
            bool cut = memcmp(part->dims, plan->problem.tensor[i].dims, sizeof part->dims) != 0;
            CHECK_INT(cs_problem_tensor_span(part, &span), CS_OK);
            CHECK_INT(cs_problem_tensor_bytes(part, &bytes), CS_OK);
            if (cut && !part->is_virtual && !part->by_value)
                CHECK(span == bytes && part->alignment >= CS_STAGED_ALIGNMENT);
        }
    }
}

/* The same cut with views and staged: the same tiles. */
static void check_plan(const struct cs_problem *problem, struct cs_tiling tiling,
                       struct tally *tally)
{
    static struct cs_plan plan, views;
    tiling.staged = false;
    if (cs_plan_cut(problem, &tiling, &views) != CS_OK || views.tiles > MOST_TILES)
        return;
    tiling.staged = true;
    enum cs_status status = cs_plan_cut(problem, &tiling, &plan);
    tally->refused += status == CS_ILLEGAL;
    CHECK(status == CS_OK || status == CS_ILLEGAL);
    if (status != CS_OK)
        return;
    CHECK(!views.tiling.staged);
    CHECK_INT(plan.tiling.staged, plan.staged > views.staged);
    CHECK_INT(plan.halo, views.halo);
    CHECK_INT(cs_plan_validate(&plan, plan.staged), CS_OK);
    check_pieces(&plan);
    tally->plans++;
    tally->staged += plan.staged > 0;
    for (int64_t i = 0; i < plan.tiles; i++) {
        struct cs_tile a, b;
        cs_plan_tile(&plan, i, &a);
        cs_plan_tile(&views, i, &b);
        CHECK_INT(a.shape, b.shape);
        CHECK(memcmp(a.range, b.range, sizeof a.range) == 0);
        CHECK(memcmp(a.offset, b.offset, sizeof a.offset) == 0);
        check_tile(&plan, i, tally);
    }
}

static void copies_are_exact(void)
{
    struct rng rng = {20291};
    struct tally tally = {0};
    for (int i = 0; i < PROBLEMS; i++) {
        struct cs_problem problem = random_small(&rng);
        RANDOM_CASE(20291, i, &problem);
        struct cs_tiling tiling = {.step = {1, 1}, .staged = true};
        for (int c = 0; c < CS_MAX_CUTS; c++) {
            if (c > 0 && rng_between(&rng, 0, 1))
                break;
            tiling.axis[c] = (enum cs_axis)rng_between(&rng, CS_AXIS_N, CS_AXIS_C);
            tiling.step[c] = rng_between(&rng, 1, cs_axis_extent(&problem, tiling.axis[c]));
        }
        if (is_small(&problem))
            check_plan(&problem, tiling, &tally);
    }
    printf("# %ld plans, %ld staged, %ld refused; copies with rows %ld, planes %ld, boxes %ld\n",
           tally.plans, tally.staged, tally.refused, tally.rows, tally.planes, tally.boxes);
    CHECK(tally.staged > 2000 && tally.staged > tally.plans / 2);
    CHECK(tally.rows > 1000 && tally.planes > 300 && tally.boxes > 100);
    CHECK(tally.refused < tally.plans);
}

/* One element of 2 bytes a level, so that every count and pitch is the extent's own. */
static struct cs_tensor tensor_of(const int64_t dims[CS_DIMS], const int64_t strides[CS_DIMS])
{
    struct cs_tensor tensor = {.dtype = CS_F16, .alignment = 16};
    memcpy(tensor.dims, dims, sizeof tensor.dims);
    memcpy(tensor.strides, strides, sizeof tensor.strides);
    return tensor;
}

/* 16 rows of a 512x512x512 image: the copy used in the measurements. */
static void rows_of_an_image(void)
{
    const int64_t dims[] = {1, 512, 1, 16, 512};
    struct cs_tensor view = tensor_of(dims, (int64_t[]){512 << 18, 1 << 18, 0, 512, 1});
    struct cs_tensor packed = tensor_of(dims, (int64_t[]){16 << 18, 16 << 9, 0, 512, 1});
    struct cs_copy copy;
    CHECK_INT(cs_copy_between(&view, &packed, &copy), CS_OK);
    CHECK_INT(copy.width, 16 * 512 * 2);
    CHECK_INT(copy.height, 512);
    CHECK_INT(copy.depth * copy.times, 1);
    CHECK_INT(copy.pitch[CS_COPY_VIEW], 1 << 19);
    CHECK_INT(copy.pitch[CS_COPY_PACKED], 16 * 512 * 2);
}

/* Rows further apart than a device copies them become boxes, as long as these are few. */
static void pitches_beyond_the_limit(void)
{
    const int64_t plane = INT64_C(1) << 31; /* elements: 4 GiB */
    for (int64_t channels = 255; channels <= 257; channels++) {
        const int64_t dims[] = {1, channels, 1, 4, 1 << 16};
        struct cs_tensor view =
            tensor_of(dims, (int64_t[]){channels * plane, plane, 0, 1 << 16, 1});
        struct cs_tensor packed =
            tensor_of(dims, (int64_t[]){channels << 18, 1 << 18, 0, 1 << 16, 1});
        struct cs_copy copy;
        enum cs_status status = cs_copy_between(&view, &packed, &copy);
        CHECK_INT(status, channels > CS_COPY_TIMES ? CS_ILLEGAL : CS_OK);
        if (status != CS_OK)
            continue;
        CHECK_INT(copy.times, channels);
        CHECK_INT(copy.height * copy.depth, 1);
        CHECK_INT(copy.step[CS_COPY_VIEW], 2 * plane);
    }
    const int64_t edge[] = {1, 2, 1, 1, 64};
    for (int64_t pitch = CS_COPY_PITCH - 1; pitch <= CS_COPY_PITCH + 1; pitch += 2) {
        struct cs_tensor view = tensor_of(edge, (int64_t[]){pitch, pitch / 2, 0, 64, 1});
        struct cs_tensor packed = tensor_of(edge, (int64_t[]){128, 64, 0, 64, 1});
        struct cs_copy copy;
        CHECK_INT(cs_copy_between(&view, &packed, &copy), CS_OK);
        CHECK_INT(copy.height, pitch < CS_COPY_PITCH ? 2 : 1);
        CHECK_INT(copy.times, pitch < CS_COPY_PITCH ? 1 : 2);
    }
}

static void strides_beyond_64_bits_are_refused(void)
{
    const int64_t dims[] = {1, 1, 1, 2, 4};
    struct cs_tensor view = tensor_of(dims, (int64_t[]){1, 1, 0, INT64_MAX / 2 + 1, 1});
    struct cs_tensor packed = tensor_of(dims, (int64_t[]){8, 8, 0, 4, 1});
    struct cs_copy copy;
    CHECK_INT(cs_copy_between(&view, &packed, &copy), CS_OVERFLOW);
}

/* Entries after the last cut of a plan are not read. */
static void cuts_of_the_plan_alone_are_read(void)
{
    static struct cs_plan plan;
    struct cs_problem problem = rows(CS_FORWARD, 1);
    struct cs_tiling tiling = {.axis = {CS_AXIS_H}, .step = {16, 1}};
    CHECK_INT(cs_plan_cut(&problem, &tiling, &plan), CS_OK);
    CHECK_INT(plan.cuts, 1);
    memcpy(&plan.cut[1], &plan.cut[0], sizeof plan.cut[0]);
    for (int i = 0; i < CS_MAX_TILE_SHAPES; i++)
        plan.cut[1].slice[i].spare_before = plan.cut[1].slice[i].spare_after = 1;
    for (int64_t shape = 0; shape < plan.shapes; shape++)
        for (int i = 0; i < problem.tensors; i++)
            CHECK(!cs_plan_is_staged(&plan, shape, i));
    plan.cuts = 2;
    CHECK(cs_plan_is_staged(&plan, 0, CS_X) || cs_plan_is_staged(&plan, 0, CS_Y));
}

int main(void)
{
    TEST(copies_are_exact);
    TEST(rows_of_an_image);
    TEST(pitches_beyond_the_limit);
    TEST(strides_beyond_64_bits_are_refused);
    TEST(cuts_of_the_plan_alone_are_read);
    return REPORT();
}
