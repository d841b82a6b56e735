"""The queries of `convshim simulate` inside a framework's process. Python imports this file as sitecustomize. At exit
it writes the framework's report of its memory to $SIMDEV_HOOK.PID.json. Nothing of the program is changed. With
SIMDEV_HISTORY=1, PyTorch records the caller, size and order of each allocation."""
import sys
import framework_values


def chain():
    """Imports the sitecustomize that Python would have imported without this file."""
    import os
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if own is not None:
            sys.modules.setdefault("sitecustomize", own)


def variable(name):
    """The present value. os.environ holds the values of Python's start, and a run may have been forked since."""
    import ctypes
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    value = getenv(name.encode())
    return value.decode("utf-8", "surrogateescape") if value else ""


class Torch:
    """Peaks of PyTorch's allocator; where the program resets them, the largest is kept."""

    MOST_EVENTS = 1 << 20
    MOST_FRAMES = 12

    def __init__(self):
        self.peaks, self.errors = {}, 0

    def patch(self, cuda):
        """Keeps the peaks whenever the program resets them, counts out-of-memory errors that reach the program, and calls `record` at the
        first use of CUDA."""
        import torch
        error = getattr(torch, "OutOfMemoryError", None) or getattr(cuda, "OutOfMemoryError", None)
        if error:
            make = error.__init__

            def count_and_make(*arguments, **named):
                self.errors += 1
                make(*arguments, **named)
            error.__init__ = count_and_make
        reset = getattr(torch._C, "_cuda_resetPeakMemoryStats", None)
        if reset:
            def keep_and_reset(*arguments):
                self.keep()
                return reset(*arguments)
            torch._C._cuda_resetPeakMemoryStats = keep_and_reset
        cuda._lazy_call(self.record)  # the first use may be in a child

    def record(self):
        if variable("SIMDEV_FORKED"):
            import gc
            gc.freeze()  # what was there before the fork is not looked through, which would copy it
        if self.has_history():
            import torch
            torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=self.MOST_EVENTS)

    def has_history(self):
        """False without a request, and for cudaMallocAsync, whose allocations PyTorch cannot record: the device's record has them."""
        import torch
        return variable("SIMDEV_HISTORY") == "1" and getattr(torch.cuda, "get_allocator_backend", lambda: "native")() == "native"

    def stats(self):
        import torch
        if not torch.cuda.is_initialized():
            return
        for device in range(torch.cuda.device_count()):
            stats = torch.cuda.memory_stats(device)
            if stats.get("reserved_bytes.all.peak", 0) > 0:
                yield device, stats

    def keep(self):
        for device, stats in self.stats():
            peak = self.peaks.setdefault(device, {})
            for key, name in (("allocated", "allocated_bytes.all.peak"), ("reserved", "reserved_bytes.all.peak"),
                              ("retries", "num_alloc_retries"), ("failed", "num_ooms")):
                peak[key] = max(peak.get(key, 0), stats.get(name, 0))

    def report(self):
        import torch
        self.keep()
        if not self.peaks:
            return None
        device, peak = max(self.peaks.items(), key=lambda item: item[1]["reserved"])
        peaks = {"framework": "PyTorch " + torch.__version__.split("+")[0], "device": device, **peak, "errors": self.errors,
                 "unknown": VALUES.report()}
        for count in ("retries", "failed"):
            peaks[count] = sum(of[count] for of in self.peaks.values())
        if len(self.peaks) > 1:
            peaks["gpus"] = self.peaks
        if self.has_history():
            peaks["history"] = self.history(torch, device)
        return peaks

    def history(self, torch, device):
        """{"stacks": [[line, ...]], "events": [[action, address, bytes, stack]]}: allocations and frees in order."""
        stacks, known, events = [], {}, []
        actions = {"alloc": "a", "free_completed": "f", "free": "f", "segment_alloc": "s", "segment_free": "r",
                   "segment_map": "s", "segment_unmap": "r", "oom": "o"}
        for event in torch.cuda.memory._snapshot()["device_traces"][device]:
            action = actions.get(event["action"])
            if not action:
                continue
            frames = tuple(f"{frame['filename']}:{frame['line']} {frame['name']}" for frame in event.get("frames", ())
                           if frame["filename"] not in (__file__, framework_values.__file__))[:self.MOST_FRAMES]
            stack = known.setdefault(frames, len(stacks))
            if stack == len(stacks):
                stacks.append(frames)
            events.append([action, event.get("addr", 0), event["size"], stack])
        return {"stacks": stacks, "events": events}


class Jax:
    """The report of JAX's devices, read just before JAX destroys them. JAX's allocator holds more memory than it uses ("holds"),
    and handles refusals itself (so "failed" is 0). JAX searches /dev for a GPU before it queries
    the driver. /dev contains no simulated GPU, so this class answers that check."""

    def __init__(self):
        self.peaks = None

    def answer(self, hardware_utils):
        hardware_utils.has_visible_nvidia_gpu = lambda: True

    def before_the_end(self, _api):
        """JAX has just registered its exit function, which runs after the one registered here."""
        import atexit
        atexit.register(guarded, self.keep)

    def keep(self):
        import jax
        from jax._src import xla_bridge
        if not xla_bridge.backends_are_initialized():
            return
        for device in jax.local_devices():
            stats = device.memory_stats() or {}
            if stats.get("peak_bytes_in_use", 0) > (self.peaks or {}).get("allocated", 0):
                self.peaks = {"framework": "JAX " + jax.__version__, "device": device.id, "holds": True, "failed": 0, "allocated": stats["peak_bytes_in_use"],
                              "reserved": stats.get("peak_pool_bytes", stats.get("peak_bytes_reserved", -1)),
                              "limit": stats.get("bytes_limit", 0)}

    def report(self):
        return self.peaks


