/* Queries cuDNN about a convolution on a GPU that may be absent: the engines that its heuristics
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

/* Makes an engine list for a device. `profile` is the device's JSON (conf/devices). `cublas`: also
 * with the engines that call cuBLASLt, which cuDNN offers only to programs that have it. Called
 * after cs_standalone_open. False, with a line in `error`, if cuDNN does not accept the profile. */
bool cs_engine_list_create(const char *profile, bool cublas, struct cs_engine_list **list_p,
                           char *error, size_t size);
void cs_engine_list_destroy(struct cs_engine_list *list);

/* The offer to choose. With an engine, it is that engine's offer with this workspace. If the engine
 * is -1, it is the offer that a framework uses after `skip` plans were refused to it. */
struct cs_engine_wish {
    int64_t engine, workspace;
    int skip;
};

/* Chooses the first wished offer that has a plan. It looks at cuDNN's mode A, at the fallbacks and,
 * for a named engine, at mode B. CS_REFUSED: there is none. The caller owns the chosen engine. */
enum cs_status cs_engine_list_choose(struct cs_engine_list *list, const struct cs_problem *problem,
                                     struct cs_engine_wish wish, struct cs_ask_offer *offer,
                                     struct cs_engine_choice **chosen_p);

void cs_engine_chosen_destroy(struct cs_engine_choice *chosen);

/* The chosen engine as cs_decide needs it. Valid as long as `chosen`. */
struct cs_vendor cs_engine_chosen_vendor(struct cs_engine_choice *chosen);

#endif
