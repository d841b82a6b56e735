/* The heuristics' list for a device that is only described, and a framework's choice from it. */
#include "cudnn/standalone/standalone.h"

#include "cli/layers/plan_layers.h"
#include "cudnn/plan/execution_plan.h"
#include "heap.h"
#include "policies.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

static struct cs_engine_list *list;
static struct cs_problem problem;

static long long taken; /* blocks of the heap before the test */

static void start(void)
{
    char error[64];
    taken = heap_taken;
    recorded_start();
    problem = rows(CS_FORWARD, 1);
    CHECK(cs_engine_list_create("{\"deviceVer\":900}", &list, error, sizeof error));
}

/* The device's description is all that is left of a question. */
static void end(void)
{
    CHECK_INT(cudnn.alive, 1);
    cs_engine_list_destroy(list);
    CHECK_INT(cudnn.alive, 0);
    CHECK_INT(heap_taken - taken, 0);
}

static struct cs_engine_choice *choose_behind(int skip, struct cs_ask_offer *offer)
{
    struct cs_engine_choice *chosen = NULL;
    enum cs_status status =
        cs_engine_list_choose(list, &problem, (struct cs_engine_wish){-1, 0, skip}, offer, &chosen);
    CHECK_INT(status, chosen ? CS_OK : CS_REFUSED);
    return chosen;
}

