/* The lowest predicted time of a program for each peak. Pure arithmetic. One thread.
 *
 * A *shape* stands for all convolutions that one rule matches. A *way* is one way to run them all:
 * the decisions under one value of the rule's `free`, or untiled. Tensors that are alive at a call
 * do not depend on workspaces, so the memory held during the calls of a way is known. For a target
 * peak each shape takes its fastest way that does not exceed it. */
#ifndef CS_CLI_TUNE_FRONTIER_H
#define CS_CLI_TUNE_FRONTIER_H

#include "decide/cost.h"
#include <stddef.h>

enum {
    CS_UNTILED = -1,   /* the value of `free` for skip = yes */
    CS_MOST_WAYS = 48, /* of a shape */
    CS_MOST_TUNED = 63 /* tiled shapes: one rule each, and one for all others */
};

struct cs_way {
    int64_t free;          /* bytes, or CS_UNTILED */
    int64_t peak;          /* most bytes held during a call, its scratch included */
    int64_t scratch;       /* most bytes reported to a call */
    int64_t tiled;         /* calls */
    int64_t launches;      /* of all calls, in addition to one for each */
    struct cs_times times; /* predicted seconds of all calls */
};

struct cs_shape_ways {
    struct cs_way way[CS_MOST_WAYS];
    int ways;   /* at least 1; the first is untiled */
    int chosen; /* of cs_frontier_choose */
};

/* A point of the frontier: the sums over all shapes. */
struct cs_frontier_point {
    int64_t target; /* bytes: no shape exceeds it */
    int64_t peak;   /* most bytes held in the whole run */
    int64_t tiled, launches;
    struct cs_times times;
};

struct cs_frontier {
    struct cs_shape_ways *shape;
    size_t shapes;
    int64_t level; /* most bytes held in the whole run without any workspace */
    double price;  /* seconds that a lower peak is worth for each byte, by the default of option
                      price */
    struct cs_frontier_point *point; /* from the lowest peak to the shortest time; owned */
    size_t points;
};

/* Adds a way. One that is in the shape already, or does not fit, is left out. */
void cs_frontier_add(struct cs_shape_ways *shape, const struct cs_way *way);

/* Chooses, for each shape, the way of the shortest time (at the upper end) whose peak is at most
 * `target`, or that of the lowest peak if there is none. If more than CS_MOST_TUNED shapes would be
 * tiled, those with the least effect stay untiled. Returns the resulting point. */
struct cs_frontier_point cs_frontier_choose(struct cs_frontier *frontier, int64_t target);

/* The point at which no convolution is tiled. */
struct cs_frontier_point cs_frontier_untiled(const struct cs_frontier *frontier);

/* Computes all points. Each has a higher peak and a shorter time than the one before. False if
 * memory is short. */
bool cs_frontier_sweep(struct cs_frontier *frontier);
void cs_frontier_fini(struct cs_frontier *frontier);

/* The conditions for a point. */
struct cs_frontier_goal {
    int64_t peak;          /* most bytes; INT64_MAX: any */
    struct cs_times times; /* most seconds of both ends; infinite: any */
    double price;          /* seconds for each byte of the peak */
};

/* The index of the point with the lowest time plus price of those that meet the goal, -1 if there
 * is none. */
int cs_frontier_find(const struct cs_frontier *frontier, const struct cs_frontier_goal *goal);

#endif
