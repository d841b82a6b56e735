/* Runs pairs of a program without and with the library. */
#include "simdev/simulate/pair.h"

#include "base/checked.h"
#include "cli/common/cli.h"
#include <stdlib.h>

const char *const cs_side_names[CS_SIDES] = {"without", "with"};

/* More than any device has. */
static const int64_t plenty = (int64_t)1 << 44;

/* Makes the runs and reads their files. False after printing the reason. */
static bool make_runs(struct cs_simulation *simulation, struct cs_sim_run **run, size_t runs)
{
    for (size_t i = 0; i < runs; i++)
        run[i]->state = CS_RUN_WAITING;
    bool good = cs_sim_runs_start(simulation, run, runs);
    for (size_t i = 0; good && i < runs; i++) {
        cs_sim_outcome_free(&run[i]->outcome);
        good = cs_sim_outcome_read(run[i]);
    }
    return good;
}

/* True if a program failed because it contains its own CUDA runtime. */
static bool need_redirection(struct cs_sim_run *const *run, size_t runs)
{
    for (size_t i = 0; i < runs; i++)
        if (!cs_sim_outcome_ran(&run[i]->outcome) && *run[i]->outcome.linked_runtime)
            return true;
    return false;
}

/* True if the library of a run had read its options before the program first used the device. Then
 * the options of the run were set too late, and it has no summary. */
static bool came_too_late(struct cs_sim_run *const *run, size_t runs)
{
    for (size_t i = 0; i < runs; i++)
        if (run[i]->with && run[i]->outcome.launches > 0 && !run[i]->outcome.summary)
            return true;
    return false;
}

bool cs_sim_runs_make(struct cs_simulation *simulation, struct cs_sim_run **run, size_t runs)
{
    bool good = make_runs(simulation, run, runs);
    /* The first attempt does not redirect, because the loader's auditor leaves less memory for
     * thread-local variables of other libraries. */
    if (good && !simulation->redirects && need_redirection(run, runs)) {
        simulation->redirects = true;
        cs_sim_runs_stop_forks(simulation); /* a process that has started has no auditor */
        cs_cli_complain("%s: the program contains its own CUDA runtime. It runs again, with the "
                        "calls of that runtime redirected.",
                        simulation->title);
        good = make_runs(simulation, run, runs);
    }
    if (good && simulation->forks && came_too_late(run, runs)) {
        cs_sim_runs_stop_forks(simulation);
        good = make_runs(simulation, run, runs);
    }
    return good;
}

/* Returns a run of a pair with this memory, not yet made. */
static struct cs_sim_run run_of(const struct cs_sim_pair *pair, enum cs_side side, const char *name,
                                int64_t memory, bool history)
{
    return (struct cs_sim_run){.name = name,
                               .device = pair->device,
                               .memory = memory,
                               .context = pair->context,
                               .gpus = pair->gpus,
                               .history = history,
                               .with = side == CS_WITH,
                               .process = pair->run[side].process};
}

static int64_t peak_of(const struct cs_sim_outcome *outcome)
{
    return outcome->allocated >= 0 ? outcome->allocated : outcome->device_peak;
}

struct cs_sim_work cs_sim_pair_work(const struct cs_sim_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++)
        if (!pair->chosen[side] || !cs_sim_outcome_ran(&pair->run[side].outcome))
            return (struct cs_sim_work){.more = 0};
    return cs_sim_work_compare(&pair->run[CS_WITHOUT].outcome, &pair->run[CS_WITH].outcome);
}

bool cs_sim_pair_gains_nothing(const struct cs_sim_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++)
        if (!pair->chosen[side] || !pair->run[side].outcome.used ||
            !cs_sim_outcome_fits(&pair->run[side].outcome))
            return false;
    const int64_t without = peak_of(&pair->run[CS_WITHOUT].outcome),
                  with = peak_of(&pair->run[CS_WITH].outcome);
    const struct cs_sim_work work = cs_sim_pair_work(pair);
    return pair->run[CS_WITH].outcome.calls > 0 && work.more == 0 && work.less == 0 &&
           (with >= without || without - with < without / 100);
}

