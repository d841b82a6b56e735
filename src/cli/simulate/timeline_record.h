/* The device's record as read from its file, and blocks that are held by their addresses: parts of
 * timeline.c. One thread. */
#ifndef CS_CLI_SIMULATE_TIMELINE_RECORD_H
#define CS_CLI_SIMULATE_TIMELINE_RECORD_H

#include "cli/simulate/simulation.h"

struct cJSON;

/* A convolution as it was called: one tile, or all of it. */
struct cs_launch {
    uint64_t workspace; /* its address */
    int64_t workspace_bytes, tensor_bytes;
    char plan[40];
    long block;    /* found later; else -1 */
    size_t moment; /* likewise */
};

struct cs_record_event {
    char what;        /* m, a, f, c */
    uint64_t address; /* a, f */
    int64_t bytes;    /* m: held; a: of it; c: the index of its launch */
};

struct cs_launches {
    struct cs_launch *item;
    struct cs_record_event *event;
    size_t count, events;
};

/* The record of a process of that run. False: there is none, or memory is short; a line says so. */
bool cs_launches_read(const struct cs_simulated_run *run, pid_t pid, struct cs_launches *launches);
void cs_launches_fini(struct cs_launches *launches);

/* A whole number of an object; 0: it has none. */
int64_t cs_timeline_number(const struct cJSON *object, const char *name);

/* A set of blocks that do not overlap. False: memory is short. */
bool cs_held_add(void **held, uint64_t address, int64_t bytes, size_t index);
/* The index of the block that begins there, which is taken out, or -1. */
long cs_held_take(void **held, uint64_t address);
/* The index of the block around an address, or -1. */
long cs_held_find(void *held, uint64_t address);
void cs_held_free(void *held);

#endif
