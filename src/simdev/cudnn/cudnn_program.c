/* Parses a plan's JSON into a program. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

/* ---- a plan's JSON, with the names that cuDNN writes ---- */

static void refuse_program(struct simdev_program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void refuse_program(struct simdev_program *program, const char *format, ...)
{
    va_list args;
    if (program->refusal[0])
        return;
    va_start(args, format);
    vsnprintf(program->refusal, sizeof program->refusal, format, args);
    va_end(args);
}

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

static int64_t integer_of(const cJSON *object, const char *key, int64_t otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? (int64_t)item->valuedouble : otherwise;
}

static float number_of(const cJSON *object, const char *key, float otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? (float)item->valuedouble : otherwise;
}

/* The length of the array, or -1 if it is missing or too long. */
static int integers_of(const cJSON *object, const char *key, int limit, int64_t *values)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(object, key), *item;
    int count = 0;
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) > limit)
        return -1;
    cJSON_ArrayForEach(item, array) values[count++] = (int64_t)item->valuedouble;
    return count;
}

static bool type_of(const char *name, cudnnDataType_t *type)
{
    static const struct {
        const char *name;
        cudnnDataType_t type;
    } known[] = {
        {"CUDNN_DATA_FLOAT", CUDNN_DATA_FLOAT},
        {"CUDNN_DATA_HALF", CUDNN_DATA_HALF},
        {"CUDNN_DATA_BFLOAT16", CUDNN_DATA_BFLOAT16},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            *type = known[i].type;
            return true;
        }
    return false;
}

static bool mode_of(const char *name, cudnnPointwiseMode_t *mode)
{
#define MODE(m)                                                                                    \
    {                                                                                              \
        "CUDNN_POINTWISE_" #m, CUDNN_POINTWISE_##m                                                 \
    }
    static const struct {
        const char *name;
        cudnnPointwiseMode_t mode;
    } known[] = {
        MODE(ADD),      MODE(SUB),       MODE(MUL),          MODE(DIV),
        MODE(MAX),      MODE(MIN),       MODE(IDENTITY),     MODE(ABS),
        MODE(NEG),      MODE(EXP),       MODE(SQRT),         MODE(RSQRT),
        MODE(RELU_FWD), MODE(TANH_FWD),  MODE(SIGMOID_FWD),  MODE(ELU_FWD),
        MODE(GELU_FWD), MODE(SWISH_FWD), MODE(SOFTPLUS_FWD), MODE(GELU_APPROX_TANH_FWD),
    };
#undef MODE
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) {
            *mode = known[i].mode;
            return true;
        }
    return false;
}

static void parse_tensor(struct simdev_program *program, const cJSON *json,
                         struct simdev_tensor *tensor)
{
    struct simdev_view *view = &tensor->view;
    const char *name = text_of(json, "name");
    char *end;
    tensor->uid = strtoll(name, &end, 10);
    if (!*name || *end)
        refuse_program(program, "the name of tensor \"%s\" is not a number", name);
    if (!type_of(text_of(json, "dataType"), &view->type))
        refuse_program(program, "tensor %s is of type %s", name, text_of(json, "dataType"));
    view->rank = integers_of(json, "dim", SIMDEV_MAX_RANK, view->dim);
    if (view->rank < 1 || integers_of(json, "stride", SIMDEV_MAX_RANK, view->stride) != view->rank)
        refuse_program(program, "tensor %s has no extents and strides that can be read", name);
    if (integer_of(json, "vectCount", 1) != 1)
        refuse_program(program, "tensor %s is vectorised", name);
    tensor->alignment = integer_of(json, "ptrAlignment", 1);
    tensor->is_virtual = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "isVirtual"));
    tensor->is_by_value = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "isByValue"));
    if (tensor->is_virtual)
        simdev_view_pack(view, view);
}

static int operand_of(struct simdev_program *program, const cJSON *node, const char *key)
{
    const char *name = text_of(node, key);
    for (int i = 0; *name && i < program->tensors; i++)
        if (program->tensor[i].uid == strtoll(name, NULL, 10))
            return i;
    refuse_program(program, "operand %s of %s is missing", key, text_of(node, "operation"));
    return 0;
}

