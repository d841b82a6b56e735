"""Measures a PyTorch program: memory, time, results; one JSON line on stdout for each case.

A program gives a `build(case, dtype, device, tiny)` that returns a Step. It is an ordinary PyTorch program: nothing here
knows of convshim.
"""

import argparse
import hashlib
import json
import os
import statistics
import sys
import threading
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
MODES = ("eager", "benchmark", "graph", "compile", "floor")


class Inference:
    """A forward pass; run() returns tensors by name."""

    def __init__(self, model, *inputs):
        self.model = model.eval()
        self.inputs = inputs

    def run(self, update=False):
        with torch.no_grad():
            return {"output": self.model(*self.inputs)}


class Training:
    """Forward, loss and backward; with update=True the weights change too. amp is a dtype or None."""

    def __init__(self, model, inputs, target, loss, amp=None, rate=0.01):
        self.model = model.train()
        self.inputs = inputs
        self.target = target
        self.loss = loss
        self.amp = amp
        self.optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.99, nesterov=True)
        self.scaler = torch.amp.GradScaler(
            inputs[0].device.type, init_scale=1024.0, enabled=amp is torch.float16
        )

    def run(self, update=True):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.inputs[0].device.type, dtype=self.amp, enabled=self.amp is not None):
            output = self.model(*self.inputs)
            loss = self.loss(output, self.target)
        self.scaler.scale(loss).backward()
        result = {"output": output.detach(), "loss": loss.detach()}
        if not update:
            result.update(
                {f"grad.{name}": p.grad for name, p in self.model.named_parameters() if p.grad is not None}
            )
            return result
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return result


class NoConvolutions(TorchDispatchMode):
    """Convolutions return tensors of the right shape without computing them, so the program allocates only its own
    tensors and no workspace. The numbers in them are arbitrary."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.convolution.default:
            return _empty_output(*args)
        if func is torch.ops.aten.convolution_backward.default:
            grad, x, weight, bias_sizes = args[:4]
            mask = args[-1]
            bias = grad.new_empty(bias_sizes) if mask[2] else None
            return (
                torch.empty_like(x) if mask[0] else None,
                torch.empty_like(weight) if mask[1] else None,
                bias,
            )
        return func(*args, **(kwargs or {}))


def _empty_output(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    def per_axis(values, axis):
        return values[axis] if len(values) > 1 else values[0]

    shape = [x.shape[0], weight.shape[1] * groups if transposed else weight.shape[0]]
    for axis in range(x.dim() - 2):
        s, p, d = per_axis(stride, axis), per_axis(padding, axis), per_axis(dilation, axis)
        reach = d * (weight.shape[axis + 2] - 1) + 1
        if transposed:
            shape.append((x.shape[axis + 2] - 1) * s - 2 * p + reach + per_axis(output_padding, axis))
        else:
            shape.append((x.shape[axis + 2] + 2 * p - reach) // s + 1)
    last = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    form = (
        last
        if x.dim() > 3 and x.is_contiguous(memory_format=last) and not x.is_contiguous()
        else torch.contiguous_format
    )
    return torch.empty(shape, dtype=x.dtype, device=x.device, memory_format=form)


class DevicePeak:
    """Samples the bytes in use on the device while it is entered; .bytes is the most it saw, all processes counted."""

    def __init__(self, device):
        self.bytes = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True) if device == "cuda" else None

    @staticmethod
    def used():
        free, whole = torch.cuda.mem_get_info()
        return whole - free

    def _sample(self):
        while not self._stop.is_set():
            self.bytes = max(self.bytes or 0, self.used())
            time.sleep(0.002)

    def __enter__(self):
        if self._thread:
            self.bytes = self.used()
            self._thread.start()
        return self

    def __exit__(self, *_):
        if self._thread:
            self._stop.set()
            self._thread.join()
            self.bytes = max(self.bytes, self.used())


def tensors_on_host(result):
    return {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in result.items()}


def digest(result):
    """16 hex digits of all bits, in the order of the names."""
    hasher = hashlib.sha256()
    for name in sorted(result):
        hasher.update(f"{name} {result[name].dtype} {tuple(result[name].shape)}".encode())
        hasher.update(result[name].reshape(-1).view(torch.uint8).numpy().data)
    return hasher.hexdigest()[:16]


def captured(step):
    """The step as a CUDA graph; run() replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(2):
            step.run(update=False)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step.run(update=False)

    class Replay:
        @staticmethod
        def run(update=False):
            graph.replay()
            return result

    return Replay()


def times_ms(step, iterations, device):
    """The time of each call, by events on the device, by the clock without one."""
    times = []
    for _ in range(iterations):
        if device == "cuda":
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            step.run(update=True)
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        else:
            begin = time.perf_counter()
            step.run(update=True)
            times.append((time.perf_counter() - begin) * 1000)
    return times


