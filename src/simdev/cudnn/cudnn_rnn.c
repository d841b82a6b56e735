/* Recurrent networks (cuDNN Backend API, ADV library): descriptors, the layout of their parameters,
 * and sizes. other_calls.txt lists their calls, which are counted. The layout of the parameters
 * follows from the descriptor. Only a cuDNN with a device returns workspace and reserve space, so
 * the sizes returned here are estimates and are counted as such. */
#include <stdlib.h>
#include <string.h>

#include "cudnn_internal.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

static size_t type_bytes(cudnnDataType_t type)
{
    return type == CUDNN_DATA_DOUBLE ? 8 : simdev_type_size(type);
}

SIMDEV_EXPORT cudnnStatus_t cudnnSetRNNDescriptor_v8(
    cudnnRNNDescriptor_t rnn, cudnnRNNAlgo_t algo, cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
    cudnnDirectionMode_t direction, cudnnRNNInputMode_t input, cudnnDataType_t type,
    cudnnDataType_t precision, cudnnMathType_t math, int32_t input_size, int32_t hidden_size,
    int32_t projected_size, int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags)
{
    if (!rnn)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (input_size < 1 || hidden_size < 1 || projected_size < 1 || projected_size > hidden_size ||
        layers < 1 || type_bytes(type) == 0)
        return CUDNN_STATUS_BAD_PARAM;
    *rnn = (struct cudnnRNNStruct){.cell = cell,
                                   .bias = bias,
                                   .type = type,
                                   .directions = direction == CUDNN_BIDIRECTIONAL ? 2 : 1,
                                   .skips_input = input == CUDNN_SKIP_INPUT,
                                   .input = input_size,
                                   .hidden = hidden_size,
                                   .projected = projected_size,
                                   .layers = layers};
    return CUDNN_STATUS_SUCCESS;
}

/* ---- parameters ----
 *
 * All matrices of all layers come first, then all biases. A pseudo-layer is one direction of one
 * layer. Each gate has a matrix for the input and one for the hidden state. */

static int gates_of_cell(const struct cudnnRNNStruct *rnn)
{
    return rnn->cell == CUDNN_LSTM ? 4 : rnn->cell == CUDNN_GRU ? 3 : 1;
}

static bool is_projected(const struct cudnnRNNStruct *rnn)
{
    return rnn->projected < rnn->hidden;
}

/* The rows (returned) and columns of the matrix `id` of a pseudo-layer. */
static int64_t matrix_extents(const struct cudnnRNNStruct *rnn, int pseudo_layer, int id,
                              int64_t *columns)
{
    const int64_t above = (int64_t)rnn->projected * rnn->directions;
    if (id == 2 * gates_of_cell(rnn)) {
        *columns = rnn->hidden;
        return rnn->projected;
    }
    *columns = id >= gates_of_cell(rnn)         ? rnn->projected
               : pseudo_layer < rnn->directions ? (rnn->skips_input ? 0 : rnn->input)
                                                : above;
    return rnn->hidden;
}

static bool has_bias(const struct cudnnRNNStruct *rnn, int id)
{
    if (id >= 2 * gates_of_cell(rnn))
        return false;
    return rnn->bias == CUDNN_RNN_DOUBLE_BIAS ||
           (rnn->bias == CUDNN_RNN_SINGLE_INP_BIAS && id < gates_of_cell(rnn)) ||
           (rnn->bias == CUDNN_RNN_SINGLE_REC_BIAS && id >= gates_of_cell(rnn));
}

/* Elements before the matrix (or bias) of a pseudo-layer. For a pseudo-layer past the last, all
 * elements. */
static int64_t offset_of_matrix(const struct cudnnRNNStruct *rnn, int pseudo_layer, int id,
                                bool of_bias)
{
    const int count = 2 * gates_of_cell(rnn) + (is_projected(rnn) ? 1 : 0);
    int64_t elements = 0, columns;
    for (int p = 0; p <= pseudo_layer && p < rnn->layers * rnn->directions; p++)
        for (int i = 0; i < count && (p < pseudo_layer || i < id); i++) {
            const int64_t rows = matrix_extents(rnn, p, i, &columns);
            elements += of_bias ? (has_bias(rnn, i) ? rnn->hidden : 0) : rows * columns;
        }
    return elements;
}