bool cs_sim_pair_record(struct cs_simulation *simulation, struct cs_sim_pair *pair)
{
    struct cs_sim_run *run = &pair->recorded;
    if (pair->history || !cs_sim_pair_gains_nothing(pair))
        return true;
    *run = run_of(pair, CS_WITH, "recorded", pair->memory, true);
    cs_cli_complain(
        "%s: the peak does not fall. One more run finds the tensors and workspaces that make it.",
        simulation->title);
    return cs_sim_runs_make(simulation, &run, 1);
}

/* Makes both columns show the same process, the one that holds most without the library: reads the
 * result with the library again for it. False after printing the reason. */
static bool choose_process(struct cs_sim_pair *pair)
{
    const struct cs_sim_outcome *without = &pair->run[CS_WITHOUT].outcome;
    struct cs_sim_outcome *with = &pair->run[CS_WITH].outcome;
    if (!pair->chosen[CS_WITHOUT] || !pair->chosen[CS_WITH] ||
        without->processes != with->processes || without->number == with->number)
        return true;
    pair->run[CS_WITH].process = without->number;
    cs_sim_outcome_free(with);
    return cs_sim_outcome_read(&pair->run[CS_WITH]);
}

/* Copies the predicted untiled times from the run with the library, which predicts both, to the run
 * without it. Does nothing if a run failed or was short of memory, or if the runs did other work.
 */
static void take_untiled_time(struct cs_sim_pair *pair)
{
    for (int side = 0; side < CS_SIDES; side++)
        if (!pair->chosen[side] || !cs_sim_outcome_ran(&pair->run[side].outcome) ||
            pair->base[side].name)
            return;
    const struct cs_sim_work work = cs_sim_pair_work(pair);
    if (work.more > 0 || work.less > 0)
        return;
    pair->run[CS_WITHOUT].outcome.predicted_ns = pair->run[CS_WITH].outcome.untiled_ns;
    pair->run[CS_WITHOUT].outcome.predicted_most_ns = pair->run[CS_WITH].outcome.untiled_most_ns;
}

/* Lists the runs of the chosen sides of all pairs. Returns their number. */
static size_t list_runs(struct cs_sim_pair *pair, size_t pairs, struct cs_sim_run **run)
{
    size_t runs = 0;
    for (size_t i = 0; i < CS_SIDES * pairs; i++) {
        struct cs_sim_pair *of = &pair[i / CS_SIDES];
        const enum cs_side side = (enum cs_side)(i % CS_SIDES);
        of->run[side] = run_of(of, side, cs_side_names[side], of->memory, of->history);
        if (of->chosen[side])
            run[runs++] = &of->run[side];
    }
    return runs;
}

/* Lists the runs that failed while the other one of their pair was made at the same time and ran.
 */
static size_t list_disturbed(struct cs_sim_pair *pair, size_t pairs, struct cs_sim_run **run)
{
    size_t runs = 0;
    for (size_t i = 0; i < pairs; i++) {
        struct cs_sim_run *without = &pair[i].run[CS_WITHOUT], *with = &pair[i].run[CS_WITH];
        const bool failed = cs_sim_outcome_disturbed(&without->outcome);
        if (pair[i].chosen[CS_WITHOUT] && pair[i].chosen[CS_WITH] &&
            failed != cs_sim_outcome_disturbed(&with->outcome))
            run[runs++] = failed ? without : with;
    }
    return runs;
}

/* Makes the runs that failed again, one after the other: the program may listen on a fixed port, or
 * write a fixed file. False after printing the reason. */
