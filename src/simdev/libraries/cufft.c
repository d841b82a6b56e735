/* cuFFT, whose plans are numbers: their creation, streams and execution. The work area is an
 * estimate: the size of the data, which is right for most sizes that are not small. */
#include "standin.h"

#include <pthread.h>

#include "simdev.h"

enum {
    PLANS = 4096,
    INVALID_PLAN = 1,
    ALLOC_FAILED = 2,
    EXEC_FAILED = 6
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool taken;
    cudaStream_t stream;
} plan[PLANS]; /* under lock; 0 is never a plan */

STANDIN_EXPORT int STANDIN(cufftCreate)(int *out)
{
    int made = 0;
    pthread_mutex_lock(&lock);
    for (int i = 1; out && !made && i < PLANS; i++)
        if (!plan[i].taken)
            made = i;
    if (made) {
        plan[made].taken = true;
        plan[made].stream = NULL;
        *out = made;
    }
    pthread_mutex_unlock(&lock);
    return made ? 0 : ALLOC_FAILED;
}

static bool is_plan(int handle)
{
    return handle > 0 && handle < PLANS && plan[handle].taken;
}

STANDIN_EXPORT int STANDIN(cufftDestroy)(int handle)
{
    pthread_mutex_lock(&lock);
    const bool good = is_plan(handle);
    if (good)
        plan[handle].taken = false;
    pthread_mutex_unlock(&lock);
    return good ? 0 : INVALID_PLAN;
}

STANDIN_EXPORT int STANDIN(cufftSetStream)(int handle, cudaStream_t stream)
{
    pthread_mutex_lock(&lock);
    const bool good = is_plan(handle);
    if (good)
        plan[handle].stream = stream;
    pthread_mutex_unlock(&lock);
    return good ? 0 : INVALID_PLAN;
}

STANDIN_EXPORT int STANDIN(cufftXtMakePlanMany)(
    int handle, int rank, const long long *n, const long long *in_embed, long long in_stride,
    long long in_distance, int in_type, const long long *out_embed, long long out_stride,
    long long out_distance, int out_type, long long batch, size_t *work_size, int execution_type)
{
    (void)in_embed, (void)in_stride, (void)in_distance, (void)in_type, (void)out_embed;
    (void)out_stride, (void)out_distance, (void)out_type, (void)execution_type;
    size_t bytes = 8;
    if (!n || !work_size || batch < 1)
        return INVALID_PLAN;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(bytes, (size_t)n[i], &bytes))
            return INVALID_PLAN;
    if (__builtin_mul_overflow(bytes, (size_t)batch, &bytes))
        return INVALID_PLAN;
    pthread_mutex_lock(&lock);
    const bool good = is_plan(handle);
    pthread_mutex_unlock(&lock);
    *work_size = bytes;
    simdev_estimated("cufftXtMakePlanMany");
    return good ? 0 : INVALID_PLAN;
}

STANDIN_EXPORT int STANDIN(cufftXtExec)(int handle, void *input, void *output, int direction)
{
    (void)input, (void)output, (void)direction;
    pthread_mutex_lock(&lock);
    const bool good = is_plan(handle);
    cudaStream_t stream = good ? plan[handle].stream : NULL;
    pthread_mutex_unlock(&lock);
    if (!good)
        return INVALID_PLAN;
    return standin_work("cufftXtExec", stream) ? 0 : EXEC_FAILED;
}
