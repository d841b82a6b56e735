/* Runs pairs of a program without and with the library. */
#include "cli/simulate/simulation.h"

#include "cli/common/cli.h"
#include <stdlib.h>

const char *const cs_side_names[CS_SIDES] = {"without", "with"};

/* More than any device has. */
static const int64_t plenty = (int64_t)1 << 44;

/* A run of those that are to be made, and where its result belongs. */
struct job {
    struct cs_simulated_run *run;
    struct cs_simulated_result *result;
};

/* Runs all of them, and frees earlier results. */
static bool run_jobs(struct cs_simulation *simulation, const struct job *job, size_t jobs)
{
    struct cs_simulated_run *list = calloc(jobs + 1, sizeof *list);
    for (size_t i = 0; list && i < jobs; i++)
        list[i] = *job[i].run;
    bool good = list && cs_simulation_run(simulation, list, jobs);
    for (size_t i = 0; good && i < jobs; i++) {
        *job[i].run = list[i];
        cs_simulated_result_free(job[i].result);
        good = cs_simulated_result_read(job[i].run, job[i].result);
    }
    if (!list)
        cs_cli_complain("out of memory");
    free(list);
    return good;
}

/* The library had read its options before the program first used the device: the options of the run
 * were set too late. */
static bool came_too_late(const struct job *job, size_t jobs)
{
    for (size_t i = 0; i < jobs; i++)
        if (job[i].run->with && job[i].result->launches > 0 && !job[i].result->summary)
            return true;
    return false;
}

static bool run_and_check(struct cs_simulation *simulation, const struct job *job, size_t jobs)
{
    if (!run_jobs(simulation, job, jobs))
        return false;
    if (!simulation->many || !came_too_late(job, jobs))
        return true;
    if (!simulation->told_single)
        cs_cli_complain("%s: every run starts the program from the beginning, which takes longer, "
                        "because it uses cuDNN before the GPU",
                        simulation->title);
    simulation->many = simulation->shared = false;
    for (size_t i = 0; i < jobs; i++)
        job[i].run->state = CS_RUN_WAITING;
    return run_jobs(simulation, job, jobs);
}

bool cs_simulated_runs(struct cs_simulation *simulation, struct cs_simulated_run *run,
                       struct cs_simulated_result *result, size_t runs)
{
    struct job *job = calloc(runs + 1, sizeof *job);
    for (size_t i = 0; job && i < runs; i++)
        job[i] = (struct job){&run[i], &result[i]};
    bool good = job && run_and_check(simulation, job, runs);
    free(job);
    return good;
}

static void prepare(struct cs_simulated_pair *pair, enum cs_side side)
{
    pair->run[side] = (struct cs_simulated_run){.name = cs_side_names[side],
                                                .profile = pair->device->path,
                                                .capacity = pair->capacity,
                                                .context = pair->context,
                                                .gpus = pair->gpus,
                                                .history = pair->history,
                                                .with = side == CS_WITH};
}

static void prepare_base(struct cs_simulated_pair *pair, enum cs_side side)
{
    pair->has_base[side] = pair->chosen[side] && pair->result[side].refused > 0;
    pair->base_run[side] = pair->run[side];
    pair->base_run[side].name = side == CS_WITH ? "with-repeated" : "without-repeated";
    pair->base_run[side].capacity = plenty;
    pair->base_run[side].history = false;
    pair->base_run[side].state = CS_RUN_WAITING;
}

static bool record(struct cs_simulation *simulation, struct cs_simulated_pair *pair)
{
    const struct job job = {&pair->recorded_run, &pair->recorded};
    pair->has_recorded = pair->explains && !pair->history && cs_simulated_pair_compares(pair) &&
                         !cs_simulated_pair_gains(pair);
    pair->recorded_run = pair->run[CS_WITH];
    pair->recorded_run.name = "recorded";
    pair->recorded_run.history = true;
    pair->recorded_run.state = CS_RUN_WAITING;
    if (pair->has_recorded)
        cs_cli_complain("%s: the peak does not fall. One more run to find out what holds it.",
                        simulation->title);
    return !pair->has_recorded || run_and_check(simulation, &job, 1);
}

