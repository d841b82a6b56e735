/* Policy `peak`: notes calls, divides them into passes, remembers what these show. */
#include "flow/peak.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/pages.h"
#include "decide/memo.h"
#include "decide/pass.h"
#include "flow/request.h"
#include <string.h>

enum {
    FORMAT = 1, /* of the words that are remembered; another number forgets them */
    WORDS = 2,  /* a site and its room, or a pass */
    SLOTS = 2 * CS_PASS_CALLS,
    SEQUENCES = 64, /* of problems that passes may have */
    LOOKS = 2       /* at passes of one sequence */
};

/* The calls of a pass. */
struct cs_pass_notes {
    int calls;
    bool too_long;                 /* nothing is drawn from it */
    uint64_t sequence;             /* of its problems */
    uint16_t slot[SLOTS];          /* of a hash table: 1 + the call of a layer */
    uint64_t layer[CS_PASS_CALLS]; /* a site with its filter's address */
    uint64_t site[CS_PASS_CALLS];
    struct cs_pass_call call[CS_PASS_CALLS];
    int64_t room[CS_PASS_CALLS];
    struct cs_pass_work work;
    struct {
        uint64_t sequence;
        int looks;
    } known[SEQUENCES];
    int sequences;
};

void cs_peak_init(struct cs_peak *peak, bool on, uint64_t program)
{
    cs_lock_init(&peak->lock, CS_RANK_PEAK);
    peak->on = on;
    peak->program = program;
}

static uint64_t part_of(const struct cs_peak *peak)
{
    const int64_t whose[] = {FORMAT, (int64_t)peak->program};
    return cs_store_key(whose, sizeof whose / sizeof *whose).part[0];
}

struct cs_peak_name cs_peak_name(const struct cs_request *request, const struct cs_vendor *vendor)
{
    const struct cs_engine any = {.index = -1};
    struct cs_key key;
    int64_t word[CS_KEY_WORDS + 1];
    cs_memo_key_make(&request->problem, &any, 0, 0, 0, &key);
    uint64_t problem = key.hash;
    cs_memo_key_make(&request->problem, &request->engine, request->required, request->limit, 0,
                     &key);
    memcpy(word, key.word, (size_t)key.words * sizeof *word);
    word[key.words] = vendor->model ? vendor->model(vendor->ctx) : 0;
    return (struct cs_peak_name){cs_store_key(word, key.words + 1).part[1], problem};
}

/* --- what is known ---------------------------------------------------------------------------- */

static struct cs_peak_site *find(struct cs_peak *peak, uint64_t site)
{
    for (int i = 0; i < peak->sites; i++)
        if (peak->site[i].site == site)
            return &peak->site[i];
    return NULL;
}

/* Of several rooms of a site the least counts. True: it is this one now. */
static bool lower(struct cs_peak *peak, uint64_t site, int64_t room)
{
    struct cs_peak_site *known = find(peak, site);
    if ((known && known->room <= room) || (!known && peak->sites == CS_PEAK_SITES))
        return false;
    if (!known) {
        known = &peak->site[peak->sites++];
        *known = (struct cs_peak_site){.site = site, .given = CS_PEAK_NEW};
    }
    known->room = room;
    known->due = true;
    return true;
}

/* What does not look like a room is not ours. */
static void read_room(void *ctx, const struct cs_store_record *record)
{
    if (record->words == WORDS && record->word[1] >= CS_PEAK_PASS)
        (void)lower(ctx, (uint64_t)record->word[0], record->word[1]);
}

/* The lock is held. */
static void begin(struct cs_peak *peak, struct cs_store *store)
{
    if (peak->begun)
        return;
    peak->begun = true;
    cs_store_each(store, part_of(peak), read_room, peak);
    for (int i = 0; i < peak->sites; i++) {
        peak->site[i].given = peak->site[i].room;
        peak->site[i].due = false;
    }
}

static int64_t given(struct cs_peak *peak, uint64_t site)
{
    const struct cs_peak_site *known = find(peak, site);
    return known ? known->given : CS_PEAK_NEW;
}

int64_t cs_peak_room(struct cs_peak *peak, struct cs_store *store, struct cs_peak_name name)
{
    cs_lock(&peak->lock);
    begin(peak, store);
    int64_t room = given(peak, name.site);
    cs_unlock(&peak->lock);
    return room;
}

int cs_peak_earlier(struct cs_peak *peak)
{
    int earlier = 0;
    cs_lock(&peak->lock);
    for (int i = 0; i < peak->sites; i++)
        earlier += peak->site[i].given >= 0;
    cs_unlock(&peak->lock);
    return earlier;
}

/* Writes what is due, unlocked in between: files take time. A room that was lowered is another
 * record; readers take the least. */
static void remember(struct cs_peak *peak, struct cs_store *store)
{
    for (int i = 0; i < CS_PEAK_SITES; i++) {
        cs_lock(&peak->lock);
        const struct cs_peak_site found =
            i < peak->sites ? peak->site[i] : (struct cs_peak_site){0};
        bool last = i >= peak->sites;
        if (!last)
            peak->site[i].due = false;
        cs_unlock(&peak->lock);
        if (last)
            break;
        if (!found.due)
            continue;
        struct cs_store_record record = {.words = WORDS, .word = {(int64_t)found.site, found.room}};
        record.key =
            (struct cs_store_key){{part_of(peak), cs_store_key(record.word, record.words).part[1]}};
        cs_store_put(store, &record);
    }
}

