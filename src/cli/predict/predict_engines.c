/* `convshim predict --engines`: all engines that the heuristics offer. Benchmark modes select among
 * these. */
#include "base/text.h"
#include "cli/predict/predict.h"
#include "cudnn/standalone/engine_list.h"
#include <stdio.h>
#include <string.h>

enum {
    NOTES_TEXT = 80,
    PLACES_TEXT = 24
};

/* Offers that look the same to people. */
struct group {
    struct cs_ask_offer offer; /* the first of them */
    int place, others;
};

static const char *notes_of(const struct cs_ask_offer *offer, char text[NOTES_TEXT])
{
    const struct {
        bool set;
        const char *word;
    } notes[] = {{offer->tensor_cores, "tensor cores"},
                 {offer->down_converts, "rounds inputs"},
                 {offer->winograd, "Winograd"},
                 {offer->fft, "FFT"},
                 {offer->splits, "split sum"},
                 {!offer->deterministic, "not deterministic"},
                 {offer->compiled, "compiled at run time"}};
    struct cs_text line = {text, NOTES_TEXT, 0};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].set)
            cs_text_put(&line, "%s%s", line.length ? ", " : "", notes[i].word);
    return text;
}

static bool same_offer(const struct cs_ask_offer *a, const struct cs_ask_offer *b)
{
    char one[NOTES_TEXT], other[NOTES_TEXT];
    return a->engine.index == b->engine.index && a->workspace == b->workspace &&
           strcmp(notes_of(a, one), notes_of(b, other)) == 0;
}

/* Groups offers, in the order of the first of each; returns how many groups. */
static int group_offers(const struct cs_ask_offer *offer, int offers, bool each_alone,
                        struct group group[CS_ASK_OFFERS])
{
    int groups = 0;
    for (int i = 0; i < offers; i++) {
        int at = each_alone ? groups : 0;
        while (at < groups && !same_offer(&group[at].offer, &offer[i]))
            at++;
        if (at < groups)
            group[at].others++;
        else
            group[groups++] = (struct group){.offer = offer[i], .place = i + 1};
    }
    return groups;
}

static const char *places_of(const struct group *group, char text[PLACES_TEXT])
{
    if (group->others > 0)
        snprintf(text, PLACES_TEXT, "%d and %d more", group->place, group->others);
    else
        snprintf(text, PLACES_TEXT, "%d", group->place);
    return text;
}

static int64_t peak_of(const struct cs_prediction *prediction, const struct cs_ask_offer *offer)
{
    int64_t peak;
    if (offer->workspace < 0)
        return -1;
    return __builtin_add_overflow(prediction->floor, offer->workspace, &peak) ? INT64_MAX : peak;
}

static void add_offers(struct cs_table *table, const struct cs_predict_results *results,
                       enum cs_ask_mode mode)
{
    struct cs_ask_offer offer[CS_ASK_OFFERS];
    struct group group[CS_ASK_OFFERS];
    char notes[NOTES_TEXT], places[PLACES_TEXT];
    int offers =
        cs_engine_list_offers(results->list, &results->layers->layer->problem, mode, offer);
    bool each_alone = results->options->format != CS_FORMAT_TEXT;
    int groups = group_offers(offer, offers, each_alone, group);
    for (int i = 0; i < groups; i++)
        cs_table_add(table, (struct cs_value[]){
                                {.text = cs_predict_modes[mode]},
                                {.text = places_of(&group[i], places), .number = group[i].place},
                                {.number = group[i].offer.engine.index},
                                {.number = group[i].offer.workspace},
                                {.number = peak_of(results->prediction, &group[i].offer)},
                                {.text = notes_of(&group[i].offer, notes)}});
}

bool cs_predict_print_engines(const struct cs_predict_results *results)
{
    bool for_people = results->options->format == CS_FORMAT_TEXT;
    const struct cs_column columns[] = {
        {"mode", "mode", CS_CELL_TEXT},
        {"place", "place", for_people ? CS_CELL_TEXT : CS_CELL_COUNT},
        {"engine", "engine", CS_CELL_COUNT},
        {"workspace_bytes", "workspace", CS_CELL_BYTES},
        {"peak_bytes", "peak", CS_CELL_BYTES},
        {"notes", "notes", CS_CELL_TEXT}};
    enum cs_ask_mode mode = results->options->mode;
    struct cs_table table;
    cs_table_init(&table, columns, sizeof columns / sizeof *columns);
    add_offers(&table, results, mode);
    if (mode != CS_ASK_FALLBACK)
        add_offers(&table, results, CS_ASK_FALLBACK);
    if (for_people)
        cs_predict_print_head(results);
    bool good = cs_table_print(&table, results->options->format, stdout);
    cs_table_fini(&table);
    return good;
}
