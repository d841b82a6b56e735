/* cuDNN's answers about a convolution on a GPU that may be absent: the engines that its heuristics
 * offer, and a chosen engine as input of the library's own decision.
 *
 * An engine list is used by one thread. No function uses a device.
 *
 * A process should plan for one GPU model. cuDNN 9.19 remembers the GPU for which it first queried
 * cuBLASLt (float32, 1x1). If that GPU has no TF32 (capability below 8.0), cuDNN refuses all
 * engines with TF32 on every later GPU. Other engines keep their workspaces. */
#ifndef CS_CUDNN_STANDALONE_ENGINE_LIST_H
#define CS_CUDNN_STANDALONE_ENGINE_LIST_H

#include "convshim/vendor.h"
#include <stddef.h>

struct cs_engine_list;
struct cs_engine_choice;

/* An engine as the heuristics offer it. */
struct cs_ask_offer {
    struct cs_engine engine;
    int64_t workspace; /* bytes; -1: cuDNN cannot build its plan */
    bool tensor_cores;
};

/* From now on, devices have the measured constants that this function returns for a GPU's name. */
void cs_engine_list_measured(struct cs_ladder (*ladder_of)(const char *gpu));

/* Called after cs_standalone_open. cuDNN offers the engines that call cuBLASLt only to programs
 * that have it: `cublas`. `profile` is a device's JSON (conf/devices). False, with a line in
 * `error`, if cuDNN does not accept it. */
bool cs_engine_list_create(const char *profile, bool cublas, struct cs_engine_list **list_p,
                           char *error, size_t size);
void cs_engine_list_destroy(struct cs_engine_list *list);

/* The choice of a framework to which `skip` plans were refused: the next offer that has a plan,
 * first of cuDNN's mode A, then of the fallbacks. CS_REFUSED: no further offer has a plan. The
 * caller owns the chosen engine. */
enum cs_status cs_engine_list_choose(struct cs_engine_list *list, const struct cs_problem *problem,
                                     int skip, struct cs_ask_offer *offer,
                                     struct cs_engine_choice **chosen_p);

/* The first offer with this engine and this workspace, in the same order and at last of mode B. The
 * caller owns the chosen engine. */
enum cs_status cs_engine_list_find(struct cs_engine_list *list, const struct cs_problem *problem,
                                   int64_t engine, int64_t workspace, struct cs_ask_offer *offer,
                                   struct cs_engine_choice **chosen_p);

void cs_engine_chosen_destroy(struct cs_engine_choice *chosen);

/* The chosen engine as cs_decide needs it. Valid as long as `chosen`. */
struct cs_vendor cs_engine_chosen_vendor(struct cs_engine_choice *chosen);

#endif
