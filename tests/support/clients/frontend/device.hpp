// Device memory.
#pragma once

#include <cuda_runtime_api.h>
#include <stdexcept>
#include <string>

inline void check(cudaError_t status, const char *what)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

// Freed with the object. Of no bytes: null.
class Memory
{
  public:
    explicit Memory(size_t bytes) : size(bytes)
    {
        if (bytes > 0)
            check(cudaMalloc(&address, bytes), "cudaMalloc");
    }
    Memory(Memory &&other) noexcept : size(other.size), address(other.address)
    {
        other.address = nullptr;
    }
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory()
    {
        cudaFree(address);
    }
    void *get() const
    {
        return address;
    }
    // From and to `size` bytes of the host.
    void write(const void *host)
    {
        check(cudaMemcpy(address, host, size, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    void read(void *host) const
    {
        check(cudaMemcpy(host, address, size, cudaMemcpyDeviceToHost), "cudaMemcpy");
    }
    // Bytes that no result has, and that are numbers all the same.
    void clear()
    {
        check(cudaMemset(address, 0x3c, size), "cudaMemset");
    }

    const size_t size;

  private:
    void *address = nullptr;
};
