/* The memory of a simulated run over time: the held blocks, the convolutions whose workspace they
 * were, and the program lines that requested the others. If the framework recorded its blocks
 * (PyTorch), these are counted, else its allocations from the driver. */
#ifndef SIMDEV_SIMULATE_TIMELINE_H
#define SIMDEV_SIMULATE_TIMELINE_H

#include "simdev/simulate/pair.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

enum {
    CS_TIMELINE_NONE = -1 /* an index of no block, call, site or stack */
};

/* Memory that was allocated at one time: a block of the framework, or an allocation of the driver.
 */
struct cs_timeline_block {
    uint64_t address;
    int64_t bytes;
    size_t from, until; /* moments: it is held at those of [from, until) */
    int stack;          /* of the allocating code, or CS_TIMELINE_NONE */
    int64_t workspace;  /* most bytes of it that a call used as workspace; 0: it holds none */
    long call;          /* the first call that used as many, or CS_TIMELINE_NONE */
};

/* A call of a convolution. It consists of the launches of all its tiles. */
struct cs_timeline_call {
    int site; /* index into the summary's, or CS_TIMELINE_NONE */
    size_t moment;
    long block;       /* the one with its workspace, or CS_TIMELINE_NONE */
    uint64_t address; /* of its workspace */
    int64_t workspace, tensor_bytes, launches;
    char plan[40];
};

/* The memory of a run at consecutive moments, which are numbered from 0. */
struct cs_timeline {
    bool of_framework; /* the blocks are those of the framework, not of the driver */
    int64_t *live;     /* bytes held from each moment on */
    size_t moments;
    struct cs_timeline_block *block;
    size_t blocks;
    struct cs_timeline_call *call;
    size_t calls;
    const struct cJSON *stacks; /* of the result; NULL: none were recorded */
    bool matched;               /* the summary's calls are those of the record, one for one */
};

/* Reads the timeline of a run with `history`. The run's result must outlive it. False, with nothing
 * owned, after a line: there is no record, or memory is short. */
bool cs_timeline_read(const struct cs_sim_run *run, struct cs_timeline *timeline_p);
void cs_timeline_fini(struct cs_timeline *timeline);

/* The timelines of a pair's runs that have one. */
struct cs_timelines {
    struct cs_timeline side[CS_SIDES];
    bool has[CS_SIDES];
    bool same_calls;             /* both runs made as many calls, or there is only one run */
    const struct cJSON *summary; /* of the run with the library; NULL: there is none */
};

/* Reads the timelines of the runs that used the device and have a history. The repeated run
 * (`recorded`) takes the place of the run with the library. The results of the pair must outlive
 * the timelines. False, with nothing owned, if a complete run cannot be read, after a line. */
bool cs_timelines_read(const struct cs_sim_pair *pair, struct cs_timelines *timelines_p);
void cs_timelines_fini(struct cs_timelines *timelines);

/* Returns the memory that a side held at its peak as a JSON array, the largest first: workspaces by
 * convolution, everything else by the line that allocated it. Empty: the side has no timeline.
 * NULL: memory is short. The caller deletes it. */
struct cJSON *cs_timelines_peak(const struct cs_timelines *timelines, enum cs_side side);

/* Returns the moment at which most was held. */
size_t cs_timeline_peak(const struct cs_timeline *timeline);

/* Writes the program line that requested a block, such as "vae.py:312 forward". It is the innermost
 * line of the stack that is not PyTorch's own, or else the innermost. False: the line is not known.
 */
bool cs_timeline_line(const struct cs_timeline *timeline, int stack, char *text, size_t size);

#endif
