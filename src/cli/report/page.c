/* The frame of a page: nothing in it refers to elsewhere, and its own policy forbids every request.
 * Without scripts it shows the same; its style and its script are report.css and report.js. */
#include "cli/report/page.h"

#include "cli/common/table.h"

static const char POLICY[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";

static const char STYLE[] =
#include "report_css.h"
    ;

static const char SCRIPT[] =
#include "report_js.h"
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

static void put_key(const char *class, const char *text, int64_t bytes, FILE *out)
{
    char size[CS_BYTES_TEXT];
    fprintf(out,
            "<li><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"%s\" width=\"1\" "
            "height=\"1\"/></svg>%s",
            class, text);
    if (bytes >= 0)
        fprintf(out, " %s", cs_table_bytes_text(size, bytes));
    fputs("</li>\n", out);
}

void cs_plot_legend(const char *before, int64_t before_bytes, const char *after,
                    int64_t after_bytes, FILE *out)
{
    fputs("<ul class=\"legend\">\n", out);
    put_key("before", before, before_bytes, out);
    put_key("after", after, after_bytes, out);
    fputs("</ul>\n", out);
}

void cs_plot_scale(int64_t step, double top, FILE *out)
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

void cs_plot_grid(int64_t step, double top, FILE *out)
{
    for (int64_t i = 0; (double)i * (double)step <= top; i++) {
        double y = CS_PLOT_HEIGHT * (1 - (double)i * (double)step / top);
        fprintf(out, "<line class=\"grid\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", CS_PLOT_WIDTH, y,
                y);
    }
}
