// Convolutions through cudnn-frontend, in its two dialects. Errors are exceptions. One thread at a
// time.
#pragma once

#include "problem.hpp"

#include <cudnn.h>

struct Request {
    const Problem &problem;
    cudnnDataType_t type;                        // of all tensors in memory
    const std::map<std::string, void *> &memory; // the problem's inputs, and `out`
};

struct Outcome {
    int64_t workspace, plans; // the largest that was allocated, in bytes; how many were run
};

// Loads cuDNN first where it is not linked.
cudnnHandle_t open_cudnn();
void close_cudnn(cudnnHandle_t handle);

// The builders of 0.x, as PyTorch calls them: the first configuration that works, or the fastest of
// ten.
Outcome run_v0(cudnnHandle_t handle, const Request &request, bool benchmark);

// The graph of 1.x, as ONNX Runtime builds it: the first plan of a heuristic mode. For f32 without
// TF32.
Outcome run_v1(cudnnHandle_t handle, const Request &request, cudnnBackendHeurMode_t mode);
