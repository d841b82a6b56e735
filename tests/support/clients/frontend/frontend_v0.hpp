// Part of frontend.cpp: the builders of 0.x in the order in which PyTorch calls them.
#pragma once

namespace
{

fe::Tensor make_tensor(const std::vector<int64_t> &dims, int64_t id, cudnnDataType_t type,
                       bool is_virtual)
{
    const auto strides = dense(dims);
    return fe::TensorBuilder()
        .setDim(4, dims.data())
        .setStride(4, strides.data())
        .setId(id)
        .setAlignment(16)
        .setDataType(type)
        .setVirtual(is_virtual)
        .build();
}

fe::PointWiseDesc pointwise(cudnnPointwiseMode_t mode)
{
    return fe::PointWiseDescBuilder().setMode(mode).setComputeType(CUDNN_DATA_FLOAT).build();
}

// The tensors of a request, with the ids that PyTorch gives them: one letter each.
class Operands
{
  public:
    explicit Operands(const Request &of) : request(of) {}
    // A tensor in memory.
    fe::Tensor use(const std::string &name, int64_t id, void *address)
    {
        const bool is_out = name == "out";
        ids.push_back(id);
        addresses.push_back(address);
        return make_tensor(is_out ? request.problem.out.dims : request.problem.inputs.at(name).dims,
                           id, request.type, false);
    }
    fe::Tensor use(const std::string &name, int64_t id)
    {
        return use(name, id, request.memory.at(name));
    }
    // What one operation gives to the next one.
    fe::Tensor between(int64_t id) const
    {
        return make_tensor(request.problem.out.dims, id, CUDNN_DATA_FLOAT, true);
    }
    fe::VariantPack pack(void *workspace)
    {
        return fe::VariantPackBuilder()
            .setWorkspacePointer(workspace)
            .setDataPointers(static_cast<int64_t>(addresses.size()), addresses.data())
            .setUids(static_cast<int64_t>(ids.size()), ids.data())
            .build();
    }

    const Request &request;

