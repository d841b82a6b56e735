/* The page of a simulation: memory over the run without the library and with it, and the memory
 * held at the peaks. The horizontal axis of both curves counts calls of convolutions, so that both
 * show a layer at the same position. */
#include "cli/simulate/simulate.h"

#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <cjson/cJSON.h>
#include <string.h>

enum {
    COLUMNS = CS_PLOT_COLUMNS
};

struct page {
    const struct cs_simulation *simulation;
    const struct cs_simulated_pair *pair;
    const cJSON *result;
    struct cs_timelines timelines;
    const struct cs_timeline *any; /* of the run with the library, else of that without */
    size_t
        calls; /* columns are parts of that many calls; 0: of moments, because the calls differ */
    struct cs_plot plot; /* its sides are CS_WITHOUT and CS_WITH */
};

/* --- curves --- */

/* How far a moment is into the run, from 0 and below 1; `next` is the call that comes at it or
 * behind. Without calls the whole run is the part before the next one. */
static double place_of(const struct cs_timeline *timeline, size_t calls, size_t next, size_t moment)
{
    size_t from = next > 0 ? timeline->call[next - 1].moment : 0,
           until = next < calls ? timeline->call[next].moment : timeline->moments;
    double part = until > from ? (double)(moment - from) / (double)(until - from) : 0;
    return ((double)next + part) / (double)(calls + 1);
}

static void fill_columns(struct page *page, int side)
{
    const struct cs_timeline *timeline = &page->timelines.side[side];
    int64_t *const column_of = page->plot.bytes[side];
    size_t next = 0, last = 0;
    int64_t held = 0;
    for (size_t i = 0; i < timeline->moments; i++) {
        while (next < page->calls && timeline->call[next].moment <= i)
            next++;
        size_t column = (size_t)(place_of(timeline, page->calls, next, i) * COLUMNS);
        column = column < COLUMNS ? column : COLUMNS - 1; /* rounding may come to 1 */
        while (last < column)
            column_of[++last] = held;
        held = timeline->live[i];
        if (held > column_of[column])
            column_of[column] = held;
    }
    while (last + 1 < COLUMNS)
        column_of[++last] = held;
}

static void put_tooltip(const void *state, size_t column, FILE *out)
{
    const struct page *page = state;
    char bytes[CS_BYTES_TEXT];
    if (page->calls > 0)
        fprintf(out, "call %zu:", column * (page->calls + 1) / COLUMNS);
    for (int side = 0; side < CS_SIDES; side++)
        if (page->timelines.has[side])
            fprintf(out, " %s %s", cs_table_bytes_text(bytes, page->plot.bytes[side][column]),
                    cs_side_names[side]);
}

static void put_plot(const struct page *page, FILE *out)
{
    static const char *const names[2][CS_SIDES] = {
        {"without, device peak", "with convshim, device peak"},
        {"without, requested peak", "with convshim, requested peak"}};
    const bool framework = page->any->of_framework, by_calls = page->calls > 0;
    char note[320], middle[32], end[32];
    struct cs_plot plot = page->plot;
    snprintf(note, sizeof note, "%s%s Dashed lines mark the peaks.",
             framework ? "Memory that the framework requested for tensors and workspaces. Its "
                         "allocator rounds sizes up, so the allocated peak is a little higher."
                       : "Memory that the program holds from the driver.",
             by_calls ? " The horizontal axis counts calls of convolutions." : "");
    snprintf(middle, sizeof middle, "call %zu", (page->calls + 1) / 2);
    snprintf(end, sizeof end, "call %zu", page->calls);
    for (int side = 0; side < CS_SIDES; side++)
        plot.name[side] = page->timelines.has[side] ? names[framework][side] : NULL;
    plot.title = "Memory over the run";
    plot.note = note;
    plot.limit = cs_simulated_pair_memory(page->pair) - page->pair->context;
    plot.columns = COLUMNS;
    plot.peaks = true;
    plot.tick[0] = "begin";
    plot.tick[1] = by_calls ? middle : NULL;
    plot.tick[2] = by_calls ? end : "end";
    plot.tooltip = put_tooltip;
    plot.state = page;
    cs_plot_put(&plot, out);
}

/* --- figures, sentences, tables --- */

/* Puts a card: "605.4 MiB → 427.7 MiB", and the change below. */
static void put_card(const cJSON *result, enum cs_figure figure, FILE *out)
{
    struct cs_figure_text text;
    const char *separator = "";
    if (!cs_simulate_figure(result, figure, &text))
        return;
    fprintf(out, "<div><dt>%s</dt><dd>", cs_figures[figure].title);
    for (int side = 0; side < CS_SIDES; side++)
        if (cs_json_at(result, cs_side_names[side])) {
            fprintf(out, "%s%s", separator, text.side[side]);
            separator = " &#8594; ";
        }
    fprintf(out, "<small>%s</small></dd></div>\n", text.change);
}

