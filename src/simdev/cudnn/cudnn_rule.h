/* The rule-of-thumb planner's descriptors, shared by its files. */
#ifndef SIMDEV_CUDNN_RULE_H
#define SIMDEV_CUDNN_RULE_H

#include "cudnn_internal.h"

enum {
    RULE_MAX_ATTRIBUTES = 16
};

struct rule_attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    void *values;
};

/* Reference counted. Finalized descriptors never change. */
struct rule_node {
    cudnnBackendDescriptorType_t type;
    atomic_int references;
    bool finalized;
    int attributes;
    struct rule_attribute attribute[RULE_MAX_ATTRIBUTES];
    char *json;        /* of a finalized plan */
    int64_t workspace; /* of a finalized engine, config or plan */
};

/* The names of an operation's attributes, here and in a plan's JSON. */
struct rule_operation {
    cudnnBackendDescriptorType_t type;
    const char *name;
    struct {
        const char *key;
        cudnnBackendAttributeName_t name;
    } operand[SIMDEV_ROLES]; /* X, W or B, Y */
    cudnnBackendAttributeName_t descriptor, alpha, beta;
};

/* Returns the bytes of one value of an attribute of this type. */
size_t rule_type_size(cudnnBackendAttributeType_t type);

/* NULL or the default if the attribute was not set. */
const struct rule_attribute *rule_find(const struct rule_node *node,
                                       cudnnBackendAttributeName_t name);
struct rule_node *rule_child(const struct rule_node *node, cudnnBackendAttributeName_t name,
                             int64_t index);
int64_t rule_integer(const struct rule_node *node, cudnnBackendAttributeName_t name,
                     int64_t otherwise);

/* True if only the plain engine supports the graph: tensors of 2^31 elements, or as SIMDEV_REFUSE
 * requires. */
bool rule_plain_alone(const struct rule_node *graph);

/* NULL if the node is not an operation. */
const struct rule_operation *rule_operation_of(const struct rule_node *node);

/* A plan's description in cuDNN's form, to be freed. NULL if memory is short. */
char *rule_describe_plan(const struct rule_node *graph, int64_t engine);

#endif
