"""Device memory that CUDA and cuDNN take beyond PyTorch's reserved memory, after each of their first uses. One JSON line for each.

The bytes are those in use on the device above the first line, by NVML, of all processes.
"""

import ctypes
import json
import sys


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def nvml():
    """A function that returns the bytes in use on the first device."""
    library, device, memory = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), Memory()
    if library.nvmlInit_v2() != 0 or library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) != 0:
        sys.exit("NVML does not start")

    def used():
        library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory))
        return memory.used

    return used


def main():
    used = nvml()
    base = used()
    import torch  # after the first figure, because the import may make a context

    if not torch.cuda.is_available():
        print("no CUDA device", file=sys.stderr)
        sys.exit(77)

    def report(after):
        torch.cuda.synchronize()
        record = {"after": after, "device": used() - base, "reserved": torch.cuda.memory_reserved()}
        print(json.dumps(record), flush=True)

    x = torch.zeros(1, device="cuda")
    report("context and one tensor")
    x += 1
    report("first kernel")
    image = torch.randn(1, 64, 64, 64, device="cuda")
    for dtype in (torch.float16, torch.float32):
        for channels in (64, 128):
            layer = torch.nn.Conv2d(64, channels, 3, padding=1, device="cuda", dtype=dtype)
            layer(image.to(dtype))
            report(f"convolution {str(dtype).split('.')[1]}, {channels} channels")
    layer = torch.nn.Conv2d(64, 64, 3, padding=1, device="cuda", dtype=torch.float16)
    layer(image.half()).float().sum().backward()
    report("gradients")
    torch.randn(256, 256, device="cuda", dtype=torch.float16) @ torch.randn(256, 256, device="cuda", dtype=torch.float16)
    report("matrix product")


if __name__ == "__main__":
    main()
