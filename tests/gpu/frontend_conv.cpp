// One convolution through NVIDIA's cudnn-frontend in C++, in f16. One JSON line on stdout; status 77 without a device.
#include <cuda_runtime.h>
#include <cudnn_frontend.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <unordered_map>
#include <vector>

namespace fe = cudnn_frontend;
using Attributes = std::shared_ptr<fe::graph::Tensor_attributes>;

namespace {

constexpr int64_t channels = 512, edge = 512, kernel = 3, timed_calls = 10;

bool done(cudaError_t status, const char *what) {
    if (status != cudaSuccess)
        std::fprintf(stderr, "frontend_conv: %s: %s\n", what, cudaGetErrorString(status));
    return status == cudaSuccess;
}

bool done(fe::error_t status, const char *what) {
    if (status.is_bad())
        std::fprintf(stderr, "frontend_conv: %s: %s\n", what, status.get_message().c_str());
    return status.is_good();
}

// f16 bits of small numbers, the same in every run: 1.0 to 2.0 with either sign, scaled by a power of two.
std::vector<uint16_t> numbers(size_t count, uint16_t exponent) {
    std::vector<uint16_t> bits(count);
    uint64_t state = 88172645463325252u;
    for (auto &value : bits) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        value = static_cast<uint16_t>((state & 0x8000u) | (exponent << 10) | (state >> 20 & 0x3ffu));
    }
    return bits;
}

void *on_device(const std::vector<uint16_t> &bits) {
    void *memory = nullptr;
    size_t bytes = bits.size() * sizeof bits[0];
    if (done(cudaMalloc(&memory, bytes), "cudaMalloc"))
        done(cudaMemcpy(memory, bits.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    return memory;
}

Attributes tensor(fe::graph::Graph &graph, const char *name, std::vector<int64_t> dims) {
    std::vector<int64_t> strides = {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
    return graph.tensor(fe::graph::Tensor_attributes().set_name(name).set_dim(dims).set_stride(strides));
}

uint64_t checksum(const void *device, size_t count) {
    std::vector<uint16_t> bits(count);
    if (!done(cudaMemcpy(bits.data(), device, count * sizeof bits[0], cudaMemcpyDeviceToHost), "reading the output"))
        return 0;
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint16_t value : bits)
        hash = (hash ^ value) * 0x100000001b3u;
    return hash;
}

int run(cudnnHandle_t handle) {
    fe::graph::Graph graph;
    graph.set_io_data_type(fe::DataType_t::HALF).set_compute_data_type(fe::DataType_t::FLOAT);
    auto x = tensor(graph, "x", {1, channels, edge, edge});
    auto w = tensor(graph, "w", {channels, channels, kernel, kernel});
    auto y = graph.conv_fprop(
        x, w, fe::graph::Conv_fprop_attributes().set_padding({1, 1}).set_stride({1, 1}).set_dilation({1, 1}));
    y->set_output(true).set_dim(x->get_dim()).set_stride(x->get_stride());
    int64_t size = 0;
    if (!done(graph.build(handle, {fe::HeurMode_t::A}), "build") || !done(graph.get_workspace_size(size), "workspace size"))
        return 1;

    const size_t outputs = static_cast<size_t>(channels * edge * edge);
    void *workspace = nullptr;
    if (size > 0 && !done(cudaMalloc(&workspace, static_cast<size_t>(size)), "workspace"))
        return 1;
    std::unordered_map<Attributes, void *> pack = {{x, on_device(numbers(outputs, 15))},
                                                   {w, on_device(numbers(channels * channels * kernel * kernel, 9))},
                                                   {y, on_device(std::vector<uint16_t>(outputs))}};
    std::vector<float> times;
    cudaEvent_t begin, end;
    if (!done(cudaEventCreate(&begin), "event") || !done(cudaEventCreate(&end), "event"))
        return 1;
    for (int64_t call = 0; call <= timed_calls; call++) {
        float ms = 0;
        cudaEventRecord(begin);
        if (!done(graph.execute(handle, pack, workspace), "execute"))
            return 1;
        cudaEventRecord(end);
        if (!done(cudaEventSynchronize(end), "waiting") || !done(cudaEventElapsedTime(&ms, begin, end), "time"))
            return 1;
        if (call > 0)
            times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    std::printf("{\"program\": \"frontend_conv\", \"case\": \"%lldx%lld\", \"dtype\": \"f16\", \"mode\": \"c++\", "
                "\"status\": \"ok\", \"workspace\": %lld, \"checksum\": \"%016llx\", \"ms_per_iteration\": %g}\n",
                static_cast<long long>(channels), static_cast<long long>(edge), static_cast<long long>(size),
                static_cast<unsigned long long>(checksum(pack[y], outputs)), static_cast<double>(times[times.size() / 2]));
    return 0;
}

} // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "frontend_conv: no CUDA device\n");
        return 77;
    }
    cudnnHandle_t handle;
    cudnnStatus_t status = cudnnCreate(&handle);
    if (status != CUDNN_STATUS_SUCCESS) {
        std::fprintf(stderr, "frontend_conv: cudnnCreate: %s\n", cudnnGetErrorString(status));
        return 1;
    }
    int result = run(handle);
    cudnnDestroy(handle);
    return result;
}
