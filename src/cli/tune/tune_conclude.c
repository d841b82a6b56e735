/* The outcome of a search: a file or none, and the reason. */
#include "cli/tune/tune.h"
#include <inttypes.h>

enum {
    LEAST_GAIN = 100 /* a hundredth of the peak: less is no gain */
};

static bool is_gain(int64_t from, int64_t to)
{
    return from - to >= from / LEAST_GAIN && from > to;
}

enum cs_tune_outcome cs_tune_outcome(const struct cs_tune *tune)
{
    const struct cs_tune_point *rules = &tune->tuned, *defaults = &tune->defaults;
    if (tune->untiled_there.fits)
        return CS_TUNE_UNTILED;
    if (tune->options->fits > 0) {
        bool dearer =
            tune->defaults_there.fits && tune->defaults_there.predicted_ns <= rules->predicted_ns;
        if (rules->fits && !dearer && cs_exposures_rules(&tune->exposures) > 0)
            return CS_TUNE_RULES;
        return tune->defaults_there.fits ? CS_TUNE_DEFAULTS : CS_TUNE_MISSED;
    }
    if (rules->ran && is_gain(tune->untiled.peak, rules->peak) &&
        !(defaults->ran && is_gain(rules->peak, defaults->peak)))
        return CS_TUNE_RULES;
    return defaults->ran && is_gain(tune->untiled.peak, defaults->peak) ? CS_TUNE_DEFAULTS
                                                                        : CS_TUNE_NO_GAIN;
}

/* --- for people --- */

static void say_rules(const struct cs_tune *tune, FILE *out)
{
    char a[CS_BYTES_TEXT], b[CS_BYTES_TEXT], c[CS_BYTES_TEXT];
    const struct cs_tune_point *from = &tune->untiled, *to = &tune->tuned,
                               *defaults = &tune->defaults;
    const size_t rules = cs_exposures_rules(&tune->exposures);
    fprintf(out, "convshim: tune: %zu rule%s, %d runs.\n", rules, rules == 1 ? "" : "s",
            tune->runs);
    fprintf(out,
            "convshim: tune: Peak (%s): %s untiled, %s with these rules, %s with the defaults.\n",
            tune->allocated ? "allocated" : "device", cs_table_bytes_text(a, from->peak),
            cs_table_bytes_text(b, to->peak),
            defaults->ran ? cs_table_bytes_text(c, defaults->peak) : "-");
    fprintf(out,
            "convshim: tune: Calls tiled of %" PRId64 ": %" PRId64 " with these rules, %" PRId64
            " with the defaults.\n",
            to->calls, to->tiled, defaults->tiled);
    if (tune->allocated && defaults->ran && is_gain(to->reserved, defaults->reserved))
        fprintf(out,
                "convshim: tune: The device peak is higher than with the defaults: %s instead of "
                "%s. These rules need fewer launches. For the smallest GPU, use no file.\n",
                cs_table_bytes_text(a, to->reserved), cs_table_bytes_text(b, defaults->reserved));
}

static void say_defaults(const struct cs_tune *tune, FILE *out)
{
    char a[CS_BYTES_TEXT], b[CS_BYTES_TEXT], c[CS_BYTES_TEXT];
    if (tune->options->fits > 0)
        fprintf(out,
                "convshim: tune: No file is needed: with the defaults the program runs in %s "
                "without a failed allocation. Rules %s.\n",
                cs_table_bytes_text(a, tune->options->fits),
                tune->tuned.fits ? "are not faster" : "do not reach this size");
    else
        fprintf(out,
                "convshim: tune: No file is written, because rules are not better than the "
                "defaults. Peak (%s): %s untiled, %s with the defaults, %s with rules. "
                "Run the program without a file, or accept more time: --lowest\n",
                tune->allocated ? "allocated" : "device",
                cs_table_bytes_text(a, tune->untiled.peak),
                cs_table_bytes_text(b, tune->defaults.peak),
                tune->tuned.ran ? cs_table_bytes_text(c, tune->tuned.peak) : "a failed run");
}

static void say_no_gain(const struct cs_tune *tune, FILE *out)
{
    char peak[CS_BYTES_TEXT], level[CS_BYTES_TEXT];
    const int64_t untiled = tune->untiled.peak;
    (void)cs_table_bytes_text(peak, untiled);
    (void)cs_table_bytes_text(level, tune->exposures.level);
    fputs("convshim: tune: No file is written, because rules cannot lower the peak. ", out);
    if (!is_gain(untiled, tune->exposures.level))
        fprintf(out,
                "Tensors make the peak: %s with all workspaces, %s without them. convshim cannot "
                "make tensors smaller.\n",
                peak, level);
    else if (!tune->options->lowest)
        fprintf(out,
                "The peak is %s, and %s without workspaces, but tiles that lower it take too much "
                "time. To accept more time: --lowest\n",
                peak, level);
    else
        fprintf(out,
                "The peak is %s, and %s without workspaces, but cuDNN runs no tiles of the "
                "convolutions that make it.\n",
                peak, level);
}

static void say_missed(const struct cs_tune *tune, FILE *out)
{
    static const char *const names[] = {"untiled", "with the defaults", "with the lowest rules"};
    const struct cs_tune_point *point[] = {&tune->untiled_there, &tune->defaults_there,
                                           &tune->tuned};
    char bytes[CS_BYTES_TEXT];
    fprintf(out,
            "convshim: tune: No file is written, because no rules make the program fit into %s:\n",
            cs_table_bytes_text(bytes, tune->options->fits));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fprintf(out, "convshim: tune:   %s: ", names[i]);
        if (point[i]->ran)
            fputs("it runs, but allocations fail\n", out);
        else if (point[i]->missing_bytes > 0)
            fprintf(out, "out of memory, short by %s\n",
                    cs_table_bytes_text(bytes, point[i]->missing_bytes));
        else
            fputs("it fails\n", out);
    }
}

void cs_tune_conclude(const struct cs_tune *tune, FILE *out)
{
    char bytes[CS_BYTES_TEXT];
    switch (cs_tune_outcome(tune)) {
    case CS_TUNE_RULES:
        say_rules(tune, out);
        break;
    case CS_TUNE_UNTILED:
        fprintf(out,
                "convshim: tune: No file is needed: the program runs in %s without convshim and "
                "without a failed allocation.\n",
                cs_table_bytes_text(bytes, tune->options->fits));
        break;
    case CS_TUNE_DEFAULTS:
        say_defaults(tune, out);
        break;
    case CS_TUNE_NO_GAIN:
        say_no_gain(tune, out);
        break;
    case CS_TUNE_MISSED:
        say_missed(tune, out);
        break;
    }
}
