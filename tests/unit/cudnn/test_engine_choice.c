/* Reading or picking the application's engine, and the scope of a decision about it: a number that
 * differs where plans may need other workspaces. */
#include "cudnn/plan/engine_choice.h"

#include "base/hash.h"
#include "recorded_cudnn.h"
#include "sample_problem.h"

static char handles[1];
static struct cs_engine_choice choice;

static void start(void *handle)
{
    static const int64_t uid[CS_MAX_TENSORS] = {'x', 'w', 'y'};
    const struct cs_problem problem = rows(CS_FORWARD, 1);
    recorded_start();
    cs_engine_choice_init(&choice, &problem, uid, (cudnnHandle_t)handle,
                          cs_handle_id((cudnnHandle_t)handle));
    CHECK(choice.target.handle == handle && choice.target.uid[2] == 'y');
    CHECK_INT(choice.problem.tensor[CS_X].dims[CS_H], 64);
    CHECK(!choice.known && !choice.target.device);
    cudnn.offers[0] = 1;
    cudnn.offer[0][0] = (struct offer){
        .engine = {.index = 34, .knobs = 2}, .numerical = 6, .behaviour = 9, .workspace = 70};
    for (int i = 0; i < CS_MAX_KNOBS; i++) {
        cudnn.offer[0][0].engine.knob_type[i] = 40 - i;
        cudnn.offer[0][0].engine.knob_value[i] = 100 + i;
    }
}

/* From a configuration or from a plan of it. */
static bool read_engine(bool of_plan)
{
    struct recorded *given = &cudnn.descriptor[cudnn.made++];
    *given = (struct recorded){.number = cudnn.made - 1, .offer = &cudnn.offer[0][0]};
    return of_plan ? cs_engine_choice_read_plan(&choice, given)
                   : cs_engine_choice_read(&choice, given);
}

static void an_engine_is_read_whole(void)
{
    for (int of_plan = 0; of_plan <= 1; of_plan++) {
        for (int knobs = 0; knobs <= CS_MAX_KNOBS; knobs += CS_MAX_KNOBS / 2) {
            start(handles);
            cudnn.offer[0][0].engine.knobs = knobs;
            CHECK(read_engine(of_plan));
            CHECK(choice.known);
            CHECK_INT(choice.engine.index, 34);
            CHECK_INT(choice.engine.knobs, knobs);
            for (int i = 0; i < knobs; i++) {
                CHECK_INT(choice.engine.knob_type[i], 40 - i);
                CHECK_INT(choice.engine.knob_value[i], 100 + i);
            }
            CHECK_INT(choice.notes.numerical, 6);
            CHECK_INT(choice.notes.behaviour, 9);
            CHECK(choice.target.device == NULL);
            CHECK_INT(cudnn.alive, 0);
        }
    }
}

/* If an engine has more knobs than the record can hold, its knobs cannot be set again. */
static void too_many_knobs_cannot_be_read(void)
{
    start(handles);
    cudnn.offer[0][0].engine.knobs = CS_MAX_KNOBS + 1;
    CHECK(!read_engine(false));
    CHECK(!choice.known);
    CHECK_INT(cudnn.alive, 0);
}

static void known_settings_are_read(void)
{
    for (int known = 0; known <= 1; known++) {
        start(handles);
        cudnn.settings_known = known;
        cudnn.sm_count = 20;
        cudnn.shared_memory = 4096;
        cudnn.no_clusters = true;
        choice.target.settings.sm_count = choice.target.settings.shared_memory = 7;
        choice.target.settings.no_clusters = true;
        CHECK(read_engine(false));
        CHECK_INT(choice.target.settings.sm_count, known ? 20 : 0);
        CHECK_INT(choice.target.settings.shared_memory, known ? 4096 : 0);
        CHECK_INT(choice.target.settings.no_clusters, known);
    }
}

static void device_is_read_without_a_handle(void)
{
    start(NULL);
    CHECK(read_engine(false));
    const struct recorded *device = choice.target.device;
    CHECK(device && device->type == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR && !device->destroyed);
    CHECK_INT(cudnn.alive, 1);
    cs_engine_choice_fini(&choice);
    CHECK_INT(cudnn.alive, 0);
}

/* Any failing call, except those of settings, which older versions lack. */
static void unreadable_engine_is_unknown(void)
{
    for (int of_plan = 0; of_plan <= 1; of_plan++) {
        int known = 0;
        start(NULL);
        CHECK(read_engine(of_plan));
        int calls = cudnn.calls;
        cs_engine_choice_fini(&choice);
        for (int at = 1; at <= calls; at++) {
            start(NULL);
            cudnn.fails_at = at;
            cudnn.failure = CUDNN_STATUS_INTERNAL_ERROR;
            CHECK_INT(read_engine(of_plan), choice.known);
            known += choice.known;
            cs_engine_choice_fini(&choice);
            CHECK_INT(cudnn.alive, 0);
        }
        CHECK_INT(known, 3);
    }
}

