/* The page of a simulation: memory over the run without the library and with it, and the memory
 * held at the peaks. The horizontal axis of both curves counts calls of convolutions, so that both
 * show a layer at the same position. */
#include "simdev/simulate/simulate.h"

#include "base/checked.h"
#include "cli/common/json_tree.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include <cjson/cJSON.h>
#include <string.h>

enum {
    WIDTH = 960, /* units of the plot at every size */
    HEIGHT = 240,
    COLUMNS = 480,
    COLUMN = WIDTH / COLUMNS,
    MOST_TICKS = 6
};

/* The data of a page. */
struct page {
    const struct cs_simulation *simulation;
    const struct cs_sim_pair *pair;
    const cJSON *answer;
    struct cs_timelines timelines;
    const struct cs_timeline *any; /* of the run with the library, else of that without */
    size_t calls; /* on the horizontal axis; 0: it shows moments, because the calls differ */
    int64_t held[CS_SIDES][COLUMNS]; /* the most bytes in each column */
    int64_t step, top;               /* bytes between ticks of the vertical axis, and at its end */
    int64_t limit; /* memory of the GPU, less the context; 0: the curves are far below it */
};

/* --- curves --- */

/* Returns the place of a moment on the horizontal axis, from 0 and below 1. Calls are equally far
 * apart, and the moments between two calls as well. `next` is the first call after the moment.
 * Without calls all moments are equally far apart. */
static double place_of(const struct cs_timeline *timeline, size_t calls, size_t next, size_t moment)
{
    size_t from = next > 0 ? timeline->call[next - 1].moment : 0,
           until = next < calls ? timeline->call[next].moment : timeline->moments;
    double part = until > from ? (double)(moment - from) / (double)(until - from) : 0;
    return ((double)next + part) / (double)(calls + 1);
}

/* Sets the most bytes that a side holds in each column. A column in which nothing changes has the
 * bytes held before it. */
static void fill_columns(struct page *page, int side)
{
    const struct cs_timeline *timeline = &page->timelines.side[side];
    int64_t *const held_in = page->held[side];
    size_t next = 0, last = 0;
    int64_t held = 0;
    for (size_t i = 0; i < timeline->moments; i++) {
        while (next < page->calls && timeline->call[next].moment <= i)
            next++;
        size_t column = (size_t)(place_of(timeline, page->calls, next, i) * COLUMNS);
        column = column < COLUMNS ? column : COLUMNS - 1; /* rounding may come to 1 */
        while (last < column)
            held_in[++last] = held;
        held = timeline->live[i];
        cs_raise(&held_in[column], held);
    }
    while (last + 1 < COLUMNS)
        held_in[++last] = held;
}

/* Returns the column of a side's peak. */
static size_t find_peak(const struct page *page, int side)
{
    size_t peak = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        if (page->held[side][i] > page->held[side][peak])
            peak = i;
    return peak;
}

/* Fits the vertical axis to both curves, and to the GPU's memory if they reach half of it. Ticks
 * are a power of two apart, so that their labels are short. */
static void scale_axis(struct page *page)
{
    const int64_t limit = page->pair->memory - page->pair->context;
    int64_t most = 1;
    for (int side = 0; side < CS_SIDES; side++)
        cs_raise(&most, page->held[side][find_peak(page, side)]);
    page->limit = limit > 0 && limit / 2 <= most ? limit : 0;
    cs_raise(&most, page->limit);
    page->step = 1;
    while (most / page->step > MOST_TICKS)
        page->step *= 2;
    page->top = cs_ceil_div(most, page->step) * page->step;
}

/* --- the plot --- */

static double y_of(const struct page *page, int64_t bytes)
{
    return HEIGHT * (1 - (double)bytes / (double)page->top);
}

/* Draws the outline of a side's columns; an area also goes down to the axis. */
static void put_outline(const struct page *page, int side, const char *class, bool area, FILE *out)
{
    if (!page->timelines.has[side])
        return;
    fprintf(out, "<path class=\"%s\" d=\"", class);
    if (area)
        fprintf(out, "M0,%d", HEIGHT);
    for (int i = 0; i < COLUMNS; i++)
        fprintf(out, i == 0 && !area ? "M0,%.1fH%d" : "V%.1fH%d", y_of(page, page->held[side][i]),
                COLUMN * (i + 1));
    if (area)
        fprintf(out, "V%dZ", HEIGHT);
    fputs("\"/>\n", out);
}

