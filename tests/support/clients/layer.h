/* The convolution that the clients run. */
#ifndef LAYER_H
#define LAYER_H

#include "../apps/problems.h"

/* 2x16x32x32 -> 16 channels, 3x3, padding 1, f16 NCHW: small, but cuDNN needs a copy of input,
 * filter and output as workspace. */
void layer_describe(struct conv_problem *problem);

#endif