/* Of several processes, both columns show the one that holds most without the library. */
static bool choose_process(struct cs_simulated_pair *pair)
{
    const struct cs_simulated_result *without = &pair->result[CS_WITHOUT];
    struct cs_simulated_result *with = &pair->result[CS_WITH];
    if (!pair->chosen[CS_WITHOUT] || !pair->chosen[CS_WITH] ||
        without->processes != with->processes || without->number == with->number)
        return true;
    pair->run[CS_WITH].process = without->number;
    cs_simulated_result_free(with);
    return cs_simulated_result_read(&pair->run[CS_WITH], with);
}

static bool ran_as_with_spare_memory(const struct cs_simulated_pair *pair, enum cs_side side)
{
    const struct cs_other_plans others = cs_simulated_pair_others(pair, side);
    return pair->chosen[side] && cs_simulated_result_ran(&pair->result[side]) &&
           others.engines == 0 && others.work == 0;
}

/* The run with the library also knows the predicted time of its calls without tiles. If one side
 * ran on other engines, that is not the time of the run without the library. */
static void take_untiled_time(struct cs_simulated_pair *pair)
{
    struct cs_simulated_result *without = &pair->result[CS_WITHOUT];
    if (!ran_as_with_spare_memory(pair, CS_WITHOUT) || !ran_as_with_spare_memory(pair, CS_WITH))
        return;
    without->predicted_ns = pair->result[CS_WITH].untiled_ns;
    without->predicted_most_ns = pair->result[CS_WITH].untiled_most_ns;
}

bool cs_simulated_pairs_run(struct cs_simulation *simulation, struct cs_simulated_pair *pair,
                            size_t pairs)
{
    struct job *job = calloc(CS_SIDES * pairs, sizeof *job);
    size_t jobs = 0;
    for (size_t i = 0; job && i < CS_SIDES * pairs; i++) {
        struct cs_simulated_pair *p = &pair[i / CS_SIDES];
        enum cs_side side = (enum cs_side)(i % CS_SIDES);
        prepare(p, side);
        if (p->chosen[side])
            job[jobs++] = (struct job){&p->run[side], &p->result[side]};
    }
    bool good = job && run_and_check(simulation, job, jobs);
    jobs = 0;
    for (size_t i = 0; good && i < CS_SIDES * pairs; i++) {
        struct cs_simulated_pair *p = &pair[i / CS_SIDES];
        enum cs_side side = (enum cs_side)(i % CS_SIDES);
        prepare_base(p, side);
        if (p->has_base[side])
            job[jobs++] = (struct job){&p->base_run[side], &p->base[side]};
    }
    if (jobs > 0)
        cs_cli_complain("%s: memory is short. %s with enough memory for comparison.",
                        simulation->title, jobs == 1 ? "One more run" : "More runs");
    good = good && run_and_check(simulation, job, jobs);
    for (size_t i = 0; good && i < pairs; i++)
        good = choose_process(&pair[i]);
    for (size_t i = 0; good && i < pairs; i++)
        take_untiled_time(&pair[i]);
    free(job);
    return good && (pairs > 1 || record(simulation, pair));
}

void cs_simulated_pair_free(struct cs_simulated_pair *pair)
{
    cs_simulated_result_free(&pair->recorded);
    for (int side = 0; side < CS_SIDES; side++) {
        cs_simulated_result_free(&pair->result[side]);
        cs_simulated_result_free(&pair->base[side]);
    }
}

const struct cs_simulated_result *cs_simulated_pair_base(const struct cs_simulated_pair *pair,
                                                         enum cs_side side)
{
    return pair->has_base[side] ? &pair->base[side] : &pair->result[side];
}

