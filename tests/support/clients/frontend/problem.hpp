// Convolutions of small integers: their operands, and what must come out. All sums on the way are
// integers below 2^11, so f16 holds every result exactly and no order of adding changes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

struct Tensor {
    std::vector<int64_t> dims; // N C H W, or K C R S; dense in that order
    std::vector<double> values;
};

// Stride and dilation are 1, and the padding keeps height and width.
struct Problem {
    std::string form; // forward, data, filter, bias_relu or add_bias_relu
    std::vector<int64_t> pre, post;
    std::map<std::string, Tensor> inputs; // of x, w, dy, bias, z
    Tensor out;
};

Problem make_problem(const std::string &form, std::vector<int64_t> pre, std::vector<int64_t> post);
