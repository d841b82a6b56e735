/* A ledger of an arena's memory, kept from the events that the arena reports. Prints each event
 * that contradicts it. */
#ifndef SCRATCH_LEDGER_H
#define SCRATCH_LEDGER_H

#include "check.h"
#include "exec/arena.h"

enum {
    LEDGER = 256
};

static struct {
    struct cs_scratch_event slab[LEDGER], lease[LEDGER];
    uint64_t graph[LEDGER];
    int slabs, leases, graphs;
    int64_t last, held, used, waits, allocations, events;
} ledger;

static bool overlap(const struct cs_scratch_event *a, const struct cs_scratch_event *b)
{
    return a->slab == b->slab && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static const struct cs_scratch_event *ledger_slab(int64_t number)
{
    for (int i = 0; i < ledger.slabs; i++)
        if (ledger.slab[i].slab == number)
            return &ledger.slab[i];
    return NULL;
}

static void ledger_allocated(const struct cs_scratch_event *event)
{
    CHECK(event->slab > ledger.last && event->bytes > 0 && ledger.slabs < LEDGER);
    ledger.last = event->slab;
    ledger.held += event->bytes;
    ledger.allocations++;
    ledger.slab[ledger.slabs++] = *event;
}

static void ledger_freed(const struct cs_scratch_event *event)
{
    const struct cs_scratch_event *slab = ledger_slab(event->slab);
    CHECK(slab && slab->bytes == event->bytes);
    for (int i = 0; i < ledger.leases; i++)
        CHECK(ledger.lease[i].slab != event->slab);
    ledger.held -= event->bytes;
    if (slab)
        ledger.slab[slab - ledger.slab] = ledger.slab[--ledger.slabs];
}

static int ledger_graph(uint64_t capture)
{
    int at = 0;
    while (at < ledger.graphs && ledger.graph[at] != capture)
        at++;
    return at;
}

static void ledger_taken(const struct cs_scratch_event *event)
{
    const struct cs_scratch_event *slab = ledger_slab(event->slab);
    CHECK(slab && event->offset >= 0 && event->bytes > 0 &&
          event->offset + event->bytes <= slab->bytes);
    for (int i = 0; i < ledger.leases; i++)
        CHECK(!overlap(&ledger.lease[i], event));
    CHECK(event->capture == 0 || ledger_graph(event->capture) < ledger.graphs);
    CHECK(event->waits >= 0 && ledger.leases < LEDGER);
    ledger.waits += event->waits;
    ledger.used += event->bytes;
    ledger.lease[ledger.leases++] = *event;
}

static void ledger_given(const struct cs_scratch_event *event)
{
    int at = 0;
    while (at < ledger.leases &&
           (ledger.lease[at].slab != event->slab || ledger.lease[at].offset != event->offset))
        at++;
    CHECK(at < ledger.leases && ledger.lease[at].bytes == event->bytes &&
          ledger.lease[at].capture == event->capture);
    ledger.used -= event->bytes;
    if (at < ledger.leases)
        ledger.lease[at] = ledger.lease[--ledger.leases];
}

static void ledger_see(void *ctx, const struct cs_scratch_event *event)
{
    (void)ctx;
    int at = ledger_graph(event->capture);
    CHECK((cs_locks_held >> CS_RANK_ARENA & 1) ==
          1); /* the event is valid while the lock is held */
    ledger.events++;
    switch (event->what) {
    case CS_SCRATCH_ALLOCATED:
        ledger_allocated(event);
        break;
    case CS_SCRATCH_FREED:
        ledger_freed(event);
        break;
    case CS_SCRATCH_TAKEN:
        ledger_taken(event);
        break;
    case CS_SCRATCH_GIVEN:
    case CS_SCRATCH_LOST:
        ledger_given(event);
        break;
    case CS_SCRATCH_KEPT:
        CHECK(event->capture != 0 && ledger.graphs < LEDGER);
        ledger.graph[ledger.graphs++] = event->capture;
        break;
    case CS_SCRATCH_RELEASED:
        CHECK(at < ledger.graphs);
        ledger.graph[at] = ledger.graph[--ledger.graphs];
        break;
    }
    CHECK_INT(event->held, ledger.held);
    CHECK_INT(event->used, ledger.used);
}

/* Of an arena that has nothing yet. */
static inline void ledger_begin(struct cs_arena *arena)
{
    memset(&ledger, 0, sizeof ledger);
    arena->watch = (struct cs_scratch_watch){ledger_see, NULL};
}

/* True if the ledger agrees with the arena's own figures. */
static inline bool ledger_agrees(struct cs_arena *arena)
{
    const struct cs_arena_facts facts = cs_arena_facts(arena);
    return facts.held == ledger.held && facts.used == ledger.used &&
           facts.allocations == ledger.allocations && facts.waits == ledger.waits &&
           (facts.captured == 0 || ledger.graphs > 0);
}

#endif