/* Draws the labels of the vertical axis, which are a separate <svg>. */
static void put_scale(const struct page *page, FILE *out)
{
    char size[CS_BYTES_TEXT];
    fputs("<svg aria-hidden=\"true\">\n", out);
    for (int64_t at = 0; at <= page->top; at += page->step)
        fprintf(out, "<text x=\"100%%\" y=\"%.2f%%\" dy=\".32em\">%s</text>\n",
                100 * y_of(page, at) / HEIGHT, at > 0 ? cs_table_bytes_text(size, at) : "0");
    fputs("</svg>\n", out);
}

static void put_horizontal(const struct page *page, const char *class, int64_t bytes, FILE *out)
{
    const double y = y_of(page, bytes);
    fprintf(out, "<line class=\"%s\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", class, WIDTH, y, y);
}

/* Draws the ticks, the GPU's memory, and the peaks as lines. */
static void put_lines(const struct page *page, FILE *out)
{
    for (int64_t at = 0; at <= page->top; at += page->step)
        put_horizontal(page, "grid", at, out);
    if (page->limit > 0)
        put_horizontal(page, "limit", page->limit, out);
    for (int side = 0; side < CS_SIDES; side++) {
        const double x = COLUMN * ((double)find_peak(page, side) + 0.5);
        if (page->timelines.has[side])
            fprintf(out, "<line class=\"peak%s\" x1=\"%.1f\" x2=\"%.1f\" y2=\"%d\"/>\n",
                    side == CS_WITH ? " after" : "", x, x, HEIGHT);
    }
}

/* Draws a rectangle over each column, which shows its tooltip. */
static void put_hits(const struct page *page, FILE *out)
{
    char bytes[CS_BYTES_TEXT];
    for (size_t i = 0; i < COLUMNS; i++) {
        fprintf(out, "<rect class=\"hit\" x=\"%zu\" width=\"%d\" height=\"%d\"><title>", COLUMN * i,
                COLUMN, HEIGHT);
        if (page->calls > 0)
            fprintf(out, "call %zu:", i * (page->calls + 1) / COLUMNS);
        for (int side = 0; side < CS_SIDES; side++)
            if (page->timelines.has[side])
                fprintf(out, " %s %s", cs_table_bytes_text(bytes, page->held[side][i]),
                        cs_side_names[side]);
        fputs("</title></rect>\n", out);
    }
}

/* Draws the plot with both axes. */
static void put_shapes(const struct page *page, FILE *out)
{
    put_scale(page, out);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"Memory over the run\">\n",
            WIDTH, HEIGHT);
    put_outline(page, CS_WITHOUT, "saved", true, out);
    put_outline(page, CS_WITH, "held", true, out);
    put_lines(page, out);
    put_outline(page, CS_WITHOUT, "curve", false, out);
    put_outline(page, CS_WITH, "curve after", false, out);
    put_hits(page, out);
    fputs("</svg>\n<div class=\"ticks\"><span>begin</span>", out);
    if (page->calls > 0)
        fprintf(out, "<span>call %zu</span><span>call %zu</span>", (page->calls + 1) / 2,
                page->calls);
    else
        fputs("<span>end</span>", out);
    fputs("</div>", out);
}

static void put_legend(const struct page *page, FILE *out)
{
    static const char *const names[2][CS_SIDES] = {
        {"without, device peak", "with convshim, device peak"},
        {"without, requested peak", "with convshim, requested peak"}};
    fputs("<ul class=\"legend\">\n", out);
    for (int side = 0; side < CS_SIDES; side++)
        if (page->timelines.has[side])
            cs_page_key(side == CS_WITH ? "after" : "before", names[page->any->of_framework][side],
                        page->held[side][find_peak(page, side)], out);
    if (page->limit > 0)
        cs_page_key("limit", "memory of the GPU, less the context", page->limit, out);
    fputs("</ul>\n", out);
}

