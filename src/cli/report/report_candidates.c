/* The candidates of a run's decisions, as a section of its report. */
#include "cli/report/report.h"

#include <inttypes.h>
#include <math.h>

static const struct cs_column columns[] = {{"id", NULL, CS_CELL_TEXT},
                                           {"problem", "convolution", CS_CELL_TEXT},
                                           {"axis", "axis", CS_CELL_TEXT},
                                           {"step", "step", CS_CELL_TEXT},
                                           {"tiles", "tiles", CS_CELL_COUNT},
                                           {"lanes", "lanes", CS_CELL_COUNT},
                                           {"relaxation", "engine", CS_CELL_TEXT},
                                           {"staged", "staged", CS_CELL_TEXT},
                                           {"workspace", "workspace", CS_CELL_BYTES},
                                           {"score", "score", CS_CELL_TEXT},
                                           {"picked", "picked", CS_CELL_TEXT}};

static void add(struct cs_table *table, const struct cs_summary_site *site,
                const struct cs_summary_choice *choice)
{
    char step[48], score[CS_CELL_TEXT_BYTES];
    snprintf(step, sizeof step, "%" PRId64 "x%" PRId64, choice->step[0], choice->step[1]);
    snprintf(score, sizeof score, isnan(choice->score) ? "vetoed" : "%.9g", choice->score);
    const struct cs_value row[] = {{.text = site->id},
                                   {.text = site->text},
                                   {.text = choice->axis},
                                   {.text = step},
                                   {.number = choice->tiles},
                                   {.number = choice->lanes},
                                   {.text = choice->relaxation},
                                   {.text = choice->staged ? "yes" : NULL},
                                   {.number = choice->workspace},
                                   {.text = score},
                                   {.text = choice->picked ? "yes" : NULL}};
    cs_table_add(table, row);
}

void cs_report_candidates(struct cs_report *report)
{
    struct cs_section *section = &report->section[report->sections++];
    *section = (struct cs_section){
        .name = "candidates",
        .title = "What was chosen among",
        .note = "The best of each convolution's candidates, by the policy's score."};
    cs_table_init(&section->table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < report->all.sites; i++)
        for (size_t k = 0; k < report->all.site[i].choices; k++)
            add(&section->table, &report->all.site[i], &report->all.site[i].choice[k]);
}
