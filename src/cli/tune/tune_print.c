/* Writes the ini file of the chosen point. */
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/common/table.h"
#include "cli/tune/tune.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
    KIB = 1 << 10,
    MIB = 1 << 20
};

/* A size as the ini has it, without rounding. */
static void put_size(int64_t bytes, FILE *out)
{
    if (bytes > 0 && bytes % MIB == 0)
        fprintf(out, "%" PRId64 "MiB", bytes / MIB);
    else if (bytes > 0 && bytes % KIB == 0)
        fprintf(out, "%" PRId64 "KiB", bytes / KIB);
    else
        fprintf(out, "%" PRId64, bytes);
}

static void put_command(const struct cs_tune *tune, FILE *out)
{
    fputs("# program  ", out);
    for (char **word = tune->simulation->program.command; *word; word++) {
        fputc(' ', out);
        for (const char *at = *word; *at; at++)
            fputc((unsigned char)*at < ' ' ? '?' : *at, out);
    }
    fputc('\n', out);
}

static void put_date(FILE *out)
{
    char date[32] = "";
    struct tm day;
    time_t now = time(NULL);
    if (gmtime_r(&now, &day))
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    fprintf(out, "# Written by convshim tune %s on %s, by simulation.\n", CS_VERSION, date);
}

static void put_run(const char *title, const struct cs_tune_run *run, FILE *out)
{
    char bytes[CS_BYTES_TEXT], time[2 * CS_BYTES_TEXT + 8], of[48];
    snprintf(of, sizeof of, "%" PRId64 " of %" PRId64, run->tiled, run->calls);
    fprintf(out, "# %-26s %12s  %-20s %12s %15" PRId64 "\n", title,
            cs_table_bytes_text(bytes, run->peak),
            cs_tune_times_text(time, sizeof time, run->times), of, run->launches);
}

static void put_runs(const struct cs_tune *tune, FILE *out)
{
    fprintf(out, "#\n# %-26s %12s  %-20s %12s %15s\n", "",
            tune->allocated ? "allocated" : "device peak", "predicted time", "calls tiled",
            "extra launches");
    put_run("untiled", &tune->untiled, out);
    if (tune->defaults.ran)
        put_run("defaults, without a file", &tune->defaults, out);
    put_run("with this file", &tune->file, out);
}

static void put_head(const struct cs_tune *tune, FILE *out)
{
    const struct cs_simulated_program *program = &tune->simulation->program;
    put_date(out);
    put_command(tune, out);
    fprintf(out, "# device    %s, simulated, sizes by %s%s%s\n", tune->device->title,
            *program->cudnn ? program->cudnn : tune->planning, *tune->framework ? ", " : "",
            tune->framework);
    fputs("# Valid for this program, GPU and cuDNN. Others have other convolutions and sizes.\n",
          out);
    put_runs(tune, out);
    fputc('\n', out);
}

static void put_comment(const struct cs_called_shape *shape, const struct cs_shape_ways *ways,
                        FILE *out)
{
    char required[CS_BYTES_TEXT], held[CS_BYTES_TEXT], scratch[CS_BYTES_TEXT], time[64];
    const struct cs_way *way = &ways->way[ways->chosen];
    fprintf(out, "# %s, %" PRId64 " call%s%s%s\n", shape->text, shape->calls,
            shape->calls == 1 ? "" : "s", *shape->line ? ", " : "", shape->line);
    fprintf(out, "# %s instead of %s of workspace, next to %s\n",
            cs_table_bytes_text(scratch, way->scratch),
            cs_table_bytes_text(required, shape->required), cs_table_bytes_text(held, shape->held));
    fprintf(out, "# %" PRId64 " more launch%s, %s", way->launches, way->launches == 1 ? "" : "es",
            cs_tune_times_text(time, sizeof time, way->times));
    fprintf(out, " instead of %s\n", cs_tune_times_text(time, sizeof time, ways->way[0].times));
}

void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out)
{
    int written = 0;
    if (head)
        put_head(tune, out);
    fputs(CS_TUNED_OPTIONS, out);
    for (size_t i = 0; i < tune->frontier.shapes; i++) {
        const struct cs_shape_ways *ways = &tune->frontier.shape[i];
        const struct cs_called_shape *shape = &tune->called.shape[i];
        if (ways->chosen == 0)
            continue;
        fprintf(out, "\n[rule tune-%d]\n", ++written);
        if (head)
            put_comment(shape, ways, out);
        fprintf(out, "%sfree = ", shape->keys);
        put_size(ways->way[ways->chosen].free, out);
        fputc('\n', out);
    }
    fprintf(out, "\n[rule tune-rest]\n%sskip = yes\n",
            head ? "# All other convolutions stay untiled.\n" : "");
}
