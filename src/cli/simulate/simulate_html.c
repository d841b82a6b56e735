/* The page of a simulation: memory over the run without the library and with it, and the memory
 * held at the peaks. The horizontal axis of both curves counts calls of convolutions, so that both
 * show a layer at the same position. */
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include "cli/simulate/simulate.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS = CS_PLOT_COLUMNS
};

struct page {
    const struct cs_simulation *simulation;
    const struct cs_simulated_pair *pair;
    struct cs_timeline timeline[CS_SIDES];
    bool has[CS_SIDES];
    struct cs_plot plot; /* its sides are CS_WITHOUT and CS_WITH */
};

/* --- curves --- */

/* Where the calls of both runs are the same ones, columns are parts of these; else of moments. */
static bool by_calls(const struct page *page)
{
    const struct cs_timeline *a = &page->timeline[CS_WITHOUT], *b = &page->timeline[CS_WITH];
    size_t calls = page->has[CS_WITHOUT] ? a->calls : b->calls;
    bool differ = page->has[CS_WITHOUT] && page->has[CS_WITH] && a->calls != b->calls;
    return calls > 0 && !differ;
}

/* How far a moment is into the run, from 0 and below 1; `next` is the call that comes at it or
 * behind. */
static double progress(const struct cs_timeline *timeline, size_t moment, size_t next, bool calls)
{
    if (!calls)
        return (double)moment / (double)timeline->moments;
    size_t from = next > 0 ? timeline->call[next - 1].moment : 0,
           until = next < timeline->calls ? timeline->call[next].moment : timeline->moments;
    double part = until > from ? (double)(moment - from) / (double)(until - from) : 0;
    return ((double)next + part) / (double)(timeline->calls + 1);
}

static void fill_columns(struct page *page, int side)
{
    const struct cs_timeline *timeline = &page->timeline[side];
    const bool calls = by_calls(page);
    size_t next = 0, last = 0;
    int64_t held = 0;
    for (size_t i = 0; i < timeline->moments; i++) {
        while (next < timeline->calls && timeline->call[next].moment <= i)
            next++;
        size_t column = (size_t)(progress(timeline, i, next, calls) * COLUMNS);
        column = column < COLUMNS ? column : COLUMNS - 1; /* rounding may come to 1 */
        for (; last < column; last++)
            page->plot.bytes[side][last + 1] = held;
        held = timeline->live[i];
        if (held > page->plot.bytes[side][column])
            page->plot.bytes[side][column] = held;
    }
    for (; last + 1 < COLUMNS; last++)
        page->plot.bytes[side][last + 1] = held;
}

/* The page's calls, of either side: they are the same where columns go by them. */
static size_t calls_of(const struct page *page)
{
    return page->timeline[page->has[CS_WITH] ? CS_WITH : CS_WITHOUT].calls;
}

static void put_tooltip(const void *state, size_t column, FILE *out)
{
    const struct page *page = state;
    char bytes[CS_BYTES_TEXT];
    if (by_calls(page))
        fprintf(out, "call %zu:", column * (calls_of(page) + 1) / COLUMNS);
    for (int side = 0; side < CS_SIDES; side++)
        if (page->has[side])
            fprintf(out, " %s %s", cs_table_bytes_text(bytes, page->plot.bytes[side][column]),
                    cs_side_names[side]);
}

static int64_t peak_of(const struct page *page, enum cs_side side)
{
    const struct cs_timeline *timeline = &page->timeline[side];
    return page->has[side] && timeline->moments > 0 ? timeline->live[cs_timeline_peak(timeline)]
                                                    : -1;
}

static void put_plot(const struct page *page, FILE *out)
{
    static const char *const names[2][CS_SIDES] = {
        {"without, device peak", "with convshim, device peak"},
        {"without, requested peak", "with convshim, requested peak"}};
    const bool framework = page->timeline[page->has[CS_WITH] ? CS_WITH : CS_WITHOUT].of_framework;
    const bool calls = by_calls(page);
    char note[320], tick[2][32];
    struct cs_plot plot = page->plot;
    snprintf(note, sizeof note, "%s%s Dashed lines mark the peaks.",
             framework ? "Memory that the framework requested for tensors and workspaces. Its "
                         "allocator rounds sizes up, so the allocated peak is a little higher."
                       : "Memory that the program holds from the driver.",
             calls ? " The horizontal axis counts calls of convolutions." : "");
    snprintf(tick[0], sizeof tick[0], "call %zu", (calls_of(page) + 1) / 2);
    snprintf(tick[1], sizeof tick[1], "call %zu", calls_of(page));
    plot.title = "Memory over the run";
    plot.note = note;
    plot.limit = cs_simulate_memory(page->pair) - page->pair->context;
    for (int side = 0; side < CS_SIDES; side++)
        plot.name[side] = page->has[side] ? names[framework][side] : NULL;
    plot.columns = COLUMNS;
    plot.peaks = true;
    plot.tick[0] = "begin";
    plot.tick[1] = calls ? tick[0] : NULL;
    plot.tick[2] = calls ? tick[1] : "end";
    plot.tooltip = put_tooltip;
    plot.state = page;
    cs_plot_put(&plot, out);
}

/* --- the rest --- */

