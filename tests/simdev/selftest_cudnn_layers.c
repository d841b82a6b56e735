/* Tests of layers other than convolutions: sizes and extents that follow from descriptors, and
 * calls that account mode counts. */
#include "selftest_cudnn.h"
#include "simdev.h"

static const float one = 1, zero = 0;

/* A window of 3x2 with steps of 2x1, over 2x3x4x5. */
static void check_pooling_extents(void)
{
    cudnnPoolingDescriptor_t pooling;
    cudnnTensorDescriptor_t x;
    int n, c, h, w;
    NEED(cudnnCreatePoolingDescriptor(&pooling));
    NEED(cudnnCreateTensorDescriptor(&x));
    NEED(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, F, 2, 3, 4, 5));
    NEED(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 3, 2, 1,
                                     0, 2, 1));
    NEED(cudnnGetPooling2dForwardOutputDim(pooling, x, &n, &c, &h, &w));
    ok(n == 2 && c == 3 && h == 2 && w == 4, "pooling: extents of the result");
    NEED(cudnnDestroyPoolingDescriptor(pooling));
    NEED(cudnnDestroyTensorDescriptor(x));
}

static void check_norm_parameters(void)
{
    cudnnTensorDescriptor_t x, parameters;
    cudnnDataType_t type;
    int rank, dim[4], stride[4];
    size_t bytes;
    NEED(cudnnCreateTensorDescriptor(&x));
    NEED(cudnnCreateTensorDescriptor(&parameters));
    NEED(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 4, 5));
    NEED(cudnnDeriveBNTensorDescriptor(parameters, x, CUDNN_BATCHNORM_SPATIAL));
    NEED(cudnnGetTensorNdDescriptor(parameters, 4, &type, &rank, dim, stride));
    ok(type == F && rank == 4 && dim[0] == 1 && dim[1] == 3 && dim[2] == 1 && dim[3] == 1,
       "batch normalisation: parameters by channel are f32");
    NEED(cudnnDropoutGetReserveSpaceSize(x, &bytes));
    ok(bytes == 16, "dropout: one bit per element, in whole words");
    NEED(cudnnDestroyTensorDescriptor(x));
    NEED(cudnnDestroyTensorDescriptor(parameters));
}

/* The calls of other_calls.txt. */
static void check_counted(void)
{
    const uint64_t before = simdev_counted(SIMDEV_LIBRARY_CALLS);
    ok(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &one, NULL, NULL,
                           &zero, NULL, NULL) == CUDNN_STATUS_SUCCESS,
       "a counted call succeeds");
    NEED(cudaDeviceSynchronize());
    ok(simdev_counted(SIMDEV_LIBRARY_CALLS) == before + 1, "a counted call is counted");
    ok(cudnnSoftmaxForward(NULL, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &one, NULL, NULL,
                           &zero, NULL, NULL) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
       "a counted call needs a handle");
    ok(cudnnOpsVersionCheck() == CUDNN_STATUS_SUCCESS, "an accepted call succeeds");
}

/* All matrices first, then all biases, as the documentation defines. */
static void check_rnn_layout(void)
{
    cudnnRNNDescriptor_t rnn;
    cudnnTensorDescriptor_t matrix, bias;
    size_t bytes;
    char *base = (char *)(uintptr_t)4096;
    void *at, *bias_at;
    NEED(cudnnCreateRNNDescriptor(&rnn));
    NEED(cudnnCreateTensorDescriptor(&matrix));
    NEED(cudnnCreateTensorDescriptor(&bias));
    NEED(cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                                  CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, F, F,
                                  CUDNN_DEFAULT_MATH, 10, 20, 20, 2, NULL, 0));
    NEED(cudnnGetRNNWeightSpaceSize(handle, rnn, &bytes));
    const size_t matrices = 4 * (20 * 10 + 20 * 20) + 4 * (20 * 20 + 20 * 20);
    ok(bytes == 4 * (matrices + 2 * 8 * 20), "LSTM: size of the parameters of two layers");
    NEED(cudnnGetRNNWeightParams(handle, rnn, 1, bytes, base, 4, matrix, &at, bias, &bias_at));
    ok((char *)at == base + 4 * (4 * (20 * 10 + 20 * 20) + 4 * 20 * 20) &&
           (char *)bias_at == base + 4 * (matrices + 8 * 20 + 4 * 20),
       "LSTM: addresses of a matrix and a bias of the second layer");
    /* PyTorch queries one of the two addresses at a time. */
    void *alone = NULL;
    NEED(cudnnGetRNNWeightParams(handle, rnn, 1, bytes, base, 4, matrix, &alone, NULL, NULL));
    ok(alone == at, "LSTM: address of the matrix alone");
    NEED(cudnnDestroyTensorDescriptor(matrix));
    NEED(cudnnDestroyTensorDescriptor(bias));
    NEED(cudnnDestroyRNNDescriptor(rnn));
}

int main(void)
{
    setenv("SIMDEV_MODE", "account", 1);
    begin();
    check_pooling_extents();
    check_norm_parameters();
    check_counted();
    check_rnn_layout();
    return end();
}