static int64_t count_parameters(const struct cudnnRNNStruct *rnn, bool of_bias)
{
    return offset_of_matrix(rnn, rnn->layers * rnn->directions, 0, of_bias);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle,
                                                       cudnnRNNDescriptor_t rnn, size_t *bytes)
{
    if (!handle || !rnn || !bytes)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    *bytes = (size_t)(count_parameters(rnn, false) + count_parameters(rnn, true)) *
             type_bytes(rnn->type);
    return CUDNN_STATUS_SUCCESS;
}

static void describe_matrix(cudnnTensorDescriptor_t out, cudnnDataType_t type, int64_t rows,
                            int64_t columns)
{
    const int dim[3] = {1, (int)rows, (int)columns};
    if (out && rows > 0 && columns > 0)
        (void)cudnnSetTensorNdDescriptorEx(out, CUDNN_TENSOR_NCHW, type, 3, dim);
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetRNNWeightParams(
    cudnnHandle_t handle, cudnnRNNDescriptor_t rnn, int32_t pseudo_layer, size_t weight_bytes,
    const void *weights, int32_t id, cudnnTensorDescriptor_t matrix_desc, void **matrix_at,
    cudnnTensorDescriptor_t bias_desc, void **bias_at)
{
    if (!handle || !rnn || !(matrix_at || bias_at))
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (pseudo_layer < 0 || pseudo_layer >= rnn->layers * rnn->directions || id < 0 ||
        id > 2 * gates_of_cell(rnn))
        return CUDNN_STATUS_BAD_PARAM;
    const size_t element = type_bytes(rnn->type);
    char *base = (char *)(uintptr_t)weights;
    int64_t columns = 0;
    const bool absent = id == 2 * gates_of_cell(rnn) && !is_projected(rnn);
    const int64_t rows = absent ? 0 : matrix_extents(rnn, pseudo_layer, id, &columns);
    const int64_t first_bias =
        count_parameters(rnn, false) + offset_of_matrix(rnn, pseudo_layer, id, true);
    if (matrix_at)
        *matrix_at = rows > 0 && columns > 0
                         ? base + (size_t)offset_of_matrix(rnn, pseudo_layer, id, false) * element
                         : NULL;
    if (bias_at)
        *bias_at = has_bias(rnn, id) ? base + (size_t)first_bias * element : NULL;
    describe_matrix(matrix_desc, rnn->type, rows, columns);
    describe_matrix(bias_desc, rnn->type, has_bias(rnn, id) ? rnn->hidden : 0, 1);
    return CUDNN_STATUS_SUCCESS;
}

/* ---- data ---- */

SIMDEV_EXPORT cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t data,
                                                      cudnnDataType_t type,
                                                      cudnnRNNDataLayout_t layout, int length,
                                                      int batch, int vector, const int lengths[],
                                                      void *fill)
{
    if (!data || !lengths)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (length < 1 || batch < 1 || vector < 1)
        return CUDNN_STATUS_BAD_PARAM;
    *data = (struct cudnnRNNDataStruct){type, length, batch, vector};
    return CUDNN_STATUS_SUCCESS;
}

SIMDEV_EXPORT cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle,
                                                      cudnnRNNDescriptor_t rnn,
                                                      cudnnForwardMode_t mode,
                                                      cudnnRNNDataDescriptor_t x, size_t *workspace,
                                                      size_t *reserve)
{
    if (!handle || !rnn || !x)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    const size_t steps = (size_t)x->length * (size_t)x->batch;
    const size_t step = (size_t)rnn->hidden * (size_t)rnn->directions * type_bytes(rnn->type);
    /* The values of every gate before its activation. The reserve space also has the states of all
     * layers. */
    if (workspace)
        *workspace = steps * step * (size_t)(gates_of_cell(rnn) + 2);
    if (reserve)
        *reserve = mode == CUDNN_FWD_MODE_INFERENCE
                       ? 0
                       : steps * step * (size_t)(gates_of_cell(rnn) + 2) * (size_t)rnn->layers;
    simdev_estimated(__func__);
    return CUDNN_STATUS_SUCCESS;
}
