/* src/plan/layout.h against exhaustive searches, against capacities that are known, and on the
 * public instances of MiniMalloc. */
#include "plan/layout.h"

#include "base/checked.h"
#include "check.h"
#include "random_problem.h"
#include <inttypes.h>
#include <time.h>

enum {
    INSTANCE_EFFORT = 100000, /* reaches 1.15 of the capacity in less than a second */
    CAPACITY = 1048576,
    SMALL = 7, /* buffers that an exhaustive search can take */
    SEED = 20265
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool naive_together(const struct cs_buffer *a, const struct cs_buffer *b)
{
    for (int64_t time = a->begin; time < a->end; time++)
        if (time >= b->begin && time < b->end)
            return true;
    return false;
}

static bool naive_collide(const struct cs_buffer *a, const struct cs_buffer *b)
{
    for (int64_t byte = a->offset; byte < a->offset + a->bytes; byte++)
        if (byte >= b->offset && byte < b->offset + b->bytes)
            return naive_together(a, b);
    return false;
}

static bool naive_holds(const struct cs_buffer *buffer, int buffers, int64_t peak)
{
    bool holds = true;
    for (int i = 0; i < buffers; i++) {
        holds &= buffer[i].offset >= 0 && buffer[i].offset % buffer[i].alignment == 0 &&
                 buffer[i].offset + buffer[i].bytes <= peak;
        for (int k = 0; k < buffers; k++)
            holds &= i == k || !naive_collide(&buffer[i], &buffer[k]);
    }
    return holds;
}

/* Whether buffers from `next` on have offsets within the limit, by trying all. */
static bool naive_fits(struct cs_buffer *buffer, int buffers, int next, int64_t limit)
{
    if (next == buffers)
        return true;
    struct cs_buffer *b = &buffer[next];
    for (b->offset = 0; b->offset + b->bytes <= limit; b->offset += b->alignment) {
        int k = 0;
        while (k < next && !naive_collide(b, &buffer[k]))
            k++;
        if (k == next && naive_fits(buffer, buffers, next + 1, limit))
            return true;
    }
    return false;
}

static int random_small_buffers(struct rng *rng, int64_t alignment,
                                struct cs_buffer buffer[static SMALL])
{
    int buffers = (int)rng_between(rng, 1, SMALL);
    for (int i = 0; i < buffers; i++) {
        int64_t begin = rng_between(rng, -4, 4);
        buffer[i] = (struct cs_buffer){.begin = begin,
                                       .end = begin + rng_between(rng, 1, 6),
                                       .bytes = rng_between(rng, 0, 3 * alignment),
                                       .alignment = alignment,
                                       .offset = -1};
    }
    return buffers;
}

/* The most bytes that are alive at once, whole multiples of the alignment. */
static int64_t load_of(const struct cs_buffer *buffer, int buffers)
{
    int64_t load = 0;
    for (int i = 0; i < buffers; i++) {
        int64_t alive = 0;
        for (int k = 0; k < buffers; k++)
            if (buffer[k].begin <= buffer[i].begin && buffer[i].begin < buffer[k].end)
                alive += cs_ceil_div(buffer[k].bytes, buffer[k].alignment) * buffer[k].alignment;
        load = alive > load ? alive : load;
    }
    return load;
}

/* Lays out buffers of one alignment, with no effort to speak of, and tries whether they fit below;
 * the peak. */
static int64_t check_least(struct cs_buffer *buffer, int buffers)
{
    struct cs_buffer copy[SMALL];
    int64_t peak = -1;
    CHECK_INT(cs_layout(buffer, buffers, 1, &peak), CS_OK);
    CHECK(cs_layout_holds(buffer, buffers, peak));
    CHECK(naive_holds(buffer, buffers, peak));
    memcpy(copy, buffer, (size_t)buffers * sizeof *copy);
    int64_t lower = peak - buffer[0].alignment;
    CHECK(lower < 0 || !naive_fits(copy, buffers, 0, lower));
    return peak;
}

static void few_buffers_get_the_least_peak(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < 3000; i++) {
        struct cs_buffer buffer[SMALL];
        int buffers = random_small_buffers(&rng, INT64_C(1) << rng_between(&rng, 0, 3), buffer);
        check_least(buffer, buffers);
    }
}

