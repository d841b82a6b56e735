/* Checks of layers other than convolutions: known values, and every gradient against differences of
 * the simulated forward function, in both layouts. */
#include "selftest_cudnn.h"

enum {
    COUNT = 2 * 3 * 4 * 5,
    HALF = COUNT / 2
};

static const int extent[4] = {2, 3, 4, 5};
static const float one = 1, zero = 0;

struct layer {
    const char *name;
    void (*forward)(const struct layer *layer, const float *x, float *y);
    void (*backward)(const struct layer *layer, const float *x, const float *y, const float *dy,
                     float *dx);
    int mode, algorithm; /* of cuDNN's enumerations */
    cudnnTensorFormat_t format;
    int outputs;
};

static cudnnTensorDescriptor_t tensor(cudnnTensorFormat_t format, int n, int c, int h, int w)
{
    cudnnTensorDescriptor_t made;
    NEED(cudnnCreateTensorDescriptor(&made));
    NEED(cudnnSetTensor4dDescriptor(made, format, F, n, c, h, w));
    return made;
}

static cudnnTensorDescriptor_t whole(const struct layer *layer)
{
    return tensor(layer->format, extent[0], extent[1], extent[2], extent[3]);
}

static float *device_copy(const float *host, int count)
{
    float *made;
    NEED(cudaMalloc((void **)&made, (size_t)count * sizeof *made));
    if (host)
        NEED(cudaMemcpy(made, host, (size_t)count * sizeof *made, cudaMemcpyHostToDevice));
    return made;
}

static void fetch_and_free(float *host, float *device, int count)
{
    NEED(cudaDeviceSynchronize());
    if (host)
        NEED(cudaMemcpy(host, device, (size_t)count * sizeof *host, cudaMemcpyDeviceToHost));
    NEED(cudaFree(device));
}

/* ---- the layers ---- */

static cudnnPoolingDescriptor_t pooling_of(const struct layer *layer)
{
    cudnnPoolingDescriptor_t pooling;
    NEED(cudnnCreatePoolingDescriptor(&pooling));
    NEED(cudnnSetPooling2dDescriptor(pooling, (cudnnPoolingMode_t)layer->mode,
                                     CUDNN_NOT_PROPAGATE_NAN, 3, 2, 1, 0, 2, 1));
    return pooling;
}

static cudnnTensorDescriptor_t pooled(const struct layer *layer, cudnnPoolingDescriptor_t pooling)
{
    int n, c, h, w;
    cudnnTensorDescriptor_t x = whole(layer);
    NEED(cudnnGetPooling2dForwardOutputDim(pooling, x, &n, &c, &h, &w));
    NEED(cudnnDestroyTensorDescriptor(x));
    return tensor(layer->format, n, c, h, w);
}

static void pool(const struct layer *layer, const float *x, float *y)
{
    cudnnPoolingDescriptor_t pooling = pooling_of(layer);
    cudnnTensorDescriptor_t in = whole(layer), out = pooled(layer, pooling);
    float *from = device_copy(x, COUNT), *to = device_copy(NULL, layer->outputs);
    NEED(cudnnPoolingForward(handle, pooling, &one, in, from, &zero, out, to));
    fetch_and_free(y, to, layer->outputs);
    fetch_and_free(NULL, from, 0);
    NEED(cudnnDestroyPoolingDescriptor(pooling));
    NEED(cudnnDestroyTensorDescriptor(in));
    NEED(cudnnDestroyTensorDescriptor(out));
}

static void pool_back(const struct layer *layer, const float *x, const float *y, const float *dy,
                      float *dx)
{
    cudnnPoolingDescriptor_t pooling = pooling_of(layer);
    cudnnTensorDescriptor_t in = whole(layer), out = pooled(layer, pooling);
    float *vx = device_copy(x, COUNT), *vy = device_copy(y, layer->outputs);
    float *vdy = device_copy(dy, layer->outputs), *vdx = device_copy(NULL, COUNT);
    NEED(cudnnPoolingBackward(handle, pooling, &one, out, vy, out, vdy, in, vx, &zero, in, vdx));
    fetch_and_free(dx, vdx, COUNT);
    fetch_and_free(NULL, vx, 0);
    fetch_and_free(NULL, vy, 0);
    fetch_and_free(NULL, vdy, 0);
    NEED(cudnnDestroyPoolingDescriptor(pooling));
    NEED(cudnnDestroyTensorDescriptor(in));
    NEED(cudnnDestroyTensorDescriptor(out));
}

