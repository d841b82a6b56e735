/* Random walks through the two APIs: valid chains of calls, of which some are missing, doubled, out
 * of turn or have other arguments. Every call and its result is a line on stdout, so that two runs
 * of one seed can be compared. */
#ifndef WALK_H
#define WALK_H

#include "../apps/problems.h"

enum {
    WALK_BUFFER = 1 << 20, /* bytes of an operand: more than any problem's storage */
    WALK_OPERANDS = 3      /* x, w, y */
};

struct walk {
    struct rng rng;
    cudnnHandle_t handle[2];
    struct conv_problem problem;
    void *image[WALK_OPERANDS];  /* host: numbers of which every sum is exact */
    void *device[WALK_OPERANDS]; /* copies of them, which convolutions change */
    void *result;                /* host, of the same size */
    bool sizes;                  /* the sizes of workspaces are written, too */
};

/* True once in `times`: then the next step deviates. */
bool walk_strays(struct walk *walk, int64_t times);

/* Writes a call and its status. */
void walk_note(const char *call, cudnnStatus_t status);

/* The same with a hash of the memory that it filled. */
void walk_note_bytes(const char *call, cudnnStatus_t status, const void *bytes, size_t count);

/* The size of a workspace; -1 for none. */
void walk_note_size(const struct walk *walk, const char *call, cudnnStatus_t status, int64_t size);

/* A workspace of `bytes`, NULL for 0, and the operands' initial contents. The caller frees it. */
void *walk_prepare(struct walk *walk, int64_t bytes);

/* Waits, and writes a convolution's results in the operands. */
void walk_note_run(struct walk *walk, const char *call, cudnnStatus_t status);

/* Launches the nodes of a graph, or of a clone of it that is destroyed by then, once or twice. */
void walk_launch(struct walk *walk, cudaGraph_t graph);

/* Begins a capture in any mode, and ends it: the captured work is launched. */
void walk_begin_capture(struct walk *walk, cudaStream_t stream);
void walk_end_capture(struct walk *walk, cudaStream_t stream);

void walk_graph(struct walk *walk);
void walk_legacy(struct walk *walk);

#endif
