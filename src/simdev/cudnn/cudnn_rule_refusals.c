/* Graphs that only the plain engine of the rule-of-thumb planner supports, as with cuDNN or as
 * SIMDEV_REFUSE requires. */
#include "cudnn_rule.h"
#include <stdlib.h>
#include <string.h>

/* For tensors of 2^31 elements, cuDNN has only its plain engine. SIMDEV_MAX_SPAN replaces this
 * limit. */
static int64_t most_elements(void)
{
    const char *text = getenv("SIMDEV_MAX_SPAN");
    return text && *text ? strtoll(text, NULL, 10) : INT64_C(0x7fffffff);
}

static int64_t span_of(const struct rule_node *tensor)
{
    const struct rule_attribute *dim = rule_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const struct rule_attribute *stride = rule_find(tensor, CUDNN_ATTR_TENSOR_STRIDES);
    int64_t last = 0;
    for (int64_t i = 0; i < dim->count; i++)
        last += (((const int64_t *)dim->values)[i] - 1) * ((const int64_t *)stride->values)[i];
    return last + 1;
}

static bool is_refused(const char *what)
{
    const char *list = getenv("SIMDEV_REFUSE");
    const size_t length = strlen(what);
    for (const char *word = list; word && *word; word += strcspn(word, ","), word += *word == ',')
        if (strncmp(word, what, length) == 0 && strchr(",", word[length]))
            return true;
    return false;
}

/* True if the padding before and after differs along some dimension. */
static bool is_unequal(const struct rule_node *convolution)
{
    const struct rule_attribute *pre = rule_find(convolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    const struct rule_attribute *post =
        rule_find(convolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
    return pre && post && pre->count == post->count &&
           memcmp(pre->values, post->values, (size_t)pre->count * sizeof(int64_t)) != 0;
}

/* True if a tensor has gaps between its elements. */
static bool has_gaps(const struct rule_node *tensor)
{
    const struct rule_attribute *dim = rule_find(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS);
    int64_t elements = 1;
    for (int64_t i = 0; i < dim->count; i++)
        elements *= ((const int64_t *)dim->values)[i];
    return span_of(tensor) != elements;
}

bool rule_plain_alone(const struct rule_node *graph)
{
    const struct rule_attribute *ops = rule_find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
    for (int64_t i = 0; ops && i < ops->count; i++) {
        const struct rule_node *operation = ((struct rule_node **)ops->values)[i];
        const struct rule_operation *names = rule_operation_of(operation);
        if (!names || operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            continue;
        if (is_refused("padding") && is_unequal(rule_child(operation, names->descriptor, 0)))
            return true;
        for (int role = 0; role < SIMDEV_ROLES; role++) {
            const struct rule_node *tensor = rule_child(operation, names->operand[role].name, 0);
            if (span_of(tensor) > most_elements() || (is_refused("gaps") && has_gaps(tensor)))
                return true;
        }
    }
    return false;
}
