/* Packs pointwise operations that are fused to a convolution into the words of struct cs_step,
 * which planning copies without interpretation. */
#ifndef CS_CUDNN_PLAN_FUSION_H
#define CS_CUDNN_PLAN_FUSION_H

#include "convshim/problem.h"

enum cs_pointwise_operand {
    CS_PW_X,
    CS_PW_B,
    CS_PW_T,
    CS_PW_Y, /* the result */
    CS_PW_OPERANDS
};

enum {
    CS_MAX_SETTINGS = 8
};

/* One attribute that an application set. */
struct cs_setting {
    int64_t name; /* cudnnBackendAttributeName_t */
    int64_t type; /* cudnnBackendAttributeType_t */
    int64_t bits; /* the element, in its first bytes */
};

struct cs_pointwise {
    int64_t mode;                    /* cudnnPointwiseMode_t */
    int64_t precision;               /* cudnnDataType_t */
    int64_t operand[CS_PW_OPERANDS]; /* indexes of the problem's tensors, -1 for absent ones */
    int settings;
    struct cs_setting setting[CS_MAX_SETTINGS];
};

void cs_fusion_pack(const struct cs_pointwise *pointwise, struct cs_step *step);
void cs_fusion_unpack(const struct cs_step *step, struct cs_pointwise *pointwise);

/* True if words from an untrusted source can be unpacked: they name tensors below `tensors`, and
 * all settings are numbers. cuDNN checks the rest. */
bool cs_fusion_valid(const struct cs_step *step, int tensors);

/* True if a step reads the tensor of that index. An addition does not read a tensor that it scales
 * by 0. */
bool cs_fusion_reads(const struct cs_step *step, int64_t tensor);

#endif