static void put_figures(const cJSON *result, FILE *out)
{
    static const enum cs_figure cards[] = {CS_FIGURE_allocated_peak, CS_FIGURE_device_peak,
                                           CS_FIGURE_largest_workspace, CS_FIGURE_predicted_ns};
    fputs("<dl class=\"cards\">\n", out);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        put_card(result, cards[i], out);
    fputs("</dl>\n", out);
}

/* Puts two texts behind a label, or nothing if the result lacks the first one. */
static void put_line(const char *label, const char *text, const char *more, FILE *out)
{
    if (!text)
        return;
    fprintf(out, "<p class=\"conclusion\">%s ", label);
    cs_table_html_text(text, out);
    fputc(' ', out);
    cs_table_html_text(more, out);
    fputs("</p>\n", out);
}

/* Puts whether a run fits and its verdict, which may be a part of that answer. */
static void put_answer(const char *label, const cJSON *run, FILE *out)
{
    const char *fits = cs_json_text(run, "fits_why"), *verdict = cs_json_text(run, "verdict");
    if (run)
        put_line(label, fits, strstr(fits, verdict) ? "" : verdict, out);
}

/* Puts the memory held at the peak of a side. False: memory is short. */
static bool put_held(const struct page *page, enum cs_side side, FILE *out)
{
    static const struct cs_column columns[] = {{"what", "what", CS_CELL_TEXT},
                                               {"of", "of", CS_CELL_TEXT},
                                               {"bytes", "size", CS_CELL_BYTES},
                                               {"blocks", "blocks", CS_CELL_COUNT}};
    const struct cs_timeline *timeline = &page->timelines.side[side];
    char title[96], bytes[CS_BYTES_TEXT];
    struct cs_table table;
    const cJSON *row;
    if (timeline->moments == 0)
        return true;
    snprintf(title, sizeof title, "Held at the peak %s: %s",
             side == CS_WITH ? "with convshim" : "without",
             cs_table_bytes_text(bytes, timeline->live[cs_timeline_peak(timeline)]));
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    cJSON_ArrayForEach(row, cs_json_at(cs_json_at(page->result, cs_side_names[side]), "peak"))
    {
        cs_table_add(&table, (struct cs_value[]){{.text = cs_json_text(row, "what")},
                                                 {.text = cs_json_text(row, "of")},
                                                 {.number = cs_json_whole_at(row, "bytes", -1)},
                                                 {.number = cs_json_whole_at(row, "blocks", -1)}});
    }
    return cs_page_table(side == CS_WITH ? "peak-with" : "peak-without", title, &table, out);
}

static bool put_page(const void *state, FILE *out)
{
    const struct page *page = state;
    char bytes[CS_BYTES_TEXT];
    cs_page_begin("convshim simulate", page->simulation->program.command[0], out);
    cs_page_source(page->simulation->program.command,
                   (const char *const[]){page->pair->device->title, "simulated",
                                         page->simulation->program.cudnn,
                                         page->simulation->program.framework, NULL},
                   out);
    put_figures(page->result, out);
    put_answer("Does it fit without convshim?", cs_json_at(page->result, "without"), out);
    put_answer("Does it fit with convshim?", cs_json_at(page->result, "with"), out);
    put_line("No gain:", cs_json_text(page->result, "no_gain"), "", out);
    put_line("Advice:", cs_json_text(page->result, "advice"), "", out);
    put_plot(page, out);
    const bool good = put_held(page, CS_WITHOUT, out) && put_held(page, CS_WITH, out);
    fprintf(out,
            "<p>Simulated: kernels were counted, not computed. The curves exclude the context of "
            "%s.</p>\n",
            cs_table_bytes_text(bytes, page->pair->context));
    cs_page_end(out);
    return good;
}

bool cs_simulate_html(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                      const struct cJSON *result, const char *path)
{
    static struct page page; /* too large for the stack */
    page = (struct page){.simulation = simulation, .pair = pair, .result = result};
    if (!cs_timelines_read(pair, &page.timelines))
        return false;
    page.any = &page.timelines.side[page.timelines.has[CS_WITH] ? CS_WITH : CS_WITHOUT];
    page.calls = page.timelines.same_calls ? page.any->calls : 0;
    for (int side = 0; side < CS_SIDES; side++)
        if (page.timelines.has[side])
            fill_columns(&page, side);
    const bool good = cs_output_page(simulation->title, path, put_page, &page);
    cs_timelines_fini(&page.timelines);
    return good;
}
