/* Writes the JSON summary (docs/summary.md) member by member through the heap-free writer of
 * base/json.h. */
#include "account/summary_json.h"

#include "account/account.h"
#include "base/checked.h"
#include <stdio.h>
#include <string.h>

enum {
    OPTION_BYTES = 4200 /* of the text of an option */
};

/* The order of sites in the list: the site at each place, in the order of first calls, and the
 * place of each site. */
struct listing {
    int sites;
    int16_t site[CS_MAX_SITES], place[CS_MAX_SITES];
};

/* The count in a tagged counter (cs_tagged). */
static int64_t count_of(uint64_t tagged)
{
    return (int64_t)(tagged << 20 >> 20);
}

/* Reads the numbers of a site's first and last call. Concurrent threads may count its first calls
 * in either order. */
static void calls_of(const struct cs_site *site, int64_t *first_p, int64_t *last_p)
{
    int64_t first = count_of(site->first), last = count_of(site->last);
    *first_p = first < last ? first : last;
    *last_p = first < last ? last : first;
}

static bool comes_before(const struct cs_account *account, int a, int b)
{
    int64_t first_a, first_b, last;
    calls_of(&account->site[a], &first_a, &last);
    calls_of(&account->site[b], &first_b, &last);
    if (!first_a || !first_b)
        return first_a && !first_b;
    return first_a < first_b;
}

/* Sorts the sites by their first calls. It is an insertion sort, because most sites are made in
 * that order. */
static void list_sites(const struct cs_account *account, struct listing *listing)
{
    listing->sites = account->sites;
    for (int i = 0; i < listing->sites; i++) {
        int at = i;
        for (; at > 0 && comes_before(account, i, listing->site[at - 1]); at--)
            listing->site[at] = listing->site[at - 1];
        listing->site[at] = (int16_t)i;
    }
    for (int i = 0; i < listing->sites; i++)
        listing->place[listing->site[i]] = (int16_t)i;
}

static void put_process(struct cs_json *json, const struct cs_summary_process *process)
{
    cs_json_line(json, 1);
    cs_json_open(json, "process", '{');
    cs_json_integer(json, "pid", process->pid);
    cs_json_string(json, "program", process->program);
    cs_json_string(json, "script", process->script ? process->script : "");
    cs_json_open(json, "command", '[');
    for (size_t at = 0; at < process->arguments_bytes; at += strlen(process->arguments + at) + 1)
        cs_json_string(json, NULL, process->arguments + at);
    cs_json_close(json, ']');
    if (process->rank < 0)
        cs_json_null(json, "rank");
    else
        cs_json_integer(json, "rank", process->rank);
    cs_json_integer(json, "start_ms", process->start_ms);
    cs_json_integer(json, "end_ms", process->end_ms);
    cs_json_close(json, '}');
}

/* Writes the members about the versions, the options and the device. */
static void put_setting(struct cs_json *json, const struct cs_summary_head *head,
                        const struct cs_summary_process *process)
{
    char text[OPTION_BYTES];
    cs_json_line(json, 1);
    cs_json_open(json, "versions", '{');
    cs_json_string(json, "convshim", head->version);
    cs_json_string(json, "vendor", head->vendor);
    cs_json_close(json, '}');
    cs_json_line(json, 1);
    cs_json_open(json, "config", '{');
    cs_json_string(json, "source", head->config);
    cs_json_open(json, "options", '{');
    for (int i = 0; i < process->options; i++) {
        const char *name = process->option(process->ctx, i, text, sizeof text);
        cs_json_string(json, name, text);
    }
    cs_json_close(json, '}');
    cs_json_close(json, '}');
    cs_json_line(json, 1);
    cs_json_open(json, "device", '{');
    cs_json_string(json, "name", process->device);
    cs_json_close(json, '}');
}