struct cs_other_plans cs_simulated_pair_others(const struct cs_simulated_pair *pair,
                                               enum cs_side side)
{
    const struct cs_other_plans none = {0, 0};
    return pair->has_base[side]
               ? cs_simulated_result_other_plans(&pair->result[side], &pair->base[side])
               : none;
}

/* --- the smallest capacity --- */

/* A question: on which capacities, between one on which it is known to be so and one on which it is
 * not? */
struct question {
    struct cs_simulated_pair *pair;
    enum cs_side side;
    bool engines; /* do all convolutions keep their engines; else: does the program run */
    int64_t yes, no;
    int64_t tried;
    struct cs_simulated_run run;
    struct cs_simulated_result result;
};

static bool is_open(const struct question *q)
{
    const int64_t least = (int64_t)4 << 20, step = q->yes / 100 > least ? q->yes / 100 : least;
    return q->yes - q->no > step;
}

static bool answer_of(const struct question *q, const struct cs_simulated_result *result)
{
    if (!cs_simulated_result_ran(result))
        return false;
    return !q->engines ||
           cs_simulated_result_other_plans(result, cs_simulated_pair_base(q->pair, q->side))
                   .engines == 0;
}

/* A run answers both questions of its side. */
static void learn(struct question *question, size_t questions, const struct question *from)
{
    for (size_t i = 0; i < questions; i++) {
        struct question *q = &question[i];
        if (q->pair != from->pair || q->side != from->side)
            continue;
        bool yes = answer_of(q, &from->result);
        if (yes && from->tried < q->yes)
            q->yes = from->tried;
        if (!yes && from->tried > q->no)
            q->no = from->tried;
    }
}

static bool ask_round(struct cs_simulation *simulation, struct question *question, size_t questions,
                      bool *any)
{
    struct job *job = calloc(questions + 1, sizeof *job);
    size_t jobs = 0;
    for (size_t i = 0; job && i < questions; i++) {
        struct question *q = &question[i];
        q->tried = 0;
        if (!is_open(q))
            continue;
        q->tried = q->no + (q->yes - q->no) / 2;
        q->run = q->pair->run[q->side];
        q->run.state = CS_RUN_WAITING;
        q->run.capacity = q->tried;
        q->run.history = false;
        job[jobs++] = (struct job){&q->run, &q->result};
    }
    bool good = job && run_jobs(simulation, job, jobs);
    for (size_t i = 0; good && i < questions; i++)
        if (question[i].tried > 0)
            learn(question, questions, &question[i]);
    *any = jobs > 0;
    free(job);
    return good;
}

static void put_down(const struct question *question, size_t questions)
{
    for (size_t i = 0; i < questions; i++) {
        struct cs_smallest *smallest = &question[i].pair->smallest[question[i].side];
        *(question[i].engines ? &smallest->engines : &smallest->runs) = question[i].yes;
    }
}

bool cs_simulated_pairs_smallest(struct cs_simulation *simulation, struct cs_simulated_pair *pair,
                                 size_t pairs)
{
    struct question *question = calloc(2 * CS_SIDES * pairs, sizeof *question);
    size_t questions = 0;
    for (size_t i = 0; question && i < 2 * CS_SIDES * pairs; i++) {
        struct cs_simulated_pair *p = &pair[i / (2 * CS_SIDES)];
        enum cs_side side = (enum cs_side)(i % CS_SIDES);
        const struct cs_simulated_result *base = cs_simulated_pair_base(p, side);
        if (p->chosen[side] && base->used && cs_simulated_result_ran(base))
            question[questions++] = (struct question){.pair = p,
                                                      .side = side,
                                                      .engines = i % (2 * CS_SIDES) >= CS_SIDES,
                                                      .yes = base->needed};
    }
    bool any = true, good = question != NULL;
    while (good && any)
        good = ask_round(simulation, question, questions, &any);
    if (good)
        put_down(question, questions);
    for (size_t i = 0; i < questions; i++)
        cs_simulated_result_free(&question[i].result);
    free(question);
    return good;
}
