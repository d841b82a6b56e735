/* Binds and launches the tiles of one call through cuDNN. Implements struct cs_gpu. */
#include "cudnn/run/launcher.h"

#include "cudnn/bind/driver.h"
#include "cudnn/plan/descriptors.h"
#include "cudnn/plan/execution_plan.h"

enum {
    STATUS_CATEGORY = 1000 /* the first digit of a status of cuDNN is its category */
};

int cs_launcher_pack(const struct cs_launcher *launcher, const struct cs_addresses *addresses,
                     cudnnBackendDescriptor_t *pack_p)
{
    void *pointer[CS_MAX_TENSORS];
    int64_t uid[CS_MAX_TENSORS];
    int count = 0;
    for (int i = 0; i < launcher->problem->tensors; i++) {
        if (launcher->problem->tensor[i].is_virtual)
            continue;
        pointer[count] = addresses->tensor[i];
        uid[count++] = launcher->uid[i];
    }
    return (int)cs_descriptors_pack(count, pointer, uid, addresses->workspace, pack_p);
}

/* Makes a plan ready. */
static int prepare_plan(const struct cs_launcher *launcher,
                        struct cs_execution_plan *execution_plan)
{
    const bool ready = cs_execution_plan_is_ready(execution_plan) ||
                       cs_execution_plan_make_ready(execution_plan, launcher->handle);
    return ready ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

bool cs_launcher_is_refused(int status)
{
    return status / STATUS_CATEGORY == CUDNN_STATUS_BAD_PARAM / STATUS_CATEGORY ||
           status / STATUS_CATEGORY == CUDNN_STATUS_NOT_SUPPORTED / STATUS_CATEGORY;
}

bool cs_launcher_run(const struct cs_launcher *launcher, cudnnBackendDescriptor_t plan,
                     const struct cs_addresses *addresses, void *scratch, int *status_p)
{
    struct cs_addresses other = *addresses;
    cudnnBackendDescriptor_t pack;
    other.workspace = scratch;
    if (cs_launcher_pack(launcher, &other, &pack) != CUDNN_STATUS_SUCCESS)
        return false;
    *status_p = (int)CS_REAL(cudnnBackendExecute, launcher->handle, plan, pack);
    (void)CS_REAL(cudnnBackendDestroyDescriptor, pack);
    return !cs_launcher_is_refused(*status_p);
}

static struct cs_execution_plan *tile_plan(const struct cs_launcher *launcher, int shape)
{
    return launcher->tiles ? launcher->tiles[shape] : launcher->rewrite->execution_plan[shape];
}

int cs_launcher_prepare(const struct cs_launcher *launcher, int shape)
{
    return prepare_plan(launcher, tile_plan(launcher, shape));
}

int cs_launcher_prepare_fallback(const struct cs_launcher *launcher)
{
    return prepare_plan(launcher, launcher->rewrite->fallback);
}

static int bind(void *ctx, int shape, const struct cs_addresses *addresses, void **pack_p)
{
    cudnnBackendDescriptor_t pack;
    int status = cs_launcher_prepare(ctx, shape);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cs_launcher_pack(ctx, addresses, &pack);
    if (status == CUDNN_STATUS_SUCCESS)
        *pack_p = pack;
    return status;
}

static int launch(void *ctx, int shape, void *pack)
{
    const struct cs_launcher *launcher = ctx;
    const struct cs_execution_plan *execution_plan = tile_plan(launcher, shape);
    return (int)CS_REAL(cudnnBackendExecute, launcher->handle, execution_plan->plan, pack);
}

static void release(void *ctx, void *pack)
{
    (void)ctx;
    (void)CS_REAL(cudnnBackendDestroyDescriptor, pack);
}

/* Returns CUDNN_STATUS_BAD_PARAM if the plan requires more workspace than the call provides. A call
 * whose tiles run in the library's scratch may provide less than was reported. */
static int check_provided(const struct cs_launcher *launcher, cudnnBackendDescriptor_t plan)
{
    int64_t bytes = 0, count;
    int status =
        (int)CS_REAL(cudnnBackendGetAttribute, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                     CUDNN_TYPE_INT64, 1, &count, &bytes);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    return bytes <= launcher->provided ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

/* Runs the fallback plan with the application's variant pack. A legacy call has none, so it gets a
 * new one. */
static int fallback(void *ctx)
{
    const struct cs_launcher *launcher = ctx;
    const struct cs_execution_plan *execution_plan = launcher->rewrite->fallback;
    cudnnBackendDescriptor_t pack = NULL;
    int status = cs_launcher_prepare_fallback(launcher);
    if (status == CUDNN_STATUS_SUCCESS)
        status = check_provided(launcher, execution_plan->plan);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    if (launcher->pack)
        return (int)CS_REAL(cudnnBackendExecute, launcher->handle, execution_plan->plan,
                            launcher->pack);
    status = cs_launcher_pack(launcher, &launcher->untiled, &pack);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = (int)CS_REAL(cudnnBackendExecute, launcher->handle, execution_plan->plan, pack);
    (void)CS_REAL(cudnnBackendDestroyDescriptor, pack);
    return status;
}

static int choose(void *ctx, void *stream)
{
    struct cs_launcher *launcher = ctx;
    int status = (int)CS_REAL(cudnnSetStream, launcher->handle, stream);
    if (status == CUDNN_STATUS_SUCCESS)
        launcher->stream = stream;
    return status;
}

static int copy(void *ctx, const struct cs_copy *what, void *view, void *packed, bool in)
{
    const struct cs_launcher *launcher = ctx;
    return cs_copy_start(what, view, packed, in, launcher->stream);
}

struct cs_gpu cs_launcher_gpu(struct cs_launcher *launcher, void **stream_p)
{
    struct cs_gpu gpu = {launcher, bind, launch, release, fallback, choose, copy, false};
    cudaStream_t stream = NULL;
    bool known = CS_REAL(cudnnGetStream, launcher->handle, &stream) == CUDNN_STATUS_SUCCESS;
    if (!known)
        gpu.choose = NULL;
    if (!known || !cs_copy_possible())
        gpu.copy = NULL;
    *stream_p = launcher->stream = stream;
    return gpu;
}
