/* --vary: runs the program with each value, or searches a range for the largest that fits. Prints a
 * row for each value, the growth and the largest values. */
#include "simdev/simulate/simulate.h"

#include "base/checked.h"
#include "cli/common/cli.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "simdev/simulate/temporary_folder.h"
#include <cjson/cJSON.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads "V1,V2,...". Returns NULL, or the reason why it is not allowed. */
static const char *parse_list(const char *text, struct cs_vary *to)
{
    while (*text) {
        const size_t length = strcspn(text, ",");
        if (to->values == CS_VARY_VALUES || length == 0 || length >= CS_VARY_TEXT)
            return length == 0 ? "a value is empty. Write V1,V2,... without blanks"
                               : "at most 64 values of 1 to 63 characters are allowed";
        snprintf(to->value[to->values++], CS_VARY_TEXT, "%.*s", (int)length, text);
        text += length + (text[length] == ',');
    }
    return to->values > 0 ? NULL : "values are missing";
}

/* Reads "LO..HI" or "LO..HI:STEP". Returns NULL, or the reason why it is not allowed. */
static const char *parse_range(const char *text, struct cs_vary *to)
{
    int end = 0, step = 0;
    const int numbers = sscanf(text, "%18" SCNd64 "..%18" SCNd64 "%n:%18" SCNd64 "%n", &to->low,
                               &to->high, &end, &to->step, &step);
    if (numbers == 2)
        to->step = 1;
    if (strspn(text, "0123456789.:") < strlen(text) || numbers < 2 ||
        text[numbers == 3 ? step : end] || to->low >= to->high)
        return "a range is LO..HI or LO..HI:STEP, in whole numbers";
    if (to->step < 1 || to->step > to->high - to->low)
        return "the step of a range is at least 1 and at most its length";
    to->high -= (to->high - to->low) % to->step;
    return NULL;
}

const char *cs_vary_parse(const char *text, struct cs_vary *to)
{
    const size_t length = strcspn(text, "=");
    const char *values = text + length + 1;
    *to = (struct cs_vary){.values = 0};
    if (text[length] != '=' || length == 0 || length >= sizeof to->name)
        return "NAME=V1,V2,... or NAME=LO..HI:STEP is expected";
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return "a name consists of letters, digits and _";
    snprintf(to->name, sizeof to->name, "%.*s", (int)length, text);
    if (values[strcspn(values, " \t")])
        return "a value has a blank. Write V1,V2,... without blanks";
    if (isdigit((unsigned char)*values) && strspn(values, "0123456789-:~") == strlen(values) &&
        strpbrk(values, "-:~"))
        return "a range is LO..HI or LO..HI:STEP, with two dots";
    if (!strstr(values, ".."))
        return parse_list(values, to);
    return parse_range(values, to);
}

/* --- the command --- */

/* A copy of a word with `name` replaced. NULL: memory is short. */
static char *replace_name(const char *word, const char *name, const char *value)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *found;
    if (!out)
        return NULL;
    for (; (found = strstr(word, name)); word = found + strlen(name))
        fprintf(out, "%.*s%s", (int)(found - word), word, value);
    fputs(word, out);
    return fclose(out) == 0 ? text : NULL;
}

void cs_vary_free_command(char **command)
{
    for (size_t i = 0; command && command[i]; i++)
        free(command[i]);
    free(command);
}

char **cs_vary_command(char *const *command, const char *name, const char *value)
{
    char braced[CS_VARY_NAME + 2];
    size_t words = 0;
    snprintf(braced, sizeof braced, "{%s}", name);
    while (command[words])
        words++;
    char **copy = calloc(words + 1, sizeof *copy);
    for (size_t i = 0; copy && i < words; i++) {
        copy[i] = replace_name(command[i], braced, value);
        if (!copy[i]) {
            cs_vary_free_command(copy);
            copy = NULL;
        }
    }
    if (!copy)
        cs_cli_complain("out of memory");
    return copy;
}

/* --- growth --- */

/* The value of an answer; NAN: it is no number. */
static double value_of(const cJSON *answer)
{
    const char *name = cs_json_text(answer, "name");
    char *end;
    const double value = name ? strtod(name, &end) : NAN;
    return !name || *end || end == name ? NAN : value;
}

