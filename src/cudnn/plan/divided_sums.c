/* Reads from the knobs of an engine whether it may divide sums. */
#include "cudnn/plan/engine_choice.h"

enum {
    STREAM_K = 38 /* CUDNN_KNOB_TYPE_STREAM_K, which older headers lack: 1 divides */
};

/* The place of a knob, -1 if the engine has none of that type. */
static int knob_of(const struct cs_engine *engine, int64_t type)
{
    for (int i = 0; i < engine->knobs; i++)
        if (engine->knob_type[i] == type)
            return i;
    return -1;
}

bool cs_divided_sums(const struct cs_engine *engine, struct cs_engine *undivided_p)
{
    const int stream_k = knob_of(engine, STREAM_K);
    const int workspace = knob_of(engine, CUDNN_KNOB_TYPE_WORKSPACE);
    *undivided_p = *engine;
    if (stream_k >= 0 && engine->knob_value[stream_k] != 0) {
        undivided_p->knob_value[stream_k] = 0;
        return true;
    }
    /* On engines with clusters, 1 forbids workspace for parts of sums. Others use the knob for
     * other workspaces. */
    if (workspace >= 0 && engine->knob_value[workspace] == 0 &&
        knob_of(engine, CUDNN_KNOB_TYPE_TILE_CGA_M) >= 0) {
        undivided_p->knob_value[workspace] = 1;
        return true;
    }
    return false;
}
