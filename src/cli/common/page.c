/* The frame, the tables and the bars of a page. A page needs no other file, and its content
 * security policy forbids every request. Without its script it shows the same. Style and script are
 * page.css and page.js. */
#include "cli/common/page.h"
#include "cli/common/json_tree.h"

#include "base/checked.h"
#include <math.h>

enum {
    WIDTH = 960, /* units of a row of bars at every size */
    ROW = 14,
    BAR = 5,
    THINNEST = 2 /* a bar that can be seen */
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

void cs_page_text(const char *text, FILE *out)
{
    static const char *const entity[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    while (*text) {
        const unsigned char byte = (unsigned char)*text;
        if (byte < sizeof entity / sizeof *entity && entity[byte]) {
            fputs(entity[byte], out);
            text++;
        } else
            cs_json_put_character(&text, out);
    }
}

void cs_page_begin(const char *title, const char *of, FILE *out)
{
    fprintf(out, "%s<title>%s", POLICY, title);
    if (*of) {
        fputs(": ", out);
        cs_page_text(of, out);
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
        cs_page_text(*command, out);
        fputc(command[1] ? ' ' : '\n', out);
    }
    for (; *texts; texts++) {
        if (!**texts)
            continue;
        fputs(between, out);
        cs_page_text(*texts, out);
        between = ", ";
    }
    fputs("</p>\n", out);
}

/* --- tables --- */

static void put_head(const struct cs_table *table, FILE *out)
{
    fputs("<thead><tr>", out);
    for (int i = 0; i < table->columns; i++)
        if (table->column[i].title) {
            fprintf(out, "<th scope=\"col\"%s>",
                    table->column[i].cell == CS_CELL_TEXT ? "" : " class=\"n\"");
            cs_page_text(table->column[i].title, out);
            fputs("</th>", out);
        }
    fputs("</tr></thead>\n", out);
}

static void put_cell(const struct cs_column *column, const struct cs_value *value, FILE *out)
{
    char buffer[CS_CELL_TEXT_BYTES];
    if (column->cell == CS_CELL_TEXT)
        fputs("<td>", out);
    else
        fprintf(out, "<td class=\"n\" data-v=\"%s\">", cs_table_text(column, value, false, buffer));
    cs_page_text(cs_table_text(column, value, true, buffer), out);
    fputs("</td>", out);
}

void cs_page_table(const char *id, const char *title, const struct cs_table *table, FILE *out)
{
    fprintf(out, "<h2 id=\"%s\">%s</h2>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" ", id,
            title);
    fprintf(out, "aria-labelledby=\"%s\"><table class=\"sorts\">", id);
    put_head(table, out);
    fputs("<tbody>\n", out);
    for (size_t row = 0; row < table->rows; row++) {
        fputs("<tr>", out);
        for (int i = 0; i < table->columns; i++)
            if (table->column[i].title)
                put_cell(&table->column[i], &cs_table_row(table, row)[i], out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table>\n</div>\n", out);
}

void cs_page_key(const char *class, const char *name, int64_t bytes, FILE *out)
{
    char size[CS_BYTES_TEXT];
    fputs("<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\">", out);
    fprintf(out, "<rect class=\"%s\" width=\"1\" height=\"1\"/></svg>%s", class, name);
    if (bytes >= 0)
        fprintf(out, " %s", cs_table_bytes_text(size, bytes));
    fputs("</li>\n", out);
}

/* --- bars --- */

/* Draws a bar, in units of the picture. A width of 0 draws nothing. Others are at least wide enough
 * to see. */
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
    cs_page_text(row->name, out);
    fputs("<small>", out);
    cs_page_text(row->detail, out);
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
    cs_page_key("before", "without convshim", -1, out);
    cs_page_key("after", "with convshim", -1, out);
    fputs("</ul>\n<ul class=\"bars\">\n", out);
    for (size_t i = 0; i < rows; i++)
        put_row(&row[i], most, out);
    fputs("</ul>\n", out);
}