static void the_first_engine_that_may_be_is_picked(void)
{
    static const struct {
        unsigned forbidden;
        int64_t picked; /* -1: none */
    } cases[] = {{0, 11}, {1, 11}, {2, 13}, {4, 11}, {2 | 8, 14}, {2 | 8 | 16, -1}, {~0u, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(handles);
        cudnn.offers[0] = 5;
        cudnn.offer[0][0] = (struct offer){.engine.index = 10, .plan = CUDNN_STATUS_NOT_SUPPORTED};
        cudnn.offer[0][1] = (struct offer){.engine.index = 11, .numerical = 2};
        cudnn.offer[0][2] =
            (struct offer){.engine.index = 12, .numerical = 4, .plan = CUDNN_STATUS_ALLOC_FAILED};
        cudnn.offer[0][3] = (struct offer){.engine.index = 13, .numerical = 8};
        cudnn.offer[0][4] = (struct offer){.engine.index = 14, .numerical = 16};
        choice.engine.index = -1;
        CHECK_INT(cs_engine_choice_pick(&choice, cases[i].forbidden), cases[i].picked >= 0);
        CHECK_INT(choice.engine.index, cases[i].picked);
        CHECK_INT(choice.known, cases[i].picked >= 0);
        CHECK_INT(cudnn.asked_mode, CUDNN_HEUR_MODE_A);
        CHECK_INT(cudnn.asked_capacity, 12);
        CHECK_INT(cudnn.alive, 0);
    }
}

static void first_offer_is_picked_if_allowed(void)
{
    start(handles);
    CHECK(cs_engine_choice_pick(&choice, 1));
    CHECK_INT(choice.engine.index, 34);
    cudnn.offers[0] = 0; /* and nothing where nothing is offered */
    CHECK(!cs_engine_choice_pick(&choice, 1));
}

/* The GPU of the handle, with a bit or more of each setting. */
static void a_scope_is_made_of_gpu_and_settings(void)
{
    static const struct {
        int32_t sm_count, shared_memory;
        bool no_clusters;
        uint64_t word;
    } cases[] = {{0, 0, false, 0},
                 {0, 0, true, 1},
                 {0, 1, false, 2},
                 {1, 0, false, UINT64_C(1) << 33},
                 {3, 5, true, UINT64_C(3) << 33 | 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start(handles);
        choice.id.gpu = 500;
        choice.target.settings.sm_count = cases[i].sm_count;
        choice.target.settings.shared_memory = cases[i].shared_memory;
        choice.target.settings.no_clusters = cases[i].no_clusters;
        CHECK_INT(cs_engine_choice_scope(&choice), 500 ^ (int64_t)cs_hash_spread(cases[i].word));
    }
    start(NULL);
    choice.id.gpu = 500; /* without a handle it is the device that counts */
    choice.target.device = &cudnn.descriptor[cudnn.made++];
    cudnn.device = "";
    CHECK_INT(cs_engine_choice_scope(&choice), 0);
    cudnn.device = "H100";
    CHECK_INT(cs_engine_choice_scope(&choice), cs_hash_bytes(CS_HASH_START, "H100", 4));
    choice.target.device = NULL;
}

/* The address of a destroyed handle is used again, for another GPU. */
static void reused_handle_address_gets_a_new_scope(void)
{
    cudnnHandle_t handle = (cudnnHandle_t)(void *)handles;
    cs_handle_created(handle, 0);
    start(handles);
    int64_t before = cs_engine_choice_scope(&choice);
    start(handles);
    CHECK_INT(cs_engine_choice_scope(&choice), before);
    cs_handle_retire(handle);
    cs_handle_created(handle, 1);
    start(handles);
    CHECK(cs_engine_choice_scope(&choice) != before);
    cs_handle_retire(handle);
}

int main(void)
{
    TEST(an_engine_is_read_whole);
    TEST(too_many_knobs_cannot_be_read);
    TEST(known_settings_are_read);
    TEST(device_is_read_without_a_handle);
    TEST(unreadable_engine_is_unknown);
    TEST(the_first_engine_that_may_be_is_picked);
    TEST(first_offer_is_picked_if_allowed);
    TEST(a_scope_is_made_of_gpu_and_settings);
    TEST(reused_handle_address_gets_a_new_scope);
    return REPORT();
}
