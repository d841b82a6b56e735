/* Lays out buffers by lifetime at the lowest peak. */
#include "plan/layout.h"
#include "base/checked.h"
#include "plan/pile.h"
#include <string.h>

enum {
    DEFAULT_EFFORT = 1024,
    ROUND = 512,      /* steps of a search, beyond two a buffer */
    FIRST_STEPS = 64, /* of one that has to be exhausted; then doubled */
    GAP_PARTS = 8,    /* a search aims so much below the best peak, of what is above the floor */
    KEY = 1024,       /* that something counts in a rank, at most */
    KEY_LIFE = KEY / 4,
    KEY_NOISE = KEY / 50,
    MEMORY = 32 /* searches after which failures are nearly forgotten */
};

/* The best of several searches with one pile. */
struct layout {
    struct cs_pile pile;
    int64_t grain;                 /* bytes of the pile's unit, the least alignment */
    int64_t best[CS_MAX_BUFFERS];  /* offsets */
    int64_t key[CS_MAX_BUFFERS];   /* a scratch for sorting */
    int16_t index[CS_MAX_BUFFERS]; /* in the caller's array, of the pile's buffers */
    int16_t by_rank[CS_MAX_BUFFERS];
    uint64_t random;
};

static int64_t highest(const int64_t *value, int count)
{
    int64_t most = 0;
    for (int i = 0; i < count; i++)
        most = value[i] > most ? value[i] : most;
    return most;
}

/* Sorts indices by falling key; equal keys keep their order. */
static void sort_falling(int16_t *index, int count, const int64_t *key)
{
    for (int i = 1; i < count; i++) {
        int16_t moved = index[i];
        int at = i;
        for (; at > 0 && key[index[at - 1]] < key[moved]; at--)
            index[at] = index[at - 1];
        index[at] = moved;
    }
}

