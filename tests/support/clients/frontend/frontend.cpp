// One translation unit, since the headers take the compiler ten seconds.
#include "frontend.hpp"

#include "device.hpp"

#include <cudnn_frontend.h>
#include <cudnn_frontend_find_plan.h>
#include <cudnn_frontend_get_plan.h>

namespace fe = cudnn_frontend;

namespace
{

std::vector<int64_t> dense(const std::vector<int64_t> &dims)
{
    return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

} // namespace

#include "frontend_v0.hpp"
#include "frontend_v1.hpp"

#ifdef NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
void *fe::cudnn_dlhandle = nullptr;

static void load_cudnn()
{
    fe::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW);
    if (fe::cudnn_dlhandle == nullptr)
        throw std::runtime_error(dlerror());
}
#else
static void load_cudnn() {}
#endif

cudnnHandle_t open_cudnn()
{
    cudnnHandle_t handle;
    load_cudnn();
    if (fe::detail::create_handle(&handle) != CUDNN_STATUS_SUCCESS)
        throw std::runtime_error("cudnnCreate failed");
    return handle;
}

void close_cudnn(cudnnHandle_t handle)
{
    fe::detail::destroy_handle(handle);
}