/* Returns the allocated peak, else the device peak; -1: not known. */
static int64_t peak_of(const cJSON *answer, enum cs_side side)
{
    const int64_t allocated = cs_sim_answer_number(answer, side, "allocated_peak");
    return allocated >= 0 ? allocated : cs_sim_answer_number(answer, side, "device_peak");
}

/* A line through two answers. */
struct slope {
    double each;     /* bytes for each unit of the value, or of its square */
    double distance; /* bytes from the line to the farthest answer */
};

/* Returns the line from the answer `first` to `last` over the value, or over its square. */
static struct slope slope_of(const cJSON *answers, const cJSON *first, const cJSON *last,
                             enum cs_side side, bool square)
{
    const double power = square ? 2 : 1, from = pow(value_of(first), power),
                 bytes = (double)peak_of(first, side);
    struct slope slope = {
        ((double)peak_of(last, side) - bytes) / (pow(value_of(last), power) - from), 0};
    const cJSON *answer;
    cJSON_ArrayForEach(answer, answers)
    {
        const double line = bytes + slope.each * (pow(value_of(answer), power) - from);
        if (!isnan(line) && peak_of(answer, side) >= 0)
            slope.distance = fmax(slope.distance, fabs((double)peak_of(answer, side) - line));
    }
    return slope;
}

void cs_vary_add_growth(const struct cJSON *answers, enum cs_side side, struct cJSON *object)
{
    const cJSON *first = NULL, *last = NULL, *answer;
    cJSON_ArrayForEach(answer, answers)
    {
        const double value = value_of(answer);
        if (isnan(value) || peak_of(answer, side) < 0)
            continue;
        first = !first || value < value_of(first) ? answer : first;
        last = !last || value > value_of(last) ? answer : last;
    }
    if (!first || value_of(first) == value_of(last))
        return;
    const struct slope line = slope_of(answers, first, last, side, false),
                       square = slope_of(answers, first, last, side, true);
    cJSON_AddNumberToObject(object, "bytes_for_each", line.each);
    cJSON_AddNumberToObject(object, "bytes_for_each_square", square.each);
    cJSON_AddBoolToObject(object, "grows_with_square", square.distance < line.distance);
}

/* --- runs --- */

/* The state of --vary: the program, the values and the answers so far. */
struct search {
    struct cs_simulation *simulation;
    const struct cs_sim_pair *pair;
    const struct cs_vary *vary;
    char **command;   /* with {NAME} in it */
    double tolerance; /* of a range, in percent */
    cJSON *answers;
    cJSON *answer; /* the JSON without its rows: for each side the growth and the largest value */
    int status;
};

/* Adds the answer of a pair, and returns it. */
static const cJSON *add_result(struct search *search, const struct cs_sim_pair *pair,
                               const char *value)
{
    cJSON *answer = cs_sim_answer(search->simulation, pair, true);
    cJSON_AddStringToObject(answer, "name", value);
    cs_json_add(search->answers, NULL, answer);
    for (int side = 0; side < CS_SIDES; side++) {
        const cJSON *run = cs_json_at(answer, cs_side_names[side]);
        if (!cJSON_IsNull(cs_json_at(run, "fits")))
            continue;
        cs_cli_complain("simulate: %s=%s %s: %s", search->vary->name, value, cs_side_names[side],
                        cs_json_text(run, "fits_why"));
        cs_sim_pair_show_output(pair);
        break;
    }
    return answer;
}

/* Runs the program with a value. It is started once: the run with the library is forked from the
 * same process. Returns the answer, or NULL after a line if the program could not be run. */
static const cJSON *run_value(struct search *search, const char *value)
{
    static struct cs_sim_pair pair; /* too large for the stack */
    struct cs_simulation *simulation = search->simulation;
    char title[CS_VARY_NAME + CS_VARY_TEXT + 16];
    char **command = cs_vary_command(search->command, search->vary->name, value);
    if (!command)
        return NULL;
    snprintf(title, sizeof title, "simulate: %s=%s", search->vary->name, value);
    simulation->title = title;
    simulation->program.command = command;
    pair = *search->pair;
    const bool ran = cs_sim_pairs_run(simulation, &pair, 1);
    const cJSON *answer = ran ? add_result(search, &pair, value) : NULL;
    cs_sim_pair_free(&pair);
    simulation->title = "simulate";
    simulation->program.command = search->command;
    cs_fork_server_close(&simulation->server);
    cs_vary_free_command(command);
    return answer;
}