static void put_passed(struct cs_json *json, const struct cs_account *account)
{
    cs_json_open(json, "not_tiled", '[');
    for (int i = 0; i < CS_REASONS; i++) {
        if (account->passed[i] == 0)
            continue;
        cs_json_open(json, NULL, '{');
        cs_json_string(json, "id", cs_account_reason_id((enum cs_reason)i));
        cs_json_string(json, "text", cs_account_reason_text((enum cs_reason)i));
        cs_json_integer(json, "calls", account->passed[i]);
        cs_json_close(json, '}');
    }
    cs_json_close(json, ']');
}

/* Adds to a sum. Sums beyond 64 bits become the maximum. */
static void raise_by(int64_t *sum, int64_t amount)
{
    if (!cs_add(*sum, amount, sum))
        *sum = INT64_MAX;
}

/* Writes a number, or null for 0, which stands for a value that was not computed. */
static void put_integer_or_null(struct cs_json *json, const char *key, int64_t number)
{
    if (number > 0)
        cs_json_integer(json, key, number);
    else
        cs_json_null(json, key);
}

static int64_t time_of(int64_t calls, int64_t ns)
{
    int64_t product;
    return cs_mul(calls, ns, &product) ? product : INT64_MAX;
}

/* Writes the predicted times of all calls: untiled, and as they ran. */
static void put_times(struct cs_json *json, const struct cs_account *account)
{
    int64_t untiled = 0, untiled_most = 0;
    for (int i = 0; i < account->sites; i++) {
        int64_t calls = cs_account_site_count(&account->site[i], CS_COUNT_CALLS);
        raise_by(&untiled, time_of(calls, account->facts[i].untiled_ns));
        raise_by(&untiled_most, time_of(calls, account->facts[i].untiled_most_ns));
    }
    int64_t predicted = untiled, predicted_most = untiled_most;
    if (untiled > 0) {
        raise_by(&predicted, account->added_ns);
        raise_by(&predicted_most, account->added_most_ns);
    }
    put_integer_or_null(json, "untiled_ns", untiled);
    put_integer_or_null(json, "predicted_ns", predicted);
    put_integer_or_null(json, "untiled_most_ns", untiled_most);
    put_integer_or_null(json, "predicted_most_ns", predicted_most);
}

/* Sums over sites that were executed, each counted once. `host` is a sum over all sites. */
struct site_sums {
    int64_t required, reported, possible, host;
};

static struct site_sums add_sites(const struct cs_account *account)
{
    struct site_sums sums = {.host = account->folded_host};
    for (int i = 0; i < account->sites; i++) {
        raise_by(&sums.host, account->site[i].host);
        if (cs_account_site_count(&account->site[i], CS_COUNT_CALLS) == 0)
            continue;
        raise_by(&sums.required, account->facts[i].required);
        raise_by(&sums.reported, cs_site_reported(&account->facts[i]));
        raise_by(&sums.possible, account->facts[i].possible);
    }
    return sums;
}

static void put_totals(struct cs_json *json, const struct cs_account *account,
                       const struct cs_summary_head *head)
{
    const struct site_sums sums = add_sites(account);
    const struct cs_summary_gpu *gpu = cs_summary_main_gpu(head);
    cs_json_line(json, 1);
    cs_json_open(json, "totals", '{');
#define CS_TOTAL(name, merge, value) cs_json_integer(json, #name, value);
#include "account/summary_numbers.def"
#undef CS_TOTAL
    put_passed(json, account);
    put_times(json, account);
    cs_json_close(json, '}');
}

static void put_as_planned(struct cs_json *json, const struct cs_summary_gpu *gpu)
{
    cs_json_open(json, "as_planned", '[');
    for (int i = 0; i < gpu->reasons; i++) {
        cs_json_open(json, NULL, '{');
        cs_json_string(json, "id", gpu->as_planned[i].id);
        cs_json_string(json, "text", gpu->as_planned[i].text);
        cs_json_integer(json, "calls", gpu->as_planned[i].calls);
        cs_json_close(json, '}');
    }
    cs_json_close(json, ']');
}