static void read_spatial(struct simdev_program *program, const cJSON *json, const char *key,
                         int spatial, int64_t *values)
{
    if (integers_of(json, key, SIMDEV_MAX_SPATIAL, values) != spatial)
        refuse_program(program, "a convolution without \"%s\"", key);
}

/* Inconsistent extents would make the arithmetic access memory outside of its operands. */
static void check_extents(struct simdev_program *program, const struct simdev_node *node)
{
    const struct simdev_geometry *g = &node->geometry;
    const int64_t *x = program->tensor[node->operand[SIMDEV_X]].view.dim;
    const int64_t *w = program->tensor[node->operand[SIMDEV_W]].view.dim;
    const int64_t *y = program->tensor[node->operand[SIMDEV_Y]].view.dim;
    bool fits = x[0] == y[0] && w[0] == y[1] && w[0] % g->groups == 0;
    for (int i = 0; i < g->spatial; i++) {
        const int64_t room = x[2 + i] + g->pad_lower[i] + g->pad_upper[i];
        const int64_t reach = (w[2 + i] - 1) * g->dilation[i] + 1;
        fits = fits && room >= reach && (room - reach) / g->stride[i] + 1 == y[2 + i];
    }
    if (!fits)
        refuse_program(program, "a convolution with inconsistent extents");
}

static void parse_convolution(struct simdev_program *program, const cJSON *json,
                              enum simdev_conv_kind kind, struct simdev_node *node)
{
    static const char *const name[][SIMDEV_ROLES] = {
        {"X", "W", "Y"}, {"dX", "W", "dY"}, {"X", "dW", "dY"}};
    struct simdev_geometry *g = &node->geometry;
    int rank = 0;
    g->kind = kind;
    for (int role = 0; role < SIMDEV_ROLES; role++) {
        node->operand[role] = operand_of(program, json, name[kind][role]);
        const int own = program->tensor[node->operand[role]].view.rank;
        if (own < 3 || own > 2 + SIMDEV_MAX_SPATIAL || (rank && own != rank))
            refuse_program(program, "a convolution with tensors of %d dimensions", own);
        rank = own;
    }
    if (program->refusal[0])
        return;
    g->spatial = rank - 2;
    node->is_flipped = strcmp(text_of(json, "mode"), "CUDNN_CONVOLUTION") == 0;
    node->alpha = number_of(json, "alpha", 1);
    node->beta = number_of(json, "beta", 0);
    const bool symmetric = cJSON_HasObjectItem(json, "pad");
    read_spatial(program, json, symmetric ? "pad" : "pad_lower", g->spatial, g->pad_lower);
    read_spatial(program, json, symmetric ? "pad" : "pad_upper", g->spatial, g->pad_upper);
    read_spatial(program, json, "stride", g->spatial, g->stride);
    read_spatial(program, json, "dilation", g->spatial, g->dilation);
    const int64_t channels = program->tensor[node->operand[SIMDEV_X]].view.dim[1];
    const int64_t own = program->tensor[node->operand[SIMDEV_W]].view.dim[1];
    if (own < 1 || channels % own != 0)
        refuse_program(program, "a convolution with %lld channels and a filter with %lld",
                       (long long)channels, (long long)own);
    g->groups = own < 1 ? 1 : channels / own;
    if (!program->refusal[0])
        check_extents(program, node);
}

static bool is_broadcast(const struct simdev_view *from, const struct simdev_view *to)
{
    bool fits = from->rank == to->rank;
    for (int i = 0; fits && i < to->rank; i++)
        fits = from->dim[i] == to->dim[i] || from->dim[i] == 1;
    return fits;
}

