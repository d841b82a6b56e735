/* What `convshim predict` says of engines, which here are a list of the test's own: all of them,
 * and why one requires its workspace. */
#include "capture.h"
#include "cli/predict/predict.h"
#include "sample_problem.h"

const char *const cs_predict_modes[CS_ASK_MODES] = {"a", "b", "fallback"};

void cs_predict_print_head(const struct cs_predict_results *results)
{
    (void)results;
    puts("head");
}

void cs_predict_print_driverless(const struct cs_predict_results *results)
{
    (void)results;
}

static struct cs_ask_offer offers[3];
static int64_t otherwise; /* what the engine requires for anything else */
static struct cs_problem asked[4];
static int asks;

int cs_engine_list_offers(struct cs_engine_list *list, const struct cs_problem *problem,
                          enum cs_ask_mode mode, struct cs_ask_offer offer[CS_ASK_OFFERS])
{
    (void)list, (void)problem;
    memcpy(offer, offers, sizeof offers);
    return mode == CS_ASK_A ? 3 : 0;
}

enum cs_status cs_engine_list_choose(struct cs_engine_list *list, const struct cs_problem *problem,
                                     enum cs_ask_mode mode, struct cs_ask_offer *offer,
                                     struct cs_chosen_engine **chosen_p)
{
    (void)list, (void)problem, (void)mode, (void)offer, (void)chosen_p;
    return CS_REFUSED;
}

void cs_engine_chosen_destroy(struct cs_chosen_engine *chosen)
{
    CHECK(!chosen);
}

int64_t cs_engine_list_workspace(struct cs_engine_list *list, const struct cs_problem *problem,
                                 const struct cs_engine *engine)
{
    (void)list, (void)engine;
    asked[asks++ % 4] = *problem;
    return otherwise;
}

static enum cs_format format;

static int print(int argc, char **argv)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    struct cs_layer layer = {.model = (char *)"", .name = (char *)"", .problem = problem};
    const struct cs_layers layers = {.layer = &layer, .count = 1};
    const struct cs_prediction prediction = {.floor = 100};
    static struct cs_predict_options options;
    options.format = format;
    const struct cs_predict_results results = {
        .options = &options, .layers = &layers, .prediction = &prediction};
    (void)argc, (void)argv;
    return cs_predict_print_engines(&results) ? 0 : 1;
}

static void all_that_is_offered(void)
{
    offers[0] = (struct cs_ask_offer){
        .engine = {.index = 7}, .workspace = 50, .tensor_cores = true, .deterministic = true};
    offers[1] = offers[0];
    offers[2] = offers[0];
    offers[2].workspace = 0;
    format = CS_FORMAT_CSV;
    output_of(print, (const char *const[]){"predict", NULL});
    CHECK_STR(captured, "mode,place,engine,workspace_bytes,peak_bytes,notes\n"
                        "a,1,7,50,150,tensor cores\n"
                        "a,2,7,50,150,tensor cores\n"
                        "a,3,7,0,100,tensor cores\n");
    offers[2].workspace = INT64_MAX;
    output_of(print, (const char *const[]){"predict", NULL});
    check_says((const char *const[]){"a,3,7,9223372036854775807,9223372036854775807,", NULL});
    offers[2] = (struct cs_ask_offer){
        .engine = {.index = 0}, .workspace = -1, .fft = true, .splits = true, .compiled = true};
    format = CS_FORMAT_CSV;
    output_of(print, (const char *const[]){"predict", NULL});
    CHECK_STR(captured, "mode,place,engine,workspace_bytes,peak_bytes,notes\n"
                        "a,1,7,50,150,tensor cores\n"
                        "a,2,7,50,150,tensor cores\n"
                        "a,3,0,,,\"FFT, split sum, not deterministic, compiled at run time\"\n");
    format = CS_FORMAT_TEXT;
    output_of(print, (const char *const[]){"predict", NULL});
    check_says((const char *const[]){"head\n",
                                     "a     1 and 1 more       7       50 B  150 B  tensor", NULL});
}

static void explain(const struct cs_problem *problem, const struct cs_ask_offer *offer,
                    const char *want_first, const char *want_second)
{
    char first[CS_EXPLAIN_LINE], second[CS_EXPLAIN_LINE];
    const struct cs_prediction prediction = {.floor = 1 << 20, .offer = *offer};
    asks = 0;
    cs_why_workspace(problem, &prediction, NULL, first, second);
    CHECK_STR(first, want_first);
    CHECK_STR(second, want_second);
}