static void put_gpu(struct cs_json *json, const struct cs_summary_gpu *gpu)
{
    cs_json_open(json, NULL, '{');
    cs_json_integer(json, "number", gpu->number);
    cs_json_integer(json, "allocated_without", gpu->without);
    cs_json_integer(json, "allocated_with", gpu->with);
    cs_json_integer(json, "reserved", gpu->reserved);
    cs_json_boolean(json, "pool", gpu->pool);
    cs_json_integer(json, "grown", gpu->grown);
    for (size_t i = 0; i < sizeof gpu->way / sizeof *gpu->way; i++) {
        cs_json_open(json, gpu->way[i].id, '{');
        cs_json_integer(json, "calls", gpu->way[i].calls);
        cs_json_integer(json, "launches", gpu->way[i].launches);
        cs_json_close(json, '}');
    }
    put_as_planned(json, gpu);
    cs_json_close(json, '}');
}

static void put_gpus(struct cs_json *json, const struct cs_summary_head *head)
{
    cs_json_line(json, 1);
    cs_json_open(json, "gpus", '[');
    for (int i = 0; i < head->gpus; i++)
        put_gpu(json, &head->gpu[i]);
    cs_json_close(json, ']');
}

static void put_own(struct cs_json *json, const struct cs_summary_own *own)
{
    cs_json_line(json, 1);
    cs_json_open(json, "own", '{');
    cs_json_integer(json, "limit", own->limit);
    cs_json_integer(json, "peak", own->peak);
    cs_json_integer(json, "allocations", own->allocations);
    cs_json_integer(json, "captured", own->captured);
    cs_json_integer(json, "lost", own->lost);
    cs_json_integer(json, "handed_over", own->handed_over);
    cs_json_integer(json, "refused", own->refused);
    cs_json_close(json, '}');
}

static void put_rules(struct cs_json *json, const struct cs_account *account,
                      const char *const *rules)
{
    cs_json_line(json, 1);
    cs_json_open(json, "rules", '[');
    for (int i = 0; rules && rules[i]; i++) {
        cs_json_open(json, NULL, '{');
        cs_json_string(json, "name", rules[i]);
        cs_json_integer(json, "calls", cs_account_rule(account, i + 1));
        cs_json_close(json, '}');
    }
    cs_json_close(json, ']');
}

static void put_numbers(struct cs_json *json, const char *key, const int64_t *numbers, int count)
{
    cs_json_open(json, key, '[');
    for (int i = 0; i < count; i++)
        cs_json_integer(json, NULL, numbers[i]);
    cs_json_close(json, ']');
}

static int64_t bytes_of(const struct cs_tensor *tensor)
{
    int64_t bytes;
    return cs_problem_tensor_bytes(tensor, &bytes) == CS_OK ? bytes : INT64_MAX;
}

static void put_operands(struct cs_json *json, const struct cs_problem *problem)
{
    static const char *const names[CS_OPERANDS] = {"x", "w", "y"};
    for (int i = 0; i < CS_OPERANDS; i++) {
        const struct cs_tensor *tensor = &problem->tensor[i];
        cs_json_open(json, names[i], '{');
        put_numbers(json, "dims", tensor->dims, CS_DIMS);
        put_numbers(json, "strides", tensor->strides, CS_DIMS);
        cs_json_string(json, "dtype", cs_problem_dtype_name(tensor->dtype));
        cs_json_integer(json, "bytes", bytes_of(tensor));
        cs_json_close(json, '}');
    }
}

static int64_t extra_bytes(const struct cs_problem *problem)
{
    int64_t sum = 0;
    for (int i = CS_OPERANDS; i < problem->tensors; i++)
        if (!problem->tensor[i].is_virtual && !problem->tensor[i].by_value)
            raise_by(&sum, bytes_of(&problem->tensor[i]));
    return sum;
}

