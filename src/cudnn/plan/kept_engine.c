/* A table of operation graphs with engines that are currently unused, one in each slot. */
#include "cudnn/plan/execution_plan.h"

#include "base/hash.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLACES = 64, /* the engines of a list, times the tile shapes of a tiling */
    OTHER_WORDS = CS_MAX_TENSORS + 5
};

static _Atomic(struct cs_kept_engine *) kept[PLACES];

/* Writes the words that identify an engine. Returns their number. */
static int words_of(const struct cs_target *target, int64_t handle_number,
                    const struct cs_problem *problem, int64_t index,
                    int64_t word[CS_PROBLEM_WORDS + OTHER_WORDS])
{
    int used = cs_problem_words(problem, word);
    memcpy(word + used, target->uid, (size_t)problem->tensors * sizeof *word);
    used += problem->tensors;
    word[used++] = handle_number;
    word[used++] = index;
    word[used++] = target->settings.sm_count;
    word[used++] = target->settings.shared_memory;
    word[used++] = target->settings.no_clusters;
    return used;
}

static void destroy_engine(struct cs_kept_engine *engine)
{
    if (!engine)
        return;
    cs_descriptor_builder_clear(&engine->builder);
    free(engine);
}

/* Makes an engine that is identified by `word`. NULL if memory is short. An error of cuDNN stays in
 * the builder. */
static struct cs_kept_engine *make_engine(const struct cs_target *target,
                                          const struct cs_problem *problem, int64_t index,
                                          const int64_t *word, int words)
{
    struct cs_kept_engine *made = malloc(sizeof *made + (size_t)words * sizeof *word);
    if (!made)
        return NULL;
    made->builder.status = CUDNN_STATUS_SUCCESS;
    made->builder.made = 0;
    made->words = words;
    made->hash = cs_hash_words(0, word, words);
    memcpy(made->word, word, (size_t)words * sizeof *word);
    cudnnBackendDescriptor_t graph = cs_descriptors_graph(&made->builder, target, problem);
    made->engine = cs_descriptors_engine(&made->builder, target, graph, index);
    return made;
}

struct cs_kept_engine *cs_kept_engine_take(const struct cs_target *target, int64_t handle_number,
                                           const struct cs_problem *problem, int64_t index)
{
    int64_t word[CS_PROBLEM_WORDS + OTHER_WORDS];
    int words = words_of(target, handle_number, problem, index, word);
    if (!target->handle)
        return make_engine(target, problem, index, word, 0);
    uint64_t hash = cs_hash_words(0, word, words);
    struct cs_kept_engine *found = atomic_exchange(&kept[hash % PLACES], NULL);
    if (found && found->hash == hash && found->words == words &&
        memcmp(found->word, word, (size_t)words * sizeof *word) == 0)
        return found;
    destroy_engine(found);
    return make_engine(target, problem, index, word, words);
}

void cs_kept_engine_give(struct cs_kept_engine *engine)
{
    if (engine && engine->words > 0 && engine->builder.status == CUDNN_STATUS_SUCCESS)
        engine = atomic_exchange(&kept[engine->hash % PLACES], engine);
    destroy_engine(engine);
}

void cs_kept_engine_forget(void)
{
    for (int i = 0; i < PLACES; i++)
        destroy_engine(atomic_exchange(&kept[i], NULL));
}
