"""Which calls invalidate a capture? Prints one JSON object for each call and mode: the call's status, the capture's state
after it, and the status of the end. Then a convolution on two streams of one capture, step by step. The table "During a
capture" in src/simdev/README.md has what the simulated device does; on a GPU this shows what CUDA and cuDNN do."""
import ctypes
import json
import mmap
import sys

NO_GPU = 77
MODES = ("global", "thread_local", "relaxed")
STATES = {0: "none", 1: "active", 2: "invalid"}
PTX = b".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(){ret;}\0"
try:
    import torch
except ImportError:
    sys.exit(NO_GPU)
if not torch.cuda.is_available():
    sys.exit(NO_GPU)
torch.zeros(1, device="cuda")
cuda = ctypes.CDLL("libcuda.so.1")
runtime = ctypes.CDLL("libcudart.so." + torch.version.cuda.split(".")[0])
cudnn = ctypes.CDLL("libcudnn.so.9")
pointer, byref, null = ctypes.c_void_p, ctypes.byref, ctypes.c_void_p()


def made(function, *arguments):
    """The handle that a function returns in its first parameter."""
    handle = pointer()
    assert function(byref(handle), *arguments) == 0, function
    return handle


stream, other = (made(runtime.cudaStreamCreateWithFlags, 1) for _ in range(2))  # non-blocking
event, event_of_capture = made(runtime.cudaEventCreate), made(runtime.cudaEventCreate)
memory, page = made(runtime.cudaMalloc, ctypes.c_size_t(1 << 20)), mmap.mmap(-1, 8192)
runtime.cudaEventRecord(event, other)
runtime.cudaDeviceSynchronize()
handle, given, host, second, module, graph, executable, pool = (pointer() for _ in range(8))
runtime.cudaGraphCreate(byref(graph), 0)
runtime.cudaGraphInstantiate(byref(executable), graph, ctypes.c_ulonglong(0))
runtime.cudaDeviceGetDefaultMemPool(byref(pool), 0)
address = pointer(ctypes.addressof(ctypes.c_char.from_buffer(page)))
size = ctypes.c_size_t(64)
CALLS = {
    "nothing": lambda: 0,
    "cudaMalloc": lambda: runtime.cudaMalloc(byref(given), size),
    "cudaFree": lambda: runtime.cudaFree(given),
    "cudaFree(NULL)": lambda: runtime.cudaFree(null),
    "cudaMallocHost": lambda: runtime.cudaMallocHost(byref(host), size),
    "cudaFreeHost": lambda: runtime.cudaFreeHost(host),
    "cudaHostRegister": lambda: runtime.cudaHostRegister(address, ctypes.c_size_t(8192), 0),
    "cudaHostUnregister": lambda: runtime.cudaHostUnregister(address),
    "cudaMallocAsync (captured)": lambda: runtime.cudaMallocAsync(byref(second), size, stream),
    "cudaMallocAsync (other)": lambda: runtime.cudaMallocAsync(byref(second), size, other),
    "cudaMemset": lambda: runtime.cudaMemset(memory, 0, size),
    "cudaStreamSynchronize (captured)": lambda: runtime.cudaStreamSynchronize(stream),
    "cudaStreamSynchronize (other)": lambda: runtime.cudaStreamSynchronize(other),
    "cudaStreamQuery (captured)": lambda: runtime.cudaStreamQuery(stream),
    "cudaStreamQuery (other)": lambda: runtime.cudaStreamQuery(other),
    "cudaDeviceSynchronize": lambda: runtime.cudaDeviceSynchronize(),
    "cudaEventQuery": lambda: runtime.cudaEventQuery(event),
    "cudaEventSynchronize": lambda: runtime.cudaEventSynchronize(event),
    "cudaStreamWaitEvent": lambda: runtime.cudaStreamWaitEvent(stream, event, 0),
    "cudaEventRecord (other)": lambda: runtime.cudaEventRecord(event, other),
    "cudaMemPoolTrimTo": lambda: runtime.cudaMemPoolTrimTo(pool, ctypes.c_size_t(0)),
    "cudaDeviceSetLimit": lambda: runtime.cudaDeviceSetLimit(0, ctypes.c_size_t(2048)),
    "cudaGraphLaunch (captured)": lambda: runtime.cudaGraphLaunch(executable, stream),
    "cudaGraphLaunch (other)": lambda: runtime.cudaGraphLaunch(executable, other),
    "cuModuleLoadData": lambda: cuda.cuModuleLoadData(byref(module), PTX),
    "cuModuleUnload": lambda: cuda.cuModuleUnload(module),
    "cudnnSetStream (captured)": lambda: cudnn.cudnnSetStream(handle, stream),
    "cudnnSetStream (other)": lambda: cudnn.cudnnSetStream(handle, other),
    "cudnnCreate": lambda: cudnn.cudnnCreate(byref(second)),
    "cudnnDestroy": lambda: cudnn.cudnnDestroy(handle),
    "cudaGraphExecDestroy": lambda: runtime.cudaGraphExecDestroy(executable),
}


def state(of):
    found = ctypes.c_int()
    status = runtime.cudaStreamIsCapturing(of, byref(found))
    return STATES.get(found.value) if status == 0 else f"error {status}"


def show(mode, call, status, after, end):
    print(json.dumps({"mode": mode, "call": call, "status": status, "state": after, "end": end}), flush=True)


def single_calls():
    # The relaxed mode comes last, because calls that are allowed change what the next one finds.
    for number, mode in enumerate(MODES):
        cudnn.cudnnCreate(byref(handle))  # each mode destroys it
        for name, call in CALLS.items():
            captured = pointer()
            runtime.cudaStreamBeginCapture(stream, number)
            runtime.cudaMemsetAsync(memory, 0, size, stream)
            status = call()
            after = state(stream)
            end = runtime.cudaStreamEndCapture(stream, byref(captured))
            if captured:
                runtime.cudaGraphDestroy(captured)
            runtime.cudaGetLastError()
            show(mode, name, status, after, end)


def two_streams(mode):
    """PyTorch sets the stream of its cuDNN handle before each convolution. The second stream is new to cuDNN."""
    layer = torch.nn.Conv2d(64, 64, 3, padding=1).cuda().half()
    x = torch.randn(4, 64, 56, 56, device="cuda", dtype=torch.half)
    main, side, cuda_graph = torch.cuda.Stream(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.stream(main):
        layer(x)
    torch.cuda.synchronize()
    step = "begin"
    try:
        with torch.no_grad(), torch.cuda.graph(cuda_graph, stream=main, capture_error_mode=mode):
            raw = pointer(main.cuda_stream)
            step = "convolution on the main stream"
            layer(x)
            show(mode, step, 0, state(raw), None)
            side.wait_stream(main)
            with torch.cuda.stream(side):
                step = "convolution on a second stream"
                layer(x)
                show(mode, step, 0, state(raw), None)
            main.wait_stream(side)
            step = "end"
        show(mode, step, 0, "none", 0)
    except RuntimeError as error:
        show(mode, step, str(error).splitlines()[0], "invalid", None)


for each in MODES:
    two_streams(each)
single_calls()
