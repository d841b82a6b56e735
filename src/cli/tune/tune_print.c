/* Writes the ini file that a search came to. */
#include "base/version.h"
#include "cli/common/cli.h"
#include "cli/tune/tune.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

enum {
    KIB = 1 << 10,
    MIB = 1 << 20,
    MOST_RULES = 64 /* that the library takes */
};

/* A size as the ini has it, without rounding. */
static void put_size(int64_t bytes, FILE *out)
{
    if (bytes % MIB == 0)
        fprintf(out, "%" PRId64 "MiB", bytes / MIB);
    else if (bytes % KIB == 0)
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

static void put_point(const char *title, const struct cs_tune_point *point, FILE *out)
{
    char peak[CS_BYTES_TEXT], reserved[CS_BYTES_TEXT], time[CS_BYTES_TEXT], tiled[48];
    snprintf(tiled, sizeof tiled, "%" PRId64 " of %" PRId64, point->tiled, point->calls);
    if (!point->ran) {
        fprintf(out, "# %-26s does not run\n", title);
        return;
    }
    fprintf(out, "# %-26s %12s %12s %14s %14" PRId64 " %12s\n", title,
            cs_table_bytes_text(peak, point->peak), cs_table_bytes_text(reserved, point->reserved),
            tiled, point->extra_launches, cs_table_time_text(time, point->predicted_ns));
}

static void put_date(FILE *out)
{
    char date[32] = "";
    struct tm day;
    time_t now = time(NULL);
    if (gmtime_r(&now, &day))
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    fprintf(out, "# Written by convshim tune %s on %s", CS_VERSION, date);
}

static void put_points(const struct cs_tune *tune, FILE *out)
{
    char level[CS_BYTES_TEXT];
    fprintf(out, "#\n# %-26s %12s %12s %14s %14s %12s\n", "",
            tune->allocated ? "allocated" : "peak", "device peak", "tiled calls", "extra launches",
            "predicted");
    put_point("untiled", &tune->untiled, out);
    put_point("defaults, without a file", &tune->defaults, out);
    put_point("these rules", &tune->tuned, out);
    fprintf(out, "# %-26s %12s\n", "tensors alone",
            cs_table_bytes_text(level, tune->exposures.level));
    if (tune->options->fits > 0)
        fprintf(out,
                "# With these rules the program runs in %s without a failed allocation. With the "
                "defaults it %s.\n",
                cs_table_bytes_text(level, tune->options->fits),
                tune->defaults_there.fits  ? "also does"
                : tune->defaults_there.ran ? "runs, but allocations fail"
                                           : "does not run");
}

static void put_head(const struct cs_tune *tune, FILE *out)
{
    const char *cudnn = tune->simulation->program.cudnn;
    put_date(out);
    fprintf(out, ", by %d runs on a simulated GPU.\n", tune->runs);
    put_command(tune, out);
    fprintf(out, "# device    %s, simulated, sizes by %s%s%s\n", tune->device->title,
            *cudnn ? cudnn : tune->planning, *tune->framework ? ", " : "", tune->framework);
    fputs("# Valid for this program, GPU and cuDNN. Others have other convolutions and sizes.\n",
          out);
    put_points(tune, out);
    fprintf(out, "\n%s", cs_tune_options_before(tune));
}

const char *cs_tune_options_before(const struct cs_tune *tune)
{
    return tune->options->lowest || tune->options->fits > 0 ? "policy = off\nprice = 100000\n"
                                                            : "policy = off\n";
}

static void put_price(const struct cs_exposure *exposure, FILE *out)
{
    char bytes[CS_BYTES_TEXT], time[CS_BYTES_TEXT];
    bool has_price = exposure->extra_launches >= 0;
    if (exposure->bought < 0 && !has_price)
        return;
    fputs("# ", out);
    if (exposure->bought >= 0)
        fprintf(out, "lowers the peak by %s%s", cs_table_bytes_text(bytes, exposure->bought),
                has_price ? " for " : "");
    if (has_price)
        fprintf(out, "%" PRId64 " more launch%s", exposure->extra_launches,
                exposure->extra_launches == 1 ? "" : "es");
    if (has_price && exposure->extra_ns >= 0)
        fprintf(out, ", %s more predicted time", cs_table_time_text(time, exposure->extra_ns));
    fputc('\n', out);
}

static void put_comment(const struct cs_exposure *exposure, FILE *out)
{
    char required[CS_BYTES_TEXT], around[CS_BYTES_TEXT];
    fprintf(out, "# %s, %" PRId64 " call%s%s%s\n", exposure->text, exposure->calls,
            exposure->calls == 1 ? "" : "s", *exposure->line ? ", " : "", exposure->line);
    fprintf(out, "# requires %s of workspace while the program holds %s\n",
            cs_table_bytes_text(required, exposure->required),
            cs_table_bytes_text(around, exposure->around));
    put_price(exposure, out);
}

static void put_limit(int64_t limit, FILE *out)
{
    fputs("policy = fit\nworkspace = ", out);
    put_size(limit, out);
    fputc('\n', out);
}

/* Where there are more than the library takes: one for all of `item` from there on, by size. */
static void put_rest(const struct cs_exposure *item, size_t count, FILE *out)
{
    int64_t required = INT64_MAX, limit = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (item[i].limit == 0)
            continue;
        required = item[i].required < required ? item[i].required : required;
        limit = item[i].limit < limit ? item[i].limit : limit;
    }
    fputs("\n[rule tune-rest]\n# all other convolutions of this size, because the number of rules "
          "is limited\nrequired = ",
          out);
    put_size(required, out);
    fputs("..\n", out);
    put_limit(limit, out);
}

void cs_tune_write(const struct cs_tune *tune, bool head, FILE *out)
{
    const struct cs_exposures *exposures = &tune->exposures;
    const size_t rules = cs_exposures_rules(exposures);
    size_t written = 0;
    if (head)
        put_head(tune, out);
    for (size_t i = 0; i < exposures->count; i++) {
        const struct cs_exposure *exposure = &exposures->item[i];
        if (exposure->limit == 0)
            continue;
        if (rules > MOST_RULES && written == MOST_RULES - 1) {
            put_rest(exposure, exposures->count - i, out);
            break;
        }
        fprintf(out, "\n[rule tune-%zu]\n", ++written);
        if (head)
            put_comment(exposure, out);
        fputs(exposure->keys, out);
        put_limit(exposure->limit, out);
    }
}
