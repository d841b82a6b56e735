/* The page of option --html: the frontier as a picture and a table. */
#include "base/checked.h"
#include "cli/common/output.h"
#include "cli/common/page.h"
#include "cli/common/table.h"
#include "cli/tune/tune.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    WIDTH = 960,
    HEIGHT = 360,
    LEFT = 90, /* of the axes, and below */
    BELOW = 40,
    TICKS = 4,
    RADIUS = 5
};

/* The time axis reaches this multiple of the largest marked time. Points to the right of its end
 * are left out. */
static const double LONGEST = 1.1;

/* A run or a point with a name. */
struct mark {
    const char *class, *name;
    const struct cs_frontier_point *point;
};

/* The ranges of the picture. */
struct scale {
    double first, last; /* seconds */
    int64_t low, high;  /* bytes */
};

static double x_of(const struct scale *scale, double seconds)
{
    return LEFT + (WIDTH - LEFT) * (seconds - scale->first) / (scale->last - scale->first);
}

static double y_of(const struct scale *scale, int64_t bytes)
{
    return (HEIGHT - BELOW) * (double)(scale->high - bytes) / (double)(scale->high - scale->low);
}

/* Lists the runs and points that the picture names. Returns their number. */
static int list_marks(const struct cs_tune *tune, struct mark mark[3])
{
    int marks = 0;
    mark[marks++] = (struct mark){"before", "untiled", &tune->untiled.figures};
    if (tune->defaults.ran)
        mark[marks++] = (struct mark){"only", "defaults", &tune->defaults.figures};
    if (tune->point >= 0)
        mark[marks++] = (struct mark){"after", "chosen", &tune->frontier.point[tune->point]};
    return marks;
}

/* Returns the ranges: times from the shortest one to beyond the slowest mark, bytes from the peak
 * without any workspace to above the highest peak. */
static struct scale scale_of(const struct cs_frontier *frontier, const struct mark *mark, int marks)
{
    struct scale scale = {.first = frontier->point[frontier->points - 1].times.most,
                          .low = frontier->level,
                          .high = frontier->peak};
    for (int i = 0; i < marks; i++) {
        scale.first = fmin(scale.first, mark[i].point->times.most);
        scale.last = fmax(scale.last, mark[i].point->times.most * LONGEST);
        scale.high = cs_max(scale.high, mark[i].point->peak);
    }
    scale.high += (scale.high - scale.low) / 20 + 1;
    return scale;
}

/* Draws the grid, and the labels of both axes. */
static void put_axes(const struct scale *scale, FILE *out)
{
    char text[CS_BYTES_TEXT];
    for (int i = 0; i <= TICKS; i++) {
        const int64_t bytes = scale->low + (scale->high - scale->low) / TICKS * i;
        const double seconds = scale->first + (scale->last - scale->first) / TICKS * i;
        fprintf(out, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                WIDTH, y_of(scale, bytes), y_of(scale, bytes));
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" dy=\".32em\">%s</text>\n",
                LEFT - 8, y_of(scale, bytes), cs_table_bytes_text(text, bytes));
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
                x_of(scale, seconds), HEIGHT - BELOW / 2, i < TICKS ? "middle" : "end",
                cs_table_time_text(text, (int64_t)llround(seconds * 1e9)));
    }
}

/* Draws the lowest peak within each time. The curve falls at the time of each point. */
static void put_curve(const struct cs_frontier *frontier, const struct scale *scale, FILE *out)
{
    const struct cs_frontier_point *point = &frontier->point[frontier->points - 1];
    fprintf(out, "<path class=\"curve after\" d=\"M%.1f,%.1f", x_of(scale, point->times.most),
            y_of(scale, point->peak));
    while (point-- > frontier->point && point->times.most <= scale->last)
        fprintf(out, "H%.1fV%.1f", x_of(scale, point->times.most), y_of(scale, point->peak));
    fprintf(out, "H%d\"/>\n", WIDTH);
}

static void put_mark(const struct scale *scale, const struct mark *mark, FILE *out)
{
    char bytes[CS_BYTES_TEXT], time[64];
    const double x = x_of(scale, mark->point->times.most), y = y_of(scale, mark->point->peak);
    fprintf(out,
            "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>%s: %s, %s</title>"
            "</circle>\n",
            mark->class, x, y, RADIUS, mark->name, cs_table_bytes_text(bytes, mark->point->peak),
            cs_tune_times_text(time, sizeof time, mark->point->times));
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 2 * RADIUS, y - RADIUS, mark->name);
}

static void put_picture(const struct cs_tune *tune, FILE *out)
{
    struct mark mark[3];
    const int marks = list_marks(tune, mark);
    const struct scale scale = scale_of(&tune->frontier, mark, marks);
    fprintf(out,
            "<svg viewBox=\"0 0 %d %d\" role=\"img\" fill=\"currentColor\" font-size=\"12\" "
            "aria-label=\"Peak against predicted time\">\n",
            WIDTH, HEIGHT);
    put_axes(&scale, out);
    put_curve(&tune->frontier, &scale, out);
    for (int i = 0; i < marks; i++)
        put_mark(&scale, &mark[i], out);
    fputs("</svg>\n", out);
}

/* Writes the page (cs_output_fn). False: memory is short. */
static bool put_page(const void *state, FILE *out)
{
    const struct cs_tune *tune = state;
    char *const *command = tune->simulation->program.command;
    struct cs_table table;
    cs_tune_table(tune, &table);
    cs_page_begin("convshim tune", command[0], out);
    cs_page_source(command, (const char *const[]){tune->device->title, "simulated", NULL}, out);
    fprintf(out,
            "<h2>Peak against predicted time</h2>\n<p>Lowest peak (%s) within each predicted time, "
            "at the upper end of its range.</p>\n",
            tune->allocated ? "allocated" : "device");
    put_picture(tune, out);
    cs_page_table("points", "Points", &table, out);
    fputs("<p>Predicted times are those of the convolutions. No GPU was used.</p>\n", out);
    cs_page_end(out);
    const bool good = !table.broken;
    cs_table_fini(&table);
    return good;
}

bool cs_tune_html(const struct cs_tune *tune, const char *path)
{
    return cs_output_page("tune", path, put_page, tune);
}
