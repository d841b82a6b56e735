/* Shared parts of the test programs: error reports, data types, reproducible random data, strided
 * tensors, option values. */
#ifndef CLIENT_H
#define CLIENT_H

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLIENT_MAX_DIMS 5

/* Outcome of a cuDNN request. Refused: cuDNN reports that it does not support the request, or that
 * the kernel which an engine wrote for it does not compile. */
enum outcome {
    OUTCOME_OK,
    OUTCOME_REFUSED,
    OUTCOME_ERROR
};

/* Calls a CUDA or cuDNN function; on failure prints file, line, the call and the library's text to
 * stderr and jumps to `label`. */
#define TRY_CUDA(call, label)                                                                      \
    do {                                                                                           \
        cudaError_t try_error = (call);                                                            \
        if (try_error != cudaSuccess) {                                                            \
            client_report(__FILE__, __LINE__, #call, cudaGetErrorString(try_error));               \
            goto label;                                                                            \
        }                                                                                          \
    } while (0)

#define TRY_CUDNN(call, label)                                                                     \
    do {                                                                                           \
        cudnnStatus_t try_status = (call);                                                         \
        if (try_status != CUDNN_STATUS_SUCCESS) {                                                  \
            client_report(__FILE__, __LINE__, #call, cudnnGetErrorString(try_status));             \
            goto label;                                                                            \
        }                                                                                          \
    } while (0)

/* Calls a cuDNN function; on failure returns OUTCOME_REFUSED, silently, if cuDNN
 * refuses, else prints like TRY_CUDNN and returns OUTCOME_ERROR. */
#define ASK_CUDNN(call)                                                                            \
    do {                                                                                           \
        cudnnStatus_t ask_status = (call);                                                         \
        if (ask_status != CUDNN_STATUS_SUCCESS)                                                    \
            return client_judge(__FILE__, __LINE__, #call, ask_status);                            \
    } while (0)

void client_report(const char *file, int line, const char *call, const char *text);
enum outcome client_judge(const char *file, int line, const char *call, cudnnStatus_t status);

/* Data types: CUDNN_DATA_FLOAT, CUDNN_DATA_HALF and CUDNN_DATA_BFLOAT16, named f32, f16 and bf16.
 */
size_t dtype_size(cudnnDataType_t type);
const char *dtype_name(cudnnDataType_t type);
bool dtype_parse(const char *name, cudnnDataType_t *type);
float dtype_load(cudnnDataType_t type, const void *base, size_t index);
/* Rounds to nearest even. */
void dtype_store(cudnnDataType_t type, void *base, size_t index, float value);

/* splitmix64: the whole sequence follows from the state. */
struct rng {
    uint64_t state;
};

/* Each pair has its own sequence. */
struct rng rng_of(uint64_t seed, uint64_t index);
uint64_t rng_next(struct rng *rng);
/* Uniform over first..last, both included. */
int64_t rng_between(struct rng *rng, int64_t first, int64_t last);
/* True once in `times`. */
bool rng_once_in(struct rng *rng, int64_t times);
/* Bell-shaped (sum of four uniform numbers), mean 0, standard deviation 1. */
float rng_normal(struct rng *rng);

enum layout {
    LAYOUT_NCHW, /* contiguous in the order of the dimensions */
    LAYOUT_NHWC  /* channels last; the dimensions keep their order, as in PyTorch */
};

const char *layout_name(enum layout layout);
bool layout_parse(const char *name, enum layout *layout);

/* A strided view into a buffer of `storage` elements, its first element at `offset`. Dimensions: N,
 * C, spatial ones. A filter's: K, C/groups, spatial ones. */
struct tensor {
    cudnnDataType_t type;
    int dims;
    int64_t size[CLIENT_MAX_DIMS];
    int64_t stride[CLIENT_MAX_DIMS];
    int64_t offset;
    int64_t storage;
};

/* Sets strides, offset and storage for a packed tensor of the given sizes. */
void tensor_pack(struct tensor *tensor, enum layout layout);
/* The same inside a packed tensor of the sizes `outer`, beginning at the coordinates `corner`. */
void tensor_embed(struct tensor *tensor, enum layout layout, const int64_t *outer,
                  const int64_t *corner);
int64_t tensor_elements(const struct tensor *tensor);
size_t tensor_storage_bytes(const struct tensor *tensor);
/* Largest power of two, at most 16, that divides the byte address of the first element of a tensor
 * whose buffer comes from cudaMalloc. */
int64_t tensor_alignment(const struct tensor *tensor);
/* Steps `at` to the next coordinates, the last dimension fastest; false after the last ones. Begins
 * at all zeros. */
bool tensor_step(const struct tensor *tensor, int64_t *at);
/* The offset of the element at these coordinates in the buffer, in elements. */
size_t tensor_index(const struct tensor *tensor, const int64_t *at);
/* The address of the first element in a buffer of the tensor's storage. */
void *tensor_first(const struct tensor *tensor, void *buffer);
/* Writes cuDNN's 4-D or 5-D descriptor of the view. */
cudnnStatus_t tensor_describe(const struct tensor *tensor, cudnnTensorDescriptor_t desc);

/* A whole decimal number in first..last; false, with a line on stderr that names the option, for
 * anything else. */
bool option_number(const char *option, const char *text, int64_t first, int64_t last,
                   int64_t *value);
/* A finite decimal number that is not negative, like option_number. */
bool option_real(const char *option, const char *text, double *value);
/* Prints on stderr that `text` is no value for the option, and the allowed values. Returns false.
 */
bool option_refuse(const char *option, const char *text, const char *allowed);

/* Handles one option of getopt_long, by its `val`. If the value is wrong, prints the reason on
 * stderr and returns false. */
typedef bool option_take(int option, const char *value, void *options);

/* Takes the command line, in which `operands` arguments follow the options; they begin at optind.
 * `known` has --help with the val 'h'. Returns -1 to go on, else the exit status: 0 after --help, 2
 * after a wrong use; the usage text is then printed. */
int options_parse(int argc, char **argv, const struct option *known, option_take *take,
                  void *options, const char *usage, int operands);

/* A new device buffer with a copy of the host's bytes, ready when it returns; NULL on failure. */
void *client_upload(const void *host, size_t bytes, cudaStream_t stream);

/* Seconds of the monotonic clock. */
double client_seconds(void);

#endif
