/* Makes the backend descriptors of a problem with a builder (descriptor_builder.h), for the device
 * and with the settings of the application's descriptors. */
#ifndef CS_CUDNN_PLAN_DESCRIPTORS_H
#define CS_CUDNN_PLAN_DESCRIPTORS_H

#include "convshim/problem.h"
#include "cudnn/bind/real.h"
#include "cudnn/plan/descriptor_builder.h"

/* Settings of an engine in addition to its knobs. Zeros if the application set none. */
struct cs_engine_settings {
    int32_t sm_count;
    int32_t shared_memory; /* bytes; 0: no limit */
    bool no_clusters;
};

/* The device and the settings for which descriptors are built. */
struct cs_target {
    cudnnHandle_t handle;            /* a handle of the device; NULL: `device` describes it */
    cudnnBackendDescriptor_t device; /* the device's properties; NULL with a handle */
    int64_t uid[CS_MAX_TENSORS];     /* names of the tensors in variant packs */
    struct cs_engine_settings
        settings; /* settings of the application's engine, applied to every engine */
};

/* A finalized operation graph of the convolution and its steps. */
cudnnBackendDescriptor_t cs_descriptors_graph(struct cs_descriptor_builder *builder,
                                              const struct cs_target *target,
                                              const struct cs_problem *problem);

/* A finalized engine for a graph, by its global index. */
cudnnBackendDescriptor_t cs_descriptors_engine(struct cs_descriptor_builder *builder,
                                               const struct cs_target *target,
                                               cudnnBackendDescriptor_t graph, int64_t index);

/* A finalized configuration of an engine (`chosen`), with the knobs of `engine`. */
cudnnBackendDescriptor_t cs_descriptors_configuration(struct cs_descriptor_builder *builder,
                                                      cudnnBackendDescriptor_t chosen,
                                                      const struct cs_engine *engine);

/* Gets the heuristics' configurations for a problem, best first, `capacity` at most. Returns their
 * number. The builder owns them. */
int cs_descriptors_heuristics(struct cs_descriptor_builder *builder, const struct cs_target *target,
                              const struct cs_problem *problem, cudnnBackendHeurMode_t mode,
                              cudnnBackendDescriptor_t *configuration, int capacity);

/* A finalized execution plan. */
cudnnBackendDescriptor_t cs_descriptors_plan(struct cs_descriptor_builder *builder,
                                             const struct cs_target *target,
                                             cudnnBackendDescriptor_t configuration);

/* A finalized variant pack of `count` tensors. The caller destroys it. */
cudnnStatus_t cs_descriptors_pack(int count, void *const *pointer, const int64_t *uid,
                                  void *workspace, cudnnBackendDescriptor_t *pack_p);

/* The workspace that a finalized plan requires, in bytes. */
int64_t cs_descriptors_workspace(struct cs_descriptor_builder *builder,
                                 cudnnBackendDescriptor_t plan);

/* The global index of a configuration's engine. */
int64_t cs_descriptors_index(struct cs_descriptor_builder *builder,
                             cudnnBackendDescriptor_t configuration);

/* The notes of a configuration's engine, one bit each. */
struct cs_engine_notes {
    unsigned numerical; /* 1 << cudnnBackendNumericalNote_t */
    unsigned behaviour; /* 1 << cudnnBackendBehaviorNote_t */
};
struct cs_engine_notes cs_descriptors_notes(struct cs_descriptor_builder *builder,
                                            cudnnBackendDescriptor_t configuration);

struct cs_operation_names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t operand[CS_OPERANDS];
    cudnnBackendAttributeName_t conv, alpha, beta;
};

extern const struct cs_operation_names cs_operation_names[CS_DIRECTIONS];

/* The direction of a convolution operation. False for every other type of descriptor. */
bool cs_operation_direction(cudnnBackendDescriptorType_t type, enum cs_direction *direction_p);

#endif