/* Sizes near to those of a case that does not fit into its load, which few do. */
static void the_least_peak_may_be_above_the_load(void)
{
    static const struct cs_buffer gap[SMALL] = {
        {.begin = 2, .end = 5, .bytes = 1}, {.begin = 0, .end = 2, .bytes = 2},
        {.begin = 1, .end = 4, .bytes = 1}, {.begin = 0, .end = 1, .bytes = 3},
        {.begin = 1, .end = 5, .bytes = 2}, {.begin = 5, .end = 6, .bytes = 3},
        {.begin = 4, .end = 8, .bytes = 2}};
    struct rng rng = {SEED};
    int above = 0;
    for (int i = 0; i < 1000; i++) {
        struct cs_buffer buffer[SMALL];
        for (int k = 0; k < SMALL; k++) {
            buffer[k] = gap[k];
            buffer[k].alignment = 1;
            buffer[k].bytes = i == 0 ? gap[k].bytes : 3 * gap[k].bytes + rng_between(&rng, -1, 1);
        }
        int64_t peak = check_least(buffer, SMALL);
        CHECK(i > 0 || peak == 6);
        above += peak > load_of(buffer, SMALL);
    }
    CHECK(above > 20);
}

static void mixed_alignments_hold(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < 3000; i++) {
        struct cs_buffer buffer[SMALL];
        int64_t peak = -1;
        int buffers = random_small_buffers(&rng, 8, buffer);
        for (int k = 0; k < buffers; k++)
            buffer[k].alignment = INT64_C(1) << rng_between(&rng, 0, 5);
        CHECK_INT(cs_layout(buffer, buffers, 0, &peak), CS_OK);
        CHECK(cs_layout_holds(buffer, buffers, peak));
        CHECK(naive_holds(buffer, buffers, peak));
    }
}

/* Cuts the rectangle of all time and the whole capacity into pieces at random. */
static void cut_rectangle(struct rng *rng, int pieces, struct cs_buffer *piece)
{
    piece[0] = (struct cs_buffer){.end = CAPACITY, .bytes = CAPACITY, .alignment = 1};
    for (int count = 1; count < pieces;) {
        struct cs_buffer *old = &piece[rng_between(rng, 0, count - 1)], *new = &piece[count];
        bool in_time = rng_next(rng) % 2 == 0;
        int64_t extent = in_time ? old->end - old->begin : old->bytes;
        if (extent < 4)
            continue;
        int64_t first = rng_between(rng, extent / 4, extent - extent / 4);
        *new = *old;
        if (in_time)
            new->begin = old->end = old->begin + first;
        else
            new->bytes -= old->bytes = first;
        count++;
    }
    for (int i = pieces - 1; i > 0; i--) {
        int k = (int)rng_between(rng, 0, i);
        struct cs_buffer moved = piece[i];
        piece[i] = piece[k];
        piece[k] = moved;
    }
}

static void pieces_of_a_rectangle_fit_into_it_again(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < 2000; i++) {
        struct cs_buffer piece[CS_EXACT_BUFFERS];
        int64_t peak = -1;
        int pieces = (int)rng_between(&rng, 2, CS_EXACT_BUFFERS);
        cut_rectangle(&rng, pieces, piece);
        CHECK_INT(cs_layout(piece, pieces, 1, &peak), CS_OK);
        CHECK_INT(peak, CAPACITY);
        CHECK(cs_layout_holds(piece, pieces, peak));
    }
}

/* Reads "id,lower,upper,size" lines after a head line. */
static int read_instance(const char *path, struct cs_buffer buffer[static CS_MAX_BUFFERS])
{
    int buffers = 0;
    char axis_map[128];
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (!fgets(axis_map, sizeof axis_map, file))
        buffers = -1;
    while (buffers >= 0 && buffers < CS_MAX_BUFFERS && fgets(axis_map, sizeof axis_map, file)) {
        struct cs_buffer *b = &buffer[buffers++];
        *b = (struct cs_buffer){.alignment = 1};
        if (sscanf(axis_map, "%*d,%" SCNd64 ",%" SCNd64 ",%" SCNd64, &b->begin, &b->end,
                   &b->bytes) != 3)
            buffers = -1;
    }
    fclose(file);
    return buffers;
}

/* The peak over the capacity; prints it and the time. */
static double measure(const char *name, struct cs_buffer *buffer, int buffers, int64_t effort)
{
    int64_t peak = -1;
    double start = seconds();
    CHECK_INT(cs_layout(buffer, buffers, effort, &peak), CS_OK);
    double taken = seconds() - start, ratio = (double)peak / CAPACITY;
    CHECK(cs_layout_holds(buffer, buffers, peak));
    printf("# %s: %d buffers, %.4f of the capacity in %.3f s\n", name, buffers, ratio, taken);
    return ratio;
}

static void public_instances_come_near_their_capacity(void)
{
    static struct cs_buffer buffer[CS_MAX_BUFFERS];
    for (char name[] = "A"; name[0] <= 'K'; name[0]++) {
        char path[64];
        snprintf(path, sizeof path, "tests/data/minimalloc/%s.%d.csv", name, CAPACITY);
        int buffers = read_instance(path, buffer);
        CHECK(buffers > 150);
        CHECK(measure(name, buffer, buffers, INSTANCE_EFFORT) <= 1.15);
    }
}