/* Runs the program with each value of the list, and sets the status. */
static void run_list(struct search *search)
{
    for (size_t i = 0; i < search->vary->values; i++) {
        const cJSON *answer = run_value(search, search->vary->value[i]),
                    *fits = cs_json_at(answer, "fits");
        if (!answer || cJSON_IsNull(fits))
            search->status = CS_CLI_NONE;
        else if (search->status == CS_CLI_OK && !cJSON_IsTrue(fits))
            search->status = CS_CLI_NO;
        if (!answer)
            return;
    }
}

/* --- the largest value that fits --- */

/* The state of the search of a range on one side. */
struct range {
    const struct cs_vary *vary;
    double tolerance;
    int64_t memory;
    cs_vary_try_fn *try;
    void *ctx;
    struct cs_vary_trial trial[CS_VARY_TRIALS];
    size_t trials;
};

/* Returns the trial of a value, which is made unless it was tried. */
static const struct cs_vary_trial *try_value(struct range *range, int64_t value)
{
    size_t i = 0;
    while (i < range->trials && range->trial[i].value != value)
        i++;
    if (i == range->trials) {
        range->trial[i] = (struct cs_vary_trial){.value = value};
        range->try(range->ctx, &range->trial[i]);
        range->trials++;
    }
    return &range->trial[i];
}

/* True if a value with that outcome counts: all that run, or only those that fit clearly. */
static bool is_good(const struct cs_vary_trial *trial, bool clearly)
{
    return trial->fit == CS_SIM_FIT_YES || trial->fit == CS_SIM_FIT_ADAPTS ||
           (!clearly && trial->fit == CS_SIM_FIT_MAY_FAIL);
}

/* Returns how many steps two neighbours in the answer may be apart. */
static int64_t tolerated_steps(const struct range *range, int64_t value)
{
    const double steps = (double)value * range->tolerance / 100 / (double)range->vary->step;
    return cs_max(1, (int64_t)steps);
}

/* Returns the value to try between `good` and `bad`: the middle if `halve`, else where the line
 * between them reaches `memory`, but not next to one of them. */
static int64_t next_value(const struct range *range, const struct cs_vary_trial *good,
                          const struct cs_vary_trial *bad, int64_t memory, bool halve)
{
    const int64_t step = range->vary->step, steps = (bad->value - good->value) / step,
                  least = tolerated_steps(range, good->value);
    const double rise = (double)(bad->needed - good->needed),
                 part = (double)(memory - good->needed) / rise;
    int64_t at = steps / 2;
    if (!halve && good->needed >= 0 && rise > 0 && part >= 0 && part <= 1)
        at = cs_max(least, cs_min((int64_t)(part * (double)steps), steps - least));
    return good->value + step * cs_max(1, cs_min(at, steps - 1));
}

/* Finds the largest good value. *largest_p: -1: not even the lowest. Every second trial halves the
 * rest, because the memory may not grow in a line. Returns the value that has no answer, with
 * which the search ends; -1: none. */
static int64_t find_largest(struct range *range, bool clearly, int64_t *largest_p)
{
    const int64_t memory = clearly ? range->memory / 100 * CS_SIM_SURE_PERCENT : range->memory;
    const struct cs_vary_trial *good = try_value(range, range->vary->low), *bad;
    *largest_p = -1;
    if (good->fit == CS_SIM_FIT_NONE)
        return good->value;
    if (!is_good(good, clearly))
        return -1;
    *largest_p = good->value;
    bad = try_value(range, range->vary->high);
    for (bool halve = false; bad->fit != CS_SIM_FIT_NONE; halve = !halve) {
        for (size_t i = 0; i < range->trials; i++) {
            const struct cs_vary_trial *trial = &range->trial[i];
            if (is_good(trial, clearly) && trial->value > good->value)
                good = trial;
            if (!is_good(trial, clearly) && trial->value < bad->value && trial->value > good->value)
                bad = trial;
        }
        *largest_p = good->value;
        if (bad->value - good->value <= range->vary->step * tolerated_steps(range, good->value) ||
            range->trials == CS_VARY_TRIALS)
            return -1;
        bad = try_value(range, next_value(range, good, bad, memory, halve));
        if (is_good(bad, clearly))
            bad = try_value(range, range->vary->high);
    }
    return bad->value;
}