static void why_a_workspace_is_required(void)
{
    struct cs_problem problem = rows(CS_FORWARD, 1); /* 4 channels to 8, channels first */
    struct cs_ask_offer offer = {.workspace = 3 << 20};
    otherwise = 3 << 20;
    explain(&problem, &offer,
            "The workspace of 3 MiB is 3.00 times input, filter and output together.",
            "3 MiB for the engine's own use");
    CHECK_INT(asks, 2);
    otherwise = 1 << 20;
    offer.winograd = true;
    explain(&problem, &offer,
            "The workspace of 3 MiB is 3.00 times input, filter and output together.",
            "2 MiB for the conversion to channels-last (without: 1 MiB); 1 MiB for the Winograd "
            "transform");
    CHECK_INT(asked[0].tensor[CS_X].strides[CS_C], 1);
    CHECK_INT(asked[0].tensor[CS_X].strides[CS_W], 4);
    CHECK_INT(asked[1].tensor[CS_X].dims[CS_C], 8);
}

/* An engine that requires more for channels-last tensors is asked with channels first. */
static void channels_first_is_asked_where_last_takes_more(void)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    const struct cs_ask_offer offer = {.workspace = 3 << 20};
    otherwise = 5 << 20;
    explain(&problem, &offer,
            "The workspace of 3 MiB is 3.00 times input, filter and output together.",
            "3 MiB for the engine's own use (channels-last tensors: 5 MiB)");
    CHECK_INT(asks, 2);
    CHECK_INT(asked[1].tensor[CS_X].dims[CS_C], 8);
    CHECK_INT(asked[1].tensor[CS_X].strides[CS_W], 1);
    CHECK_INT(asked[1].tensor[CS_X].strides[CS_H], 12);
    CHECK_INT(asked[1].tensor[CS_X].strides[CS_C], 12 * 64);
    CHECK_INT(asked[1].tensor[CS_X].strides[CS_N], 12 * 64 * 8);
}

static void a_copy_of_the_operands(void)
{
    struct cs_problem problem = rows(CS_FORWARD, 1);
    int64_t x = 0, y = 0;
    CHECK(cs_problem_tensor_bytes(&problem.tensor[CS_X], &x) == CS_OK &&
          cs_problem_tensor_bytes(&problem.tensor[CS_Y], &y) == CS_OK);
    const struct cs_ask_offer offer = {.workspace = x + y};
    otherwise = 0;
    explain(&problem, &offer, "The workspace of 36 KiB is as much as a copy of input and output.",
            "36 KiB for the conversion to channels-last (without: 0 B)");
}

/* As many as it is about a multiple of; nothing is said of half a one. */
static void results_of_a_split_sum(void)
{
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    const int64_t each = 48 << 10; /* 2 x 8 x 64 x 12 of four bytes */
    for (int half = 1; half <= 14; half++)
        for (int off = -1; off <= 1; off++) {
            char first[CS_EXPLAIN_LINE], second[CS_EXPLAIN_LINE], wanted[128];
            struct cs_prediction prediction = {
                .floor = 1 << 20,
                .offer = {.workspace = half * (each / 2) + 300 * off, .splits = true}};
            bool whole = half % 2 == 0;
            otherwise = prediction.offer.workspace;
            asks = 0;
            cs_why_workspace(&problem, &prediction, NULL, first, second);
            snprintf(wanted, sizeof wanted, "for %d partial results in f32 of 48 KiB each",
                     half / 2);
            CHECK_INT(strstr(second, wanted) != NULL, whole);
            CHECK_INT(strstr(second, "partial results") != NULL, whole);
            prediction.offer.splits = false;
            asks = 0;
            cs_why_workspace(&problem, &prediction, NULL, first, second);
            CHECK(strstr(second, "partial results") == NULL);
        }
}

int main(void)
{
    TEST(all_that_is_offered);
    TEST(why_a_workspace_is_required);
    TEST(channels_first_is_asked_where_last_takes_more);
    TEST(a_copy_of_the_operands);
    TEST(results_of_a_split_sum);
    return REPORT();
}
