"""How scripts/frameworks runs a program: the modes of PyTorch.

Imports nothing of a framework, since scripts/frameworks reads the list too. A mode changes the process
(`variables`, before PyTorch is loaded), and the calls: `make(model, call)` returns the warm-up calls and the measured ones.
"""
MODES = {}
PROGRAMS = ("sd_decode_f16", "basicunet_f32", "resnet50_train_f32")


class Mode:
    def __init__(self, make, text, programs, variables, by_time):
        self.make, self.text, self.programs = make, text, programs
        self.variables, self.by_time = variables or {}, by_time


def mode(text, programs=PROGRAMS, variables=None, by_time=False):
    """Registers a function by its name. `by_time`: it chooses by times, which a model predicts here, so its figures
    are no results."""
    def register(make):
        MODES[make.__name__] = Mode(make, text, programs, variables, by_time)
        return make
    return register


@mode("eager, the default")
def eager(_, call):
    return call, call


@mode("`torch.backends.cudnn.benchmark`", by_time=True)
def benchmark(_, call):
    import torch
    torch.backends.cudnn.benchmark = True
    return call, call


@mode("`torch.use_deterministic_algorithms`, `torch.backends.cudnn.deterministic`", variables={"CUBLAS_WORKSPACE_CONFIG": ":4096:8"})
def deterministic(_, call):
    import torch
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    return call, call


@mode("model to `channels_last` (`channels_last_3d`)")
def channels_last(model, call):
    import torch
    volumes = any(isinstance(module, torch.nn.Conv3d) for module in model.modules())
    model.to(memory_format=torch.channels_last_3d if volumes else torch.channels_last)
    return call, call


@mode("`torch.autocast` to float16", programs=("sd_decode_f32", "basicunet_f32", "resnet50_train_amp"))
def autocast(_, call):
    import torch

    def mixed():
        with torch.autocast("cuda", torch.float16):
            call()
    return mixed, mixed


@mode("`torch.cuda.CUDAGraph`: captured and replayed in the measured call", programs=("sd_decode_f16", "basicunet_f32"))
def cuda_graph(_, call):
    import torch
    side = torch.cuda.Stream()

    def warm():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            call()
        torch.cuda.current_stream().wait_stream(side)

    def captured():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            result = call()
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        return result
    return warm, captured


@mode("allocator with `expandable_segments:True`", variables={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})
def expandable_segments(_, call):
    return call, call


@mode("allocator `backend:cudaMallocAsync`", variables={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})
def malloc_async(_, call):
    return call, call


@mode("`DataLoader` with two workers and pinned memory", programs=("resnet50_loader_train_f32",))
def data_loader(_, call):
    return call, call


@mode("`torch.compile` (Triton and Inductor, defaults)", programs=("sd_decode_f16", "sd_decode_f32", "basicunet_f32", "resnet50_f16"))
def compiled(model, call):
    (model.decoder if hasattr(model, "decode") else model).compile()
    return call, call