struct cs_vary_largest cs_vary_search(const struct cs_vary *vary, double tolerance, int64_t memory,
                                      cs_vary_try_fn *try, void *ctx)
{
    struct range range = {
        .vary = vary, .tolerance = tolerance, .memory = memory, .try = try, .ctx = ctx};
    struct cs_vary_largest largest;
    largest.failure = find_largest(&range, false, &largest.runs);
    largest.fits = -1;
    if (largest.failure < 0)
        largest.failure = find_largest(&range, true, &largest.fits);
    return largest;
}

/* The search of one side. */
struct side_search {
    struct search *search;
    enum cs_side side;
};

/* Runs the program with the value, unless an answer has it (cs_vary_try_fn). */
static void run_trial(void *ctx, struct cs_vary_trial *trial)
{
    const struct side_search *of = ctx;
    const char *const words[] = {[CS_SIM_FIT_YES] = "yes",
                                 [CS_SIM_FIT_ADAPTS] = "adapts",
                                 [CS_SIM_FIT_MAY_FAIL] = "may fail",
                                 [CS_SIM_FIT_NO] = "no"};
    char name[CS_VARY_TEXT];
    const cJSON *answer;
    snprintf(name, sizeof name, "%" PRId64, trial->value);
    cJSON_ArrayForEach(answer, of->search->answers)
    {
        if (strcmp(cs_json_text(answer, "name"), name) == 0)
            break;
    }
    if (!answer)
        answer = run_value(of->search, name);
    const cJSON *side = cs_json_at(answer, cs_side_names[of->side]);
    const char *word = cs_json_text(side, "answer");
    int fit = CS_SIM_FIT_YES;
    while (fit < CS_SIM_FIT_NONE && !(word && strcmp(word, words[fit]) == 0))
        fit++;
    trial->fit = (enum cs_sim_fit)fit;
    trial->needed = cs_json_whole_at(side, "needed", -1);
}

/* Adds the largest values of a side to the answer. Returns the status of the side. */
static int add_largest(struct search *search, enum cs_side side)
{
    cJSON *answer = cJSON_GetObjectItem(search->answer, cs_side_names[side]);
    const struct cs_vary_largest largest =
        cs_vary_search(search->vary, search->tolerance, search->pair->memory, run_trial,
                       &(struct side_search){search, side});
    if (largest.fits >= 0)
        cJSON_AddNumberToObject(answer, "largest", (double)largest.fits);
    if (largest.runs >= 0)
        cJSON_AddNumberToObject(answer, "largest_may_fail", (double)largest.runs);
    if (largest.failure >= 0)
        cJSON_AddNumberToObject(answer, "no_answer", (double)largest.failure);
    return largest.failure >= 0 ? CS_CLI_NONE : largest.runs >= 0 ? CS_CLI_OK : CS_CLI_NO;
}

/* Searches the range on each chosen side. The status is that of the judged side. */
static void search_range(struct search *search)
{
    const enum cs_side judged = cs_sim_pair_judged(search->pair);
    for (int side = 0; side < CS_SIDES && !cs_interrupted(); side++) {
        if (!search->pair->chosen[side])
            continue;
        const int status = add_largest(search, (enum cs_side)side);
        if (side == (int)judged)
            search->status = status;
    }
}

/* --- output --- */

/* Prints how the peak of a side grows: by the value or by its square, whichever the answers follow
 * better. Two answers follow both, so both are printed. */
static void print_growth(const struct search *search, enum cs_side side)
{
    static const char *const members[] = {"bytes_for_each", "bytes_for_each_square"};
    const cJSON *growth = cs_json_at(search->answer, cs_side_names[side]);
    const char *name = search->vary->name;
    const bool allocated =
                   cs_sim_answer_number(search->answers->child, side, "allocated_peak") >= 0,
               by_square = cJSON_IsTrue(cs_json_at(growth, "grows_with_square"));
    for (int square = 0; square < 2; square++)
        if (cs_json_at(growth, members[square]) &&
            (cJSON_GetArraySize(search->answers) == 2 || square == by_square))
            printf("%s peak %s: %.2f bytes for each %s%s%s\n", allocated ? "allocated" : "device",
                   cs_side_names[side], cs_json_double(growth, members[square]), name,
                   square ? " * " : "", square ? name : "");
}

