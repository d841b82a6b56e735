/* A test's own cuDNN. It records the attributes that are set on its backend descriptors, and its
 * heuristics offer a list of engines that the test provides. */
#ifndef RECORDED_CUDNN_H
#define RECORDED_CUDNN_H

#include "convshim/problem.h"
#include "vendor_fixture.h"

enum {
    RECORDED = 4000, /* descriptors ever made between two starts */
    ATTRIBUTES = 12,
    VALUES = 40,
    OFFERED = 8,
    NOTES_LISTED = 40
};

/* An engine that the heuristics offer, or that a configuration names. */
struct offer {
    struct cs_engine engine;
    unsigned numerical, behaviour; /* notes, a bit each */
    int64_t workspace;
    cudnnStatus_t plan; /* of finalizing one */
};

struct attribute_set {
    int name, type;
    int64_t count;
    int64_t value[VALUES]; /* integers unchanged; addresses of descriptors by their number */
    double number;         /* of a float or a double */
};

struct recorded {
    int type, attributes, number;
    bool finalized, destroyed;
    struct attribute_set attribute[ATTRIBUTES];
    const struct offer *offer; /* that a query has filled it with */
    int knob;
};

static struct {
    struct recorded descriptor[RECORDED];
    int made, alive, calls;
    int fails_at; /* this call to make, set, finalize or get, from 1; 0: none */
    cudnnStatus_t failure;
    struct offer offer[3][OFFERED]; /* by heuristic mode, in this order: A, B, fallback */
    int offers[3];
    int64_t told_results;   /* if not 0: the number of results that heuristics report */
    int asked_mode;         /* of the last heuristics */
    int64_t asked_capacity; /* likewise */
    struct offer own;       /* properties of an engine that the tested code makes by its index */
    int32_t sm_count, shared_memory;
    bool no_clusters, settings_known;
    bool tells_workspace; /* configurations report a workspace, too */
    const char *device;
    cudnnStatus_t (*judge)(
        const struct recorded *plan); /* status of finalizing a plan; may be NULL */
    /* The workspace of a plan or a configuration; NULL: that of its offer. */
    int64_t (*sized)(const struct recorded *of);
} cudnn;

static inline struct recorded *recorded_at(const void *descriptor)
{
    for (int i = 0; i < cudnn.made; i++)
        if (descriptor == &cudnn.descriptor[i])
            return &cudnn.descriptor[i];
    CHECK(!"a descriptor that was never made");
    return &cudnn.descriptor[RECORDED - 1];
}

static inline cudnnStatus_t recorded_call(void)
{
    cudnn.calls++;
    return cudnn.calls == cudnn.fails_at ? cudnn.failure : CUDNN_STATUS_SUCCESS;
}

static inline cudnnStatus_t recorded_create(cudnnBackendDescriptorType_t type,
                                            cudnnBackendDescriptor_t *made_p)
{
    cudnnStatus_t status = recorded_call();
    CHECK(cudnn.made < RECORDED - 1);
    if (status != CUDNN_STATUS_SUCCESS || cudnn.made >= RECORDED - 1)
        return status;
    struct recorded *made = &cudnn.descriptor[cudnn.made];
    *made = (struct recorded){.type = (int)type, .number = cudnn.made};
    cudnn.made++;
    cudnn.alive++;
    *made_p = made;
    return status;
}

static inline cudnnStatus_t recorded_destroy(cudnnBackendDescriptor_t descriptor)
{
    struct recorded *gone = recorded_at(descriptor);
    CHECK(!gone->destroyed);
    gone->destroyed = true;
    cudnn.alive--;
    return CUDNN_STATUS_SUCCESS;
}

static inline void recorded_values(struct attribute_set *to, const void *elements)
{
    for (int64_t i = 0; i < to->count && i < VALUES; i++) {
        const char *at = elements;
        int32_t narrow;
        float single;
        void *address;
        switch (to->type) {
        case CUDNN_TYPE_INT64:
            memcpy(&to->value[i], at + (size_t)i * sizeof(int64_t), sizeof(int64_t));
            break;
        case CUDNN_TYPE_DOUBLE:
            memcpy(&to->number, at, sizeof to->number);
            break;
        case CUDNN_TYPE_FLOAT:
            memcpy(&single, at, sizeof single);
            to->number = (double)single;
            break;
        case CUDNN_TYPE_BOOLEAN:
        case CUDNN_TYPE_CHAR:
            to->value[i] = (unsigned char)at[i];
            break;
        case CUDNN_TYPE_BACKEND_DESCRIPTOR:
            memcpy(&address, at + (size_t)i * sizeof address, sizeof address);
            to->value[i] = recorded_at(address)->number;
            CHECK(!recorded_at(address)->destroyed);
            break;
        case CUDNN_TYPE_HANDLE:
        case CUDNN_TYPE_VOID_PTR:
            memcpy(&address, at + (size_t)i * sizeof address, sizeof address);
            to->value[i] = (int64_t)(intptr_t)address;
            break;
        default: /* enums, CUDNN_TYPE_INT32 */
            memcpy(&narrow, at + (size_t)i * sizeof narrow, sizeof narrow);
            to->value[i] = narrow;
        }
    }
}

