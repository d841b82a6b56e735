/* Draws the layers of each model as bars: the tensors (floor), the workspace with convshim, and the
 * workspace saved. Each model has its own scale. */
#include "cli/predict/predict.h"

#include "base/json.h"
#include "cli/common/page.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 1000,
    LEFT = 250,  /* where bars begin: names stand before */
    RIGHT = 820, /* where they end: sizes follow */
    ROW = 18,    /* height of a layer */
    BAR = 12,    /* of its bar */
    TOP = 84,    /* title and legend */
    HEAD = 52,   /* a model's name and axis */
    MARGIN = 16,
    SMALL = 11, /* sizes of fonts */
    LARGE = 14,
    LARGEST = 16,
    PEAKS = 380 /* width of the text after a model's name */
};

static const double BOLD = 1.15; /* times as wide */

static const char STYLE[] =
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    ".paper{fill:#fff}.text{fill:#1f2328}.faint{fill:#59636e}.grid{stroke:#d1d9e0}\n"
    ".floor{fill:#57606a}.after{fill:#0969da}.before{fill:#d1746a}\n"
    "@media (prefers-color-scheme:dark){\n"
    ".paper{fill:#0d1117}.text{fill:#e6edf3}.faint{fill:#9198a1}.grid{stroke:#3d444d}\n"
    ".floor{fill:#9198a1}.after{fill:#4493f8}.before{fill:#c26a60}}\n"
    "text{font:12px system-ui,sans-serif}.small{font-size:11px}.big{font-size:16px;font-weight:"
    "600}\n"
    ".model{font-size:14px;font-weight:600}\n"
    "</style>\n";

/* The maximum width of a character, in font sizes: that of DejaVu Sans and Verdana, the widest
 * common fonts. */
static double advance(char c)
{
    if (strchr("MWmw@%+=<>#~", c) || (unsigned char)c >= 0x80)
        return 1;
    if (strchr("ijl.,:;'|! ", c))
        return 0.4;
    return c >= 'A' && c <= 'Z' ? 0.79 : 0.64;
}

/* Writes one character as XML; `length` is the result of cs_json_utf8_length. Characters that XML
 * does not permit become a question mark. */
static void put_character(FILE *out, const char *c, size_t length)
{
    static const char none[] = "\xef\xbf"; /* U+FFC0 to U+FFFF, which names do not contain */
    if (*c == '&')
        fputs("&amp;", out);
    else if (*c == '<')
        fputs("&lt;", out);
    else if (*c == '>')
        fputs("&gt;", out);
    else if (length == 0 || (length == 1 && ((unsigned char)*c < ' ' || *c == 0x7f)) ||
             strncmp(c, none, 2) == 0)
        fputc('?', out);
    else
        fwrite(c, 1, length, out);
}

/* The bytes of `text` that are at most so wide in sizes of the font. */
static size_t fitting(const char *text, double room)
{
    size_t used = 0;
    while (text[used] && (room -= advance(text[used])) >= 0) {
        size_t length = cs_json_utf8_length(text + used);
        used += length > 0 ? length : 1;
    }
    return used;
}

/* Prints XML text, cut to the available width in font sizes. */
static void put_text(FILE *out, const char *text, double room)
{
    size_t all = strlen(text), most = fitting(text, room);
    if (most < all)
        most = fitting(text, room - 1); /* with room for the dots */
    for (size_t i = 0; i < most;) {
        size_t length = cs_json_utf8_length(text + i);
        put_character(out, text + i, length);
        i += length > 0 ? length : 1;
    }
    if (most < all)
        fputs("&#8230;", out);
}

static double position(int64_t bytes, int64_t most)
{
    return LEFT + (double)(RIGHT - LEFT) * (double)bytes / (double)most;
}

static void put_bar(FILE *out, const char *class, int y, int64_t from, int64_t to, int64_t most)
{
    const int top = y + (ROW - BAR) / 2;
    const struct cs_bar bar = {class, position(from, most), top,
                               position(to, most) - position(from, most), BAR};
    cs_bar_put(&bar, out);
}

static void put_tooltip(FILE *out, const struct cs_layer *layer,
                        const struct cs_prediction *prediction)
{
    char title[CS_PREDICT_TITLE], before[CS_BYTES_TEXT], after[CS_BYTES_TEXT], floor[CS_BYTES_TEXT];
    fputs("<title>", out);
    put_text(out, layer->name, HUGE_VAL);
    fputs(": ", out);
    put_text(out, cs_predict_title(&layer->problem, title), HUGE_VAL);
    cs_table_bytes_text(floor, prediction->floor);
    if (prediction->status == CS_OK)
        fprintf(out, "; peak %s, with convshim %s, floor %s</title>\n",
                cs_table_bytes_text(before, prediction->peak),
                cs_table_bytes_text(after, prediction->tiled_peak), floor);
    else
        fprintf(out, "; no engine, floor %s</title>\n", floor);
}

