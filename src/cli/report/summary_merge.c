/* Merges the summaries of several processes: calls are added, sizes are the largest. */
#include "base/checked.h"
#include "cli/report/summary_reader.h"
#include <stdlib.h>
#include <string.h>

struct merger {
    struct cs_run_summary merged;
    bool broken; /* memory ran out, or a sum left 63 bits */
};

static void add_to_sum(struct merger *merger, int64_t *to, int64_t amount)
{
    merger->broken = merger->broken || !cs_add(*to, amount, to);
}

static void raise_to(int64_t *to, int64_t amount)
{
    if (amount > *to)
        *to = amount;
}

static char *copy_text(struct merger *merger, const char *text)
{
    char *copied = text ? strdup(text) : NULL;
    merger->broken = merger->broken || (text && !copied);
    return copied;
}

/* Merges a text of the runs: the text if it is equal in all runs, else "(various)". */
static void merge_text(struct merger *merger, char **to, const char *text)
{
    if (*to && strcmp(*to, text) == 0)
        return;
    const char *agreed = *to ? "(various)" : text;
    free(*to);
    *to = copy_text(merger, agreed);
}

static struct cs_summary_site *site_of(struct merger *merger, const struct cs_summary_site *site)
{
    struct cs_run_summary *merged = &merger->merged;
    for (size_t i = 0; i < merged->sites; i++)
        if (merged->site[i].id && strcmp(merged->site[i].id, site->id) == 0)
            return &merged->site[i];
    struct cs_summary_site *added = &merged->site[merged->sites++];
    *added = (struct cs_summary_site){.id = copy_text(merger, site->id),
                                      .name = copy_text(merger, site->name),
                                      .text = copy_text(merger, site->text),
                                      .reason = copy_text(merger, site->reason),
                                      .direction = site->direction};
    return added;
}

/* If a site was tiled in only one of the runs, the merged site counts as tiled. */
static void add_site(struct merger *merger, const struct cs_summary_site *site)
{
    struct cs_summary_site *to = site_of(merger, site);
    if (!site->reason && to->reason) {
        free(to->reason);
        to->reason = NULL;
    }
    raise_to(&to->required, site->required);
    raise_to(&to->reported, site->reported);
    raise_to(&to->possible, site->possible);
    add_to_sum(merger, &to->calls, site->calls);
    add_to_sum(merger, &to->tiled, site->tiled);
    add_to_sum(merger, &to->fallback, site->fallback);
    add_to_sum(merger, &to->failed, site->failed);
    add_to_sum(merger, &to->launches, site->launches);
    add_to_sum(merger, &to->host_ns, site->host_ns);
}

static void add_passed(struct merger *merger, const struct cs_summary_passed *passed)
{
    struct cs_run_summary *merged = &merger->merged;
    size_t i = 0;
    while (i < merged->passed_count &&
           (!merged->passed[i].id || strcmp(merged->passed[i].id, passed->id) != 0))
        i++;
    if (i == merged->passed_count)
        merged->passed[merged->passed_count++] = (struct cs_summary_passed){
            .id = copy_text(merger, passed->id), .text = copy_text(merger, passed->text)};
    add_to_sum(merger, &merged->passed[i].calls, passed->calls);
}

static void add_option(struct merger *merger, const struct cs_run_option *option)
{
    struct cs_run_summary *merged = &merger->merged;
    size_t i = 0;
    while (i < merged->options && merged->option[i].name &&
           strcmp(merged->option[i].name, option->name) != 0)
        i++;
    if (i == merged->options)
        merged->option[merged->options++].name = copy_text(merger, option->name);
    merge_text(merger, &merged->option[i].value, option->value);
}

static void add_run(struct merger *merger, const struct cs_run_summary *run)
{
    struct cs_run_summary *to = &merger->merged;
    merge_text(merger, &to->program, run->program);
    merge_text(merger, &to->convshim, run->convshim);
    merge_text(merger, &to->vendor, run->vendor);
    merge_text(merger, &to->device, run->device);
    merge_text(merger, &to->bypass, run->bypass);
    merge_text(merger, &to->framework, run->framework);
    raise_to(&to->allocated_without, run->allocated_without);
    raise_to(&to->allocated_with, run->allocated_with);
    merge_text(merger, &to->script, run->script);
    merge_text(merger, &to->command, run->command);
    merge_text(merger, &to->source, run->source);
    for (size_t i = 0; i < run->options && !merger->broken; i++)
        add_option(merger, &run->option[i]);
    to->start_ms = to->runs == 0 || run->start_ms < to->start_ms ? run->start_ms : to->start_ms;
    raise_to(&to->end_ms, run->end_ms);
    raise_to(&to->peak_without, run->peak_without);
    raise_to(&to->peak_with, run->peak_with);
    raise_to(&to->required_max, run->required_max);
    raise_to(&to->reported_max, run->reported_max);
    raise_to(&to->possible_max, run->possible_max);
    add_to_sum(merger, &to->runs, run->runs);
    add_to_sum(merger, &to->calls, run->calls);
    add_to_sum(merger, &to->tiled_calls, run->tiled_calls);
    add_to_sum(merger, &to->fallback, run->fallback);
    add_to_sum(merger, &to->failed, run->failed);
    add_to_sum(merger, &to->launches, run->launches);
    add_to_sum(merger, &to->extra_launches, run->extra_launches);
    add_to_sum(merger, &to->required_sum, run->required_sum);
    add_to_sum(merger, &to->reported_sum, run->reported_sum);
    add_to_sum(merger, &to->own_peak, run->own_peak);
    add_to_sum(merger, &to->host_ns, run->host_ns);
    add_to_sum(merger, &to->folded, run->folded);
    for (size_t i = 0; i < run->sites && !merger->broken; i++)
        add_site(merger, &run->site[i]);
    for (size_t i = 0; i < run->passed_count && !merger->broken; i++)
        add_passed(merger, &run->passed[i]);
}

bool cs_summary_merge(const struct cs_run_summary *runs, size_t count,
                      struct cs_run_summary *merged_p)
{
    struct merger merger = {.merged = {.rank = -1}};
    size_t sites = 1, passed = 1, options = 1;
    for (size_t i = 0; i < count; i++) {
        sites += runs[i].sites;
        passed += runs[i].passed_count;
        options += runs[i].options;
    }
    merger.merged.site = calloc(sites, sizeof *merger.merged.site);
    merger.merged.passed = calloc(passed, sizeof *merger.merged.passed);
    merger.merged.option = calloc(options, sizeof *merger.merged.option);
    merger.broken = !merger.merged.site || !merger.merged.passed || !merger.merged.option;
    for (size_t i = 0; i < count && !merger.broken; i++)
        add_run(&merger, &runs[i]);
    if (merger.broken)
        cs_summary_fini(&merger.merged);
    else
        *merged_p = merger.merged;
    return !merger.broken;
}