  private:
    std::vector<int64_t> ids;
    std::vector<void *> addresses;
};

fe::DescriptorType_t direction(const std::string &form)
{
    if (form == "data")
        return fe::DescriptorType_t::OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    if (form == "filter")
        return fe::DescriptorType_t::OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    return fe::DescriptorType_t::OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
}

fe::Operation convolution(const Problem &problem, const fe::Tensor &x, const fe::Tensor &w,
                          const fe::Tensor &y)
{
    const int64_t ones[] = {1, 1};
    auto description = fe::ConvDescBuilder()
                           .setDataType(CUDNN_DATA_FLOAT)
                           .setMathMode(CUDNN_CROSS_CORRELATION)
                           .setNDims(2)
                           .setStrides(2, ones)
                           .setPrePadding(2, problem.pre.data())
                           .setPostPadding(2, problem.post.data())
                           .setDilation(2, ones)
                           .build();
    return fe::OperationBuilder(direction(problem.form))
        .setxDesc(x)
        .setyDesc(y)
        .setwDesc(w)
        .setcDesc(description)
        .setAlpha(1.0F)
        .setBeta(0.0F)
        .build();
}

fe::Operation add(const fe::Tensor &a, const fe::Tensor &b, float scale, const fe::Tensor &sum)
{
    return fe::OperationBuilder(fe::DescriptorType_t::OPERATION_POINTWISE_DESCRIPTOR)
        .setxDesc(a)
        .setbDesc(b)
        .setyDesc(sum)
        .setpwDesc(pointwise(CUDNN_POINTWISE_ADD))
        .setAlpha(1.0F)
        .setAlpha2(scale)
        .build();
}

fe::Operation relu(const fe::Tensor &from, const fe::Tensor &to)
{
    return fe::OperationBuilder(fe::DescriptorType_t::OPERATION_POINTWISE_DESCRIPTOR)
        .setxDesc(from)
        .setyDesc(to)
        .setpwDesc(pointwise(CUDNN_POINTWISE_RELU_FWD))
        .build();
}

std::vector<fe::Operation> operations(Operands &operands)
{
    const Problem &problem = operands.request.problem;
    std::vector<fe::Operation> list;
    if (problem.form == "forward")
        list.push_back(convolution(problem, operands.use("x", 'x'), operands.use("w", 'w'),
                                   operands.use("out", 'y')));
    else if (problem.form == "data")
        list.push_back(convolution(problem, operands.use("out", 'x'), operands.use("w", 'w'),
                                   operands.use("dy", 'y')));
    else if (problem.form == "filter")
        list.push_back(convolution(problem, operands.use("x", 'x'), operands.use("out", 'w'),
                                   operands.use("dy", 'y')));
    else {
        // Where there is nothing to add, PyTorch adds the output, 0 times.
        const bool adds = problem.inputs.count("z") > 0;
        const auto out = operands.use("out", 'y');
        const auto z = adds ? operands.use("z", 'z') : operands.use("out", 'z');
        const auto c = operands.between('C'), a = operands.between('A'), b = operands.between('B');
        list.push_back(convolution(problem, operands.use("x", 'x'), operands.use("w", 'w'), c));
        list.push_back(add(c, z, adds ? 1.0F : 0.0F, a));
        list.push_back(add(a, operands.use("bias", 'b'), 1.0F, b));
        list.push_back(relu(b, out));
    }
    return list;
}

fe::OperationGraph operation_graph(cudnnHandle_t handle, Operands &operands)
{
    const auto list = operations(operands);
    std::vector<const fe::Operation *> pointers;
    for (const auto &operation : list)
        pointers.push_back(&operation);
    return fe::OperationGraphBuilder()
        .setHandle(handle)
        .setOperationGraph(static_cast<int64_t>(pointers.size()), pointers.data())
        .build();
}

// PyTorch's filter, that nothing rounds its inputs down; and no engine that compiles, since its
// tiles take seconds.
bool unwanted(cudnnBackendDescriptor_t config)
{
    return fe::hasNumericalNote<CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS>(config) ||
           fe::hasBehaviorNote<CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION>(config);
}

fe::EngineConfigList wanted(fe::EngineConfigList &from)
{
    fe::EngineConfigList to;
    fe::filter(from, to, unwanted);
    return to;
}

fe::EngineConfigList by_heuristics(fe::OperationGraph &graph)
{
    auto heuristics = fe::EngineHeuristicsBuilder()
                          .setOperationGraph(graph)
                          .setHeurMode(CUDNN_HEUR_MODE_INSTANT)
                          .build();
    return wanted(heuristics.getEngineConfig(heuristics.getEngineConfigCount()));
}

fe::EngineConfigList by_fallback(fe::OperationGraph &graph, fe::DescriptorType_t operation)
{
    auto fallback =
        fe::EngineFallbackListBuilder().setOperationGraph(graph).setOperation(operation).build();
    return wanted(fallback.getFallbackList());
}

fe::ExecutionPlan build_plan(cudnnHandle_t handle, fe::ManagedOpaqueDescriptor &config,
                             const std::string &tag)
{
    return fe::ExecutionPlanBuilder().setHandle(handle).setEngineConfig(config, tag).build();
}

int64_t execute(cudnnHandle_t handle, const fe::ExecutionPlan &plan, Operands &operands)
{
    Memory workspace(static_cast<size_t>(plan.getWorkspaceSize()));
    auto pack = operands.pack(workspace.get());
    const auto status = fe::detail::execute(handle, plan.get_raw_desc(), pack.get_raw_desc());
    if (status != CUDNN_STATUS_SUCCESS)
        throw fe::cudnnException("execute failed", status);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return plan.getWorkspaceSize();
}

// The first configuration of the list that works; -1 if none does.
int64_t try_configs(cudnnHandle_t handle, fe::EngineConfigList &configs, const std::string &tag,
                    Operands &operands)
{
    for (auto &config : configs)
        try {
            return execute(handle, build_plan(handle, config, tag), operands);
        } catch (const fe::cudnnException &) {
            continue;
        }
    return -1;
}

Outcome run_first(cudnnHandle_t handle, fe::OperationGraph &graph, Operands &operands)
{
    auto configs = by_heuristics(graph);
    int64_t size = try_configs(handle, configs, graph.getTag(), operands);
    if (size < 0) {
        configs = by_fallback(graph, direction(operands.request.problem.form));
        size = try_configs(handle, configs, graph.getTag(), operands);
    }
    if (size < 0)
        throw std::runtime_error("no configuration works");
    return {size, 1};
}

Outcome run_benchmark(cudnnHandle_t handle, fe::OperationGraph &graph, Operands &operands)
{
    const auto operation = direction(operands.request.problem.form);
    const fe::GeneratorSource sources[] = {
        by_heuristics, [operation](fe::OperationGraph &of) { return by_fallback(of, operation); }};
    fe::EngineConfigGenerator generator(2, sources);
    auto plans = generator.cudnnGetPlan(handle, graph);
    int64_t largest = 0;
    for (const auto &plan : plans)
        largest = std::max(largest, plan.getWorkspaceSize());
    Memory workspace(static_cast<size_t>(largest));
    const auto sorted =
        fe::time_sorted_plan<fe::CudnnFindSamplingTechnique::CUDNN_FIND_SAMPLE_ONCE>(
            handle, std::move(plans), operands.pack(workspace.get()), 10);
    if (sorted.empty())
        throw std::runtime_error("no plan works");
    execute(handle, sorted.front(), operands);
    return {largest, static_cast<int64_t>(sorted.size())};
}

} // namespace

Outcome run_v0(cudnnHandle_t handle, const Request &request, bool benchmark)
{
    Operands operands(request);
    auto graph = operation_graph(handle, operands);
    return benchmark ? run_benchmark(handle, graph, operands) : run_first(handle, graph, operands);
}
