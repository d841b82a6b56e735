#include "problem.hpp"

#include <algorithm>

namespace
{

constexpr int64_t images = 2, channels = 64, height = 48, width = 40, filters = 48, kernel = 3;

const std::vector<int64_t> x_dims = {images, channels, height, width};
const std::vector<int64_t> w_dims = {filters, channels, kernel, kernel};
const std::vector<int64_t> y_dims = {images, filters, height, width};

Tensor zeros(const std::vector<int64_t> &dims)
{
    size_t count = 1;
    for (int64_t extent : dims)
        count *= static_cast<size_t>(extent);
    return {dims, std::vector<double>(count)};
}

// Whole numbers from -limit to limit, the same in every run.
Tensor numbers(const std::vector<int64_t> &dims, uint64_t limit)
{
    Tensor tensor = zeros(dims);
    uint64_t state = 88172645463325252U + limit + dims.back();
    for (double &value : tensor.values) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        value = static_cast<double>(state % (2 * limit + 1)) - static_cast<double>(limit);
    }
    return tensor;
}

double *row(Tensor &tensor, int64_t a, int64_t b, int64_t c)
{
    const auto &dims = tensor.dims;
    return &tensor.values[static_cast<size_t>(((a * dims[1] + b) * dims[2] + c) * dims[3])];
}

// Calls visit(x, w, y, count) for runs of products y += x * w with one w and `count` neighbours of
// x and y each.
template <typename Visit>
void each_run(const Problem &problem, Tensor &x, Tensor &w, Tensor &y, Visit visit)
{
    for (int64_t n = 0; n < images; n++)
        for (int64_t k = 0; k < filters; k++)
            for (int64_t c = 0; c < channels; c++)
                for (int64_t tap = 0; tap < kernel * kernel; tap++) {
                    const int64_t down = tap / kernel - problem.pre[0];
                    const int64_t right = tap % kernel - problem.pre[1];
                    const int64_t from = std::max<int64_t>(0, -right);
                    const int64_t to = std::min(width, width - right);
                    for (int64_t h = std::max<int64_t>(0, -down);
                         h < std::min(height, height - down); h++)
                        visit(row(x, n, c, h + down) + from + right,
                              row(w, k, c, tap / kernel)[tap % kernel], row(y, n, k, h) + from,
                              to - from);
                }
}

void convolve(Problem &problem)
{
    const bool data = problem.form == "data", filter = problem.form == "filter";
    Tensor &x = data ? problem.out : problem.inputs.at("x");
    Tensor &w = filter ? problem.out : problem.inputs.at("w");
    Tensor &y = data || filter ? problem.inputs.at("dy") : problem.out;
    each_run(problem, x, w, y, [=](double *xs, double &weight, double *ys, int64_t count) {
        for (int64_t i = 0; i < count; i++)
            if (data)
                xs[i] += ys[i] * weight;
            else if (filter)
                weight += xs[i] * ys[i];
            else
                ys[i] += xs[i] * weight;
    });
}

void activate(Problem &problem)
{
    const Tensor &bias = problem.inputs.at("bias");
    const auto z = problem.inputs.find("z");
    for (size_t i = 0; i < problem.out.values.size(); i++) {
        double &value = problem.out.values[i];
        value += bias.values[i / (height * width) % filters];
        if (z != problem.inputs.end())
            value += z->second.values[i];
        value = std::max(value, 0.0);
    }
}

} // namespace

Problem make_problem(const std::string &form, std::vector<int64_t> pre, std::vector<int64_t> post)
{
    Problem problem = {form, std::move(pre), std::move(post), {}, {}};
    if (form != "data")
        problem.inputs["x"] = numbers(x_dims, 2);
    if (form != "filter")
        problem.inputs["w"] = numbers(w_dims, 1);
    if (form == "data" || form == "filter")
        problem.inputs["dy"] = numbers(y_dims, 1);
    problem.out = zeros(form == "data" ? x_dims : form == "filter" ? w_dims : y_dims);
    if (form == "add_bias_relu")
        problem.inputs["z"] = numbers(y_dims, 9);
    const bool fused = form == "bias_relu" || form == "add_bias_relu";
    if (fused)
        problem.inputs["bias"] = numbers({1, filters, 1, 1}, 9);
    convolve(problem);
    if (fused)
        activate(problem);
    return problem;
}
