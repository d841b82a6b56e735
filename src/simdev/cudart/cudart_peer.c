/* Access between devices (CUDA Runtime API, Peer Device Memory Access): the supported queries. All
 * devices of a process share one address space.
 */
#include "cudart_context.h"
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool enabled[SIMDEV_MAX_DEVICES][SIMDEV_MAX_DEVICES]; /* of, to; under lock */

static bool is_device(int device)
{
    return device >= 0 && device < simdev_device_count();
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && !can)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (!is_device(device) || !is_device(peer)))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        *can = device != peer;
    return simdev_leave(error);
}

/* Changes the access of a pair of devices. `enable` is the new state. */
static cudaError_t change_access(const char *function, int peer, bool enable, cudaError_t already)
{
    cudaError_t error = simdev_enter(function);
    const int device = simdev_context_device();
    if (error == cudaSuccess && (!is_device(peer) || peer == device))
        error = cudaErrorInvalidDevice;
    if (error != cudaSuccess)
        return simdev_leave(error);
    pthread_mutex_lock(&lock);
    if (enabled[device][peer] == enable)
        error = already;
    enabled[device][peer] = enable;
    pthread_mutex_unlock(&lock);
    return simdev_leave(error);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    if (flags != 0)
        return simdev_leave(cudaErrorInvalidValue);
    return change_access(__func__, peer, true, cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    return change_access(__func__, peer, false, cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int from,
                                      int to)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && !value)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (!is_device(from) || !is_device(to) || from == to))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        *value = attribute == cudaDevP2PAttrAccessSupported;
    return simdev_leave(error);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t bytes, cudaStream_t stream)
{
    if (!is_device(to_device) || !is_device(from_device))
        return simdev_leave(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    if (!is_device(to_device) || !is_device(from_device))
        return simdev_leave(cudaErrorInvalidDevice);
    return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice);
}

/* --- names of devices --- */

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && (!id || length < 13))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && !is_device(device))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        snprintf(id, (size_t)length, "%04x:%02x:%02x.0", 0, device + 1, 0);
    return simdev_leave(error);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    unsigned domain = 0, bus = 0, slot = 0;
    cudaError_t error = simdev_begin(__func__);
    if (error == cudaSuccess && (!device || !id))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && (domain != 0 || slot != 0 || !is_device((int)bus - 1)))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        *device = (int)bus - 1;
    return simdev_leave(error);
}