/* --- the pass that is under way --------------------------------------------------------------- */

static void start_pass(struct cs_pass_notes *notes)
{
    notes->calls = 0;
    notes->too_long = false;
    notes->sequence = CS_HASH_START;
    memset(notes->slot, 0, sizeof notes->slot);
}

/* True if passes of this sequence have not been looked at often enough. */
static bool is_worth_a_look(struct cs_pass_notes *notes)
{
    for (int i = 0; i < notes->sequences; i++) {
        if (notes->known[i].sequence != notes->sequence)
            continue;
        bool worth = notes->known[i].looks < LOOKS;
        notes->known[i].looks += worth; /* servers run for billions of passes */
        return worth;
    }
    if (notes->sequences == SEQUENCES)
        return false;
    notes->known[notes->sequences].sequence = notes->sequence;
    notes->known[notes->sequences++].looks = 1;
    return true;
}

/* What the pass shows; true: there is something to remember. The lock is held. */
static bool finish_pass(struct cs_peak *peak)
{
    struct cs_pass_notes *notes = peak->notes;
    if (notes->calls == 0 || notes->too_long || !is_worth_a_look(notes))
        return false;
    int64_t level = cs_pass_estimate(notes->call, notes->calls, &notes->work, notes->room);
    bool seen = given(peak, notes->sequence) == CS_PEAK_PASS;
    bool any = lower(peak, notes->sequence, CS_PEAK_PASS);
    for (int i = 0; i < notes->calls; i++)
        if (!seen || given(peak, notes->site[i]) == CS_PEAK_NEW)
            any = lower(peak, notes->site[i], notes->room[i]) || any;
    cs_log(CS_LOG_DEBUG, "peak: a pass of %d convolutions that hold %lld bytes", notes->calls,
           (long long)level);
    return any;
}

/* The slot of a layer, or the empty one where it belongs. */
static uint16_t *slot_of(struct cs_pass_notes *notes, uint64_t layer)
{
    size_t at = (size_t)(cs_hash_spread(layer) >> 32) % SLOTS;
    while (notes->slot[at] != 0 && notes->layer[notes->slot[at] - 1] != layer)
        at = (at + 1) % SLOTS;
    return &notes->slot[at];
}

/* True if a call has just the memory of the one before it: of a layer whose engines are being
 * compared. */
static bool is_again(const struct cs_pass_notes *notes, const struct cs_pass_call *call)
{
    const struct cs_pass_call *last = notes->calls > 0 ? &notes->call[notes->calls - 1] : NULL;
    if (!last || last->spans != call->spans)
        return false;
    for (int i = 0; i < call->spans; i++)
        if (last->span[i].begin != call->span[i].begin || last->span[i].end != call->span[i].end)
            return false;
    return true;
}

static void add_call(struct cs_pass_notes *notes, struct cs_peak_name name, uint64_t layer,
                     const struct cs_pass_call *call)
{
    if (notes->calls == CS_PASS_CALLS) {
        notes->too_long = true;
        return;
    }
    notes->sequence = cs_hash_word(notes->sequence, name.problem);
    notes->layer[notes->calls] = layer;
    notes->site[notes->calls] = name.site;
    notes->call[notes->calls++] = *call;
    *slot_of(notes, layer) = (uint16_t)notes->calls;
}

/* True if there is something to remember. The lock is held. */
static bool note(struct cs_peak *peak, struct cs_peak_name name, uintptr_t filter,
                 const struct cs_pass_call *call)
{
    const uint64_t layer = name.problem ^ cs_hash_spread(filter);
    struct cs_pass_notes *notes = peak->notes;
    int last = notes->calls - 1;
    if (last >= 0 && notes->layer[last] == layer && is_again(notes, call)) {
        notes->site[last] = name.site;
        notes->call[last].workspace = call->workspace;
        return false;
    }
    bool any = *slot_of(notes, layer) != 0 && finish_pass(peak);
    if (*slot_of(notes, layer) != 0)
        start_pass(notes);
    add_call(notes, name, layer, call);
    return any;
}

void cs_peak_note(struct cs_peak *peak, struct cs_store *store, struct cs_peak_name name,
                  int64_t reported, const struct cs_problem *problem,
                  const struct cs_addresses *addresses)
{
    struct cs_pass_call call = {.workspace = reported};
    cs_pass_spans(problem, addresses, &call);
    cs_lock(&peak->lock);
    begin(peak, store);
    /* What was given more than fit takes says nothing of how far fit comes down. */
    if (given(peak, name.site) > CS_AUTO_WORKSPACE)
        call.workspace = 0;
    if (!peak->notes && (peak->notes = cs_pages(sizeof *peak->notes)) != NULL)
        start_pass(peak->notes);
    bool any = peak->notes && note(peak, name, (uintptr_t)addresses->tensor[CS_FILTER], &call);
    cs_unlock(&peak->lock);
    if (any)
        remember(peak, store);
}

void cs_peak_end(struct cs_peak *peak, struct cs_store *store)
{
    bool any = false;
    if (!peak->on)
        return;
    cs_lock(&peak->lock);
    if (peak->notes) {
        any = finish_pass(peak);
        start_pass(peak->notes);
    }
    cs_unlock(&peak->lock);
    if (any)
        remember(peak, store);
}

void cs_peak_fork(struct cs_peak *peak, bool before, bool child)
{
    if (before) {
        cs_lock(&peak->lock);
        return;
    }
    if (child && peak->notes)
        start_pass(peak->notes);
    cs_unlock(&peak->lock);
}
