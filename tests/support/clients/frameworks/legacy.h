/* The legacy API with its direction as a parameter. Functions return cuDNN's own status. */
#ifndef LEGACY_H
#define LEGACY_H

#include "session.h"

#define LEGACY_ANSWERS 8 /* as many as cuDNN has algorithms for a direction */

/* Descriptors of a layer and its bias. */
struct legacy {
    cudnnTensorDescriptor_t x, y, bias;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
};

/* A row of an algorithm query, for any direction. */
struct answer {
    int algorithm;
    cudnnStatus_t status;
    float time;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t math;
};

struct answers {
    int count;
    struct answer row[LEGACY_ANSWERS];
};

/* legacy_close is due also after a failure; the structure must begin as zeros. */
cudnnStatus_t legacy_open(const struct operands *operands, cudnnMathType_t math,
                          struct legacy *legacy);
void legacy_close(struct legacy *legacy);

/* Get..Algorithm_v7, after asking for the number of algorithms. */
cudnnStatus_t legacy_get(const struct session *session, const struct legacy *legacy,
                         enum direction direction, struct answers *answers);
/* Find..Algorithm: cuDNN allocates. */
cudnnStatus_t legacy_find(const struct session *session, const struct legacy *legacy,
                          enum direction direction, struct answers *answers);
/* Find..AlgorithmEx on the operands, whose result it spoils. */
cudnnStatus_t legacy_find_ex(const struct session *session, const struct legacy *legacy,
                             enum direction direction, const struct operands *operands,
                             void *workspace, size_t bytes, struct answers *answers);
cudnnStatus_t legacy_size(const struct session *session, const struct legacy *legacy,
                          enum direction direction, int algorithm, size_t *bytes_p);

/* Memory and number of a call. */
struct brought {
    int algorithm;
    void *workspace;
    size_t bytes;
};

cudnnStatus_t legacy_run(const struct session *session, const struct legacy *legacy,
                         enum direction direction, const struct operands *operands,
                         const struct brought *brought, float alpha, float beta);
/* ConvolutionBiasActivationForward whose z is y. */
cudnnStatus_t legacy_run_fused(const struct session *session, const struct legacy *legacy,
                               const struct operands *operands, const struct brought *brought,
                               float alpha2, cudnnActivationMode_t activation);

/* Which algorithm is to run; a search may spoil the operand that the direction writes. */
typedef bool legacy_choose(struct session *session, const struct legacy *legacy,
                           enum direction direction, struct operands *operands,
                           struct answer *chosen);

/* One call of a framework that plans for every call: descriptors, choice, the math type of the
 * chosen algorithm, its workspace, the call; then the check. */
bool legacy_convolve(struct session *session, struct operands *operands, enum direction direction,
                     legacy_choose *choose);

#endif
