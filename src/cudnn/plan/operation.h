/* cuDNN's names for a convolution operation, by direction. */
#ifndef CS_CUDNN_PLAN_OPERATION_H
#define CS_CUDNN_PLAN_OPERATION_H

#include "convshim/problem.h"
#include "cudnn/bind/real.h"

struct cs_operation_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t operand[CS_OPERANDS];
    cudnnBackendAttributeName_t conv, alpha, beta;
};

extern const struct cs_operation_names cs_operation_names[CS_DIRECTIONS];

/* The direction of a convolution operation. False for every other type of descriptor. */
bool cs_operation_direction(cudnnBackendDescriptorType_t type, enum cs_direction *direction_p);

#endif
