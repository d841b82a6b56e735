/* The memory that a run holds, derived from its calls: filters, their gradients, outputs, inputs
 * kept for the gradients of filters, and workspaces. For one step: per layer, in total, and over
 * time.
 *
 * Pure. Thread-safe. Bytes are those of elements, without gaps.
 *
 * A step is one period of the longest repetition in the calls, or all calls if they can be one
 * step. Without either there is no step: `calls`, `layers` and `moments` are 0. A run that computes
 * filter gradients is a training.
 *
 * A layer is a call of a step: calls of one shape in one step are as many layers, calls of one
 * shape in different directions belong to the same ones. What calls cannot show: layers that share
 * one filter (counted as if they did not), outputs of other operations, slack of the allocator, and
 * whether an input that is kept is the output of the layer before, itself. */
#ifndef CS_CLI_REPORT_ANATOMY_H
#define CS_CLI_REPORT_ANATOMY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_pass {
    CS_PASS_FORWARD,
    CS_PASS_DGRAD,
    CS_PASS_WGRAD,
    CS_PASSES
};

/* A convolution that was called, as the summary has it. */
struct cs_anatomy_site {
    enum cs_pass pass;
    int64_t x[5], w[5], y[5]; /* N C D H W; of w: K, C of one group, D, H, W */
    int64_t window[13];       /* padding, stride, dilation, groups: layers differ in these, too */
    int64_t x_bytes, w_bytes, y_bytes;
    int64_t required, reported; /* workspace before and after, bytes */
};

/* Layers of one shape. Bytes are of all `layers` together; workspaces the largest of one call. */
struct cs_anatomy_layer {
    size_t site;              /* the first of its sites, forward if there is one */
    int64_t calls[CS_PASSES]; /* in the step */
    int64_t layers;
    int64_t filters, gradients, inputs_kept;
    int64_t outputs; /* that are kept for backward calls */
    int64_t required, reported;
    int64_t flops; /* to compute the outputs again: 2 N K P Q C R S / groups each */
    int64_t held;  /* work in progress of the calculation */
};

/* The memory held while a call of the step runs: filters, the gradients of filters computed so far,
 * outputs that the backward calls of their layer will use (none if it has none), other tensors that
 * the call reads or writes, and its workspace. */
struct cs_anatomy_moment {
    size_t site;
    int64_t before, after; /* bytes without and with convshim */
};

/* Parts of a moment, in bytes. */
struct cs_anatomy_held {
    int64_t filters, gradients;
    int64_t outputs; /* kept for backward calls */
    int64_t call;    /* other tensors that the call reads or writes */
    int64_t workspace;
};

struct cs_anatomy {
    bool training;       /* the step computes filter gradients */
    size_t first, calls; /* the step, in the order given */
    size_t covered;      /* calls that repeat as the step does */
    size_t layers, moments;
    struct cs_anatomy_layer *layer;   /* in the order of first calls */
    struct cs_anatomy_moment *moment; /* one a call */
    struct cs_anatomy_layer total;    /* `site` means nothing */
    int64_t peak_before, peak_after;
    struct cs_anatomy_held held_before, held_after; /* parts of the peaks */
};

/* Which layers to checkpoint: most bytes for each operation that computing them again takes first;
 * only outputs that are held (training). */
struct cs_anatomy_checkpoint {
    size_t layer;
    int64_t saved;   /* bytes of its outputs */
    int64_t running; /* of this one and those above it */
    int64_t flops, running_flops;
};

/* `order`: index into `sites` of each call, or -1. False if memory ran out or an amount leaves 63
 * bits; then nothing is owned. No calls make an empty anatomy. */
bool cs_anatomy(const struct cs_anatomy_site *sites, size_t count, const int64_t *order,
                size_t calls, struct cs_anatomy *anatomy_p);
void cs_anatomy_fini(struct cs_anatomy *anatomy);

/* Fills `list` (anatomy->layers of room) and returns how many there are. */
size_t cs_anatomy_checkpoints(const struct cs_anatomy *anatomy, struct cs_anatomy_checkpoint *list);

#endif