class Mlx:
    """The peak of MLX's arrays. MLX keeps freed memory, up to the GPU's size, and frees it when an allocation is refused."""

    def __init__(self):
        self.peak = 0

    def patch(self, core):
        """Keeps the peak whenever the program resets it."""
        reset = core.reset_peak_memory

        def keep_and_reset():
            self.keep(core)
            return reset()
        core.reset_peak_memory = keep_and_reset

    def keep(self, core):
        self.peak = max(self.peak, core.get_peak_memory())

    def report(self):
        import importlib.metadata
        self.keep(sys.modules["mlx.core"])
        return {"framework": "MLX " + importlib.metadata.version("mlx"), "device": 0, "holds": True, "failed": 0, "allocated": self.peak,
                "reserved": -1} if self.peak else None


class TensorFlow:
    """The peak of TensorFlow's allocator on the first GPU. It takes all free memory when it starts ("holds"), and handles refusals itself."""

    def __init__(self):
        self.peak = 0

    def patch(self, context):
        """Keeps the peak whenever the program resets it."""
        reset = context.Context.reset_memory_stats

        def keep_and_reset(own, device):
            self.keep()
            return reset(own, device)
        context.Context.reset_memory_stats = keep_and_reset

    def keep(self):
        context = sys.modules["tensorflow.python.eager.context"].context_safe()
        if context is not None and context._initialized and context.num_gpus() > 0:
            self.peak = max(self.peak, context.get_memory_info("GPU:0")["peak"])

    def report(self):
        import importlib.metadata
        self.keep()
        return {"framework": "TensorFlow " + importlib.metadata.version("tensorflow"), "device": 0, "holds": True, "failed": 0,
                "allocated": self.peak, "reserved": -1} if self.peak else None


TORCH, VALUES, JAX, MLX, TENSORFLOW = Torch(), framework_values.Values(), Jax(), Mlx(), TensorFlow()


class Finder:
    """Patches modules directly after their import."""

    def __init__(self):
        self.patches = {"torch.cuda": TORCH.patch, "torch": VALUES.patch,
                        "torchvision": lambda _: VALUES.take_over("torchvision"),
                        "jax._src.hardware_utils": JAX.answer, "jax._src.api": JAX.before_the_end, "mlx.core": MLX.patch,
                        "tensorflow.python.eager.context": TENSORFLOW.patch}

    def find_spec(self, name, path=None, target=None):
        patch = self.patches.pop(name, None)
        if not patch:
            return None
        import importlib.util
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                guarded(lambda: patch(module))
            spec.loader.exec_module = exec_module
        return spec


def guarded(function):
    """Calls function and returns an exception as {"error": text}: a failure of the hook must not reach the program."""
    try:
        return function()
    except Exception as error:  # pylint: disable=broad-except
        return {"error": f"{type(error).__name__}: {error}"}


def write():
    """Writes the framework's report to the file of this process. False outside of a simulation."""
    import json
    import os
    place, peaks = variable("SIMDEV_HOOK"), None
    if not place:
        return False
    if "torch" in sys.modules:
        peaks = guarded(TORCH.report)
    if peaks is None and "jax" in sys.modules:
        peaks = guarded(JAX.report)
    if peaks is None and "mlx.core" in sys.modules:
        peaks = guarded(MLX.report)
    if peaks is None and "tensorflow.python.eager.context" in sys.modules:
        peaks = guarded(TENSORFLOW.report)
    if peaks is not None:
        # Frameworks that set a limit fail without a refusal of the GPU. Python keeps the exception that ended the program.
        last = getattr(sys, "last_value", None)
        peaks["exhausted"] = "RESOURCE_EXHAUSTED" in str(last) or type(last).__name__ == "ResourceExhaustedError"
        with open(f"{place}.{os.getpid()}.json", "w", encoding="utf-8") as file:
            json.dump(peaks, file)
    return True


def at_exit():
    """Some parents kill a process that needs seconds to free its memory, such as Jupyter. So the device reports here, and again at its end."""
    if not write():
        return
    write_device()
    if variable("SIMDEV_FORKED"):
        leave_quickly()


def write_device():
    """Makes the device write its report."""
    import ctypes
    getattr(ctypes.CDLL(None), "simdev_report_early", bool)()


def write_before(module, name):
    """Makes a function that ends the process write both reports first. It skips atexit, as in children of multiprocessing and servers."""
    end = getattr(module, name)

    def write_and_end(*arguments, **named):
        guarded(write)
        guarded(write_device)
        return end(*arguments, **named)
    setattr(module, name, write_and_end)


def leave_quickly():
    """Ends a forked run. Freeing the objects of packages one by one would copy most pages that the process shares. The
    program's own objects are freed as usual, including files that are still open."""
    import ctypes
    import gc
    gc.disable()
    gc.freeze()
    main = sys.modules.pop("__main__", None)
    modules = dict(sys.modules)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))
    sys.modules.clear()
    if main is not None:
        sys.modules["__main__"] = main


def begin():
    import atexit
    import os
    import signal
    atexit.register(guarded, at_exit)
    write_before(os, "_exit")
    write_before(signal, "raise_signal")
    sys.meta_path.insert(0, Finder())


begin()
chain()