void cs_summary_json_problem(struct cs_json *json, const struct cs_problem *problem)
{
    char text[CS_PROBLEM_TEXT];
    cs_site_problem_text(problem, text, sizeof text);
    cs_json_open(json, "problem", '{');
    cs_json_string(json, "text", text);
    cs_json_string(json, "direction", cs_problem_direction_name(problem->direction));
    cs_json_string(json, "dtype", cs_problem_dtype_name(problem->tensor[CS_X].dtype));
    cs_json_string(json, "compute", cs_problem_dtype_name(problem->compute));
    cs_json_string(json, "layout", cs_problem_layout(problem));
    cs_json_integer(json, "spatial", problem->spatial);
    put_operands(json, problem);
    cs_json_open(json, "padding", '[');
    put_numbers(json, NULL, problem->pre, CS_SPATIAL);
    put_numbers(json, NULL, problem->post, CS_SPATIAL);
    cs_json_close(json, ']');
    put_numbers(json, "stride", problem->stride, CS_SPATIAL);
    put_numbers(json, "dilation", problem->dilation, CS_SPATIAL);
    cs_json_integer(json, "groups", problem->groups);
    cs_json_boolean(json, "flipped", problem->flipped);
    cs_json_boolean(json, "accumulates", problem->beta < 0 || problem->beta > 0);
    cs_json_integer(json, "steps", problem->steps);
    cs_json_integer(json, "extra_bytes", extra_bytes(problem));
    cs_json_close(json, '}');
}

/* Writes the tiling of a site, also one that is only reported. null if it is not tiled. */
static void put_decision(struct cs_json *json, const struct cs_site_facts *facts)
{
    const struct cs_tiling *tiling = &facts->tiling;
    if (facts->reason != CS_REASON_NONE && facts->reason != CS_REASON_REPORT_ONLY) {
        cs_json_null(json, "decision");
        return;
    }
    cs_json_open(json, "decision", '{');
    cs_json_string(json, "axis", cs_axis_tiling_name(tiling));
    put_numbers(json, "step", tiling->step, CS_MAX_CUTS);
    cs_json_open(json, "runs", '[');
    for (int i = 0; i < tiling->runs; i++) {
        cs_json_open(json, NULL, '{');
        cs_json_integer(json, "step", tiling->run[i].step);
        cs_json_integer(json, "tiles", tiling->run[i].tiles);
        cs_json_string(json, "relaxation", cs_problem_relaxation_name(tiling->run[i].relaxation));
        cs_json_close(json, '}');
    }
    cs_json_close(json, ']');
    cs_json_integer(json, "tiles", facts->tiles);
    cs_json_integer(json, "lanes", tiling->lanes > 1 ? tiling->lanes : 1);
    cs_json_string(json, "relaxation", cs_problem_relaxation_name(tiling->relaxation));
    cs_json_boolean(json, "staged", tiling->staged);
    cs_json_boolean(json, "equal_padding", tiling->equal_padding);
    cs_json_close(json, '}');
}

static void put_string_or_null(struct cs_json *json, const char *key, const char *text)
{
    if (text)
        cs_json_string(json, key, text);
    else
        cs_json_null(json, key);
}

/* Writes the members of a site that come from its facts. */
static void put_facts(struct cs_json *json, const struct cs_site_facts *facts,
                      const char *const *rules)
{
    bool tiled_calls = facts->reason == CS_REASON_NONE;
    cs_summary_json_problem(json, &facts->problem);
    cs_json_integer(json, "engine", facts->engine);
    put_string_or_null(json, "reason", tiled_calls ? NULL : cs_account_reason_id(facts->reason));
    put_decision(json, facts);
    cs_json_integer(json, "queries", facts->queries);
    put_string_or_null(json, "rule", rules && facts->rule ? rules[facts->rule - 1] : NULL);
    put_integer_or_null(json, "free", facts->free);
    cs_json_boolean(json, "raised", facts->raised);
    put_integer_or_null(json, "untiled_ns", facts->untiled_ns);
    put_integer_or_null(json, "predicted_ns", facts->predicted_ns);
}