static void put_source(const struct page *page, FILE *out)
{
    const struct cs_simulated_program *program = &page->simulation->program;
    const char *const texts[] = {page->pair->device->title, "simulated", program->cudnn,
                                 program->framework};
    fputs("<p class=\"source\">", out);
    for (char **word = program->command; *word; word++) {
        cs_table_html_text(*word, out);
        fputc(word[1] ? ' ' : '\n', out);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!*texts[i])
            continue;
        fputs(i > 0 ? ", " : "", out);
        cs_table_html_text(texts[i], out);
    }
    fputs("</p>\n", out);
}

/* A card: "605.4 MiB → 427.7 MiB", and the change below. */
static void put_card(const struct cs_simulated_pair *pair, enum cs_figure figure, FILE *out)
{
    struct cs_figure_text text;
    if (!cs_simulate_figure(pair, figure, &text))
        return;
    fprintf(out, "<div><dt>%s</dt><dd>", text.title);
    for (int side = 0; side < CS_SIDES; side++)
        if (pair->chosen[side])
            fprintf(out, "%s%s", side == CS_WITH && pair->chosen[CS_WITHOUT] ? " &#8594; " : "",
                    text.side[side]);
    fprintf(out, "<small>%s</small></dd></div>\n", text.change);
}

static void put_line(const char *label, const char *text, FILE *out)
{
    fprintf(out, "<p class=\"conclusion\">%s ", label);
    cs_table_html_text(text, out);
    fputs("</p>\n", out);
}

/* Whether each run fits and how it ran, and the lines "no gain" and "advice". */
static void put_answers(const struct page *page, FILE *out)
{
    const struct cs_simulated_pair *pair = page->pair;
    char fits[512], verdict[512], text[1280];
    for (int side = 0; side < CS_SIDES; side++) {
        if (!pair->chosen[side])
            continue;
        (void)cs_simulate_fits(pair, (enum cs_side)side, fits, sizeof fits);
        cs_simulate_verdict(pair, (enum cs_side)side, verdict, sizeof verdict);
        snprintf(text, sizeof text, "%s %s", fits, verdict);
        put_line(side == CS_WITH ? "Does it fit with convshim?" : "Does it fit without convshim?",
                 text, out);
    }
    if (cs_simulate_why(pair, text, sizeof text))
        put_line("No gain:", text, out);
    const char *advice = cs_simulate_advice(&page->simulation->program, pair);
    if (advice)
        put_line("Advice:", advice, out);
}

static void put_figures(const struct cs_simulated_pair *pair, FILE *out)
{
    static const enum cs_figure cards[] = {CS_FIGURE_allocated_peak, CS_FIGURE_device_peak,
                                           CS_FIGURE_largest_workspace, CS_FIGURE_predicted_ns};
    fputs("<dl class=\"cards\">\n", out);
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        put_card(pair, cards[i], out);
    fputs("</dl>\n", out);
}

/* The call of a side whose workspace is in that block, of which the run with the library has the
 * text. */
static bool put_held(const struct page *page, enum cs_side side, FILE *out)
{
    struct cs_table table;
    char bytes[CS_BYTES_TEXT];
    const struct cs_timeline *names =
        by_calls(page) && page->has[CS_WITH] ? &page->timeline[CS_WITH] : NULL;
    if (!page->has[side] || page->timeline[side].moments == 0)
        return true;
    if (!cs_peak_table(&page->timeline[side], names, page->pair->result[CS_WITH].summary, &table))
        return false;
    fprintf(out, "<h2 id=\"peak-%s\">Held at the peak %s: %s</h2>\n", cs_side_names[side],
            side == CS_WITH ? "with convshim" : "without",
            cs_table_bytes_text(bytes, peak_of(page, side)));
    fprintf(out, "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"peak-%s\">",
            cs_side_names[side]);
    bool whole = !table.broken;
    cs_table_html(&table, "sorts", out);
    fputs("</div>\n", out);
    cs_table_fini(&table);
    return whole;
}

static bool put_page(const void *state, FILE *out)
{
    const struct page *page = state;
    cs_page_begin("convshim simulate", page->simulation->program.command[0], out);
    put_source(page, out);
    put_figures(page->pair, out);
    put_answers(page, out);
    put_plot(page, out);
    bool good = put_held(page, CS_WITHOUT, out) && put_held(page, CS_WITH, out);
    char bytes[CS_BYTES_TEXT];
    fprintf(out,
            "<p>Simulated: kernels were counted, not computed. The curves exclude the context of "
            "%s.</p>\n",
            cs_table_bytes_text(bytes, page->pair->context));
    cs_page_end(out);
    return good;
}

static bool read_timelines(struct page *page)
{
    for (int side = 0; side < CS_SIDES; side++) {
        const struct cs_simulated_pair *pair = page->pair;
        if (!pair->chosen[side] || !pair->result[side].used)
            continue;
        if (!cs_timeline_read(&pair->run[side], &pair->result[side], &page->timeline[side]))
            return false;
        page->has[side] = true;
    }
    for (int side = 0; side < CS_SIDES; side++)
        if (page->has[side])
            fill_columns(page, side);
    return true;
}

bool cs_simulate_html(const struct cs_simulation *simulation, const struct cs_simulated_pair *pair,
                      const char *path)
{
    struct page *page = calloc(1, sizeof *page);
    if (!page) {
        cs_cli_complain("out of memory");
        return false;
    }
    page->simulation = simulation;
    page->pair = pair;
    bool good = read_timelines(page);
    good = good && cs_output_page(simulation->title, path, put_page, page);
    for (int side = 0; side < CS_SIDES; side++)
        cs_timeline_fini(&page->timeline[side]);
    free(page);
    return good;
}
