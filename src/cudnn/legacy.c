#include "cudnn/legacy.h"

#include "cudnn/describe_legacy.h"
#include "cudnn/gpu_cudnn.h"
#include "cudnn/kernel.h"
#include "decide/memo.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 256,
    MAX_PER_HANDLE = 2048 /* then the handle starts afresh */
};

static const int64_t operand_uid[CS_OPERANDS] = {[CS_X] = 'x', [CS_FILTER] = 'w', [CS_Y] = 'y'};

/* One problem under one limit. A handle belongs to one thread at a time, and so do its entries; the
 * lock guards the table that all handles share. */
struct entry {
    struct entry *next;
    cudnnHandle_t handle;
    struct cs_key key;
    int64_t wanted;
    struct cs_verdict verdict;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *buckets[BUCKETS];

/* Until a query meets a convolution over the threshold, executions need not be looked at. */
static atomic_bool oversized;

static void destroy(struct entry *entry)
{
    cs_flow_discard(entry->verdict.rewrite);
    free(entry);
}

static int count_locked(cudnnHandle_t handle)
{
    int count = 0;
    for (int i = 0; i < BUCKETS; i++)
        for (const struct entry *entry = buckets[i]; entry; entry = entry->next)
            count += entry->handle == handle;
    return count;
}

static struct entry *detach_locked(cudnnHandle_t handle)
{
    struct entry *detached = NULL;
    for (int i = 0; i < BUCKETS; i++) {
        struct entry **link = &buckets[i];
        while (*link) {
            struct entry *entry = *link;
            if (entry->handle != handle) {
                link = &entry->next;
                continue;
            }
            *link = entry->next;
            entry->next = detached;
            detached = entry;
        }
    }
    return detached;
}

static void destroy_all(struct entry *entry)
{
    while (entry) {
        struct entry *next = entry->next;
        destroy(entry);
        entry = next;
    }
}

static struct entry *find(const struct cs_key *key)
{
    pthread_mutex_lock(&lock);
    struct entry *entry = buckets[key->hash % BUCKETS];
    while (entry && !cs_key_equal(&entry->key, key))
        entry = entry->next;
    pthread_mutex_unlock(&lock);
    return entry;
}

static void insert(struct entry *entry)
{
    struct entry *stale = NULL;
    pthread_mutex_lock(&lock);
    if (count_locked(entry->handle) >= MAX_PER_HANDLE)
        stale = detach_locked(entry->handle);
    struct entry **bucket = &buckets[entry->key.hash % BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
    pthread_mutex_unlock(&lock);
    destroy_all(stale);
}

void cs_legacy_forget(cudnnHandle_t handle)
{
    pthread_mutex_lock(&lock);
    struct entry *detached = detach_locked(handle);
    pthread_mutex_unlock(&lock);
    destroy_all(detached);
}

void cs_legacy_fork(bool before)
{
    if (before)
        pthread_mutex_lock(&lock);
    else
        pthread_mutex_unlock(&lock);
}

static cudnnMathType_t math_of(cudnnConvolutionDescriptor_t conv)
{
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
    if (CS_REAL(cudnnGetConvolutionMathType, conv, &math) != CUDNN_STATUS_SUCCESS)
        math = CUDNN_DEFAULT_MATH;
    return math;
}

#define NOTE(name) (1u << CUDNN_NUMERICAL_NOTE_##name)

/* What the algorithm and the math type do not allow. Forward algorithms are all deterministic. */
static unsigned forbidden_notes(const struct cs_legacy_call *call, const struct cs_problem *problem)
{
    unsigned notes = NOTE(NONDETERMINISTIC);
    if (call->math == CUDNN_FMA_MATH)
        notes |= NOTE(TENSOR_CORE);
    if (call->math != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION)
        notes |= NOTE(DOWN_CONVERT_INPUTS);
    if (problem->compute == CS_F32)
        notes |= NOTE(REDUCED_PRECISION_REDUCTION);
    if (call->algorithm != CUDNN_CONVOLUTION_FWD_ALGO_FFT &&
        call->algorithm != CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING)
        notes |= NOTE(FFT);
    if (call->algorithm != CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD &&
        call->algorithm != CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED)
        notes |= NOTE(WINOGRAD) | NOTE(WINOGRAD_TILE_4x4) | NOTE(WINOGRAD_TILE_6x6) |
                 NOTE(WINOGRAD_TILE_13x13);
    return notes;
}

static struct cs_verdict judge(struct cs *cs, const struct cs_legacy_call *call,
                               const struct cs_problem *problem, int64_t wanted, int64_t limit)
{
    struct cs_graph graph = {.problem = *problem, .handle = call->handle};
    struct cs_maker maker;
    memcpy(graph.uid, operand_uid, sizeof graph.uid);
    cs_maker_init(&maker, &graph);
    struct cs_request request = {.problem = *problem,
                                 .engine = {.index = -1},
                                 .wanted = wanted,
                                 .limit = limit,
                                 .scope = cs_maker_scope(&maker)};
    struct cs_verdict verdict;
    if ((limit > 0 || !cs_flow_small(cs, wanted)) &&
        cs_maker_pick(&maker, forbidden_notes(call, problem)))
        request.engine = maker.engine;
    struct cs_vendor vendor = cs_kernel_vendor(&maker);
    verdict = cs_flow_prepare(cs, &request, &vendor);
    cs_maker_fini(&maker);
    return verdict;
}

static void key_of(const struct cs_legacy_call *call, const struct cs_problem *problem,
                   int64_t limit, struct cs_key *key)
{
    /* A legacy call names its engine by algorithm and math type. */
    struct cs_engine named = {.index = call->algorithm, .knobs = 1};
    named.knob_value[0] = call->math;
    cs_key_make(problem, &named, 0, limit, (int64_t)(intptr_t)call->handle, key);
}

static bool wanted_of(const struct cs_legacy_call *call, int64_t *wanted_p)
{
    size_t bytes;
    if (CS_REAL(cudnnGetConvolutionForwardWorkspaceSize, call->handle, call->x, call->w, call->conv,
                call->y, call->algorithm, &bytes) != CUDNN_STATUS_SUCCESS ||
        bytes > INT64_MAX)
        return false;
    *wanted_p = (int64_t)bytes;
    return true;
}

/* The entry of a described call, made if need be; `wanted` < 0: ask the library. NULL if that or
 * host memory fails. */
static struct entry *entry_of(struct cs *cs, const struct cs_legacy_call *call,
                              const struct cs_problem *problem, int64_t wanted, int64_t limit)
{
    struct cs_key key;
    key_of(call, problem, limit, &key);
    struct entry *entry = find(&key);
    if (entry || (wanted < 0 && !wanted_of(call, &wanted)))
        return entry;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->handle = call->handle;
    entry->key = key;
    entry->wanted = wanted;
    entry->verdict = judge(cs, call, problem, wanted, limit);
    insert(entry);
    return entry;
}

static int64_t told(struct cs *cs, const struct cs_legacy_call *call, int64_t wanted)
{
    struct cs_problem problem;
    if (cs_flow_small(cs, wanted))
        return wanted;
    atomic_store_explicit(&oversized, true, memory_order_release);
    if (cs_describe_legacy(call, NULL, &problem) != CS_REASON_NONE)
        return wanted;
    const struct entry *entry = entry_of(cs, call, &problem, wanted, 0);
    return entry ? entry->verdict.told : wanted;
}

size_t cs_legacy_tell(struct cs *cs, struct cs_legacy_call *call, size_t wanted)
{
    call->math = math_of(call->conv);
    return wanted > INT64_MAX ? wanted : (size_t)told(cs, call, (int64_t)wanted);
}

void cs_legacy_tell_result(struct cs *cs, const struct cs_legacy_call *call,
                           cudnnConvolutionFwdAlgoPerf_t *result)
{
    struct cs_legacy_call chosen = *call;
    chosen.algorithm = result->algo;
    chosen.math = result->mathType;
    if (result->status == CUDNN_STATUS_SUCCESS && result->memory <= INT64_MAX)
        result->memory = (size_t)told(cs, &chosen, (int64_t)result->memory);
}

static int launch(struct cs *cs, const struct cs_legacy_call *call, const struct entry *entry,
                  const struct cs_addresses *addresses)
{
    struct cs_launcher launcher = {.handle = call->handle,
                                   .rewrite = entry->verdict.rewrite,
                                   .uid = operand_uid,
                                   .whole = *addresses};
    struct cs_gpu gpu = cs_launcher_gpu(&launcher);
    return cs_flow_run(cs, &entry->verdict, &gpu, addresses);
}

/* The entry whose tiles fit into what the caller brought, or, without a rewriting, the one that
 * says why not. */
static const struct entry *fitting(struct cs *cs, const struct cs_legacy_call *call,
                                   const struct cs_problem *problem, int64_t brought)
{
    const struct entry *entry = entry_of(cs, call, problem, -1, 0);
    if (!entry || brought >= entry->wanted)
        return entry;
    if (entry->verdict.rewrite && brought >= entry->verdict.told)
        return entry;
    return entry_of(cs, call, problem, entry->wanted, brought > 0 ? brought : 1);
}

/* The caller has the memory for the whole call: running it as it is costs nothing more. */
static bool brought_all(const struct entry *entry, int64_t brought)
{
    return brought >= entry->wanted && entry->wanted > entry->verdict.told;
}

bool cs_legacy_run(struct cs *cs, struct cs_legacy_call *call, const struct cs_addresses *addresses,
                   int64_t brought, int *status_p)
{
    struct cs_problem problem;
    if (!atomic_load_explicit(&oversized, memory_order_acquire)) {
        cs_account_passed(&cs->account, NULL, CS_REASON_SMALL);
        return false;
    }
    call->math = math_of(call->conv);
    enum cs_reason reason = cs_describe_legacy(call, addresses, &problem);
    const struct entry *entry =
        reason == CS_REASON_NONE ? fitting(cs, call, &problem, brought) : NULL;
    if (entry && entry->verdict.rewrite && !brought_all(entry, brought)) {
        *status_p = launch(cs, call, entry, addresses);
        return true;
    }
    if (entry)
        reason = entry->verdict.rewrite ? CS_REASON_BROUGHT : entry->verdict.reason;
    else if (reason == CS_REASON_NONE)
        reason = CS_REASON_VENDOR;
    cs_account_passed(&cs->account, entry ? entry->verdict.site : NULL, reason);
    return false;
}