static const char *const counters[CS_COUNTERS] = {"calls", "tiled", "fallback", "failed",
                                                  "launches"};

static void put_site(struct cs_json *json, const struct cs_account *account, int index,
                     const char *const *rules)
{
    const struct cs_site *site = &account->site[index];
    const struct cs_site_facts *facts = &account->facts[index];
    char id[CS_SITE_ID];
    int64_t first, last;
    calls_of(site, &first, &last);
    cs_json_line(json, 2);
    cs_json_open(json, NULL, '{');
    cs_json_string(json, "id", cs_account_problem_id(&facts->problem, id));
    cs_json_string(json, "name", site->name);
    put_facts(json, facts, rules);
#define CS_SITE_NUMBER(name, merge, value) cs_json_integer(json, #name, value);
#include "account/summary_numbers.def"
#undef CS_SITE_NUMBER
    cs_json_integer(json, "prepared", site->prepared);
    cs_json_integer(json, "first_call", first);
    cs_json_integer(json, "last_call", last);
    cs_json_close(json, '}');
}

static void put_folded(struct cs_json *json, const struct cs_account *account)
{
    cs_json_line(json, 1);
    cs_json_open(json, "folded", '{');
    cs_json_integer(json, "sites", account->folds);
    for (int i = 0; i < CS_COUNTERS; i++)
        cs_json_integer(json, counters[i], account->folded[i]);
    cs_json_integer(json, "host_ns", account->folded_host);
    cs_json_close(json, '}');
}

/* Writes, for each of the first calls, the place of its site in the list, and its launches. */
static void put_order(struct cs_json *json, const struct cs_account *account,
                      const struct listing *listing)
{
    cs_json_line(json, 1);
    cs_json_open(json, "order", '[');
    for (int64_t i = 1; i <= account->calls && i <= CS_ORDER; i++) {
        int site = cs_account_order(account, i);
        cs_json_integer(json, NULL, site < 0 ? -1 : listing->place[site]);
    }
    cs_json_close(json, ']');
    cs_json_line(json, 1);
    cs_json_open(json, "order_launches", '[');
    for (int64_t i = 1; i <= account->calls && i <= CS_ORDER; i++)
        cs_json_integer(json, NULL, account->launches_of[i - 1]);
    cs_json_close(json, ']');
}

/* Writes the line of advice of the text summary. */
static void put_advice(struct cs_json *json, const struct cs_account *account,
                       const struct cs_summary_head *head)
{
    char text[CS_ADVICE_TEXT];
    (void)cs_advice_text(account, head, text, sizeof text);
    cs_json_line(json, 1);
    cs_json_string(json, "advice", text);
}

void cs_summary_json(struct cs_json *json, const struct cs_account *account,
                     const struct cs_summary_head *head, const struct cs_summary_process *process)
{
    struct listing listing;
    list_sites(account, &listing);
    cs_json_open(json, NULL, '{');
    cs_json_string(json, "schema", "convshim summary");
    cs_json_integer(json, "version", CS_SUMMARY_VERSION);
    put_process(json, process);
    put_setting(json, head, process);
    put_totals(json, account, head);
    put_gpus(json, head);
    put_own(json, &head->own);
    put_rules(json, account, head->rules);
    cs_json_line(json, 1);
    cs_json_string(json, "bypass", head->bypass);
    put_advice(json, account, head);
    cs_json_line(json, 1);
    cs_json_open(json, "sites", '[');
    for (int i = 0; i < listing.sites; i++)
        put_site(json, account, listing.site[i], head->rules);
    cs_json_close(json, ']');
    put_folded(json, account);
    put_order(json, account, &listing);
    cs_json_close(json, '}');
    json->comma = false;
    cs_json_line(json, 0);
}
