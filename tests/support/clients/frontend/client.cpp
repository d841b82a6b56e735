// Convolutions through cudnn-frontend in C++.
//
//   client v0|v1 [FILE]      the dialect; the results go into the file
//
// One line each, `FORM TYPE MODE workspace BYTES plans COUNT`. Every result is compared with that
// of the host, to the bit; status 1 if one differs.
#include "device.hpp"
#include "frontend.hpp"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <functional>

namespace
{

struct Mode {
    const char *name;
    std::function<Outcome(cudnnHandle_t, const Request &)> run;
};

struct Dialect {
    std::vector<const char *> forms;
    std::vector<int64_t> pre, post;
    std::vector<Mode> modes;
};

Mode v0(const char *name, bool benchmark)
{
    return {name,
            [benchmark](auto handle, auto &request) { return run_v0(handle, request, benchmark); }};
}

Mode v1(const char *name, cudnnBackendHeurMode_t mode)
{
    return {name, [mode](auto handle, auto &request) { return run_v1(handle, request, mode); }};
}

const std::map<std::string, Dialect> dialects = {
    {"v0",
     {{"forward", "data", "filter", "bias_relu", "add_bias_relu"},
      {1, 1},
      {1, 1},
      {v0("first", false), v0("benchmark", true)}}},
    {"v1",
     {{"forward", "data", "filter", "bias_relu"},
      {0, 1},
      {2, 1},
      {v1("A", CUDNN_HEUR_MODE_A), v1("B", CUDNN_HEUR_MODE_B),
       v1("fallback", CUDNN_HEUR_MODE_FALLBACK)}}},
};

template <typename Number> std::vector<Number> rounded(const Tensor &tensor)
{
    return {tensor.values.begin(), tensor.values.end()};
}

// Runs a problem in every mode; what came out goes to the file.
template <typename Number>
void run(cudnnHandle_t handle, const Problem &problem, const Dialect &dialect, FILE *file)
{
    const bool half = sizeof(Number) == 2;
    const auto expected = rounded<Number>(problem.out);
    std::map<std::string, Memory> buffers;
    std::map<std::string, void *> memory;
    for (const auto &[name, tensor] : problem.inputs) {
        auto &buffer = buffers.emplace(name, tensor.values.size() * sizeof(Number)).first->second;
        buffer.write(rounded<Number>(tensor).data());
        memory[name] = buffer.get();
    }
    Memory out(expected.size() * sizeof(Number));
    memory["out"] = out.get();
    for (const Mode &mode : dialect.modes) {
        out.clear();
        const auto outcome =
            mode.run(handle, {problem, half ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT, memory});
        auto result = expected;
        out.read(result.data());
        if (result != expected)
            throw std::runtime_error(problem.form + ", " + mode.name + ": the result is wrong");
        std::fwrite(result.data(), sizeof(Number), result.size(), file);
        std::printf("%s %s %s workspace %" PRId64 " plans %" PRId64 "\n", problem.form.c_str(),
                    half ? "f16" : "f32", mode.name, outcome.workspace, outcome.plans);
    }
}

void run_all(const Dialect &dialect, const char *path)
{
    FILE *file = std::fopen(path, "wb");
    if (file == nullptr)
        throw std::runtime_error(std::string(path) + ": " + std::strerror(errno));
    cudnnHandle_t handle = open_cudnn();
    for (const char *form : dialect.forms) {
        const Problem problem = make_problem(form, dialect.pre, dialect.post);
        run<_Float16>(handle, problem, dialect, file);
        run<float>(handle, problem, dialect, file);
    }
    close_cudnn(handle);
    if (std::fclose(file) != 0)
        throw std::runtime_error(std::string(path) + " cannot be written");
}

} // namespace

int main(int argc, char **argv)
{
    const auto dialect = dialects.find(argc > 1 ? argv[1] : "");
    if (dialect == dialects.end() || argc > 3) {
        std::fprintf(stderr, "usage: client v0|v1 [FILE]\n");
        return 2;
    }
    try {
        run_all(dialect->second, argc > 2 ? argv[2] : "/dev/null");
    } catch (const std::exception &problem) {
        std::fprintf(stderr, "client: %s\n", problem.what());
        return 1;
    }
    return 0;
}