static inline cudnnStatus_t recorded_set(cudnnBackendDescriptor_t descriptor,
                                         cudnnBackendAttributeName_t name,
                                         cudnnBackendAttributeType_t type, int64_t count,
                                         const void *elements)
{
    cudnnStatus_t status = recorded_call();
    struct recorded *to = recorded_at(descriptor);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    CHECK(!to->finalized && !to->destroyed);
    CHECK(to->attributes < ATTRIBUTES);
    struct attribute_set *set = &to->attribute[to->attributes++ % ATTRIBUTES];
    *set = (struct attribute_set){.name = (int)name, .type = (int)type, .count = count};
    recorded_values(set, elements);
    return status;
}

static inline const struct attribute_set *attribute_of(const struct recorded *of, int name)
{
    for (int i = 0; i < of->attributes; i++)
        if (of->attribute[i].name == name)
            return &of->attribute[i];
    return NULL;
}

/* The offer behind a configuration, an engine or a plan: one of the list, or the test's own engine.
 */
static inline const struct offer *offer_of(const struct recorded *of)
{
    static const int of_what[] = {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                                  CUDNN_ATTR_ENGINECFG_ENGINE};
    if (of->offer)
        return of->offer;
    for (int i = 0; i < 2; i++) {
        const struct attribute_set *from = attribute_of(of, of_what[i]);
        if (from)
            return offer_of(&cudnn.descriptor[from->value[0]]);
    }
    return &cudnn.own;
}

