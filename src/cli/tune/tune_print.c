/* Prints the frontier and the outcome for people, and the ini file of the chosen point. */
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/rule_text.h"
#include "cli/common/table.h"
#include "cli/tune/tune.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* --- times --- */

const char *cs_tune_times_text(char *text, size_t size, struct cs_times times)
{
    char least[CS_BYTES_TEXT], most[CS_BYTES_TEXT];
    (void)cs_table_time_text(least, (int64_t)llround(times.least * 1e9));
    (void)cs_table_time_text(most, (int64_t)llround(times.most * 1e9));
    if (strcmp(least, most) == 0)
        snprintf(text, size, "%s", least);
    else
        snprintf(text, size, "%s to %s", least, most);
    return text;
}

/* --- the table --- */

enum {
    MOST_ROWS = 12 /* of the frontier, except marked points */
};

static const struct cs_column columns[] = {
    {"peak_bytes", "peak", CS_CELL_BYTES},
    {"predicted", "predicted time", CS_CELL_TEXT},
    {"of_untiled", "to untiled", CS_CELL_TEXT},
    {"tiled_calls", "calls tiled", CS_CELL_COUNT},
    {"extra_launches", "extra launches", CS_CELL_COUNT},
    {"note", "", CS_CELL_TEXT},
};

/* Adds a row for a point or a run. */
static void put_row(const struct cs_tune *tune, const struct cs_frontier_point *point,
                    const char *note, struct cs_table *table)
{
    char text[64], change[CS_BYTES_TEXT];
    const struct cs_times ratio = cs_cost_ratio(point->times, tune->untiled.figures.times);
    cs_table_add(table, (const struct cs_value[]){
                            {.number = point->peak},
                            {.text = cs_tune_times_text(text, sizeof text, point->times)},
                            {.text = cs_table_change_text(change, ratio.least, ratio.most)},
                            {.number = point->tiled},
                            {.number = point->launches},
                            {.text = note},
                        });
}

/* Adds rows for points at about equal distances, with the first, the last and the chosen one. */
static void put_points(const struct cs_tune *tune, struct cs_table *table)
{
    const struct cs_frontier *frontier = &tune->frontier;
    const size_t last = frontier->points - 1;
    const int64_t step = (frontier->point[last].peak - frontier->point[0].peak) / MOST_ROWS;
    int64_t next = 0;
    for (size_t i = 0; i <= last; i++) {
        const struct cs_frontier_point *point = &frontier->point[i];
        bool chosen = (int)i == tune->point;
        if (!chosen && i < last && point->peak < next)
            continue;
        put_row(tune, point, chosen ? "chosen" : "", table);
        next = point->peak + step;
    }
}

void cs_tune_table(const struct cs_tune *tune, struct cs_table *table)
{
    const struct cs_frontier_point untiled = cs_frontier_untiled(&tune->frontier);
    cs_table_init(table, columns, sizeof columns / sizeof *columns);
    put_points(tune, table);
    put_row(tune, &untiled, "untiled", table);
    if (tune->defaults.ran)
        put_row(tune, &tune->defaults.figures, "defaults", table);
}

/* --- the outcome --- */

/* Prints why no file is written if the run with it misses the goal. */
static void put_missed(const struct cs_tune *tune, FILE *out)
{
    char bytes[CS_BYTES_TEXT], time[64];
    if (tune->options->fits == 0) {
        fprintf(out,
                "No file is written, because a run with it misses the goal. It has a peak of %s "
                "and a predicted time of %s.\n",
                cs_table_bytes_text(bytes, tune->file.figures.peak),
                cs_tune_times_text(time, sizeof time, tune->file.figures.times));
        return;
    }
    fprintf(out,
            "No file is written, because the program does not fit into %s even with the rules. ",
            cs_table_bytes_text(bytes, tune->options->fits));
    if (tune->defaults.fits)
        fputs("It fits with the defaults. ", out);
    fprintf(out, "The lowest peak with rules is %s.\n",
            cs_table_bytes_text(bytes, tune->frontier.point[0].peak));
}

/* Prints the outcome as one line, or nothing after a failure. */
static void put_outcome(const struct cs_tune *tune, enum cs_tune_outcome outcome, FILE *out)
{
    char bytes[CS_BYTES_TEXT], time[64];
    switch (outcome) {
    case CS_TUNE_FILE:
        fprintf(out, "A run with the file has a peak of %s and a predicted time of %s.\n",
                cs_table_bytes_text(bytes, tune->file.figures.peak),
                cs_tune_times_text(time, sizeof time, tune->file.figures.times));
        break;
    case CS_TUNE_UNTILED:
        fprintf(out, "No file is needed: the program runs in %s without convshim.\n",
                cs_table_bytes_text(bytes, tune->options->fits));
        break;
    case CS_TUNE_DEFAULTS:
        fprintf(out,
                "No file is written, because no rules are better than the defaults. Tensors hold "
                "%s without any workspace. For another point: --within or --fits\n",
                cs_table_bytes_text(bytes, tune->frontier.level));
        break;
    case CS_TUNE_NO_POINT:
        fprintf(out, "No file is written, because no point has a predicted time within %g %%.\n",
                tune->options->within);
        break;
    case CS_TUNE_MISSED:
        put_missed(tune, out);
        break;
    case CS_TUNE_FAILED:
        break;
    }
}

