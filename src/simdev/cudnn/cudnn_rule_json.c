/* Writes plans of the rule-of-thumb planner as JSON in cuDNN's form. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_rule.h"

size_t rule_type_size(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
        return 1;
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
        return 8;
    default:
        return 4;
    }
}

const struct rule_attribute *rule_find(const struct rule_node *node,
                                       cudnnBackendAttributeName_t name)
{
    for (int i = 0; i < node->attributes; i++)
        if (node->attribute[i].name == name)
            return &node->attribute[i];
    return NULL;
}

struct rule_node *rule_child(const struct rule_node *node, cudnnBackendAttributeName_t name,
                             int64_t index)
{
    const struct rule_attribute *a = rule_find(node, name);
    return a && a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && index < a->count
               ? ((struct rule_node **)a->values)[index]
               : NULL;
}

int64_t rule_integer(const struct rule_node *node, cudnnBackendAttributeName_t name,
                     int64_t otherwise)
{
    const struct rule_attribute *a = rule_find(node, name);
    int64_t wide;
    int32_t narrow;
    if (!a || a->count < 1)
        return otherwise;
    if (rule_type_size(a->type) == 1)
        return *(const unsigned char *)a->values;
    memcpy(&narrow, a->values, sizeof narrow);
    if (rule_type_size(a->type) == 4)
        return narrow;
    memcpy(&wide, a->values, sizeof wide);
    return wide;
}

static double rule_number(const struct rule_node *node, cudnnBackendAttributeName_t name,
                          double otherwise)
{
    const struct rule_attribute *a = rule_find(node, name);
    float narrow;
    double wide;
    if (!a || a->count < 1)
        return otherwise;
    if (a->type == CUDNN_TYPE_DOUBLE) {
        memcpy(&wide, a->values, sizeof wide);
        return wide;
    }
    memcpy(&narrow, a->values, sizeof narrow);
    return (double)narrow;
}

static const struct rule_operation operations[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     "CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR",
     {{"X", CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X},
      {"W", CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W},
      {"Y", CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y}},
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR",
     {{"dX", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX},
      {"W", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W},
      {"dY", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY}},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     "CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR",
     {{"X", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X},
      {"dW", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW},
      {"dY", CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY}},
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     "CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR",
     {{"X", CUDNN_ATTR_OPERATION_POINTWISE_XDESC},
      {"B", CUDNN_ATTR_OPERATION_POINTWISE_BDESC},
      {"Y", CUDNN_ATTR_OPERATION_POINTWISE_YDESC}},
     CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1,
     CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2},
};

const struct rule_operation *rule_operation_of(const struct rule_node *operation)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (operations[i].type == operation->type)
            return &operations[i];
    return NULL;
}

static void add_integers(cJSON *object, const char *key, const struct rule_node *node,
                         cudnnBackendAttributeName_t name)
{
    const struct rule_attribute *a = rule_find(node, name);
    cJSON *array = cJSON_AddArrayToObject(object, key);
    for (int64_t i = 0; a && i < a->count; i++)
        cJSON_AddItemToArray(array, cJSON_CreateNumber((double)((const int64_t *)a->values)[i]));
}

static const char *uid_text(const struct rule_node *tensor, char text[32])
{
    snprintf(text, 32, "%lld", (long long)rule_integer(tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, 0));
    return text;
}

static void add_tensor(cJSON *tensors, const struct rule_node *tensor)
{
    char text[32];
    const cJSON *item;
    cJSON_ArrayForEach(item, tensors)
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "name"));
        if (name && strcmp(name, uid_text(tensor, text)) == 0)
            return;
    }
    const int64_t type = rule_integer(tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, -1);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "name", uid_text(tensor, text));
    cJSON_AddStringToObject(json, "dataType",
                            type == CUDNN_DATA_FLOAT      ? "CUDNN_DATA_FLOAT"
                            : type == CUDNN_DATA_HALF     ? "CUDNN_DATA_HALF"
                            : type == CUDNN_DATA_BFLOAT16 ? "CUDNN_DATA_BFLOAT16"
                                                          : "another");
    add_integers(json, "dim", tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    add_integers(json, "stride", tensor, CUDNN_ATTR_TENSOR_STRIDES);
    cJSON_AddBoolToObject(json, "isVirtual",
                          rule_integer(tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 0) != 0);
    cJSON_AddBoolToObject(json, "isByValue",
                          rule_integer(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 0) != 0);
    cJSON_AddNumberToObject(json, "vectCount",
                            (double)rule_integer(tensor, CUDNN_ATTR_TENSOR_VECTOR_COUNT, 1));
    cJSON_AddNumberToObject(json, "ptrAlignment",
                            (double)rule_integer(tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1));
    cJSON_AddItemToArray(tensors, json);
}

static void describe_convolution(cJSON *json, const struct rule_node *operation,
                                 const struct rule_operation *names)
{
    const struct rule_node *conv = rule_child(operation, names->descriptor, 0);
    cJSON_AddStringToObject(
        json, "mode",
        rule_integer(conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CONVOLUTION) == CUDNN_CONVOLUTION
            ? "CUDNN_CONVOLUTION"
            : "CUDNN_CROSS_CORRELATION");
    cJSON_AddNumberToObject(json, "alpha", rule_number(operation, names->alpha, 1));
    cJSON_AddNumberToObject(json, "beta", rule_number(operation, names->beta, 0));
    add_integers(json, "pad_lower", conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    add_integers(json, "pad_upper", conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    add_integers(json, "stride", conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    add_integers(json, "dilation", conv, CUDNN_ATTR_CONVOLUTION_DILATIONS);
}

static const char *mode_name(int64_t mode)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD:
        return "CUDNN_POINTWISE_ADD";
    case CUDNN_POINTWISE_MUL:
        return "CUDNN_POINTWISE_MUL";
    case CUDNN_POINTWISE_IDENTITY:
        return "CUDNN_POINTWISE_IDENTITY";
    case CUDNN_POINTWISE_RELU_FWD:
        return "CUDNN_POINTWISE_RELU_FWD";
    case CUDNN_POINTWISE_SIGMOID_FWD:
        return "CUDNN_POINTWISE_SIGMOID_FWD";
    case CUDNN_POINTWISE_GELU_FWD:
        return "CUDNN_POINTWISE_GELU_FWD";
    case CUDNN_POINTWISE_SWISH_FWD:
        return "CUDNN_POINTWISE_SWISH_FWD";
    default:
        return "of another kind";
    }
}

static void describe_pointwise(cJSON *json, const struct rule_node *operation,
                               const struct rule_operation *names)
{
    const struct rule_node *mode = rule_child(operation, names->descriptor, 0);
    cJSON_AddStringToObject(json, "pointwiseMode",
                            mode_name(rule_integer(mode, CUDNN_ATTR_POINTWISE_MODE, -1)));
    cJSON_AddNumberToObject(json, "alpha1", rule_number(operation, names->alpha, 1));
    cJSON_AddNumberToObject(json, "alpha2", rule_number(operation, names->beta, 1));
    cJSON_AddNumberToObject(json, "lowerClip",
                            rule_number(mode, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0));
    cJSON_AddNumberToObject(json, "upperClip",
                            rule_number(mode, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 1e300));
    cJSON_AddNumberToObject(json, "lowerClipSlope",
                            rule_number(mode, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0));
    cJSON_AddNumberToObject(json, "beta", rule_number(mode, CUDNN_ATTR_POINTWISE_SWISH_BETA, 1));
}

static void add_operation(cJSON *tensors, cJSON *nodes, const struct rule_node *operation)
{
    const struct rule_operation *names = rule_operation_of(operation);
    char text[32];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToArray(nodes, json);
    cJSON_AddStringToObject(json, "operation", names ? names->name : "of another kind");
    if (!names)
        return;
    for (int role = 0; role < SIMDEV_ROLES; role++) {
        const struct rule_node *tensor = rule_child(operation, names->operand[role].name, 0);
        if (!tensor)
            continue;
        add_tensor(tensors, tensor);
        cJSON_AddStringToObject(json, names->operand[role].key, uid_text(tensor, text));
    }
    if (operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
        describe_pointwise(json, operation, names);
    else
        describe_convolution(json, operation, names);
}

char *rule_describe_plan(const struct rule_node *graph, int64_t engine)
{
    const struct rule_attribute *ops = rule_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "cudnnVersion", CUDNN_VERSION);
    cJSON *operation_graph = cJSON_AddObjectToObject(root, "operationGraph");
    cJSON *tensors = cJSON_AddArrayToObject(operation_graph, "tensors");
    cJSON *nodes = cJSON_AddArrayToObject(operation_graph, "nodes");
    for (int64_t i = 0; i < ops->count; i++)
        add_operation(tensors, nodes, ((struct rule_node **)ops->values)[i]);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(root, "engine"), "engineId", (double)engine);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}
