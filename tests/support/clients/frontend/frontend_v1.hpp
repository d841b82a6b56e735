// Part of frontend.cpp: the graph of 1.x, in the order in which ONNX Runtime calls it.
#pragma once

namespace
{

using Attributes = std::shared_ptr<fe::graph::Tensor_attributes>;
using Pack = std::unordered_map<Attributes, void *>;

void check(fe::error_t status, const char *what)
{
    if (status.is_bad())
        throw std::runtime_error(std::string(what) + ": " + status.get_message());
}

Attributes describe(fe::graph::Graph &graph, const std::string &name, const Tensor &tensor)
{
    return graph.tensor(fe::graph::Tensor_attributes()
                            .set_name(name)
                            .set_dim(tensor.dims)
                            .set_stride(dense(tensor.dims)));
}

template <typename Node> Node geometry(const Problem &problem)
{
    return Node()
        .set_pre_padding(problem.pre)
        .set_post_padding(problem.post)
        .set_stride({1, 1})
        .set_dilation({1, 1});
}

Attributes combine(fe::graph::Graph &graph, const Attributes &a, const Attributes &b)
{
    return graph.pointwise(a, b,
                           fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
}

Attributes output(fe::graph::Graph &graph, const Problem &problem,
                  std::map<std::string, Attributes> &in)
{
    if (problem.form == "data")
        return graph.conv_dgrad(in["dy"], in["w"],
                                geometry<fe::graph::Conv_dgrad_attributes>(problem));
    if (problem.form == "filter")
        return graph.conv_wgrad(in["dy"], in["x"],
                                geometry<fe::graph::Conv_wgrad_attributes>(problem));
    auto out =
        graph.conv_fprop(in["x"], in["w"], geometry<fe::graph::Conv_fprop_attributes>(problem));
    if (problem.form == "forward")
        return out;
    if (in.count("z") > 0)
        out = combine(graph, out, in["z"]);
    out = combine(graph, out, in["bias"]);
    return graph.pointwise(
        out, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
}

fe::HeurMode_t heuristics(cudnnBackendHeurMode_t mode)
{
    switch (mode) {
    case CUDNN_HEUR_MODE_B:
        return fe::HeurMode_t::B;
    case CUDNN_HEUR_MODE_FALLBACK:
        return fe::HeurMode_t::FALLBACK;
    default:
        return fe::HeurMode_t::A;
    }
}

} // namespace

Outcome run_v1(cudnnHandle_t handle, const Request &request, cudnnBackendHeurMode_t mode)
{
    const Problem &problem = request.problem;
    const bool single = request.type == CUDNN_DATA_FLOAT;
    fe::graph::Graph graph;
    graph.set_io_data_type(single ? fe::DataType_t::FLOAT : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    std::map<std::string, Attributes> in;
    Pack pack;
    for (const auto &[name, tensor] : problem.inputs)
        pack[in[name] = describe(graph, name, tensor)] = request.memory.at(name);
    auto out = output(graph, problem, in);
    out->set_output(true).set_dim(problem.out.dims).set_stride(dense(problem.out.dims));
    pack[out] = request.memory.at("out");

    check(graph.validate(), "validate");
    check(graph.build_operation_graph(handle), "build_operation_graph");
    check(graph.create_execution_plans({heuristics(mode)}), "create_execution_plans");
    if (single)
        graph.deselect_numeric_notes({fe::NumericalNote_t::TENSOR_CORE});
    check(graph.check_support(), "check_support");
    check(graph.build_plans(), "build_plans");
    int64_t size = 0;
    check(graph.get_workspace_size(size), "get_workspace_size");
    Memory workspace(static_cast<size_t>(size));
    check(graph.execute(handle, pack, workspace.get()), "execute");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return {size, 1};
}
