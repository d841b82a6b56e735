/* The cost of a decision that was made before: its key and the look into the memory of decisions.
 * Prints "repeat NANOSECONDS". */
#include "bench.h"
#include "decide/memo.h"
#include "random_problem.h"

#include <stdio.h>

enum {
    PROBLEMS = 128, /* as many different convolutions as a large model has */
    KNOBS = 8       /* as the usual engines have */
};

static struct cs_problem problem[PROBLEMS];
static struct cs_engine engine;
static struct cs_memo *memo;
static int turn;
static int64_t missed;

static void repeat(void)
{
    struct cs_key key;
    struct cs_decision decision;
    cs_memo_key_make(&problem[turn], &engine, 100 << 20, 0, 1, &key);
    if (!cs_memo_get(memo, &key, &decision) || decision.queries != turn)
        missed++;
    turn = (turn + 1) % PROBLEMS;
}

int main(void)
{
    struct rng rng = {1};
    memo = calloc(1, sizeof *memo);
    if (!memo)
        return 1;
    cs_memo_init(memo);
    engine = (struct cs_engine){.index = 40, .knobs = KNOBS};
    for (int i = 0; i < KNOBS; i++)
        engine.knob_type[i] = engine.knob_value[i] = i;
    for (int i = 0; i < PROBLEMS; i++) {
        struct cs_key key;
        problem[i] = random_large(&rng);
        cs_memo_key_make(&problem[i], &engine, 100 << 20, 0, 1, &key);
        cs_memo_put(memo, &key, &(struct cs_decision){.queries = i});
    }
    double ns = bench_median(repeat);
    if (missed > 0) {
        fprintf(stderr, "repeat: %lld decisions were not remembered\n", (long long)missed);
        return 1;
    }
    printf("repeat %.2f\n", ns);
    free(memo);
    return 0;
}
