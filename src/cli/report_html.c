/* The page: nothing in it refers to elsewhere, and its own policy forbids every request. */
#include "cli/report.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDTH = 960,
    HEIGHT = 240,
    LEFT = 330,  /* where bars begin: names stand before */
    RIGHT = 850, /* where they end: sizes stand behind */
    ROW = 20,
    BAR = 7,
    MOST_BARS = 25,
    NAME = 44 /* characters of a name that have room */
};

static const char HEAD[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>convshim report</title>\n<style>\n"
    ":root{color-scheme:light dark;--paper:#fff;--ink:#1f2328;--faint:#59636e;--line:#d1d9e0;"
    "--before:#d1746a;--after:#0969da}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#0d1117;--ink:#e6edf3;--faint:#9198a1;"
    "--line:#3d444d;--before:#c26a60;--after:#4493f8}}\n"
    "body{background:var(--paper);color:var(--ink);font:14px system-ui,sans-serif;max-width:75rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    "p{color:var(--faint)}div{overflow-x:auto}svg{max-width:100%;height:auto}\n"
    "table{border-collapse:collapse}td,th{padding:.2rem .6rem;border-bottom:1px solid var(--line);"
    "text-align:left;white-space:pre}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums}\n"
    "button{all:unset;cursor:pointer;font-weight:600}button:focus-visible{outline:2px solid}\n"
    "th[aria-sort=ascending] button::after{content:' \\2191'}"
    "th[aria-sort=descending] button::after{content:' \\2193'}\n"
    "text{fill:var(--ink);font:12px system-ui,sans-serif}.grid{stroke:var(--line)}\n"
    ".before{fill:var(--before)}.after{fill:var(--after)}\n"
    ".line{fill:none;stroke-width:1.5}.line.before{stroke:var(--before);fill:none}"
    ".line.after{stroke:var(--after);fill:none}\n"
    "</style></head><body>\n<h1>convshim report</h1>\n";

/* A click on a heading sorts by what cells have as data-v, else by their text; again: the other
 * way round. */
static const char SCRIPT[] =
    "<script>\n"
    "document.querySelectorAll('th button').forEach(function (button) {\n"
    "  button.addEventListener('click', function () {\n"
    "    var th = button.parentNode, table = th.closest('table'), body = table.tBodies[0];\n"
    "    var column = th.cellIndex;\n"
    "    var up = th.getAttribute('aria-sort') === 'descending';\n"
    "    var rows = Array.prototype.slice.call(body.rows);\n"
    "    function key(row) {\n"
    "      var cell = row.cells[column], value = cell.getAttribute('data-v');\n"
    "      return value === null ? cell.textContent : Number(value);\n"
    "    }\n"
    "    rows.sort(function (a, b) {\n"
    "      var x = key(a), y = key(b), order = x < y ? -1 : x > y ? 1 : 0;\n"
    "      return up ? order : -order;\n"
    "    });\n"
    "    table.querySelectorAll('th').forEach(function (other) {\n"
    "      other.removeAttribute('aria-sort');\n"
    "    });\n"
    "    th.setAttribute('aria-sort', up ? 'ascending' : 'descending');\n"
    "    rows.forEach(function (row) { body.appendChild(row); });\n"
    "  });\n"
    "});\n"
    "</script>\n";

static double share(int64_t bytes, int64_t of)
{
    return of > 0 ? (double)bytes / (double)of : 0;
}

static void put_line(const struct cs_anatomy *anatomy, bool after, FILE *out)
{
    double step = anatomy->moments > 1 ? (double)WIDTH / (double)(anatomy->moments - 1) : 0;
    fprintf(out, "<polyline class=\"line %s\" points=\"", after ? "after" : "before");
    for (size_t i = 0; i < anatomy->moments; i++) {
        int64_t bytes = after ? anatomy->moment[i].after : anatomy->moment[i].before;
        fprintf(out, "%s%.1f,%.1f", i > 0 ? " " : "", step * (double)i,
                HEIGHT * (1 - share(bytes, anatomy->peak_before)));
    }
    fputs("\"/>\n", out);
}

static void put_time(const struct cs_anatomy *anatomy, FILE *out)
{
    char before[CS_BYTES_TEXT], after[CS_BYTES_TEXT];
    if (anatomy->moments == 0)
        return;
    fprintf(out, "<h2>Memory over one step</h2>\n<p>%zu calls. Peak %s before, %s after.</p>\n",
            anatomy->moments, cs_bytes_text(before, anatomy->peak_before),
            cs_bytes_text(after, anatomy->peak_after));
    fprintf(out,
            "<div><svg viewBox=\"0 -4 %d %d\" width=\"%d\" role=\"img\" aria-label=\"memory over "
            "one step\">\n<line class=\"grid\" x1=\"0\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
            WIDTH, HEIGHT + 8, WIDTH, WIDTH, HEIGHT, HEIGHT);
    put_line(anatomy, false, out);
    put_line(anatomy, true, out);
    fputs("</svg></div>\n", out);
}

static void put_bar(const char *kind, double y, int64_t bytes, int64_t of, FILE *out)
{
    fprintf(out, "<rect class=\"%s\" x=\"%d\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"/>\n", kind,
            LEFT, y, share(bytes, of) * (RIGHT - LEFT), BAR);
}

/* Of a name as much as there is room for, never half a character. */
static void put_name(const char *name, int y, FILE *out)
{
    char text[NAME + 1];
    size_t length = strnlen(name, NAME);
    while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
        length--;
    memcpy(text, name, length);
    text[length] = '\0';
    fprintf(out, "<text x=\"0\" y=\"%d\">", y);
    cs_html_text(text, out);
    fputs("</text>\n", out);
}

/* Two bars, or one where `after` is negative. */
static void put_bars(const char *name, int row, int64_t before, int64_t after, int64_t of,
                     FILE *out)
{
    char a[CS_BYTES_TEXT], b[CS_BYTES_TEXT];
    put_name(name, row * ROW + 13, out);
    put_bar("before", row * ROW + 2, before, of, out);
    if (after >= 0)
        put_bar("after", row * ROW + 2 + BAR, after, of, out);
    fprintf(out, "<text x=\"%d\" y=\"%d\">%s%s%s</text>\n", RIGHT + 4, row * ROW + 13,
            cs_bytes_text(a, before), after >= 0 ? " / " : "",
            after >= 0 ? cs_bytes_text(b, after) : "");
}

static void begin_bars(const char *title, int rows, FILE *out)
{
    fprintf(out,
            "<h2>%s</h2>\n<div><svg viewBox=\"0 0 %d %d\" width=\"%d\" role=\"img\" "
            "aria-label=\"%s\">\n",
            title, WIDTH + 60, rows * ROW, WIDTH + 60, title);
}

/* Rows of the table of sites, which is sorted: columns 2, 10 and 11 of report_tables.c. */
static void put_spikes(const struct cs_table *sites, FILE *out)
{
    enum {
        PROBLEM = 2,
        WANTED = 10,
        TOLD = 11
    };
    int rows = sites->rows < MOST_BARS ? (int)sites->rows : MOST_BARS;
    if (rows == 0)
        return;
    begin_bars("Workspaces before and after", rows, out);
    for (int i = 0; i < rows; i++) {
        const struct cs_value *row = sites->value + (size_t)i * (size_t)sites->columns;
        put_bars(row[PROBLEM].text, i, row[WANTED].number, row[TOLD].number,
                 sites->value[WANTED].number, out);
    }
    fputs("</svg></div>\n", out);
}

static void put_anatomy(const struct cs_anatomy *anatomy, FILE *out)
{
    const struct {
        const char *name;
        int64_t before, after;
    } bars[] = {{"filters", anatomy->total.filters, -1},
                {"gradients of filters", anatomy->total.gradients, -1},
                {"optimizer (assumed)", anatomy->optimizer, -1},
                {"outputs", anatomy->total.outputs, -1},
                {"inputs kept for backward", anatomy->total.inputs_kept, -1},
                {"largest workspace", anatomy->total.wanted, anatomy->total.told}};
    const int rows = sizeof bars / sizeof *bars;
    int64_t most = 0;
    if (anatomy->moments == 0)
        return;
    for (int i = 0; i < rows; i++)
        most = bars[i].before > most ? bars[i].before : most;
    begin_bars("Anatomy", rows, out);
    for (int i = 0; i < rows; i++)
        put_bars(bars[i].name, i, bars[i].before, bars[i].after, most, out);
    fputs("</svg></div>\n", out);
}

static void put_section(const struct cs_section *section, FILE *out)
{
    if (section->table.rows == 0)
        return;
    fprintf(out, "<h2 id=\"%s\">%s</h2>\n", section->name, section->title);
    if (section->note)
        fprintf(out, "<p>%s</p>\n", section->note);
    fputs("<div>", out);
    cs_table_html(&section->table, out);
    fputs("</div>\n", out);
}

void cs_report_html(const struct cs_report *report, FILE *out)
{
    fputs(HEAD, out);
    for (size_t i = 0; i < report->sections; i++) {
        put_section(&report->section[i], out);
        if (i > 0 || !report->shown)
            continue;
        put_time(&report->anatomy, out);
        for (size_t j = 0; j < report->sections; j++)
            if (strcmp(report->section[j].name, "sites") == 0)
                put_spikes(&report->section[j].table, out);
        put_anatomy(&report->anatomy, out);
    }
    fputs(SCRIPT, out);
    fputs("</body></html>\n", out);
}
