"""Device memory and CUDA graphs, from the libcudart that cuDNN uses."""

import ctypes

import numpy

_runtime = ctypes.CDLL("libcudart.so.13")
_runtime.cudaGetErrorString.restype = ctypes.c_char_p
_TO_DEVICE, _TO_HOST = 1, 2


def call(name, *arguments):
    status = getattr(_runtime, name)(*arguments)
    if status != 0:
        raise RuntimeError(f"{name}: {_runtime.cudaGetErrorString(status).decode()}")


def made(name, *arguments):
    """The pointer or handle that the call writes through its first parameter."""
    result = ctypes.c_void_p()
    call(name, ctypes.byref(result), *arguments)
    return result


class Buffer:
    """Device memory, freed with the object. Empty memory has address 0."""

    def __init__(self, size):
        self.size = size
        self._memory = made("cudaMalloc", ctypes.c_size_t(size)) if size > 0 else None
        self.address = self._memory.value if self._memory else 0

    def __del__(self):
        if self._memory:
            call("cudaFree", self._memory)

    def write(self, array):
        array = numpy.ascontiguousarray(array)
        assert array.nbytes == self.size
        call("cudaMemcpy", self._memory, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.size), _TO_DEVICE)
        return self

    def read(self, shape, dtype):
        array = numpy.empty(shape, dtype)
        assert array.nbytes == self.size
        call("cudaMemcpy", array.ctypes.data_as(ctypes.c_void_p), self._memory, ctypes.c_size_t(self.size), _TO_HOST)
        return array

    def clear(self):
        """Bytes that no result has."""
        call("cudaMemset", self._memory, 0x7F, ctypes.c_size_t(self.size))
        return self


def finish():
    call("cudaDeviceSynchronize")


class CudaGraph:
    """An empty graph; `address` is its cudaGraph_t."""

    def __init__(self):
        self._graph = made("cudaGraphCreate", 0)
        self.address = self._graph.value

    def __del__(self):
        call("cudaGraphDestroy", self._graph)

    def launch(self):
        """Instantiates the graph in its current form, runs it and waits for it."""
        executable = made("cudaGraphInstantiate", self._graph, ctypes.c_ulonglong(0))
        call("cudaGraphLaunch", executable, None)
        finish()
        call("cudaGraphExecDestroy", executable)