static void generated_instances_come_near_their_capacity(void)
{
    static struct cs_buffer buffer[CS_MAX_BUFFERS];
    struct rng rng = {SEED};
    static const int pieces[] = {50, 150, 200, 250, 300, 400, 500};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        cut_rectangle(&rng, pieces[i], buffer);
        CHECK(measure("all pieces", buffer, pieces[i], INSTANCE_EFFORT) <= 1.25);
        CHECK(measure("nine tenths", buffer, pieces[i] - pieces[i] / 10, INSTANCE_EFFORT) <= 1.15);
    }
}

/* Any order would do but for what is wasted before the next multiple. */
static void buffers_alive_together_waste_the_least(void)
{
    struct rng rng = {SEED};
    for (int i = 0; i < 2000; i++) {
        struct cs_buffer buffer[2 * 8];
        int buffers = (int)rng_between(&rng, 1, 16);
        int64_t sum = 0, most = 0, peak = -1;
        for (int k = 0; k < buffers; k++) {
            int64_t bytes = rng_magnitude(&rng, 40), padding = (256 - bytes % 256) % 256;
            buffer[k] = (struct cs_buffer){.begin = k, .end = 20 + k, .bytes = bytes};
            buffer[k].alignment = 256;
            sum += bytes + padding;
            most = padding > most ? padding : most;
        }
        CHECK_INT(cs_layout(buffer, buffers, 0, &peak), CS_OK);
        CHECK_INT(peak, sum - most);
        CHECK(cs_layout_holds(buffer, buffers, peak));
    }
}

static void holds_agrees_with_a_naive_check(void)
{
    struct rng rng = {SEED};
    int good = 0, bad = 0;
    for (int i = 0; i < 20000; i++) {
        struct cs_buffer buffer[SMALL];
        int64_t peak = -1, alignment = INT64_C(1) << rng_between(&rng, 0, 2);
        int buffers = random_small_buffers(&rng, alignment, buffer);
        CHECK_INT(cs_layout(buffer, buffers, 0, &peak), CS_OK);
        struct cs_buffer *moved = &buffer[rng_between(&rng, 0, buffers - 1)];
        moved->offset += rng_between(&rng, -6, 6);
        peak += rng_between(&rng, -1, 4);
        bool holds = naive_holds(buffer, buffers, peak);
        CHECK(cs_layout_holds(buffer, buffers, peak) == holds);
        good += holds;
        bad += !holds;
    }
    CHECK(good > 1000 && bad > 1000);
}

static void planted_overlaps_are_found(void)
{
    static struct cs_buffer buffer[CS_MAX_BUFFERS];
    struct rng rng = {SEED};
    int64_t peak = -1;
    cut_rectangle(&rng, 100, buffer);
    CHECK_INT(cs_layout(buffer, 100, 0, &peak), CS_OK);
    CHECK(cs_layout_holds(buffer, 100, peak));
    CHECK(!cs_layout_holds(buffer, 100, peak - 1));
    int planted = 0;
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 100; k++) {
            if (i == k || buffer[i].begin >= buffer[k].end || buffer[k].begin >= buffer[i].end)
                continue;
            struct cs_buffer before = buffer[i];
            buffer[i].offset = buffer[k].offset + buffer[k].bytes - 1;
            CHECK(!cs_layout_holds(buffer, 100, INT64_MAX));
            buffer[i] = before;
            planted++;
        }
    }
    CHECK(planted > 100);
}

static void the_same_buffers_get_the_same_offsets(void)
{
    static struct cs_buffer first[CS_MAX_BUFFERS], again[CS_MAX_BUFFERS];
    struct rng rng = {SEED};
    for (int i = 0; i < 20; i++) {
        int buffers = (int)rng_between(&rng, 17, 200);
        int64_t peak = -1, other = -2;
        cut_rectangle(&rng, buffers, first);
        memcpy(again, first, sizeof again);
        for (int k = 0; k < buffers; k++)
            again[k].offset = (int64_t)rng_next(&rng);
        CHECK_INT(cs_layout(first, buffers, 5000, &peak), CS_OK);
        CHECK_INT(cs_layout(again, buffers, 5000, &other), CS_OK);
        CHECK_INT(peak, other);
        for (int k = 0; k < buffers; k++)
            CHECK_INT(first[k].offset, again[k].offset);
    }
}