def measure_case(record, build, options):
    """Fills the record. The first call counts for the peaks, with its searches and compilations."""
    cuda = options.device == "cuda"
    mode = record["mode"]
    torch.backends.cudnn.benchmark = mode == "benchmark"
    torch.manual_seed(0)
    dtype = DTYPES[record["dtype"]]
    rounded = DTYPES[options.round] if options.round else dtype
    step = build(record["case"], rounded, options.device, options.tiny)
    if rounded is not dtype:
        step.model = step.model.to(dtype)
        step.inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in step.inputs)
    if options.channels_last:
        step.model = step.model.to(memory_format=torch.channels_last)
        step.inputs = tuple(
            x.to(memory_format=torch.channels_last) if x.dim() == 4 else x for x in step.inputs
        )
    if mode == "compile":
        step.model = torch.compile(step.model)
    if cuda:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        record["device_base"] = DevicePeak.used()
    if mode == "floor":
        with NoConvolutions():
            step.run(update=False)
            step.run(update=True)
        _memory(record, cuda)
        return
    with DevicePeak(options.device) if mode != "graph" else _Unsampled(cuda) as peak:
        if mode == "graph":
            step = captured(step)
        first = tensors_on_host(step.run(update=False))
        record["checksum"] = digest(first)
        record["repeatable"] = record["checksum"] == digest(tensors_on_host(step.run(update=False)))
        for _ in range(options.warmup):
            step.run(update=True)
        if cuda:
            torch.cuda.synchronize()
    _memory(record, cuda)
    if cuda:
        record["device_peak"] = peak.bytes
        torch.cuda.reset_peak_memory_stats()
    times = times_ms(step, options.iterations, options.device)
    if cuda:
        record["steady_memory_allocated"] = torch.cuda.max_memory_allocated()
    record["ms_per_iteration"] = statistics.median(times)
    record["iterations"] = len(times)
    record["ms_fastest"], record["ms_slowest"] = min(times), max(times)
    if options.save:
        record["saved"] = os.path.join(
            options.save, "-".join((record["program"], record["case"], record["dtype"], mode)) + ".pt"
        )
        torch.save(first, record["saved"])


class _Unsampled:
    """Memory is queried at both ends only: no other CUDA call is allowed while a graph is captured."""

    def __init__(self, cuda):
        self.bytes = DevicePeak.used() if cuda else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bytes is not None:
            self.bytes = max(self.bytes, DevicePeak.used())


def _memory(record, cuda):
    if cuda:
        record["max_memory_allocated"] = torch.cuda.max_memory_allocated()
        record["max_memory_reserved"] = torch.cuda.max_memory_reserved()


def arguments(description, cases):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--case", default=",".join(cases), help=f"comma list (default: {','.join(cases)})")
    parser.add_argument("--dtype", default="f16", help=f"comma list of {', '.join(DTYPES)}")
    parser.add_argument(
        "--mode", default="eager", help=f"comma list of {', '.join(MODES)}; floor: without convolutions"
    )
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a small model, to try the program out")
    parser.add_argument("--round", choices=DTYPES, help="round weights and inputs to this dtype first")
    parser.add_argument("--save", metavar="DIR", help="write results there")
    options = parser.parse_args()
    for name, known in (("dtype", DTYPES), ("mode", MODES)):
        for word in getattr(options, name).split(","):
            if word not in known:
                parser.error(f"--{name}: unknown '{word}'")
    return options


def no_device(options):
    """Ends the program with status 77 if there is no GPU for it."""
    if options.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device", file=sys.stderr)
        sys.exit(77)


def main(program, description, cases, build):
    """Runs all cases, dtypes and modes. A case that runs out of memory is a result; status 1 if one fails otherwise."""
    options = arguments(description, cases)
    no_device(options)
    failed = False
    for case in options.case.split(","):
        for dtype in options.dtype.split(","):
            for mode in options.mode.split(","):
                record = {"program": program, "case": case, "dtype": dtype, "mode": mode, "status": "ok"}
                try:
                    measure_case(record, build, options)
                except torch.OutOfMemoryError as error:
                    record["status"] = "out of memory"
                    print(f"{program} {case} {dtype} {mode}: {error}", file=sys.stderr)
                except Exception as error:  # one case must not take the others along
                    failed = True
                    record["status"] = "error"
                    print(
                        f"{program} {case} {dtype} {mode}: {type(error).__name__}: {error}", file=sys.stderr
                    )
                print(json.dumps(record), flush=True)
                if options.device == "cuda":
                    torch.cuda.empty_cache()
                if mode == "compile":
                    torch.compiler.reset()
    sys.exit(1 if failed else 0)