static void softmax(const struct layer *layer, const float *x, float *y)
{
    cudnnTensorDescriptor_t t = whole(layer);
    float *from = device_copy(x, COUNT), *to = device_copy(NULL, COUNT);
    NEED(cudnnSoftmaxForward(handle, (cudnnSoftmaxAlgorithm_t)layer->algorithm,
                             (cudnnSoftmaxMode_t)layer->mode, &one, t, from, &zero, t, to));
    fetch_and_free(y, to, COUNT);
    fetch_and_free(NULL, from, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
}

static void softmax_back(const struct layer *layer, const float *x, const float *y, const float *dy,
                         float *dx)
{
    cudnnTensorDescriptor_t t = whole(layer);
    float *vy = device_copy(y, COUNT), *vdy = device_copy(dy, COUNT);
    float *vdx = device_copy(NULL, COUNT);
    (void)x;
    NEED(cudnnSoftmaxBackward(handle, (cudnnSoftmaxAlgorithm_t)layer->algorithm,
                              (cudnnSoftmaxMode_t)layer->mode, &one, t, vy, t, vdy, &zero, t, vdx));
    fetch_and_free(dx, vdx, COUNT);
    fetch_and_free(NULL, vy, 0);
    fetch_and_free(NULL, vdy, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
}

static cudnnActivationDescriptor_t activation_of(const struct layer *layer)
{
    cudnnActivationDescriptor_t activation;
    NEED(cudnnCreateActivationDescriptor(&activation));
    NEED(cudnnSetActivationDescriptor(activation, (cudnnActivationMode_t)layer->mode,
                                      CUDNN_NOT_PROPAGATE_NAN, 0.7));
    return activation;
}

static void activate(const struct layer *layer, const float *x, float *y)
{
    cudnnActivationDescriptor_t activation = activation_of(layer);
    cudnnTensorDescriptor_t t = whole(layer);
    float *from = device_copy(x, COUNT), *to = device_copy(NULL, COUNT);
    NEED(cudnnActivationForward(handle, activation, &one, t, from, &zero, t, to));
    fetch_and_free(y, to, COUNT);
    fetch_and_free(NULL, from, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyActivationDescriptor(activation));
}

static void activate_back(const struct layer *layer, const float *x, const float *y,
                          const float *dy, float *dx)
{
    cudnnActivationDescriptor_t activation = activation_of(layer);
    cudnnTensorDescriptor_t t = whole(layer);
    float *vx = device_copy(x, COUNT), *vy = device_copy(y, COUNT), *vdy = device_copy(dy, COUNT);
    float *vdx = device_copy(NULL, COUNT);
    NEED(cudnnActivationBackward(handle, activation, &one, t, vy, t, vdy, t, vx, &zero, t, vdx));
    fetch_and_free(dx, vdx, COUNT);
    fetch_and_free(NULL, vx, 0);
    fetch_and_free(NULL, vy, 0);
    fetch_and_free(NULL, vdy, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyActivationDescriptor(activation));
}

static const double epsilon = 1e-3;

/* Scale 1, 2, 3, ...; bias 0.5. */
static void parameters_of(const struct layer *layer, cudnnTensorDescriptor_t *described,
                          float **scale, float **bias, int *count)
{
    float host[2][COUNT];
    cudnnTensorDescriptor_t x = whole(layer);
    *count = layer->mode == CUDNN_BATCHNORM_SPATIAL ? extent[1] : COUNT / extent[0];
    for (int i = 0; i < *count; i++) {
        host[0][i] = (float)(1 + i % 3);
        host[1][i] = 0.5f;
    }
    NEED(cudnnCreateTensorDescriptor(described));
    NEED(cudnnDeriveBNTensorDescriptor(*described, x, (cudnnBatchNormMode_t)layer->mode));
    *scale = device_copy(host[0], *count);
    *bias = device_copy(host[1], *count);
    NEED(cudnnDestroyTensorDescriptor(x));
}

static void normalise(const struct layer *layer, const float *x, float *y)
{
    cudnnTensorDescriptor_t t = whole(layer), described;
    float *scale, *bias, *from = device_copy(x, COUNT), *to = device_copy(NULL, COUNT);
    int count;
    parameters_of(layer, &described, &scale, &bias, &count);
    NEED(cudnnBatchNormalizationForwardTraining(handle, (cudnnBatchNormMode_t)layer->mode, &one,
                                                &zero, t, from, t, to, described, scale, bias, 1,
                                                NULL, NULL, epsilon, NULL, NULL));
    fetch_and_free(y, to, COUNT);
    fetch_and_free(NULL, from, 0);
    fetch_and_free(NULL, scale, 0);
    fetch_and_free(NULL, bias, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyTensorDescriptor(described));
}

static void normalise_back(const struct layer *layer, const float *x, const float *y,
                           const float *dy, float *dx)
{
    cudnnTensorDescriptor_t t = whole(layer), described;
    float *scale, *bias, *vx = device_copy(x, COUNT), *vdy = device_copy(dy, COUNT);
    float *vdx = device_copy(NULL, COUNT), *of_scale = device_copy(NULL, COUNT);
    float *of_bias = device_copy(NULL, COUNT);
    int count;
    (void)y;
    parameters_of(layer, &described, &scale, &bias, &count);
    NEED(cudnnBatchNormalizationBackward(handle, (cudnnBatchNormMode_t)layer->mode, &one, &zero,
                                         &one, &zero, t, vx, t, vdy, t, vdx, described, scale,
                                         of_scale, of_bias, epsilon, NULL, NULL));
    fetch_and_free(dx, vdx, COUNT);
    fetch_and_free(NULL, vx, 0);
    fetch_and_free(NULL, vdy, 0);
    fetch_and_free(NULL, of_scale, 0);
    fetch_and_free(NULL, of_bias, 0);
    fetch_and_free(NULL, scale, 0);
    fetch_and_free(NULL, bias, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyTensorDescriptor(described));
}

static cudnnLRNDescriptor_t response_of(unsigned channels)
{
    cudnnLRNDescriptor_t response;
    NEED(cudnnCreateLRNDescriptor(&response));
    NEED(cudnnSetLRNDescriptor(response, channels, 0.5, 0.75, 2));
    return response;
}

static void respond(const struct layer *layer, const float *x, float *y)
{
    cudnnLRNDescriptor_t response = response_of((unsigned)layer->mode);
    cudnnTensorDescriptor_t t = whole(layer);
    float *from = device_copy(x, COUNT), *to = device_copy(NULL, COUNT);
    NEED(cudnnLRNCrossChannelForward(handle, response, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, t, from,
                                     &zero, t, to));
    fetch_and_free(y, to, COUNT);
    fetch_and_free(NULL, from, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyLRNDescriptor(response));
}

static void respond_back(const struct layer *layer, const float *x, const float *y, const float *dy,
                         float *dx)
{
    cudnnLRNDescriptor_t response = response_of((unsigned)layer->mode);
    cudnnTensorDescriptor_t t = whole(layer);
    float *vx = device_copy(x, COUNT), *vy = device_copy(y, COUNT), *vdy = device_copy(dy, COUNT);
    float *vdx = device_copy(NULL, COUNT);
    NEED(cudnnLRNCrossChannelBackward(handle, response, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, t, vy,
                                      t, vdy, t, vx, &zero, t, vdx));
    fetch_and_free(dx, vdx, COUNT);
    fetch_and_free(NULL, vx, 0);
    fetch_and_free(NULL, vy, 0);
    fetch_and_free(NULL, vdy, 0);
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyLRNDescriptor(response));
}

/* ---- gradients compared with differences ---- */

static double weighted(const struct layer *layer, const float *x, const float *weight)
{
    float y[COUNT];
    double sum = 0;
    layer->forward(layer, x, y);
    for (int i = 0; i < layer->outputs; i++)
        sum += (double)y[i] * (double)weight[i];
    return sum;
}

/* All elements differ by more than the step, and none is close to a kink. */
static void check_gradient(const struct layer *layer)
{
    const float step = 1.0f / 256;
    float x[COUNT], y[COUNT], dy[COUNT], dx[COUNT];
    double worst = 0;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)(i * 37 % COUNT - HALF) / 40 + 0.011f;
        dy[i] = (float)(draw(9) - 4) / 4;
    }
    layer->forward(layer, x, y);
    layer->backward(layer, x, y, dy, dx);
    for (int i = 0; i < COUNT; i += 7) {
        const float own = x[i];
        x[i] = own + step;
        const double above = weighted(layer, x, dy);
        x[i] = own - step;
        const double below = weighted(layer, x, dy);
        x[i] = own;
        const double off = fabs((above - below) / (2.0 * (double)step) - (double)dx[i]);
        worst = off > worst ? off : worst;
    }
    ok(worst < 2e-3, layer->name);
    if (worst >= 2e-3)
        printf("# off by %g\n", worst);
}