static bool repeat_disturbed(struct cs_simulation *simulation, struct cs_sim_pair *pair,
                             size_t pairs)
{
    struct cs_sim_run *run[CS_MOST_DEVICES];
    const size_t runs = simulation->jobs > 1 ? list_disturbed(pair, pairs, run) : 0;
    const int jobs = simulation->jobs;
    if (runs == 0)
        return true;
    cs_cli_complain(
        "%s: the program failed %s convshim, but not %s. The two runs were parallel, so "
        "it runs again, alone.",
        simulation->title, cs_side_names[run[0]->with], cs_side_names[!run[0]->with]);
    simulation->jobs = 1;
    const bool good = cs_sim_runs_make(simulation, run, runs);
    simulation->jobs = jobs;
    return good;
}

/* Lists the runs to repeat with memory to spare, because they were short of it. */
static size_t list_repeated(struct cs_sim_pair *pair, size_t pairs, struct cs_sim_run **run)
{
    static const char *const names[CS_SIDES] = {"without-repeated", "with-repeated"};
    size_t runs = 0;
    for (size_t i = 0; i < CS_SIDES * pairs; i++) {
        struct cs_sim_pair *of = &pair[i / CS_SIDES];
        const enum cs_side side = (enum cs_side)(i % CS_SIDES);
        const struct cs_sim_outcome *outcome = &of->run[side].outcome;
        if (!of->chosen[side] || (outcome->refused == 0 && !cs_sim_outcome_out_of_memory(outcome)))
            continue;
        of->base[side] = run_of(of, side, names[side], plenty, false);
        run[runs++] = &of->base[side];
    }
    return runs;
}

bool cs_sim_pairs_run(struct cs_simulation *simulation, struct cs_sim_pair *pair, size_t pairs)
{
    struct cs_sim_run *run[CS_SIDES * CS_MOST_DEVICES];
    bool good = cs_sim_runs_make(simulation, run, list_runs(pair, pairs, run)) &&
                repeat_disturbed(simulation, pair, pairs);
    const size_t repeated = good ? list_repeated(pair, pairs, run) : 0;
    if (repeated > 0)
        cs_cli_complain("%s: memory is short. %s with enough memory for comparison.",
                        simulation->title, repeated == 1 ? "One more run" : "More runs");
    good = good && cs_sim_runs_make(simulation, run, repeated);
    for (size_t i = 0; good && i < pairs; i++)
        good = choose_process(&pair[i]);
    for (size_t i = 0; good && i < pairs; i++)
        take_untiled_time(&pair[i]);
    return good;
}

/* Reads a run that has ended again. False if it has not, or did not use the device. */
static bool take_ended(struct cs_sim_run *run)
{
    if (run->state != CS_RUN_ENDED)
        return false;
    cs_sim_outcome_free(&run->outcome);
    return cs_sim_outcome_read(run) && run->outcome.used;
}

bool cs_sim_pairs_take_ended(struct cs_sim_pair *pair, size_t pairs)
{
    bool any = false;
    for (size_t i = 0; i < pairs; i++) {
        for (int side = 0; side < CS_SIDES; side++) {
            struct cs_sim_run *base = &pair[i].base[side];
            pair[i].chosen[side] = pair[i].chosen[side] && take_ended(&pair[i].run[side]);
            any = any || pair[i].chosen[side];
            if (!base->outcome.used) /* it was not read */
                base->name = NULL;
        }
        if (!pair[i].recorded.outcome.used)
            pair[i].recorded.name = NULL;
        if (!choose_process(&pair[i]))
            return false;
        take_untiled_time(&pair[i]);
    }
    return any;
}

void cs_sim_pair_free(struct cs_sim_pair *pair)
{
    cs_sim_outcome_free(&pair->recorded.outcome);
    for (int side = 0; side < CS_SIDES; side++) {
        cs_sim_outcome_free(&pair->run[side].outcome);
        cs_sim_outcome_free(&pair->base[side].outcome);
    }
}

const struct cs_sim_outcome *cs_sim_pair_base(const struct cs_sim_pair *pair, enum cs_side side)
{
    return pair->base[side].name ? &pair->base[side].outcome : &pair->run[side].outcome;
}

/* --- the smallest capacity --- */

enum {
    RUNS,    /* does the program run */
    ENGINES, /* and do all convolutions keep their engines */
    QUESTIONS
};