/* Prints the largest values of a range, with the reason if there are none. */
static void print_largest(const struct search *search, enum cs_side side)
{
    const struct cs_vary *vary = search->vary;
    const int64_t fits = cs_sim_answer_number(search->answer, side, "largest"),
                  runs = cs_sim_answer_number(search->answer, side, "largest_may_fail"),
                  failure = cs_sim_answer_number(search->answer, side, "no_answer");
    char bytes[CS_BYTES_TEXT];
    printf("largest %s that fits in %s %s: ", vary->name,
           cs_table_bytes_text(bytes, search->pair->memory), cs_side_names[side]);
    if (failure >= 0)
        printf("no answer, because %s=%" PRId64 " has none", vary->name, failure);
    else if (fits >= 0)
        printf("%" PRId64 "%s", fits, fits == vary->high ? ", the end of the range" : "");
    else
        printf("none, %" PRId64 " %s", vary->low, runs >= 0 ? "may fail" : "does not fit");
    if (failure >= 0 && runs >= 0)
        printf(". Of the values that were tried, %" PRId64 " runs", runs);
    if (failure >= 0 && vary->step == 1)
        printf(". If only multiples are allowed: --vary %s=LO..HI:8", vary->name);
    if (failure < 0 && runs > fits)
        printf("; up to %" PRId64 " it may fail", runs);
    putchar('\n');
}

/* Prints the rows, the growth and the largest values. False: memory is short. */
static bool print_answer(struct search *search, enum cs_format format)
{
    const bool *chosen = search->pair->chosen;
    for (int side = 0; side < CS_SIDES; side++)
        if (chosen[side])
            cs_vary_add_growth(search->answers, (enum cs_side)side,
                               cJSON_GetObjectItem(search->answer, cs_side_names[side]));
    cs_sim_rows_add(search->answer, &search->simulation->program, search->answers,
                    search->vary->name);
    if (format == CS_FORMAT_JSON)
        return cs_json_print(cJSON_Duplicate(search->answer, true), stdout);
    if (!cs_json_complete() || !cs_sim_rows_print(search->answers, search->vary->name, format))
        return false;
    if (format == CS_FORMAT_CSV)
        return true;
    puts("\nThe figures are those with enough memory. The columns `fits` are about the memory of "
         "the "
         "GPU.\n");
    for (int side = 0; side < CS_SIDES; side++)
        if (chosen[side])
            print_growth(search, (enum cs_side)side);
    for (int side = 0; side < CS_SIDES; side++)
        if (chosen[side] && search->vary->values == 0)
            print_largest(search, (enum cs_side)side);
    return true;
}

/* Prints the answer, and writes the page at `path` unless that is NULL. False after printing the
 * reason. */
static bool show_answer(struct search *search, enum cs_format format, const char *path)
{
    if (!print_answer(search, format)) {
        cs_cli_complain("out of memory");
        return false;
    }
    return !path ||
           cs_page_write("simulate", cs_sim_view, path, cJSON_Duplicate(search->answer, true));
}

int cs_vary_run(struct cs_simulation *simulation, const struct cs_simulate_options *options,
                const struct cs_sim_pair *pair)
{
    cs_json_begin();
    struct search search = {.simulation = simulation,
                            .pair = pair,
                            .vary = &options->vary,
                            .tolerance = options->tolerance,
                            .command = simulation->program.command,
                            .answers = cJSON_CreateArray(),
                            .answer = cJSON_CreateObject(),
                            .status = CS_CLI_OK};
    cJSON_AddStringToObject(search.answer, "device", pair->device->title);
    cJSON_AddNumberToObject(search.answer, "memory", (double)pair->memory);
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            (void)cJSON_AddObjectToObject(search.answer, cs_side_names[side]);
    if (options->vary.values == 0)
        search_range(&search);
    else
        run_list(&search);
    if (cJSON_GetArraySize(search.answers) > 0 &&
        !show_answer(&search, options->format, options->html))
        search.status = CS_CLI_NONE;
    cJSON_Delete(search.answer);
    cJSON_Delete(search.answers);
    return search.status;
}