static uint64_t next_random(struct layout *l)
{
    uint64_t z = l->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* First goes what lives in a full section or in one where searches have failed of late, and what
 * lives long. Noise leads out of failing in the same places for ever. */
static void rank_buffers(struct layout *l, bool noise)
{
    struct cs_pile *pile = &l->pile;
    int64_t load = highest(pile->load, pile->sections) / KEY + 1;
    int64_t failure = highest(pile->failure, pile->sections) / KEY + 1;
    for (int b = 0; b < pile->buffers; b++) {
        struct cs_pile_span span = pile->span[b];
        int64_t key = 0;
        for (int i = span.first; i < span.end; i++) {
            int64_t crowd = pile->load[i] / load + pile->failure[i] / failure;
            key = crowd > key ? crowd : key;
        }
        key += KEY_LIFE * (span.end - span.first) / pile->sections;
        l->key[b] = key + (noise ? (int64_t)(next_random(l) % KEY_NOISE) : 0);
    }
    sort_falling(l->by_rank, pile->buffers, l->key);
    for (int i = 0; i < pile->buffers; i++)
        pile->rank[l->by_rank[i]] = (int16_t)i;
    for (int i = 0; i < pile->sections; i++)
        pile->failure[i] -= pile->failure[i] / MEMORY;
}

/* The end of the highest buffer, in the pile's unit. */
static int64_t keep_best(struct layout *l)
{
    int64_t peak = 0;
    for (int b = 0; b < l->pile.buffers; b++) {
        int64_t end = l->pile.offset[b] + l->pile.size[b];
        l->best[b] = l->pile.offset[b];
        peak = end > peak ? end : peak;
    }
    return peak;
}

/* Searches below the best peak until nothing lower is possible or the effort is used up. A search
 * that was exhausted proves that there is nothing under its limit. */
static enum cs_status lower_peak(struct layout *l, int64_t floor, int64_t effort)
{
    int64_t most = 2 * l->pile.buffers + ROUND, steps = most, fails = 0;
    bool exact =
        l->pile.buffers <= CS_EXACT_BUFFERS && highest(l->pile.alignment, l->pile.buffers) == 1;
    rank_buffers(l, false);
    if (!cs_pile_search(&l->pile, INT64_MAX, &steps))
        return CS_OVERFLOW;
    int64_t peak = keep_best(l);
    if (exact) {
        most = FIRST_STEPS;
        effort = INT64_MAX;
    }
    while (peak > floor && effort > 0) {
        int64_t limit = peak - 1 - (peak - floor) / (GAP_PARTS + fails / 16);
        steps = most < effort ? most : effort;
        effort -= steps;
        rank_buffers(l, fails % 2);
        if (cs_pile_search(&l->pile, limit, &steps)) {
            peak = keep_best(l);
            fails = 0;
        } else if (steps > 0) {
            floor = limit + 1;
        } else {
            fails++;
            most += exact ? most : 0;
        }
        effort += steps;
    }
    return CS_OK;
}

static bool is_valid(const struct cs_buffer *b)
{
    return b->begin < b->end && b->bytes >= 0 && b->alignment > 0 &&
           (b->alignment & (b->alignment - 1)) == 0;
}

/* Lists what has bytes in the order of beginnings, and numbers the sections: one ends where after
 * beginnings something ends. */
static void fill_spans(struct layout *l, const struct cs_buffer *buffer, int buffers)
{
    struct cs_pile *pile = &l->pile;
    int16_t ending[CS_MAX_BUFFERS], place[CS_MAX_BUFFERS] = {0};
    int count = 0, ended = 0, section = 0;
    for (int i = 0; i < buffers; i++)
        if (buffer[i].bytes > 0)
            l->index[count++] = (int16_t)i;
    memcpy(ending, l->index, (size_t)count * sizeof *ending);
    for (int i = 0; i < count; i++)
        l->key[l->index[i]] = ~buffer[l->index[i]].end;
    sort_falling(ending, count, l->key);
    for (int i = 0; i < count; i++)
        l->key[l->index[i]] = ~buffer[l->index[i]].begin;
    sort_falling(l->index, count, l->key);

    for (int b = 0; b < count; b++) {
        const struct cs_buffer *added = &buffer[l->index[b]];
        int before = ended;
        place[l->index[b]] = (int16_t)b;
        for (; buffer[ending[ended]].end <= added->begin; ended++)
            pile->span[place[ending[ended]]].end = (int16_t)(section + 1);
        section += ended > before;
        pile->span[b] = (struct cs_pile_span){(int16_t)section, (int16_t)(section + 1)};
    }
    for (; ended < count; ended++)
        pile->span[place[ending[ended]]].end = (int16_t)(section + 1);
    pile->buffers = count;
    pile->sections = section + 1;
}

/* Sizes in grains, what they come to in each section, and the first order. */
static enum cs_status fill_sizes(struct layout *l, const struct cs_buffer *buffer)
{
    struct cs_pile *pile = &l->pile;
    l->grain = INT64_MAX;
    for (int b = 0; b < pile->buffers; b++) {
        int64_t alignment = buffer[l->index[b]].alignment;
        l->grain = alignment < l->grain ? alignment : l->grain;
    }
    memset(pile->load, 0, sizeof pile->load);
    memset(pile->failure, 0, sizeof pile->failure);
    for (int b = 0; b < pile->buffers; b++) {
        const struct cs_buffer *from = &buffer[l->index[b]];
        pile->size[b] = cs_ceil_div(from->bytes, l->grain);
        pile->alignment[b] = from->alignment / l->grain;
        l->by_rank[b] = (int16_t)b;
        for (int i = pile->span[b].first; i < pile->span[b].end; i++)
            if (!cs_add(pile->load[i], pile->size[b], &pile->load[i]))
                return CS_OVERFLOW;
    }
    return CS_OK;
}

static enum cs_status give_offsets(const struct layout *l, struct cs_buffer *buffer,
                                   int64_t *peak_p)
{
    int64_t peak = 0;
    for (int b = 0; b < l->pile.buffers; b++) {
        struct cs_buffer *to = &buffer[l->index[b]];
        int64_t end;
        if (!cs_mul(l->best[b], l->grain, &to->offset) || !cs_add(to->offset, to->bytes, &end))
            return CS_OVERFLOW;
        peak = end > peak ? end : peak;
    }
    *peak_p = peak;
    return CS_OK;
}

/* Not part of its caller, whose short way needs no such stack. */
__attribute__((noinline)) static enum cs_status lay_out(struct cs_buffer *buffer, int buffers,
                                                        int64_t effort, int64_t *peak_p)
{
    struct layout layout;
    layout.random = 0;
    fill_spans(&layout, buffer, buffers);
    enum cs_status status = fill_sizes(&layout, buffer);
    if (status == CS_OK && layout.pile.buffers > 0)
        status = lower_peak(&layout, highest(layout.pile.load, layout.pile.sections), effort);
    return status == CS_OK ? give_offsets(&layout, buffer, peak_p) : status;
}

/* Bytes that a buffer of the same alignment behind this one must leave. */
static int64_t padding(const struct cs_buffer *b)
{
    return -b->bytes & (b->alignment - 1);
}

/* Buffers of one alignment that are all alive together: one behind the other, and at the end the
 * one that would waste most before a next one. */
static enum cs_status line_up(struct cs_buffer *buffer, int buffers, int64_t *peak_p)
{
    int64_t at = 0;
    int last = 0;
    for (int i = 1; i < buffers; i++)
        last = padding(&buffer[i]) > padding(&buffer[last]) ? i : last;
    for (int i = 0; i < buffers; i++) {
        buffer[i].offset = at;
        if (i != last &&
            (!cs_add(at, buffer[i].bytes, &at) || !cs_add(at, padding(&buffer[i]), &at)))
            return CS_OVERFLOW;
    }
    buffer[last].offset = at;
    return cs_add(at, buffer[last].bytes, peak_p) ? CS_OK : CS_OVERFLOW;
}

enum cs_status cs_layout(struct cs_buffer *buffer, int buffers, int64_t effort, int64_t *peak_p)
{
    int64_t begin = INT64_MIN, end = INT64_MAX, alignments = 0;
    if (buffers > CS_MAX_BUFFERS)
        return CS_ILLEGAL;
    if (buffers < 0 || effort < 0)
        return CS_INVALID;
    for (int i = 0; i < buffers; i++) {
        if (!is_valid(&buffer[i]))
            return CS_INVALID;
        buffer[i].offset = 0;
        begin = buffer[i].begin > begin ? buffer[i].begin : begin;
        end = buffer[i].end < end ? buffer[i].end : end;
        alignments |= buffer[i].alignment;
    }
    if (buffers > 0 && begin < end && (alignments & (alignments - 1)) == 0)
        return line_up(buffer, buffers, peak_p);
    return lay_out(buffer, buffers, effort > 0 ? effort : DEFAULT_EFFORT, peak_p);
}

/* Of buffers that end within 64 bits. What has no bytes overlaps nothing. */
static bool overlap(const struct cs_buffer *a, const struct cs_buffer *b)
{
    return a->begin < b->end && b->begin < a->end && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes && a->bytes > 0 && b->bytes > 0;
}

bool cs_layout_holds(const struct cs_buffer *buffer, int buffers, int64_t peak)
{
    for (int i = 0; i < buffers; i++) {
        const struct cs_buffer *b = &buffer[i];
        if (b->offset < 0 || b->offset % b->alignment != 0 || b->offset > peak - b->bytes)
            return false;
        for (int k = 0; k < i; k++)
            if (overlap(b, &buffer[k]))
                return false;
    }
    return true;
}
