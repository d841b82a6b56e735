/* Predicts the memory and time of layers on a GPU: cuDNN's answer, and the library's decision.
 * Equal layers of a program are decided once. One thread queries cuDNN: if two threads plan windows
 * of 1x1 at the same moment, cuDNN sometimes withholds an engine from one of them (9.19, 8 threads:
 * once in 50000 plans). */
#ifndef CS_CLI_LAYERS_PLAN_LAYERS_H
#define CS_CLI_LAYERS_PLAN_LAYERS_H

#include "cli/layers/layers.h"
#include "convshim/policy.h"
#include "convshim/profile.h"
#include "convshim/vendor.h"
#include "cudnn/standalone/standalone.h"
#include "decide/by_rules.h"
#include "decide/cost.h"
#include "decide/decide.h"
#include "decide/untileable.h"
#include <stdbool.h>
#include <stddef.h>

/* The inputs of predictions other than the layers. */
struct cs_predictor {
    const char *profile;         /* the device's JSON */
    struct cs_settings settings; /* under which the library would decide */
    enum cs_untileable untileable;
    bool alone; /* the plans that a run took are ignored */
};

struct cs_prediction {
    enum cs_status status; /* CS_OK; CS_REFUSED: no engine has a plan, then only `bytes` and
                              `floor` hold; CS_NOMEM */
    int64_t bytes[CS_OPERANDS];
    int64_t floor;             /* all operands: the least that the convolution needs */
    struct cs_ask_offer offer; /* the engine that a framework takes */
    int64_t peak;              /* floor and workspace; INT64_MAX beyond 64 bits */
    struct cs_decision decision;
    int64_t tiled_peak;      /* floor plus reported workspace */
    int64_t halo;            /* bytes of x and y that tiles read again */
    struct cs_times untiled; /* predicted seconds of the call as it is; 0: not known */
    struct cs_times ratio;   /* of the tiled call to it; 0: not known, or not tiled */
};

/* Fills prediction[i] for layer i. False, with a line in `error`, if the device cannot be planned
 * for or memory runs out. */
bool cs_predict(const struct cs_predictor *predictor, const struct cs_layers *layers,
                struct cs_prediction *prediction, char *error, size_t size);

/* --- the cuDNN that plans --- */

/* Opens the cuDNN of `path`, a file or a folder. `path` NULL: the cuDNN that the loader finds, else
 * that of the python3 on PATH (nvidia/cudnn/lib), else that which scripts/bootstrap found for the
 * source tree of this program. If there is none, prints the reason and how to get one, and returns
 * false. Runs python3. */
bool cs_find_cudnn(const char *command, const char *path);

/* Opens the cuDNN of the python3 on PATH alone. False: it has none that can be used. */
bool cs_find_cudnn_of_python(void);

#endif
