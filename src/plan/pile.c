#include "plan/pile.h"

/* Where an order of placing has got to: buffers at the same offset go by rank. */
struct turn {
    int64_t offset;
    int rank;
};

static int64_t higher(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* INT64_MAX, beyond every limit, if that leaves 64 bits. */
static int64_t align_up(int64_t at, int64_t alignment)
{
    return at > INT64_MAX - (alignment - 1) ? INT64_MAX : (at + alignment - 1) & -alignment;
}

static int64_t end_of(const struct cs_pile *pile, int buffer)
{
    int64_t offset = pile->offset[buffer], size = pile->size[buffer];
    return offset > INT64_MAX - size ? INT64_MAX : offset + size;
}

static bool together(struct cs_pile_span a, struct cs_pile_span b)
{
    return a.first < b.end && b.first < a.end;
}

/* Leaves nothing placed. */
static void clear(struct cs_pile *pile)
{
    int head = pile->buffers;
    for (int i = 0; i <= head; i++) {
        pile->next[i] = (int16_t)(i < head ? i + 1 : 0);
        pile->prev[i] = (int16_t)(i > 0 ? i - 1 : head);
    }
    for (int b = 0; b < pile->buffers; b++)
        pile->offset[b] = 0;
    for (int i = 0; i < pile->sections; i++) {
        pile->top[i] = 0;
        pile->rest[i] = pile->load[i];
    }
    pile->placed = pile->runs = 0;
}

/* Places a buffer at its offset, and lifts those of the others [from, stop) above it. */
static void place(struct cs_pile *pile, int b, int from, int stop)
{
    struct cs_pile_span span = pile->span[b];
    int64_t end = end_of(pile, b);
    pile->order[pile->placed] = (int16_t)b;
    pile->runs_before[pile->placed++] = (int16_t)pile->runs;
    for (int i = span.first; i < span.end; i++) {
        if (i == span.first || pile->run[pile->runs - 1].top != pile->top[i])
            pile->run[pile->runs++].top = pile->top[i];
        pile->run[pile->runs - 1].end = (int16_t)(i + 1);
        pile->top[i] = end;
        pile->rest[i] -= pile->size[b];
    }
    pile->next[pile->prev[b]] = pile->next[b];
    pile->prev[pile->next[b]] = pile->prev[b];
    for (int i = from; i != stop && pile->span[i].first < span.end; i = pile->next[i])
        if (together(pile->span[i], span))
            pile->offset[i] = higher(align_up(end, pile->alignment[i]), pile->offset[i]);
}

static int64_t lowest_offset(const struct cs_pile *pile, int b)
{
    int64_t top = 0;
    for (int i = pile->span[b].first; i < pile->span[b].end; i++)
        top = higher(pile->top[i], top);
    return align_up(top, pile->alignment[b]);
}

/* Takes away the buffer that was placed last, and lets those of the others [from, stop) down that
 * it had lifted. */
static void take_away(struct cs_pile *pile, int from, int stop)
{
    int b = pile->order[--pile->placed];
    struct cs_pile_span span = pile->span[b];
    int64_t end = end_of(pile, b);
    pile->runs = pile->runs_before[pile->placed];
    const struct cs_pile_run *run = &pile->run[pile->runs];
    for (int i = span.first; i < span.end; i++) {
        if (i == run->end)
            run++;
        pile->top[i] = run->top;
        pile->rest[i] += pile->size[b];
    }
    for (int i = from; i != stop && pile->span[i].first < span.end; i = pile->next[i])
        if (together(pile->span[i], span) && pile->offset[i] == align_up(end, pile->alignment[i]))
            pile->offset[i] = lowest_offset(pile, i);
    pile->next[pile->prev[b]] = (int16_t)b;
    pile->prev[pile->next[b]] = (int16_t)b;
}

/* Whether each of [from, stop) by itself, and each section's buffers together, may still come to
 * lie within the limit if nobody goes below `floor`. */
static bool has_room(struct cs_pile *pile, int from, int stop, int64_t floor)
{
    int end = 0;
    for (int b = from; b != stop; b = pile->next[b]) {
        struct cs_pile_span span = pile->span[b];
        end = span.end > end ? span.end : end;
        if (higher(pile->offset[b], floor) > pile->limit - pile->size[b]) {
            for (int i = span.first; i < span.end; i++)
                pile->failure[i] += CS_PILE_FAILURE / (span.end - span.first);
            return false;
        }
    }
    for (int i = pile->span[from].first; i < end; i++) {
        if (pile->rest[i] > 0 && higher(pile->top[i], floor) > pile->limit - pile->rest[i]) {
            pile->failure[i] += CS_PILE_FAILURE;
            return false;
        }
    }
    return true;
}

/* The buffer of [from, stop) that goes next after `after`; `stop` if none may. */
static int next_in_turn(const struct cs_pile *pile, int from, int stop, struct turn after)
{
    int found = stop;
    int64_t ceiling = INT64_MAX;
    struct turn turn = {INT64_MAX, CS_MAX_BUFFERS};
    for (int b = from; b != stop; b = pile->next[b]) {
        int64_t offset = pile->offset[b], end = end_of(pile, b);
        int rank = pile->rank[b];
        ceiling = end < ceiling ? end : ceiling;
        if (offset < after.offset || (offset == after.offset && rank <= after.rank) ||
            offset > turn.offset || (offset == turn.offset && rank > turn.rank))
            continue;
        turn = (struct turn){offset, rank};
        found = b;
    }
    return turn.offset < ceiling ? found : stop;
}

static bool search(struct cs_pile *pile, int from, int stop, struct turn after);

/* Places all of [from, stop), which hang together, or none. */
static bool search_group(struct cs_pile *pile, int from, int stop, struct turn after)
{
    if (!has_room(pile, from, stop, after.offset))
        return false;
    for (int b; (b = next_in_turn(pile, from, stop, after)) != stop;) {
        if (pile->steps == 0)
            return false;
        pile->steps--;
        after = (struct turn){pile->offset[b], pile->rank[b]};
        int others = b == from ? pile->next[b] : from;
        place(pile, b, others, stop);
        if (search(pile, others, stop, after))
            return true;
        take_away(pile, others, stop);
    }
    return false;
}

/* Places all of [from, stop) after a turn, or none. No two of different groups are alive together,
 * so that no group need be searched again for another's sake. */
static bool search(struct cs_pile *pile, int from, int stop, struct turn after)
{
    int placed = pile->placed;
    while (from != stop) {
        int end = pile->span[from].end, next = from;
        while (next != stop && pile->span[next].first < end) {
            end = pile->span[next].end > end ? pile->span[next].end : end;
            next = pile->next[next];
        }
        if (!search_group(pile, from, next, after))
            break;
        from = next;
    }
    while (from != stop && pile->placed > placed)
        take_away(pile, pile->next[pile->buffers], pile->buffers);
    return from == stop;
}

bool cs_pile_search(struct cs_pile *pile, int64_t limit, int64_t *steps_p)
{
    clear(pile);
    pile->limit = limit;
    pile->steps = *steps_p;
    bool found = search(pile, pile->next[pile->buffers], pile->buffers, (struct turn){0, -1});
    *steps_p = pile->steps;
    return found;
}
