/* The frame of a page. A page needs no other file, and its content security policy forbids every
 * request. Without its script it shows the same. Style and script are page.css and page.js. */
#include "cli/common/page.h"

#include "base/checked.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = 960, /* units of a plot and of bars at every size */
    HEIGHT = 240,
    BAR = 5,
    ROW = 14,
    THINNEST = 2, /* a bar that can be seen */
    MOST_TICKS = 6
};

static const char POLICY[] = CS_PAGE_BEGINS
    "\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

static const char STYLE[] =
#include "page_css.h"
    ;

static const char SCRIPT[] =
#include "page_js.h"
    ;

void cs_page_begin(const char *title, const char *of, FILE *out)
{
    fprintf(out, "%s<title>%s", POLICY, title);
    if (*of) {
        fputs(": ", out);
        cs_table_html_text(of, out);
    }
    fprintf(out, "</title>\n<style>\n%s</style></head><body>\n<h1>%s</h1>\n", STYLE, title);
}

void cs_page_end(FILE *out)
{
    fprintf(out, "<script>\n%s</script>\n</body></html>\n", SCRIPT);
}

void cs_page_source(char *const *command, const char *const *texts, FILE *out)
{
    const char *between = "";
    fputs("<p class=\"source\">", out);
    for (; *command; command++) {
        cs_table_html_text(*command, out);
        fputc(command[1] ? ' ' : '\n', out);
    }
    for (; *texts; texts++) {
        if (!**texts)
            continue;
        fputs(between, out);
        cs_table_html_text(*texts, out);
        between = ", ";
    }
    fputs("</p>\n", out);
}

bool cs_page_table(const char *id, const char *title, struct cs_table *table, FILE *out)
{
    const bool whole = !table->broken;
    fprintf(out, "<h2 id=\"%s\">%s</h2>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" ", id,
            title);
    fprintf(out, "aria-labelledby=\"%s\">", id);
    cs_table_html(table, "sorts", out);
    fputs("</div>\n", out);
    cs_table_fini(table);
    return whole;
}

/* An entry of the legend, with a size unless `bytes` is negative. */
static void put_key(const char *class, const char *name, int64_t bytes, FILE *out)
{
    char size[CS_BYTES_TEXT];
    fputs("<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\">", out);
    fprintf(out, "<rect class=\"%s\" width=\"1\" height=\"1\"/></svg>%s", class, name);
    if (bytes >= 0)
        fprintf(out, " %s", cs_table_bytes_text(size, bytes));
    fputs("</li>\n", out);
}

/* --- bars --- */

/* In units of the picture. A width of 0 prints nothing. Others are at least wide enough to see. */
static void put_bar(const char *class, double y, double width, FILE *out)
{
    if (width > 0)
        fprintf(out, "<rect class=\"%s\" x=\"0.0\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>\n",
                class, y, fmax(width, THINNEST), BAR);
}

static void put_row(const struct cs_bar_row *row, int64_t most, FILE *out)
{
    char without[CS_BYTES_TEXT], with[CS_BYTES_TEXT];
    const double scale = (double)WIDTH / (double)most;
    fputs("<li><span class=\"name\">", out);
    cs_table_html_text(row->name, out);
    fputs("<small>", out);
    cs_table_html_text(row->detail, out);
    cs_table_bytes_text(without, row->without);
    cs_table_bytes_text(with, row->with);
    fprintf(out,
            "</small></span><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\"><title>%s "
            "without convshim, %s with</title>",
            WIDTH, ROW, without, with);
    put_bar("before", 1.5, (double)row->without * scale, out);
    put_bar("after", 7.5, (double)row->with * scale, out);
    fprintf(out, "</svg><span class=\"value\">%s &#8594; %s</span></li>\n", without, with);
}

void cs_bar_rows(const char *title, const struct cs_bar_row *row, size_t rows, FILE *out)
{
    int64_t most = 0;
    for (size_t i = 0; i < rows; i++)
        cs_raise(&most, cs_max(row[i].without, row[i].with));
    if (most == 0)
        return;
    fprintf(out, "<h2>%s</h2>\n<ul class=\"legend\">\n", title);
    put_key("before", "without convshim", -1, out);
    put_key("after", "with convshim", -1, out);
    fputs("</ul>\n<ul class=\"bars\">\n", out);
    for (size_t i = 0; i < rows; i++)
        put_row(&row[i], most, out);
    fputs("</ul>\n", out);
}

/* --- memory over time --- */

/* The distance of ticks on an axis from 0 to `most` bytes: a power of two, so that labels are
 * short. */
static int64_t find_step(int64_t most)
{
    int64_t step = 1;
    while (most / step > MOST_TICKS)
        step *= 2;
    return step;
}

static double x_of(const struct cs_plot *plot, double column)
{
    return (double)WIDTH * column / (double)plot->columns;
}

