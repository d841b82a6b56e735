/* Tables as HTML, in which the texts of cells are escaped. */
#include "cli/common/table.h"

#include <inttypes.h>
#include <string.h>

void cs_table_html_text(const char *text, FILE *out)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void html_head(const struct cs_table *table, FILE *out)
{
    fputs("<thead><tr>", out);
    for (int i = 0; i < table->columns; i++)
        if (table->column[i].title) {
            fprintf(out, "<th scope=\"col\"%s>",
                    table->column[i].cell == CS_CELL_TEXT ? "" : " class=\"n\"");
            cs_table_html_text(table->column[i].title, out);
            fputs("</th>", out);
        }
    fputs("</tr></thead>\n", out);
}

static void html_cell(const struct cs_column *column, const struct cs_value *value, FILE *out)
{
    char buffer[CS_CELL_TEXT_BYTES];
    if (column->cell == CS_CELL_TEXT)
        fputs("<td>", out);
    else if (column->cell == CS_CELL_RATIO)
        fprintf(out, "<td class=\"n\" data-v=\"%.6f\">", value->ratio > 0 ? value->ratio : -1);
    else
        fprintf(out, "<td class=\"n\" data-v=\"%" PRId64 "\">", value->number);
    cs_table_html_text(cs_table_text(column, value, true, buffer), out);
    fputs("</td>", out);
}

void cs_table_html(const struct cs_table *table, const char *class, FILE *out)
{
    fprintf(out, "<table class=\"%s\">", class);
    html_head(table, out);
    fputs("<tbody>\n", out);
    for (size_t row = 0; row < table->rows; row++) {
        fputs("<tr>", out);
        for (int i = 0; i < table->columns; i++)
            if (table->column[i].title)
                html_cell(&table->column[i], &cs_table_row(table, row)[i], out);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table>\n", out);
}
