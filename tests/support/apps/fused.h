/* Random graphs of one forward convolution and pointwise operations, in the forms that frameworks
 * build, and the same as cudnnConvolutionBiasActivationForward. */
#ifndef FUSED_H
#define FUSED_H

#include "backend.h"
#include "problems.h"

enum fused_form {
    FUSED_RESIDUAL,   /* PyTorch: + alpha2 z, + bias, ReLU; z may be the result's own buffer */
    FUSED_SCALED,     /* XLA: * scale, + side * scale, + bias, any activation */
    FUSED_ACTIVATION, /* ONNX Runtime, cudnn-frontend: + bias, any activation */
    FUSED_BROADCAST,  /* + or * an operand that is 1 along some dimensions */
    FUSED_INPUT,      /* x * scale or ReLU(x) before the convolution */
    FUSED_FILTER,     /* the same with w */
    FUSED_LEGACY,     /* cudnnConvolutionBiasActivationForward */
    FUSED_FORMS
};

const char *fused_form_name(enum fused_form form);
/* Sets, by form, which are meant by a form's name or "all"; false, with a line on stderr,
 * otherwise. */
bool fused_forms_parse(const char *name, bool *chosen);

#define FUSED_MAX_TENSORS 12
#define FUSED_MAX_STEPS 6

struct fused_tensor {
    struct tensor tensor;
    enum backend_storage storage;
    int shares;  /* the tensor whose buffer it lies in, mostly itself */
    float value; /* of one that is by value */
};

/* y = mode(alpha1 * x, alpha2 * b). The numbers x, b and y count the problem's tensors; b is -1
 * for a mode of one operand. */
struct fused_step {
    cudnnPointwiseMode_t mode;
    int x, b, y;
    float alpha1, alpha2;
    float lower_clip, upper_clip, lower_slope; /* of RELU_FWD */
    float elu_alpha, swish_beta;
};

struct fused_problem {
    enum fused_form form;
    struct conv_problem conv; /* alpha 1 and beta 0; x, w and y are those of the convolution */
    int x, w, y;              /* the same tensors, counted */
    int result;
    int tensors;
    struct fused_tensor tensor[FUSED_MAX_TENSORS];
    int before; /* of the steps, those in front of the convolution */
    int steps;
    struct fused_step step[FUSED_MAX_STEPS];
    bool exact; /* integers stay exact in every step */
};

/* The index-th random problem of a seed, small. */
void fused_random(uint64_t seed, uint64_t index, enum fused_form form, cudnnDataType_t type,
                  struct fused_problem *problem);
void fused_print(const struct fused_problem *problem, char *text, size_t bytes);

/* Host images by tensor, whole storage; NULL for a tensor without its own buffer. Like
 * problem_fill. */
struct fused_data {
    void *image[FUSED_MAX_TENSORS];
};

bool fused_fill(const struct fused_problem *problem, uint64_t seed, enum data kind,
                struct fused_data *data);
void fused_release(struct fused_data *data);
/* The result's elements in double, without gaps, the last dimension fastest. False if memory is
 * out. */
bool fused_reference(const struct fused_problem *problem, const struct fused_data *data,
                     double *elements);

/* Plans and runs like conv_run, once, by the backend API or, FUSED_LEGACY, by the legacy API.
 * `buffers` are device buffers by tensor, of which those are used that have one. */
enum outcome fused_run(cudnnHandle_t handle, const struct fused_problem *problem,
                       const struct conv_settings *settings, void *const *buffers);

/* One that is planned once to run again and again, by the first answer of the library. Used by one
 * thread at a time. */
struct fused_plan {
    struct conv_plan plan;
    cudnnTensorDescriptor_t bias; /* legacy */
    cudnnActivationDescriptor_t activation;
};

/* The settings may not be NULL. On OUTCOME_OK the caller owns the plan. */
enum outcome fused_plan_create(cudnnHandle_t handle, const struct fused_problem *problem,
                               const struct conv_settings *settings, struct fused_plan *plan);
void fused_plan_destroy(struct fused_plan *plan);
/* Runs on the handle's stream without waiting, in a workspace of at least plan->plan.workspace
 * bytes. */
enum outcome fused_plan_run(cudnnHandle_t handle, const struct fused_problem *problem,
                            const struct fused_plan *plan, void *const *buffers, void *workspace);

/* The implementations of the functions above for both APIs. */
enum outcome fused_graph_plan(cudnnHandle_t handle, const struct fused_problem *problem,
                              const struct conv_settings *settings, struct conv_plan *plan);
enum outcome fused_graph_launch(cudnnHandle_t handle, const struct fused_problem *problem,
                                const struct conv_plan *plan, void *const *buffers,
                                void *workspace);
enum outcome fused_legacy_plan(cudnnHandle_t handle, const struct fused_problem *problem,
                               const struct conv_settings *settings, struct fused_plan *plan);
enum outcome fused_legacy_launch(cudnnHandle_t handle, const struct fused_problem *problem,
                                 const struct fused_plan *plan, void *const *buffers,
                                 void *workspace);
enum outcome fused_run_graph(cudnnHandle_t handle, const struct fused_problem *problem,
                             const struct conv_settings *settings, void *const *buffers);
enum outcome fused_run_legacy(cudnnHandle_t handle, const struct fused_problem *problem,
                              const struct conv_settings *settings, void *const *buffers);

#endif