static size_t find_highest(const struct cs_plot *plot, int side)
{
    size_t peak = 0;
    for (size_t i = 0; i < plot->columns; i++)
        if (plot->bytes[side][i] > plot->bytes[side][peak])
            peak = i;
    return peak;
}

/* The outline of all columns; an area also goes down to the axis. */
static void put_outline(const struct cs_plot *plot, int side, const char *class, bool area,
                        double top, FILE *out)
{
    if (!plot->name[side])
        return;
    fprintf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < plot->columns; i++) {
        if (i == 0 && area)
            fprintf(out, "M0,%d", HEIGHT);
        fprintf(out, i == 0 && !area ? "M0,%.1fH%.1f" : "V%.1fH%.1f",
                HEIGHT * (1 - (double)plot->bytes[side][i] / top), x_of(plot, (double)i + 1));
    }
    if (area)
        fprintf(out, "V%dZ", HEIGHT);
    fputs("\"/>\n", out);
}

/* The scale next to the plot. It is a separate <svg>. */
static void put_scale(int64_t step, double top, FILE *out)
{
    fputs("<svg aria-hidden=\"true\">\n", out);
    for (int64_t i = 0; (double)i * (double)step <= top; i++) {
        char size[CS_BYTES_TEXT];
        fprintf(out, "<text x=\"100%%\" y=\"%.2f%%\" dy=\".32em\">%s</text>\n",
                100 * (1 - (double)i * (double)step / top),
                i > 0 ? cs_table_bytes_text(size, i * step) : "0");
    }
    fputs("</svg>\n", out);
}

static void put_lines(const struct cs_plot *plot, int64_t step, double top, FILE *out)
{
    for (int64_t i = 0; (double)i * (double)step <= top; i++) {
        double y = HEIGHT * (1 - (double)i * (double)step / top);
        fprintf(out, "<line class=\"grid\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", WIDTH, y, y);
    }
    if (plot->limit > 0 && (double)plot->limit <= top) {
        double y = HEIGHT * (1 - (double)plot->limit / top);
        fprintf(out, "<line class=\"limit\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", WIDTH, y, y);
    }
    for (int side = 0; side < 2 && plot->peaks; side++) {
        double x = x_of(plot, (double)find_highest(plot, side) + 0.5);
        if (plot->name[side])
            fprintf(out, "<line class=\"peak%s\" x1=\"%.1f\" x2=\"%.1f\" y2=\"%d\"/>\n",
                    side ? " after" : "", x, x, HEIGHT);
    }
}

/* Each column has a rectangle that shows its tooltip. */
static void put_hits(const struct cs_plot *plot, FILE *out)
{
    for (size_t i = 0; i < plot->columns; i++) {
        fputs("<rect class=\"hit\"", out);
        fprintf(out, " x=\"%.1f\" width=\"%.1f\" height=\"%d\"><title>", x_of(plot, (double)i),
                x_of(plot, 1), HEIGHT);
        plot->tooltip(plot->state, i, out);
        fputs("</title></rect>\n", out);
    }
}

static void put_shapes(const struct cs_plot *plot, int64_t step, double top, FILE *out)
{
    put_scale(step, top, out);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"%s\">\n",
            WIDTH, HEIGHT, plot->title);
    put_outline(plot, 0, "saved", true, top, out);
    put_outline(plot, 1, "held", true, top, out);
    put_lines(plot, step, top, out);
    put_outline(plot, 0, "curve", false, top, out);
    put_outline(plot, 1, "curve after", false, top, out);
    put_hits(plot, out);
    fputs("</svg>\n<div class=\"ticks\">", out);
    for (int i = 0; i < 3; i++)
        if (plot->tick[i]) {
            fputs("<span>", out);
            cs_table_html_text(plot->tick[i], out);
            fputs("</span>", out);
        }
    fputs("</div>", out);
}

void cs_plot_put(const struct cs_plot *plot, FILE *out)
{
    int64_t peak[2], most = 1;
    for (int side = 0; side < 2; side++) {
        peak[side] = plot->bytes[side][find_highest(plot, side)];
        cs_raise(&most, plot->name[side] ? peak[side] : 0);
    }
    const bool limit = plot->limit > 0 && plot->limit / 2 <= most;
    if (limit)
        cs_raise(&most, plot->limit);
    int64_t step = find_step(most);
    fprintf(out, "<h2>%s</h2>\n", plot->title);
    if (plot->note)
        fprintf(out, "<p>%s</p>\n", plot->note);
    fputs("<ul class=\"legend\">\n", out);
    for (int side = 0; side < 2; side++)
        if (plot->name[side])
            put_key(side ? "after" : "before", plot->name[side], peak[side], out);
    if (limit)
        put_key("limit", "memory of the GPU, less the context", plot->limit, out);
    fputs("</ul>\n<div class=\"plot\">", out);
    put_shapes(plot, step, (double)step * ceil((double)most / (double)step), out);
    fputs("</div>\n", out);
}