static void parse_pointwise(struct simdev_program *program, const cJSON *json,
                            struct simdev_node *node)
{
    struct simdev_pointwise *op = &node->pointwise;
    cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
    if (!mode_of(text_of(json, "pointwiseMode"), &mode))
        refuse_program(program, "pointwise mode %s", text_of(json, "pointwiseMode"));
    node->is_pointwise = true;
    *op = simdev_pointwise_of(mode);
    op->alpha1 = number_of(json, "alpha1", 1);
    op->alpha2 = number_of(json, "alpha2", 1);
    op->lower_clip = number_of(json, "lowerClip", op->lower_clip);
    op->upper_clip = number_of(json, "upperClip", op->upper_clip);
    op->lower_slope = number_of(json, "lowerClipSlope", op->lower_slope);
    op->swish_beta = number_of(json, "beta", op->swish_beta);
    op->elu_alpha = number_of(json, "alpha", op->elu_alpha);
    op->softplus_beta = number_of(json, "beta", op->softplus_beta);
    node->operand[SIMDEV_X] = operand_of(program, json, "X");
    node->operand[SIMDEV_W] =
        simdev_pointwise_is_binary(mode) ? operand_of(program, json, "B") : -1;
    node->operand[SIMDEV_Y] = operand_of(program, json, "Y");
    if (mode == CUDNN_POINTWISE_ADD && op->alpha2 == 0) { /* the operand is not read */
        op->mode = CUDNN_POINTWISE_IDENTITY;
        node->operand[SIMDEV_W] = -1;
    }
    if (program->refusal[0])
        return;
    const struct simdev_view *y = &program->tensor[node->operand[SIMDEV_Y]].view;
    for (int role = 0; role < SIMDEV_Y; role++)
        if (node->operand[role] >= 0 &&
            !is_broadcast(&program->tensor[node->operand[role]].view, y))
            refuse_program(program, "a pointwise operand with a different shape than its result");
}

static void parse_node(struct simdev_program *program, const cJSON *json, struct simdev_node *node)
{
    const char *operation = text_of(json, "operation");
    enum simdev_role result = SIMDEV_Y;
    if (strcmp(operation, "CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR") == 0)
        parse_pointwise(program, json, node);
    else if (strcmp(operation, "CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR") == 0)
        parse_convolution(program, json, SIMDEV_CONV_FORWARD, node);
    else if (strcmp(operation, "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR") == 0)
        parse_convolution(program, json, SIMDEV_CONV_BACKWARD_DATA, node);
    else if (strcmp(operation, "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR") ==
             0)
        parse_convolution(program, json, SIMDEV_CONV_BACKWARD_FILTER, node);
    else
        refuse_program(program, "operation %s", operation);
    if (program->refusal[0])
        return;
    if (!node->is_pointwise)
        result = simdev_conv_result(node->geometry.kind);
    program->tensor[node->operand[result]].is_written = true;
}

/* Nodes must come in an order in which each virtual tensor is written before it is read. */
static void check_order(struct simdev_program *program)
{
    bool ready[64] = {false};
    for (int n = 0; n < program->nodes; n++) {
        const struct simdev_node *node = &program->node[n];
        const enum simdev_role result =
            node->is_pointwise ? SIMDEV_Y : simdev_conv_result(node->geometry.kind);
        for (int role = 0; role < SIMDEV_ROLES; role++) {
            const int index = node->operand[role];
            if (index < 0 || role == (int)result)
                continue;
            if (program->tensor[index].is_virtual && !ready[index])
                refuse_program(program, "a graph whose operations are not in order");
        }
        ready[node->operand[result]] = true;
    }
}

/* A tensor that no operation reads or writes needs no memory. For example, TensorFlow passes none
 * for a side input that is scaled by 0. */
static void leave_out_unused(struct simdev_program *program)
{
    for (int i = 0; i < program->tensors; i++) {
        bool used = false;
        for (int n = 0; n < program->nodes; n++)
            for (int role = 0; role < SIMDEV_ROLES; role++)
                used = used || program->node[n].operand[role] == i;
        if (!used)
            program->tensor[i].is_virtual = true;
    }
}