void cs_tune_report(const struct cs_tune *tune, enum cs_tune_outcome outcome, FILE *out)
{
    struct cs_table table;
    if (outcome == CS_TUNE_FAILED)
        return;
    if (tune->frontier.points > 0) {
        cs_tune_table(tune, &table);
        if (!cs_table_print(&table, CS_FORMAT_TEXT, out))
            cs_cli_complain("tune: out of memory");
        cs_table_fini(&table);
    }
    fputs("convshim: tune: ", out);
    put_outcome(tune, outcome, out);
}

/* --- the ini file --- */

static void put_run(const char *title, const struct cs_tune_run *run, FILE *out)
{
    char bytes[CS_BYTES_TEXT], time[64];
    const struct cs_frontier_point *figures = &run->figures;
    fprintf(out,
            "# %-25s %s, %s, %" PRId64 " of %" PRId64 " calls tiled, %" PRId64 " extra launches\n",
            title, cs_table_bytes_text(bytes, figures->peak),
            cs_tune_times_text(time, sizeof time, figures->times), figures->tiled, run->calls,
            figures->launches);
}

static void put_head(const struct cs_tune *tune, FILE *out)
{
    const struct cs_sim_program *program = &tune->simulation->program;
    char date[16];
    time_t now = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "# Written by convshim tune " CS_VERSION " on %s, by simulation.\n# program  ",
            date);
    for (char **word = program->command; *word; word++) {
        fputc(' ', out);
        cs_cli_put(*word, out);
    }
    fprintf(out, "\n# device    %s, simulated, sizes by %s\n", tune->device->title, tune->planner);
    fputs("# Valid for this program, GPU and cuDNN. Others have other convolutions and sizes.\n",
          out);
    fprintf(out, "#\n# Peak (%s), predicted time:\n", tune->allocated ? "allocated" : "device");
    put_run("untiled", &tune->untiled, out);
    if (tune->defaults.ran)
        put_run("defaults, without a file", &tune->defaults, out);
    put_run("with this file", &tune->file, out);
    fputc('\n', out);
}

/* Writes the comment of a shape's rule: the convolution, its memory and its time. */
static void put_comment(const struct cs_tuned_shape *shape, FILE *out)
{
    char required[CS_BYTES_TEXT], held[CS_BYTES_TEXT], scratch[CS_BYTES_TEXT], tiled[64],
        untiled[64];
    const struct cs_way *way = &shape->way[shape->chosen];
    fprintf(out, "# %s, %" PRId64 " call%s%s%s\n", shape->text, shape->calls,
            shape->calls == 1 ? "" : "s", *shape->line ? ", " : "", shape->line);
    fprintf(out, "# %s instead of %s of workspace, next to %s\n",
            cs_table_bytes_text(scratch, way->scratch),
            cs_table_bytes_text(required, shape->required), cs_table_bytes_text(held, shape->held));
    fprintf(out, "# %" PRId64 " more launch%s, %s instead of %s\n", way->launches,
            way->launches == 1 ? "" : "es", cs_tune_times_text(tiled, sizeof tiled, way->times),
            cs_tune_times_text(untiled, sizeof untiled, shape->way[0].times));
}

static void put_rule(const struct cs_tuned_shape *shape, int number, FILE *out)
{
    struct cs_rule rule = shape->rule;
    snprintf(rule.name, sizeof rule.name, "tune-%d", number);
    rule.given |= 1u << CS_RULE_free;
    rule.free = shape->way[shape->chosen].free;
    cs_explain_rule(&rule, out);
}

void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out)
{
    int written = 0;
    if (head)
        put_head(tune, out);
    fputs(CS_TUNED_OPTIONS, out);
    for (size_t i = 0; i < tune->frontier.shapes; i++) {
        const struct cs_tuned_shape *shape = &tune->frontier.shape[i];
        if (shape->chosen == 0)
            continue;
        fputc('\n', out);
        put_comment(shape, out);
        put_rule(shape, ++written, out);
    }
    fputs("\n# All other convolutions stay untiled.\n[rule tune-rest]\nskip = yes\n", out);
}
