/* The rule-of-thumb planner's descriptors, shared by its two halves. */
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

/* Shared by whoever refers to it: finalized descriptors never change. */
struct rule_node {
    cudnnBackendDescriptorType_t type;
    atomic_int references;
    bool finalized;
    int attributes;
    struct rule_attribute attribute[RULE_MAX_ATTRIBUTES];
    char *json;        /* of a finalized plan */
    int64_t workspace; /* of a finalized engine, config or plan */
};

/* What an operation's attributes are called, here and in a plan's JSON. */
struct rule_operation {
    cudnnBackendDescriptorType_t type;
    const char *name;
    struct {
        const char *key;
        cudnnBackendAttributeName_t name;
    } operand[SIMDEV_ROLES]; /* X, W or B, Y */
    cudnnBackendAttributeName_t descriptor, alpha, beta;
};

size_t rule_type_size(cudnnBackendAttributeType_t type);

/* NULL or the default if the attribute was not set. */
const struct rule_attribute *rule_find(const struct rule_node *node,
                                       cudnnBackendAttributeName_t name);
struct rule_node *rule_child(const struct rule_node *node, cudnnBackendAttributeName_t name,
                             int64_t index);
int64_t rule_integer(const struct rule_node *node, cudnnBackendAttributeName_t name,
                     int64_t otherwise);

/* True if the graph is left to the plain engine alone: tensors of 2^31 elements, or what the test
 * asked for. */
bool rule_plain_alone(const struct rule_node *graph);

/* NULL for what is no operation. */
const struct rule_operation *rule_operation_of(const struct rule_node *node);

/* A plan's description in cuDNN's own form, to be freed; NULL for want of memory. */
char *rule_describe_plan(const struct rule_node *graph, int64_t engine);

#endif