#define POOLED (2 * 3 * 2 * 4)
#define NCHW CUDNN_TENSOR_NCHW
#define NHWC CUDNN_TENSOR_NHWC
#define POOL(name, mode, format)                                                                   \
    {                                                                                              \
        name, pool, pool_back, mode, 0, format, POOLED                                             \
    }
#define SOFTMAX(name, algo, mode, format)                                                          \
    {                                                                                              \
        name, softmax, softmax_back, mode, algo, format, COUNT                                     \
    }
#define ACTIVATION(name, mode)                                                                     \
    {                                                                                              \
        name, activate, activate_back, mode, 0, NCHW, COUNT                                        \
    }
#define RESPONSE(name, channels, format)                                                           \
    {                                                                                              \
        name, respond, respond_back, channels, 0, format, COUNT                                    \
    }
#define NORM(name, mode, format)                                                                   \
    {                                                                                              \
        name, normalise, normalise_back, mode, 0, format, COUNT                                    \
    }

static const struct layer layers[] = {
    POOL("gradient of maximum pooling", CUDNN_POOLING_MAX, NCHW),
    POOL("gradient of maximum pooling, channels last", CUDNN_POOLING_MAX, NHWC),
    POOL("gradient of average pooling", CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, NCHW),
    POOL("gradient of average pooling with padding", CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
         NHWC),
    SOFTMAX("gradient of softmax over an image", CUDNN_SOFTMAX_ACCURATE,
            CUDNN_SOFTMAX_MODE_INSTANCE, NCHW),
    SOFTMAX("gradient of softmax over channels", CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL,
            NHWC),
    SOFTMAX("gradient of log-softmax over channels", CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_CHANNEL,
            NCHW),
    ACTIVATION("gradient of sigmoid", CUDNN_ACTIVATION_SIGMOID),
    ACTIVATION("gradient of relu", CUDNN_ACTIVATION_RELU),
    ACTIVATION("gradient of clipped relu", CUDNN_ACTIVATION_CLIPPED_RELU),
    ACTIVATION("gradient of tanh", CUDNN_ACTIVATION_TANH),
    ACTIVATION("gradient of elu", CUDNN_ACTIVATION_ELU),
    ACTIVATION("gradient of swish", CUDNN_ACTIVATION_SWISH),
    NORM("gradient of batch normalisation by channel", CUDNN_BATCHNORM_SPATIAL, NCHW),
    NORM("gradient of batch normalisation by channel, channels last", CUDNN_BATCHNORM_SPATIAL,
         NHWC),
    NORM("gradient of batch normalisation by element", CUDNN_BATCHNORM_PER_ACTIVATION, NCHW),
    RESPONSE("gradient of local response normalisation", 3, NCHW),
    RESPONSE("gradient of local response normalisation, channels last", 3, NHWC),
};

