"""Measures a PyTorch program: memory, time, results; one JSON line on stdout for each case.

A program gives a `build(case, dtype, device, tiny)` that returns an Inference or a Training. It is an ordinary PyTorch
program, which does not depend on convshim.
"""

import argparse
import ctypes
import hashlib
import json
import shutil
import statistics
import sys
import threading
import time

import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
MODES = ("eager", "graph", "compile", "benchmark", "streams")
CALLS = 5  # the first ones, each timed by the host


class Inference:
    """A forward pass. run() returns tensors by name. Mode compile compiles the module `compiled` (default: all of the model)."""

    def __init__(self, model, *inputs, compiled=None):
        self.model = model.eval()
        self.compiled = compiled or self.model
        self.inputs = inputs

    def run(self, update=False):
        with torch.no_grad():
            return {"output": self.model(*self.inputs)}


class Training:
    """Forward, loss and backward; with update=True the weights change too. amp is a dtype or None."""

    def __init__(self, model, inputs, target, loss, amp=None, rate=0.01):
        self.model = self.compiled = model.train()
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


class DevicePeak:
    """Samples the bytes in use on the device while it is entered. `bytes` is the largest sample, of all processes. No
    sample is taken in a graph's capture, which other CUDA calls would end."""

    def __init__(self, sampled):
        self.bytes = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True) if sampled else None

    @staticmethod
    def used():
        free, whole = torch.cuda.mem_get_info()
        return whole - free

    def _sample(self):
        while not self._stop.is_set():
            self.bytes = max(self.bytes or 0, self.used())
            time.sleep(0.002)

    def __enter__(self):
        self.bytes = self.used()
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_):
        if self._thread:
            self._stop.set()
            self._thread.join()
        self.bytes = max(self.bytes, self.used())


def digest(result):
    """16 hex digits of all bits, in the order of the names."""
    hasher = hashlib.sha256()
    for name in sorted(result):
        tensor = result[name].detach().to("cpu").contiguous()
        hasher.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        hasher.update(ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size()))
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


class TwoStreams:
    """The step on two streams in turn, without waiting in between."""

    def __init__(self, step):
        self.step, self.streams = step, [torch.cuda.Stream(), torch.cuda.Stream()]

    def run(self, update=False):
        for stream in self.streams:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                result = self.step.run(update=update)
            torch.cuda.current_stream().wait_stream(stream)
        return result


def in_mode(step, mode):
    """The step as a program of this mode runs it."""
    if mode == "graph":
        return captured(step)
    if mode == "streams":
        return TwoStreams(step)
    if mode == "compile":
        # Inductor needs a C compiler on this machine.
        step.compiled.compile(backend="inductor" if shutil.which("gcc") else "aot_eager")
    torch.backends.cudnn.benchmark = mode == "benchmark"
    return step


def times_ms(step, iterations):
    """The time of each call, by events on the device; and of the host for one call, without waiting."""
    times, host = [], []
    for _ in range(iterations):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start = time.perf_counter()
        begin.record()
        step.run(update=True)
        end.record()
        host.append((time.perf_counter() - start) * 1000)
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return times, host


def measure_case(record, build, options):
    """Fills the record. The first call counts for the peaks, with its searches and compilations."""
    torch.manual_seed(0)
    step = build(record["case"], DTYPES[record["dtype"]], "cuda", options.tiny)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    record["device_base"] = DevicePeak.used()
    with DevicePeak(record["mode"] == "eager") as peak:
        step = in_mode(step, record["mode"])
        record["ms_calls"], digests = [], []
        for _ in range(CALLS):
            start = time.perf_counter()
            result = step.run(update=False)
            torch.cuda.synchronize()
            record["ms_calls"].append((time.perf_counter() - start) * 1000)
            digests += [digest(result)] if len(digests) < 2 else []
            del result
        record["checksum"], record["repeatable"] = digests[0], digests[0] == digests[1]
        start = time.perf_counter()
        for i in range(100):  # an idle GPU has low clocks
            if i >= options.warmup and time.perf_counter() > start + 0.2:
                break
            step.run(update=True)
            torch.cuda.synchronize()
    record["allocated"] = torch.cuda.max_memory_allocated()
    record["reserved"] = torch.cuda.max_memory_reserved()
    record["device"] = peak.bytes - record["device_base"]
    times, host = times_ms(step, options.iterations)
    record["ms"], record["ms_host"] = statistics.median(times), statistics.median(host)
    record["ms_fastest"], record["ms_slowest"], record["iterations"] = min(times), max(times), len(times)


def main(program, description, cases, build):
    """Runs all cases, dtypes and modes. A case that runs out of memory is a result; status 1 if one fails otherwise, 77
    without a GPU."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--case", default=",".join(cases), help=f"comma list (default: {','.join(cases)})")
    parser.add_argument("--dtype", default="f16", help=f"comma list of {', '.join(DTYPES)}")
    parser.add_argument("--mode", default="eager", choices=MODES)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--tiny", action="store_true", help="a small model, to try the program out")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device", file=sys.stderr)
        sys.exit(77)
    failed = False
    for case in options.case.split(","):
        for dtype in options.dtype.split(","):
            record = {"program": program, "case": case, "dtype": dtype, "mode": options.mode, "status": "ok"}
            try:
                measure_case(record, build, options)
            except torch.OutOfMemoryError as error:
                record["status"] = "out of memory"
                print(f"{program} {case} {dtype}: {error}", file=sys.stderr)
            except Exception as error:  # the other cases still run
                failed = True
                record["status"] = "error"
                print(f"{program} {case} {dtype}: {type(error).__name__}: {error}", file=sys.stderr)
            print(json.dumps(record), flush=True)
            torch.cuda.empty_cache()
    sys.exit(1 if failed else 0)