static void put_layer(FILE *out, int y, const struct cs_layer *layer,
                      const struct cs_prediction *prediction, int64_t most)
{
    char before[CS_BYTES_TEXT], after[CS_BYTES_TEXT];
    int baseline = y + ROW - 5;
    fputs("<g>", out);
    put_tooltip(out, layer, prediction);
    fprintf(out, "<text class=\"text small\" x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8,
            baseline);
    put_text(out, layer->name, (double)(LEFT - 8 - MARGIN) / SMALL);
    fputs("</text>\n", out);
    put_bar(out, "floor", y, 0, prediction->floor, most);
    if (prediction->status == CS_OK) {
        put_bar(out, "after", y, prediction->floor, prediction->tiled_peak, most);
        put_bar(out, "before", y, prediction->tiled_peak, prediction->peak, most);
    }
    fprintf(out, "<text class=\"faint small\" x=\"%d\" y=\"%d\">", RIGHT + 8, baseline);
    if (prediction->status != CS_OK)
        fputs("no engine", out);
    else if (prediction->peak == prediction->tiled_peak)
        fputs(cs_table_bytes_text(before, prediction->peak), out);
    else
        fprintf(out, "%s &#8594; %s", cs_table_bytes_text(before, prediction->peak),
                cs_table_bytes_text(after, prediction->tiled_peak));
    fputs("</text></g>\n", out);
}

static void put_axis(FILE *out, int y, int height, int64_t most)
{
    int64_t step = cs_table_bytes_step(most);
    for (int64_t at = 0; at <= most; at += step) {
        char size[CS_BYTES_TEXT];
        double x = position(at, most);
        fprintf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x,
                y, y + height);
        fprintf(out,
                "<text class=\"faint small\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>"
                "\n",
                x, y - 4, at > 0 ? cs_table_bytes_text(size, at) : "0");
        if (at > most - step)
            break;
    }
}

static bool of_model(const struct cs_predict_results *results, size_t i, const char *model)
{
    return strcmp(results->layers->layer[i].model, model) == 0;
}

static int put_model(FILE *out, int y, const struct cs_predict_results *results,
                     const struct cs_predict_sum *sum)
{
    char before[CS_BYTES_TEXT], after[CS_BYTES_TEXT];
    int64_t most = sum->peak > 0 ? sum->peak : 1;
    for (size_t i = 0; i < results->layers->count; i++)
        if (of_model(results, i, sum->model) && results->prediction[i].floor > most)
            most = results->prediction[i].floor;
    fprintf(out, "<text class=\"text model\" x=\"16\" y=\"%d\">", y + 16);
    put_text(out, *sum->model ? sum->model : results->device->title,
             (WIDTH - 2 * MARGIN - PEAKS) / (LARGE * BOLD));
    if (sum->unanswered < sum->layers)
        fprintf(out, ": largest peak %s, with convshim %s", cs_table_bytes_text(before, sum->peak),
                cs_table_bytes_text(after, sum->tiled_peak));
    fputs("</text>\n", out);
    y += HEAD;
    put_axis(out, y, (int)sum->layers * ROW, most);
    for (size_t i = 0; i < results->layers->count; i++) {
        if (!of_model(results, i, sum->model))
            continue;
        put_layer(out, y, &results->layers->layer[i], &results->prediction[i], most);
        y += ROW;
    }
    return y + ROW;
}

static void put_legend(FILE *out, const struct cs_predict_results *results)
{
    static const struct {
        const char *class, *text;
        int x;
    } keys[] = {{"floor", "input, filter and output (floor)", 16},
                {"after", "workspace with convshim", 240},
                {"before", "workspace saved", 430}};
    char size[CS_BYTES_TEXT];
    fputs("<text class=\"text big\" x=\"16\" y=\"28\">Memory while each convolution runs, ", out);
    put_text(out, results->device->title, (WIDTH - 2 * MARGIN - PEAKS) / (LARGEST * BOLD));
    fputs("</text>\n<text class=\"faint\" x=\"16\" y=\"48\">", out);
    if (results->options->estimate)
        fputs("ESTIMATE by a rule of thumb, not cuDNN&#8217;s result", out);
    else
        fprintf(out, "planned by %s, not measured on a GPU", results->vendor);
    fprintf(out, ", convshim with workspace %s, policy %s</text>\n",
            cs_predict_workspace(results->options, size), results->options->config.policy.text);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        fprintf(out,
                "<rect class=\"%s\" x=\"%d\" y=\"60\" width=\"12\" height=\"12\"/>"
                "<text class=\"text\" x=\"%d\" y=\"70\">%s</text>\n",
                keys[i].class, keys[i].x, keys[i].x + 18, keys[i].text);
}

struct picture {
    const struct cs_predict_results *results;
    const struct cs_predict_sum *sum; /* of each model */
    size_t models;
};

static bool put_all(const void *state, FILE *out)
{
    const struct picture *picture = state;
    const struct cs_predict_results *results = picture->results;
    const struct cs_predict_sum *sum = picture->sum;
    const size_t models = picture->models;
    int y = TOP;
    long height = TOP + (long)models * (HEAD + ROW) + (long)results->layers->count * ROW;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%ld\" "
            "viewBox=\"0 0 %d %ld\" role=\"img\">\n"
            "<title>Memory of convolutions with and without convshim</title>\n",
            WIDTH, height, WIDTH, height);
    fputs(STYLE, out);
    fprintf(out, "<rect class=\"paper\" width=\"%d\" height=\"%ld\"/>\n", WIDTH, height);
    put_legend(out, results);
    for (size_t i = 0; i < models; i++)
        y = put_model(out, y, results, &sum[i]);
    fputs("</svg>\n", out);
    return true;
}

bool cs_predict_svg(const struct cs_predict_results *results, const char *path, char *error,
                    size_t size)
{
    struct picture picture = {.results = results};
    struct cs_predict_sum *sum = cs_predict_sums(results, &picture.models);
    picture.sum = sum;
    if (!sum)
        errno = ENOMEM;
    bool good = sum && cs_page_write(path, put_all, &picture);
    if (!good)
        snprintf(error, size, "%s: %s", path, strerror(errno));
    free(sum);
    return good;
}