static inline cudnnStatus_t recorded_finalize(cudnnBackendDescriptor_t descriptor)
{
    cudnnStatus_t status = recorded_call();
    struct recorded *finished = recorded_at(descriptor);
    if (status == CUDNN_STATUS_SUCCESS && finished->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        status = cudnn.judge ? cudnn.judge(finished) : offer_of(finished)->plan;
    CHECK(!finished->finalized && !finished->destroyed);
    finished->finalized = true;
    return status;
}

static inline int64_t recorded_results(const struct recorded *from, int64_t most, void *elements)
{
    int64_t mode = attribute_of(from, CUDNN_ATTR_ENGINEHEUR_MODE)->value[0];
    int list = mode == CUDNN_HEUR_MODE_A ? 0 : mode == CUDNN_HEUR_MODE_B ? 1 : 2;
    cudnn.asked_mode = (int)mode;
    cudnn.asked_capacity = most;
    for (int64_t i = 0; i < most && i < cudnn.offers[list]; i++) {
        void *address;
        memcpy(&address, (char *)elements + (size_t)i * sizeof address, sizeof address);
        recorded_at(address)->offer = &cudnn.offer[list][i];
    }
    return cudnn.told_results ? cudnn.told_results : cudnn.offers[list];
}

/* Fills the descriptor that the caller gives. */
static inline int64_t recorded_hand(const struct offer *offer, int64_t most, void *elements,
                                    int64_t count)
{
    for (int64_t i = 0; i < most && i < count; i++) {
        void *address;
        memcpy(&address, (char *)elements + (size_t)i * sizeof address, sizeof address);
        recorded_at(address)->offer = offer;
        recorded_at(address)->knob = (int)i;
    }
    return count;
}

static inline int64_t recorded_notes(unsigned notes, int64_t most, void *elements)
{
    int count = 0;
    for (int note = 0; note < 32; note++) {
        if (!(notes >> note & 1))
            continue;
        if (count < most)
            memcpy((char *)elements + (size_t)count * sizeof note, &note, sizeof note);
        count++;
    }
    return count;
}

static inline cudnnStatus_t recorded_setting(int name, void *elements)
{
    if (!cudnn.settings_known)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (name == CUDNN_ATTR_ENGINE_SM_COUNT_TARGET)
        memcpy(elements, &cudnn.sm_count, sizeof cudnn.sm_count);
    else if (name == 1308)
        memcpy(elements, &cudnn.no_clusters, sizeof cudnn.no_clusters);
    else if (name == 1309)
        memcpy(elements, &cudnn.shared_memory, sizeof cudnn.shared_memory);
    else
        return CUDNN_STATUS_NOT_SUPPORTED;
    return CUDNN_STATUS_SUCCESS;
}

static inline cudnnStatus_t recorded_get(const cudnnBackendDescriptor_t descriptor,
                                         cudnnBackendAttributeName_t name,
                                         cudnnBackendAttributeType_t type, int64_t most,
                                         int64_t *count_p, void *elements)
{
    cudnnStatus_t status = recorded_call();
    const struct recorded *from = recorded_at(descriptor);
    const struct offer *offer = offer_of(from);
    int64_t unused = 0, bytes;
    int kind;
    (void)type;
    count_p = count_p ? count_p : &unused;
    *count_p = 1;
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    switch ((int)name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
        *count_p = recorded_results(from, most, elements);
        return status;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG:
    case CUDNN_ATTR_ENGINE_DEVICEPROP:
        CHECK_INT(most, 1);
        recorded_hand(offer, most, elements, 1);
        return status;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
        CHECK_INT(most, 1);
        memcpy(elements, &offer->engine.index, sizeof offer->engine.index);
        return status;
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
        *count_p = recorded_hand(offer, most, elements, offer->engine.knobs);
        return status;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
        CHECK_INT(most, 1);
        kind = (int)offer->engine.knob_type[from->knob];
        memcpy(elements, &kind, sizeof kind);
        return status;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
        CHECK_INT(most, 1);
        memcpy(elements, &offer->engine.knob_value[from->knob], sizeof(int64_t));
        return status;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
        *count_p = recorded_notes(offer->numerical, most, elements);
        return status;
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
        *count_p = recorded_notes(offer->behaviour, most, elements);
        return status;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
        if (!cudnn.tells_workspace)
            return CUDNN_STATUS_NOT_SUPPORTED;
        bytes = cudnn.sized ? cudnn.sized(from) : offer->workspace;
        memcpy(elements, &bytes, sizeof bytes);
        return status;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
        CHECK(from->finalized);
        CHECK_INT(most, 1);
        bytes = cudnn.sized ? cudnn.sized(from) : offer->workspace;
        memcpy(elements, &bytes, sizeof bytes);
        return status;
    case CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION:
        if (!cudnn.device)
            return CUDNN_STATUS_NOT_SUPPORTED;
        snprintf(elements, (size_t)most, "%s", cudnn.device);
        *count_p = (int64_t)strlen(cudnn.device) + 1;
        return status;
    default:
        CHECK_INT(most, 1);
        return recorded_setting((int)name, elements);
    }
}

/* Starts from the beginning, with heuristics that offer no engine. */
static inline void recorded_start(void)
{
    memset(&cudnn, 0, sizeof cudnn);
    vendor = (struct cs_real){.cudnnBackendCreateDescriptor = recorded_create,
                              .cudnnBackendDestroyDescriptor = recorded_destroy,
                              .cudnnBackendSetAttribute = recorded_set,
                              .cudnnBackendFinalize = recorded_finalize,
                              .cudnnBackendGetAttribute = recorded_get};
}

/* The nth of the descriptors of a type that were made, from 0; fails the test if there is none. */
static inline const struct recorded *nth_of(int type, int nth)
{
    for (int i = 0; i < cudnn.made; i++)
        if (cudnn.descriptor[i].type == type && nth-- == 0)
            return &cudnn.descriptor[i];
    CHECK(!"too few descriptors of a type");
    return &cudnn.descriptor[RECORDED - 1];
}

static inline int made_of(int type)
{
    int count = 0;
    for (int i = 0; i < cudnn.made; i++)
        count += cudnn.descriptor[i].type == type;
    return count;
}

static inline void check_values(const struct recorded *of, int name, int type, int64_t count,
                                const int64_t *value)
{
    const struct attribute_set *set = attribute_of(of, name);
    CHECK(set != NULL);
    if (!set)
        return;
    CHECK_INT(set->type, type);
    CHECK_INT(set->count, count);
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(set->value[i], value[i]);
}

#define CHECK_SET(of, name, type, ...)                                                             \
    check_values(of, name, type, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),    \
                 (int64_t[]){__VA_ARGS__})

static inline void check_number(const struct recorded *of, int name, int type, double number)
{
    const struct attribute_set *set = attribute_of(of, name);
    CHECK(set != NULL);
    if (!set)
        return;
    CHECK_INT(set->type, type);
    CHECK_INT(set->count, 1);
    CHECK(set->number == number);
}

#endif
