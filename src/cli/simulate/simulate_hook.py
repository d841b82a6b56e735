"""What `convshim simulate` asks a framework of from inside: Python imports this file as sitecustomize, and at exit it writes what
the framework tells of its memory to $SIMDEV_HOOK.PID.json. Nothing of the program is changed. SIMDEV_HISTORY=1 has PyTorch
record who allocated what and when."""
import sys


def chain():
    """The sitecustomize that Python would have imported."""
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
    """As it is now: os.environ is what it was when Python began, and a run may have been forked since."""
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
        self.peaks = {}

    def patch(self, cuda):
        import torch
        reset = getattr(torch._C, "_cuda_resetPeakMemoryStats", None)
        if reset:
            def keep_and_reset(*arguments):
                self.keep()
                return reset(*arguments)
            torch._C._cuda_resetPeakMemoryStats = keep_and_reset
        # To be called when the program first uses CUDA, which may be in a child.
        cuda._lazy_call(self.record)

    def record(self):
        if variable("SIMDEV_FORKED"):
            import gc
            gc.freeze()  # what was there before the fork is not looked through, which would copy it
        if variable("SIMDEV_HISTORY") == "1":
            import torch
            torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=self.MOST_EVENTS)

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

    def tell(self):
        import torch
        self.keep()
        if not self.peaks:
            return None
        device, peak = max(self.peaks.items(), key=lambda item: item[1]["reserved"])
        peaks = {"framework": "PyTorch " + torch.__version__.split("+")[0], "device": device, **peak}
        if variable("SIMDEV_HISTORY") == "1":
            peaks["history"] = self.history(torch, device)
        return peaks

    def history(self, torch, device):
        """{"stacks": [[line, ...]], "events": [[action, address, bytes, stack]]}: what was allocated and freed, in order."""
        stacks, known, events = [], {}, []
        actions = {"alloc": "a", "free_completed": "f", "free": "f", "segment_alloc": "s", "segment_free": "r",
                   "segment_map": "s", "segment_unmap": "r", "oom": "o"}
        for event in torch.cuda.memory._snapshot()["device_traces"][device]:
            action = actions.get(event["action"])
            if not action:
                continue
            frames = tuple(f"{frame['filename']}:{frame['line']} {frame['name']}" for frame in event.get("frames", ())[:self.MOST_FRAMES])
            stack = known.setdefault(frames, len(stacks))
            if stack == len(stacks):
                stacks.append(frames)
            events.append([action, event.get("addr", 0), event["size"], stack])
        return {"stacks": stacks, "events": events}


class Jax:
    """What JAX's devices tell, just before JAX takes them down. JAX looks for a GPU among the files of /dev, where no simulated one is,
    before it asks the driver: that question is answered for it."""

    def __init__(self):
        self.peaks = None

    def answer(self, hardware_utils):
        hardware_utils.has_visible_nvidia_gpu = lambda: True

    def before_the_end(self, _api):
        """JAX has just registered what it does at exit, which comes after what is registered now."""
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
                self.peaks = {"framework": "JAX " + jax.__version__, "device": device.id, "allocated": stats["peak_bytes_in_use"],
                              "reserved": stats.get("peak_pool_bytes", stats.get("peak_bytes_reserved", -1))}

    def tell(self):
        return self.peaks


TORCH, JAX = Torch(), Jax()


class Finder:
    """Sees modules come in of which something is changed, once they are there."""

    def __init__(self):
        self.patches = {"torch.cuda": TORCH.patch, "jax._src.hardware_utils": JAX.answer,
                        "jax._src.api": JAX.before_the_end}

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
    """Whatever goes wrong here is not the program's."""
    try:
        return function()
    except Exception as error:  # pylint: disable=broad-except
        return {"error": f"{type(error).__name__}: {error}"}


def at_exit():
    import json
    import os
    place, peaks = variable("SIMDEV_HOOK"), None
    if not place:
        return
    if "torch" in sys.modules:
        peaks = guarded(TORCH.tell)
    if peaks is None and "jax" in sys.modules:
        peaks = guarded(JAX.tell)
    if peaks is not None:
        with open(f"{place}.{os.getpid()}.json", "w", encoding="utf-8") as file:
            json.dump(peaks, file)
    if variable("SIMDEV_FORKED"):
        leave_quickly()


def leave_quickly():
    """Of a forked run: taking packages apart, object by object, would copy most pages of the process that it shares. What
    the program itself has goes as ever, files that are still open among it."""
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
    atexit.register(guarded, at_exit)
    sys.meta_path.insert(0, Finder())


begin()
chain()