static void a_profile_is_given_to_cudnn(void)
{
    static const char profile[] = "{\"deviceVer\":900}";
    struct cs_ask_offer offer;
    start();
    const struct recorded *device = nth_of(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, 0);
    const struct attribute_set *json =
        attribute_of(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
    CHECK(device->finalized);
    CHECK_INT(device->attributes, 1);
    CHECK(json && json->type == CUDNN_TYPE_CHAR);
    CHECK(json && json->count == (int64_t)sizeof profile); /* with the end */
    for (size_t i = 0; json && i < sizeof profile; i++)
        CHECK_INT(json->value[i], profile[i]);
    cudnn.offers[0] = 1;
    cs_engine_chosen_destroy(choose_behind(0, &offer));
    CHECK_SET(nth_of(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 0), CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
              CUDNN_TYPE_BACKEND_DESCRIPTOR, device->number);
    for (int i = 0; i < CS_OPERANDS; i++)
        CHECK_SET(nth_of(CUDNN_BACKEND_TENSOR_DESCRIPTOR, i), CUDNN_ATTR_TENSOR_UNIQUE_ID,
                  CUDNN_TYPE_INT64, i + 1);
    end();
    cs_engine_list_destroy(NULL);
}

static void a_choice_has_its_notes(void)
{
    for (int note = 0; note < 32; note++) {
        struct cs_ask_offer offer;
        start();
        cudnn.offers[0] = 1;
        cudnn.offer[0][0] =
            (struct offer){.engine.index = 5, .numerical = 1u << note, .workspace = 100};
        cs_engine_chosen_destroy(choose_behind(0, &offer));
        CHECK_INT(cudnn.asked_mode, CUDNN_HEUR_MODE_A);
        CHECK_INT(offer.workspace, 100);
        CHECK_INT(offer.tensor_cores, note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
        end();
    }
}

static void unaccepted_profile_is_named(void)
{
    for (int at = 1; at <= 3; at++) {
        char error[128] = "", wanted[128];
        recorded_start();
        list = NULL;
        cudnn.fails_at = at;
        cudnn.failure = CUDNN_STATUS_BAD_PARAM;
        CHECK(!cs_engine_list_create("{}", &list, error, sizeof error));
        snprintf(wanted, sizeof wanted,
                 "cuDNN cannot plan for this device profile (status %d). Try another --cudnn or "
                 "--device.",
                 (int)CUDNN_STATUS_BAD_PARAM);
        CHECK_STR(error, wanted);
        CHECK(list == NULL);
        CHECK_INT(cudnn.alive, 0);
    }
}

static void check_found(int64_t engine, int64_t workspace, bool found)
{
    struct cs_ask_offer offer;
    struct cs_engine_choice *chosen = NULL;
    enum cs_status status = cs_engine_list_choose(
        list, &problem, (struct cs_engine_wish){engine, workspace, 0}, &offer, &chosen);
    CHECK_INT(status, found ? CS_OK : CS_REFUSED);
    cs_engine_chosen_destroy(chosen);
}

/* A framework to which plans are refused tries those behind them, the fallback list last. */
static void the_next_offer_with_a_plan_is_chosen(void)
{
    static const int64_t chosen_of[] = {0, 2, 20, -1};
    start();
    for (int i = 0; i < 3; i++)
        cudnn.offers[i] = i == 2 ? 1 : 3;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < cudnn.offers[i]; j++)
            cudnn.offer[i][j] =
                (struct offer){.engine.index = 10 * i + j,
                               .plan = j == 1 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS};
    for (int skip = 0; skip < 4; skip++) {
        struct cs_ask_offer offer = {.engine.index = -1};
        struct cs_engine_choice *chosen = choose_behind(skip, &offer);
        CHECK_INT(chosen ? offer.engine.index : -1, chosen_of[skip]);
        cs_engine_chosen_destroy(chosen);
    }
    cudnn.offer[0][2].workspace = 7;
    check_found(2, 7, true);
    check_found(2, 8, false);
    check_found(20, 0, true);
    check_found(12, 0, true); /* of mode B */
    end();
}

/* The offers of mode A, or of the fallback list if none of them has a plan. */
static void the_first_offer_with_a_plan_is_chosen(void)
{
    for (int plans = 0; plans < 8; plans++) {
        const int at = plans / 4; /* the place of the offer that has one */
        const int of = plans & 1 ? 0 : plans & 2 ? 2 : -1;
        struct cs_ask_offer offer;
        start();
        for (int i = 0; i < 3; i++) {
            cudnn.offers[i] = 2;
            for (int j = 0; j < 2; j++) {
                bool built = j == at && (i == 2 ? plans & 2 : plans & 1);
                cudnn.offer[i][j] = (struct offer){.engine.index = 10 * i + j,
                                                   .workspace = 0,
                                                   .plan = built ? CUDNN_STATUS_SUCCESS
                                                                 : CUDNN_STATUS_NOT_SUPPORTED};
            }
        }
        struct cs_engine_choice *chosen = choose_behind(0, &offer);
        CHECK_INT(cudnn.asked_capacity, 24);
        CHECK_INT(chosen != NULL, of >= 0);
        CHECK_INT(made_of(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), plans & 1 ? 1 : 2);
        if (chosen) {
            const struct cs_engine_choice *choice = cs_engine_chosen_vendor(chosen).ctx;
            CHECK_INT(offer.engine.index, 10 * of + at);
            CHECK_INT(offer.workspace, 0);
            CHECK_INT(choice->engine.index, 10 * of + at);
            for (int i = 0; i < CS_MAX_TENSORS; i++)
                CHECK_INT(choice->target.uid[i], i + 1);
            CHECK_INT(cudnn.alive, 2); /* its device's description */
        }
        cs_engine_chosen_destroy(chosen);
        end();
    }
    cs_engine_chosen_destroy(NULL);
}

/* Each allocation fails in turn: the failure is reported, and no object is left. */
static void without_memory(void)
{
#ifdef HEAP_REFUSES
    char error[64] = "";
    int refused = 0;
    recorded_start();
    list = NULL;
    heap_left = 0;
    CHECK(!cs_engine_list_create("{}", &list, error, sizeof error));
    heap_left = -1;
    CHECK_STR(error, "out of memory");
    CHECK(list == NULL);
    CHECK_INT(cudnn.alive, 0);
    for (int n = 0;; n++) {
        struct cs_ask_offer offer;
        struct cs_engine_choice *chosen = NULL;
        start();
        cudnn.offers[0] = 1;
        heap_left = n;
        enum cs_status status = cs_engine_list_choose(
            list, &problem, (struct cs_engine_wish){.engine = -1}, &offer, &chosen);
        bool all = heap_left >= 0;
        heap_left = -1;
        CHECK_INT(status, all ? CS_OK : CS_NOMEM);
        CHECK_INT(chosen != NULL, all);
        cs_engine_chosen_destroy(chosen);
        end();
        refused += !all;
        if (all)
            break;
    }
    CHECK(refused >= 1);
#endif
}

/* `convshim predict` decides equal problems of a program once. Those of another program are its
 * own.
 */
static void equal_problems_are_decided_once(void)
{
    static const struct cs_rules none;
    const struct cs_predictor predictor = {
        .profile = "{\"deviceVer\":900}",
        .settings = {.rules = &none, .program = "", .policy = default_policy(), .most = INT64_MAX}};
    struct cs_layers layers = {.count = 0};
    struct cs_prediction made[5];
    char error[200];
    recorded_start();
    cudnn.offers[0] = 1;
    cudnn.offer[0][0] = (struct offer){.engine.index = 5, .workspace = 100};
    problem = rows(CS_FORWARD, 1);
    for (int i = 0; i < 5; i++)
        CHECK(cs_layers_add(&layers, i % 3 ? "other" : "m", "one", &problem));
    layers.layer[2].problem = rows(CS_BACKWARD_DATA, 1);
    CHECK(cs_predict(&predictor, &layers, made, error, sizeof error));
    for (int i = 0; i < 5; i++) {
        CHECK_INT(made[i].status, CS_OK);
        CHECK_INT(made[i].offer.workspace, 100);
    }
    int queries = 0;
    for (int i = 0; i < cudnn.made; i++)
        queries += cudnn.descriptor[i].type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
    CHECK_INT(queries, 3 * 2); /* mode A and the fallbacks */
    CHECK_INT(cudnn.alive, 0);
    cs_layers_fini(&layers);
}

int main(void)
{
    heap_watch();
    printf("# %s\n", "the first line takes its buffer now");
    for (int i = 0; i < 2; i++) /* the loader keeps blocks of both calls */
        cs_standalone_open_cublas();
    TEST(a_profile_is_given_to_cudnn);
    TEST(a_choice_has_its_notes);
    TEST(unaccepted_profile_is_named);
    TEST(the_first_offer_with_a_plan_is_chosen);
    TEST(the_next_offer_with_a_plan_is_chosen);
    TEST(without_memory);
    TEST(equal_problems_are_decided_once);
    return REPORT();
}
