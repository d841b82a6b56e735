/* The memory of a simulated run over time: the held blocks, the convolutions whose workspace they
 * were, and the program lines that requested the others. If the framework recorded its blocks
 * (PyTorch), these are counted, else its allocations from the driver. One thread. */
#ifndef CS_CLI_SIMULATE_TIMELINE_H
#define CS_CLI_SIMULATE_TIMELINE_H

#include "cli/simulate/simulated_result.h"

enum {
    CS_NO_BLOCK = -1,
    CS_NO_SITE = -1,
    CS_NO_STACK = -1
};

struct cs_timeline_block {
    uint64_t address;
    int64_t bytes;
    size_t from, until; /* moments: it is held at those of [from, until) */
    int stack;          /* who asked for it, or CS_NO_STACK */
    int64_t workspace;  /* the most that a convolution used of it as workspace; 0: it is none */
    int site;           /* of that convolution, or CS_NO_SITE */
};

/* A call of a convolution, which is the launches of all its tiles. */
struct cs_timeline_call {
    int site; /* index into the summary's; CS_NO_SITE: not in the summary */
    size_t moment;
    long block;       /* that its workspace is in, or CS_NO_BLOCK */
    uint64_t address; /* of its workspace */
    int64_t workspace, tensor_bytes, launches;
    char plan[40];
};

struct cs_timeline {
    bool of_framework;
    int64_t *live; /* bytes held from each moment on */
    size_t moments;
    struct cs_timeline_block *block;
    size_t blocks;
    struct cs_timeline_call *call;
    size_t calls;
    const struct cJSON *stacks; /* of the result; NULL: none were recorded */
    bool matched;               /* the summary's calls are those of the record, one for one */
};

/* Of a run with `history`, as `result` was read of it, which must stay. False, with nothing owned,
 * if there is no record or memory is short: a line has said so. */
bool cs_timeline_read(const struct cs_simulated_run *run, const struct cs_simulated_result *result,
                      struct cs_timeline *timeline_p);
void cs_timeline_fini(struct cs_timeline *timeline);

/* The moment at which most was held. */
size_t cs_timeline_peak(const struct cs_timeline *timeline);

/* The memory held at each moment, without workspaces; the caller frees it. NULL: memory is short.
 */
int64_t *cs_timeline_rest(const struct cs_timeline *timeline);

/* The line that requested a block, as "vae.py:312 forward": the innermost that is not PyTorch's
 * own, or else the innermost. False: the line is not known. */
bool cs_timeline_line(const struct cs_timeline *timeline, int stack, char *text, size_t size);

#endif