static bool parse_graph(struct simdev_program *program, const cJSON *graph)
{
    const cJSON *tensors = cJSON_GetObjectItemCaseSensitive(graph, "tensors");
    const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(graph, "nodes"), *item;
    const int tensor_count = cJSON_GetArraySize(tensors), node_count = cJSON_GetArraySize(nodes);
    if (tensor_count < 1 || tensor_count > 64 || node_count < 1) {
        refuse_program(program, "a plan with an unreadable description");
        return true;
    }
    program->tensor = calloc((size_t)tensor_count, sizeof *program->tensor);
    program->node = calloc((size_t)node_count, sizeof *program->node);
    if (!program->tensor || !program->node)
        return false;
    cJSON_ArrayForEach(item, tensors)
        parse_tensor(program, item, &program->tensor[program->tensors++]);
    cJSON_ArrayForEach(item, nodes)
    {
        if (!program->refusal[0])
            parse_node(program, item, &program->node[program->nodes++]);
    }
    if (!program->refusal[0]) {
        check_order(program);
        leave_out_unused(program);
    }
    return true;
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
    return hash;
}

/* The length of the object that begins the text. Names of cuDNN contain no braces. */
static size_t object_length(const char *text)
{
    size_t length = 0;
    int depth = 0;
    do
        depth += (text[length] == '{') - (text[length] == '}');
    while (text[length++] && depth > 0);
    return length;
}

/* "GRAPH-PLAN", hashes of the graph and of the whole description: plans of the same graph on other
 * engines begin alike. */
static void name_program(struct simdev_program *program, const char *json)
{
    const char *name = strstr(json, "\"operationGraph\""), *graph = name ? strchr(name, '{') : NULL;
    const uint32_t first = graph ? (uint32_t)hash_of(graph, object_length(graph)) : 0;
    snprintf(program->label, sizeof program->label, "%08x-%016llx", first,
             (unsigned long long)hash_of(json, strlen(json)));
}

/* Appends the extents of a tensor, without spatial extents of 1: " 32x64x512x512". */
static void put_extents(struct simdev_program *program, int tensor)
{
    const struct simdev_view *view = &program->tensor[tensor].view;
    for (int i = 0; i < view->rank; i++) {
        const size_t length = strlen(program->problem);
        if (i < 2 || view->dim[i] != 1)
            snprintf(program->problem + length, sizeof program->problem - length, "%c%" PRId64,
                     i == 0 ? ' ' : 'x', view->dim[i]);
    }
}

/* Names the first convolution: its direction, its image and its filter. */
static void name_problem(struct simdev_program *program)
{
    static const char *const directions[] = {[SIMDEV_CONV_FORWARD] = "forward",
                                             [SIMDEV_CONV_BACKWARD_DATA] = "dgrad",
                                             [SIMDEV_CONV_BACKWARD_FILTER] = "wgrad"};
    int n = 0;
    while (n < program->nodes && program->node[n].is_pointwise)
        n++;
    if (program->refusal[0] || n == program->nodes)
        return;
    const struct simdev_node *node = &program->node[n];
    snprintf(program->problem, sizeof program->problem, "%s", directions[node->geometry.kind]);
    put_extents(program, node->operand[SIMDEV_X]);
    put_extents(program, node->operand[SIMDEV_W]);
}

struct simdev_program *simdev_program_parse(const char *json, size_t workspace)
{
    struct simdev_program *program = calloc(1, sizeof *program);
    if (!program)
        return NULL;
    atomic_init(&program->references, 1);
    pthread_mutex_init(&program->lock, NULL);
    program->workspace = workspace;
    name_program(program, json);
    cJSON *root = cJSON_Parse(json);
    const bool ok = parse_graph(program, cJSON_GetObjectItemCaseSensitive(root, "operationGraph"));
    cJSON_Delete(root);
    if (!ok) {
        simdev_program_release(program);
        return NULL;
    }
    name_problem(program);
    return program;
}

struct simdev_program *simdev_program_retain(struct simdev_program *program)
{
    atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    return program;
}

void simdev_program_release(struct simdev_program *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) > 1)
        return;
    for (int i = 0; i < program->nodes; i++)
        simdev_kernel_destroy(program->node[i].kernel);
    pthread_mutex_destroy(&program->lock);
    free(program->tensor);
    free(program->node);
    free(program);
}
