/* A program built by nvcc, which also runs on a GPU: kernels, templates, variables, attributes,
 * occupancy. It does not check the results of kernels, because the simulated device does not
 * execute them. */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__device__ float table[16] = {1, 2, 3};
__constant__ int steps[4];
__managed__ int shared_count = 5;

__global__ void smooth(float *x, int n)
{
    __shared__ float part[128];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[(threadIdx.x + n) % 128] + table[n % 16] + (float)steps[n % 4];
}

template <class T> __global__ void __launch_bounds__(256) scale(T *x, T by)
{
    extern __shared__ char room[];
    T *part = reinterpret_cast<T *>(room);
    part[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = part[threadIdx.x] * by;
}

static int checks, failed;

static void check(bool good, const char *name)
{
    std::printf("%sok %d - %s\n", good ? "" : "not ", ++checks, name);
    failed += !good;
}

static void test_kernels()
{
    float *x;
    cudaFuncAttributes of_smooth, of_scale;
    int blocks = 0, grid = 0, block = 0;
    check(cudaMalloc(&x, 4096) == cudaSuccess, "memory: allocated");
    smooth<<<1, 128>>>(x, 3);
    scale<<<1, 64, 512>>>(x, 2.0f);
    scale<<<dim3(1, 2), 64, 512, cudaStreamPerThread>>>((int *)x, 2);
    check(cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess,
          "launch: three kernels");
    smooth<<<1, 4096>>>(x, 3);
    check(cudaGetLastError() == cudaErrorInvalidConfiguration,
          "launch: block with too many threads, refused");
    check(cudaFuncGetAttributes(&of_smooth, smooth) == cudaSuccess &&
              of_smooth.sharedSizeBytes == 512 && of_smooth.numRegs > 0,
          "attributes: shared memory and registers");
    check(cudaFuncGetAttributes(&of_scale, scale<float>) == cudaSuccess &&
              of_scale.maxThreadsPerBlock == 256,
          "attributes: launch bounds");
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, smooth, 128, 0) == cudaSuccess &&
              blocks > 1,
          "occupancy: blocks per multiprocessor");
    check(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale<float>) == cudaSuccess &&
              block > 0 && block <= 256 && grid > 1,
          "occupancy: best block size");
    cudaFree(x);
}

static void test_variables()
{
    float host[16];
    const int set[4] = {4, 3, 2, 1};
    int back[4] = {0, 0, 0, 0};
    check(cudaMemcpyFromSymbol(host, table, sizeof host) == cudaSuccess && host[0] == 1 &&
              host[2] == 3 && host[3] == 0,
          "variable: initial values");
    check(cudaMemcpyToSymbol(steps, set, sizeof set) == cudaSuccess &&
              cudaMemcpyFromSymbol(back, steps, sizeof back) == cudaSuccess && back[3] == 1,
          "constant: copied values are read back");
    check(shared_count == 5, "managed variable: read by the host");
}

int main()
{
    setenv("SIMDEV_MODE", "account", 1);
    test_kernels();
    test_variables();
    std::printf("1..%d\n", checks);
    return failed != 0;
}