/* ---- known values ---- */

static void check_pooling_values(void)
{
    const struct layer layer = POOL("", CUDNN_POOLING_MAX, NCHW);
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)i;
    pool(&layer, x, y);
    /* Rows 0 and 1 of the first plane, then 1 to 3. Columns in pairs. */
    ok(y[0] == 6 && y[3] == 9 && y[4] == 16 && y[POOLED - 1] == COUNT - 1,
       "maximum pooling: known values");
}

static void check_softmax_values(void)
{
    const struct layer layer =
        SOFTMAX("", CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, NCHW);
    float x[COUNT], y[COUNT];
    for (int i = 0; i < COUNT; i++)
        x[i] = i / 20 % 3 == 2 ? logf(2) : 0;
    softmax(&layer, x, y);
    ok(fabsf(y[0] - 0.25f) < 1e-6f && fabsf(y[20] - 0.25f) < 1e-6f && fabsf(y[40] - 0.5f) < 1e-6f,
       "softmax: channels of 0, 0, ln 2 give 1/4, 1/4, 1/2");
}

static void check_norm_values(void)
{
    const struct layer layer = NORM("", CUDNN_BATCHNORM_SPATIAL, NCHW);
    float x[COUNT], y[COUNT];
    bool good = true;
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)(i * 37 % 41);
    normalise(&layer, x, y);
    for (int c = 0; c < 3; c++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < 40; i++) {
            const double value = (double)y[i / 20 * 60 + c * 20 + i % 20];
            sum += value;
            squares += value * value;
        }
        const double mean = sum / 40, deviation = sqrt(squares / 40 - mean * mean);
        good = good && fabs(mean - 0.5) < 1e-4 && fabs(deviation - (1 + c)) < 1e-3;
    }
    ok(good, "batch normalisation: mean of the bias and deviation of the scale");
}