/* The search for the smallest capacities of a side: a bisection for each question. */
struct search {
    struct cs_sim_pair *pair;
    enum cs_side side;
    struct bisection {
        int64_t yes, no;       /* smallest capacity with yes, largest with no */
        struct cs_sim_run run; /* of this round; memory of 0: none */
    } question[QUESTIONS];
};

static bool is_open(const struct bisection *question)
{
    const int64_t least = (int64_t)4 << 20;
    return question->yes - question->no > cs_max(question->yes / 100, least);
}

/* Narrows both bisections of a side by the result of a run. */
static void learn_from(struct search *search, const struct cs_sim_run *run)
{
    const struct cs_sim_outcome *base = cs_sim_pair_base(search->pair, search->side);
    const bool answer[QUESTIONS] = {[RUNS] = cs_sim_outcome_ran(&run->outcome),
                                    [ENGINES] = cs_sim_outcome_same_engines(&run->outcome, base)};
    for (int i = 0; i < QUESTIONS; i++) {
        struct bisection *question = &search->question[i];
        if (!answer[i])
            question->no = cs_max(question->no, run->memory);
        else if (run->memory < question->yes)
            question->yes = run->memory;
    }
}

/* Runs the program at the middle of each open bisection. *any_p: a bisection was open. False after
 * printing the reason. */
static bool ask_round(struct cs_simulation *simulation, struct search *search, size_t searches,
                      bool *any_p)
{
    struct cs_sim_run *run[QUESTIONS * CS_SIDES * CS_MOST_DEVICES] = {NULL};
    size_t runs = 0;
    for (size_t i = 0; i < QUESTIONS * searches; i++) {
        const struct search *of = &search[i / QUESTIONS];
        struct bisection *question = &search[i / QUESTIONS].question[i % QUESTIONS];
        const int64_t middle = question->no + (question->yes - question->no) / 2;
        question->run.memory = 0;
        if (!is_open(question))
            continue;
        cs_sim_outcome_free(&question->run.outcome);
        question->run = run_of(of->pair, of->side, cs_side_names[of->side], middle, false);
        run[runs++] = &question->run;
    }
    const bool good = cs_sim_runs_make(simulation, run, runs);
    for (size_t i = 0; good && i < QUESTIONS * searches; i++) {
        const struct bisection *question = &search[i / QUESTIONS].question[i % QUESTIONS];
        if (question->run.memory > 0)
            learn_from(&search[i / QUESTIONS], &question->run);
    }
    *any_p = runs > 0;
    return good;
}

bool cs_sim_pairs_smallest(struct cs_simulation *simulation, struct cs_sim_pair *pair, size_t pairs)
{
    struct search *search = calloc(CS_SIDES * pairs, sizeof *search);
    size_t searches = 0;
    for (size_t i = 0; search && i < CS_SIDES * pairs; i++) {
        struct cs_sim_pair *of = &pair[i / CS_SIDES];
        const enum cs_side side = (enum cs_side)(i % CS_SIDES);
        const struct cs_sim_outcome *base = cs_sim_pair_base(of, side);
        if (of->chosen[side] && base->used && cs_sim_outcome_ran(base))
            search[searches++] =
                (struct search){of, side, {{.yes = base->needed}, {.yes = base->needed}}};
    }
    bool any = true, good = search != NULL;
    if (!good)
        cs_cli_complain("out of memory");
    while (good && any)
        good = ask_round(simulation, search, searches, &any);
    for (size_t i = 0; i < searches; i++) {
        struct bisection *question = search[i].question;
        struct cs_sim_outcome *outcome = &search[i].pair->run[search[i].side].outcome;
        outcome->smallest = good ? question[RUNS].yes : 0;
        outcome->smallest_same_engines = good ? question[ENGINES].yes : 0;
        cs_sim_outcome_free(&question[RUNS].run.outcome);
        cs_sim_outcome_free(&question[ENGINES].run.outcome);
    }
    free(search);
    return good;
}