static void put_plot(const struct page *page, FILE *out)
{
    fprintf(out, "<h2>Memory over the run</h2>\n<p>%s%s Dashed lines mark the peaks.</p>\n",
            page->any->of_framework
                ? "Memory that the framework requested for tensors and workspaces. Its "
                  "allocator rounds sizes up, so the allocated peak is a little higher."
                : "Memory that the program holds from the driver.",
            page->calls > 0 ? " The horizontal axis counts calls of convolutions." : "");
    put_legend(page, out);
    fputs("<div class=\"plot\">", out);
    put_shapes(page, out);
    fputs("</div>\n", out);
}

/* --- figures, sentences, tables --- */

/* Puts a card: "605.4 MiB → 427.7 MiB", and the change below. */
static void put_card(const cJSON *answer, enum cs_figure figure, FILE *out)
{
    struct cs_figure_text text;
    const char *separator = "";
    if (!cs_sim_figure_write(answer, figure, &text))
        return;
    fprintf(out, "<div><dt>%s</dt><dd>", cs_figures[figure].title);
    for (int side = 0; side < CS_SIDES; side++)
        if (cs_json_at(answer, cs_side_names[side])) {
            fprintf(out, "%s%s", separator, text.side[side]);
            separator = " &#8594; ";
        }
    fprintf(out, "<small>%s</small></dd></div>\n", text.change);
}

static void put_figures(const cJSON *answer, FILE *out)
{
    static const enum cs_figure cards[] = {CS_FIGURE_allocated_peak, CS_FIGURE_device_peak,
                                           CS_FIGURE_largest_workspace, CS_FIGURE_predicted_ns,
                                           CS_FIGURE_predicted_most_ns};
    fputs("<dl class=\"cards\">\n", out);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        put_card(answer, cards[i], out);
    fputs("</dl>\n", out);
}

/* Puts two texts behind a label, or nothing if the answer lacks the first one. */
static void put_line(const char *label, const char *text, const char *more, FILE *out)
{
    if (!text)
        return;
    fprintf(out, "<p class=\"conclusion\">%s ", label);
    cs_page_text(text, out);
    fputc(' ', out);
    cs_page_text(more, out);
    fputs("</p>\n", out);
}

/* Puts the sentence whether a run fits, then its verdict unless that sentence contains it. */
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
    cJSON_ArrayForEach(row, cs_json_at(cs_json_at(page->answer, cs_side_names[side]), "peak"))
    {
        cs_table_add(&table, (struct cs_value[]){{.text = cs_json_text(row, "what")},
                                                 {.text = cs_json_text(row, "of")},
                                                 {.number = cs_json_whole_at(row, "bytes", -1)},
                                                 {.number = cs_json_whole_at(row, "blocks", -1)}});
    }
    cs_page_table(side == CS_WITH ? "peak-with" : "peak-without", title, &table, out);
    const bool good = !table.broken;
    cs_table_fini(&table);
    return good;
}

/* Writes the page (cs_output_fn). False: memory is short. */
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
    put_figures(page->answer, out);
    put_answer("Does it fit without convshim?", cs_json_at(page->answer, "without"), out);
    put_answer("Does it fit with convshim?", cs_json_at(page->answer, "with"), out);
    put_line("No gain:", cs_json_text(page->answer, "no_gain"), "", out);
    put_line("Advice:", cs_json_text(page->answer, "advice"), "", out);
    put_plot(page, out);
    const bool good = put_held(page, CS_WITHOUT, out) && put_held(page, CS_WITH, out);
    fprintf(out,
            "<p>Simulated: kernels were counted, not computed. The curves exclude the context of "
            "%s.</p>\n",
            cs_table_bytes_text(bytes, page->pair->context));
    cs_page_end(out);
    return good;
}

bool cs_sim_page_write(const struct cs_simulation *simulation, const struct cs_sim_pair *pair,
                       const struct cJSON *answer, const char *path)
{
    static struct page page; /* too large for the stack */
    page = (struct page){.simulation = simulation, .pair = pair, .answer = answer};
    if (!cs_timelines_read(pair, &page.timelines))
        return false;
    page.any = &page.timelines.side[page.timelines.has[CS_WITH] ? CS_WITH : CS_WITHOUT];
    page.calls = page.timelines.same_calls ? page.any->calls : 0;
    for (int side = 0; side < CS_SIDES; side++)
        if (page.timelines.has[side])
            fill_columns(&page, side);
    scale_axis(&page);
    const bool good = cs_output_page(simulation->title, path, put_page, &page);
    cs_timelines_fini(&page.timelines);
    return good;
}
