/* Opens cuDNN for the command, in a process without an application or a device. The library's own
 * code plans with it. For that purpose this part has its own cs_real() (cudnn/bind/real.h). The
 * library's cs_real() searches only libraries that an application has loaded. */
#ifndef CS_CUDNN_STANDALONE_STANDALONE_H
#define CS_CUDNN_STANDALONE_STANDALONE_H

#include "convshim/vendor.h"
#include <stdbool.h>
#include <stddef.h>

/* Opens the cuDNN of a file, or of a name that the loader searches. Called once, before any thread
 * plans. The library stays open. False, with the loader's text in `error`, if it cannot be opened
 * or cannot plan without a device (before 9.8). */
bool cs_standalone_open(const char *file, char *error, size_t size);

/* The version from cudnnGetVersion, 0 before one is open. */
size_t cs_standalone_version(void);

/* The file that was opened, "" before. */
const char *cs_standalone_file(void);

/* Libraries that cuDNN needs to plan without a device: the CUDA driver and cuBLASLt, or their
 * stand-ins (src/cudnn/standalone/stand_ins). They stay loaded until the process ends.
 *
 * Loads libcuda.so.1, or its stand-in if no driver is installed. Without either, cuDNN offers no
 * engine that it compiles at run time, and from 9.27 on no engine at all. One thread, before any
 * plan; cs_standalone_open calls it. */
void cs_standalone_open_driver(void);

/* Loads the stand-in of cuBLASLt, for processes that run no plan. Without it, cuDNN does not offer
 * the engines that call cuBLASLt, which programs get for 1x1 windows. Any thread, before its first
 * plan. */
void cs_standalone_open_cublas(void);

/* --- engines ---
 *
 * Queries cuDNN about a convolution on a GPU that may be absent: the engines that its heuristics
 * offer, and a chosen engine as input of the library's own decision.
 *
 * An engine list is used by one thread. No function uses a device.
 *
 * A process should plan for one GPU model. cuDNN 9.19 remembers the GPU for which it first queried
 * cuBLASLt (float32, 1x1). If that GPU has no TF32 (capability below 8.0), cuDNN refuses all
 * engines with TF32 on every later GPU. Other engines keep their workspaces. */

struct cs_engine_list;
struct cs_engine_choice;

/* An engine as the heuristics offer it. */
struct cs_ask_offer {
    struct cs_engine engine;
    int64_t workspace; /* bytes; -1: cuDNN cannot build its plan */
    bool tensor_cores;
};

/* Makes an engine list for a device, also with the engines that call cuBLASLt, which cuDNN offers
 * only to programs that have it. `profile` is the device's JSON (conf/devices). Called after
 * cs_standalone_open. False, with a line in `error`, if cuDNN does not accept the profile. */
bool cs_engine_list_create(const char *profile, struct cs_engine_list **list_p, char *error,
                           size_t size);
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