static void check_bias_gradient(void)
{
    float dy[COUNT], db[3];
    cudnnTensorDescriptor_t t = tensor(NCHW, 2, 3, 4, 5), bias = tensor(NCHW, 1, 3, 1, 1);
    for (int i = 0; i < COUNT; i++)
        dy[i] = (float)(i / 20 % 3 + 1);
    float *from = device_copy(dy, COUNT), *to = device_copy(NULL, 3);
    NEED(cudnnConvolutionBackwardBias(handle, &one, t, from, &zero, bias, to));
    fetch_and_free(db, to, 3);
    fetch_and_free(NULL, from, 0);
    ok(db[0] == 40 && db[1] == 80 && db[2] == 120, "bias gradient: sum of a channel");
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyTensorDescriptor(bias));
}

/* Cases that oneDNN does not support are refused at the call. */
static void check_refusals(void)
{
    cudnnLRNDescriptor_t even = response_of(4);
    cudnnPoolingDescriptor_t beside;
    cudnnTensorDescriptor_t t = tensor(NCHW, 2, 3, 4, 5), out = tensor(NCHW, 2, 3, 7, 8);
    float *x = device_copy(NULL, COUNT), *y = device_copy(NULL, 2 * 3 * 7 * 8);
    NEED(cudnnCreatePoolingDescriptor(&beside));
    NEED(cudnnSetPooling2dDescriptor(beside, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2, 2, 2,
                                     1, 1));
    ok(cudnnPoolingForward(handle, beside, &one, t, x, &zero, out, y) == CUDNN_STATUS_NOT_SUPPORTED,
       "pooling: window outside of the input, not supported");
    ok(cudnnLRNCrossChannelForward(handle, even, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, t, x, &zero, t,
                                   y) == CUDNN_STATUS_NOT_SUPPORTED,
       "response normalisation: even number of channels, not supported");
    fetch_and_free(NULL, x, 0);
    fetch_and_free(NULL, y, 0);
    NEED(cudnnDestroyPoolingDescriptor(beside));
    NEED(cudnnDestroyLRNDescriptor(even));
    NEED(cudnnDestroyTensorDescriptor(t));
    NEED(cudnnDestroyTensorDescriptor(out));
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
    begin();
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        check_gradient(&layers[i]);
    check_pooling_values();
    check_softmax_values();
    check_norm_values();
    check_bias_gradient();
    check_refusals();
    check_rnn_layout();
    return end();
}
