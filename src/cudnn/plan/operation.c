/* The table of cuDNN's descriptor and attribute names for each direction of a convolution. */
#include "cudnn/plan/descriptors.h"

const struct cs_operation_names cs_operation_names[CS_DIRECTIONS] = {
    [CS_FORWARD] = {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                    .operand = {[CS_X] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                                [CS_FILTER] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                                [CS_Y] = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                    .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                    .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                    .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [CS_BACKWARD_DATA] = {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                          .operand = {[CS_X] = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                                      [CS_FILTER] = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                                      [CS_Y] = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                          .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                          .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                          .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [CS_BACKWARD_FILTER] = {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                            .operand = {[CS_X] = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                                        [CS_FILTER] =
                                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                                        [CS_Y] = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
                            .conv = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                            .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                            .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

bool cs_operation_direction(cudnnBackendDescriptorType_t type, enum cs_direction *direction_p)
{
    for (int i = 0; i < CS_DIRECTIONS; i++) {
        if (cs_operation_names[i].type == type) {
            *direction_p = (enum cs_direction)i;
            return true;
        }
    }
    return false;
}