static void more_effort_never_does_worse(void)
{
    static struct cs_buffer buffer[CS_MAX_BUFFERS];
    struct rng rng = {SEED};
    bool better = false;
    for (int i = 0; i < 20; i++) {
        int64_t little = -1, much = -1;
        cut_rectangle(&rng, 80, buffer);
        CHECK_INT(cs_layout(buffer, 80, 1, &little), CS_OK);
        CHECK(cs_layout_holds(buffer, 80, little));
        CHECK_INT(cs_layout(buffer, 80, 10000, &much), CS_OK);
        CHECK(much <= little);
        better |= much < little;
    }
    CHECK(better);
}

static void bad_buffers_are_refused(void)
{
    static struct cs_buffer many[CS_MAX_BUFFERS + 1];
    static const struct cs_buffer bad[] = {
        {.begin = 1, .end = 1, .bytes = 1, .alignment = 1},
        {.begin = 1, .end = 0, .bytes = 1, .alignment = 1},
        {.begin = 0, .end = 1, .bytes = -1, .alignment = 1},
        {.begin = 0, .end = 1, .bytes = 1, .alignment = 0},
        {.begin = 0, .end = 1, .bytes = 1, .alignment = 3},
        {.begin = 0, .end = 1, .bytes = 1, .alignment = -4},
        {.begin = 0, .end = 1, .bytes = 1, .alignment = INT64_MIN},
    };
    int64_t peak = 42;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cs_buffer pair[] = {{.end = 1, .bytes = 8, .alignment = 1}, bad[i]};
        CHECK_INT(cs_layout(pair, 2, 0, &peak), CS_INVALID);
    }
    for (int i = 0; i <= CS_MAX_BUFFERS; i++)
        many[i] = (struct cs_buffer){.begin = i, .end = i + 2, .bytes = 1, .alignment = 1};
    CHECK_INT(cs_layout(many, CS_MAX_BUFFERS + 1, 0, &peak), CS_ILLEGAL);
    CHECK_INT(cs_layout(many, -1, 0, &peak), CS_INVALID);
    CHECK_INT(cs_layout(many, 1, -1, &peak), CS_INVALID);
    CHECK_INT(peak, 42);
    CHECK_INT(cs_layout(many, CS_MAX_BUFFERS, 0, &peak), CS_OK);
    CHECK_INT(peak, 2);
    CHECK_INT(cs_layout(many, 0, 0, &peak), CS_OK);
    CHECK_INT(peak, 0);
}

static void extremes_neither_wrap_nor_run_for_ever(void)
{
    struct cs_buffer buffer[40];
    struct rng rng = {SEED};
    int overflows = 0;
    for (int i = 0; i < 5000; i++) {
        int buffers = (int)rng_between(&rng, 1, 40);
        int64_t peak = 42;
        for (int k = 0; k < buffers; k++) {
            int64_t begin = i % 2 ? INT64_MIN + k : rng_between(&rng, 0, 3);
            buffer[k] = (struct cs_buffer){.begin = begin,
                                           .end = i % 2 ? INT64_MAX - k : begin + 2,
                                           .bytes = rng_magnitude(&rng, 62) - 1,
                                           .alignment = INT64_C(1) << rng_between(&rng, 0, 62)};
        }
        enum cs_status status = cs_layout(buffer, buffers, 0, &peak);
        CHECK(status == CS_OK || status == CS_OVERFLOW);
        CHECK(status == CS_OK ? cs_layout_holds(buffer, buffers, peak) : peak == 42);
        overflows += status == CS_OVERFLOW;
    }
    CHECK(overflows > 100 && overflows < 4900);
    int64_t peak = 42;
    buffer[0] = (struct cs_buffer){.end = 1, .bytes = INT64_MAX, .alignment = 1};
    buffer[1] = (struct cs_buffer){.begin = 1, .end = 2, .bytes = INT64_MAX, .alignment = 1};
    CHECK_INT(cs_layout(buffer, 2, 0, &peak), CS_OK);
    CHECK_INT(peak, INT64_MAX);
    buffer[1].begin = 0;
    buffer[1].bytes = 1;
    CHECK_INT(cs_layout(buffer, 2, 0, &peak), CS_OVERFLOW);
}

int main(void)
{
    TEST(few_buffers_get_the_least_peak);
    TEST(the_least_peak_may_be_above_the_load);
    TEST(mixed_alignments_hold);
    TEST(pieces_of_a_rectangle_fit_into_it_again);
    TEST(buffers_alive_together_waste_the_least);
    TEST(holds_agrees_with_a_naive_check);
    TEST(planted_overlaps_are_found);
    TEST(the_same_buffers_get_the_same_offsets);
    TEST(more_effort_never_does_worse);
    TEST(bad_buffers_are_refused);
    TEST(extremes_neither_wrap_nor_run_for_ever);
    TEST(public_instances_come_near_their_capacity);
    TEST(generated_instances_come_near_their_capacity);
    return REPORT();
}
