#!/usr/bin/env python3
"""The host time that the library adds in frameworks that try every engine before they run one.

    tests/sweeps/search_time.py [--torch VENV] [--jax VENV] [--rounds N] [--build DIR]

PyTorch's benchmark mode (the first call of one layer) and JAX's autotuning (compiling a program of tests/frameworks) on the simulated
device with the wheels' own cuDNN, in fresh processes without and with the library in turns. Prints the least and the median
processor time of each, and the added share; status 1 if it is over 0.3 by the medians of a row. The device's own
time is a model's and no part of it: a real one adds the kernels of every engine to the framework's own time.
"""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LIMIT = 0.3  # times what the framework spends itself
sys.dont_write_bytecode = True

# Images, channels, extent, filters, type, with gradients or without; 3 x 3.
LAYERS = {
    "512 channels, 512 px, float16": (1, 512, 512, 512, "float16", False),
    "256 channels, 512 px, float32": (1, 256, 512, 256, "float32", False),
    "8 images, 256 channels, 256 px, float16, with gradients": (8, 256, 256, 256, "float16", True),
}
PROGRAMS = ("blocks_f16", "blocks_f32", "blocks_train_f32")


def processor_seconds():
    """Counts this process and its child processes, for example XLA's assembler."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(time.ru_utime for time in times)


# --- in the framework's interpreter -----------------------------------------------------------------------------------

def torch_layer(name):
    import torch
    images, channels, extent, filters, dtype, gradients = LAYERS[name]
    kind = {"dtype": getattr(torch, dtype), "device": "cuda"}
    torch.backends.cudnn.benchmark = True
    # Libraries that are loaded and set up at the first convolution are no part of the search.
    torch.nn.Conv2d(8, 8, 3, padding=1, **kind)(torch.empty(1, 8, 16, 16, **kind))
    torch.cuda.synchronize()
    layer = torch.nn.Conv2d(channels, filters, 3, padding=1, **kind)
    image = torch.empty(images, channels, extent, extent, requires_grad=gradients, **kind)
    start = processor_seconds()
    result = layer(image)
    if gradients:
        result.backward(result.detach())
    torch.cuda.synchronize()
    return processor_seconds() - start


def jax_program(name):
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["JAX_PLATFORMS"] = "cuda"
    sys.path.insert(0, os.path.join(ROOT, "tests/frameworks"))
    import jax
    import jax_programs
    from jax._src import hardware_utils
    hardware_utils.has_visible_nvidia_gpu = lambda: True  # it looks for /dev/nvidia0
    function, arguments = jax_programs.PROGRAMS[name].make()
    jax.block_until_ready(jax.jit(lambda x: x + 1)(jax.numpy.zeros(4)))
    lowered = jax.jit(function).lower(*arguments)
    start = processor_seconds()
    lowered.compile()
    return processor_seconds() - start


# --- outside ----------------------------------------------------------------------------------------------------------

def frameworks():
    """scripts/frameworks, which puts a framework's process on the simulated device."""
    loader = importlib.machinery.SourceFileLoader("frameworks", os.path.join(ROOT, "scripts/frameworks"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("frameworks", loader))
    loader.exec_module(module)
    return module


def child(environment, kind, name, library, summary):
    variables = {**environment.variables(library), "CONVSHIM_CONFIGFILE": os.devnull, "CONVSHIM_CONFIG": "",
                 "CONVSHIM_SUMMARY": f"json:{summary}", "SIMDEV_CAPACITY": "80GiB"}
    done = subprocess.run([environment.python, os.path.realpath(__file__), "--child", kind, name], env=variables, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"search_time: {kind}, {name}: {done.stderr[-2000:]}")
    return float(done.stdout.splitlines()[-1])


def seen(summary):
    """Calls that the library saw, and the number of tiled ones. A row without the library is invalid."""
    with open(summary, encoding="utf-8") as file:
        totals = json.load(file)["totals"]
    return totals["calls"], totals["tiled"]


def row(environment, kind, name, rounds):
    summary = os.path.join(environment.home, "search-time.json")
    without, with_it = [], []
    for _ in range(rounds):
        without.append(child(environment, kind, name, False, os.devnull))
        if os.path.exists(summary):
            os.remove(summary)
        with_it.append(child(environment, kind, name, True, summary))
        calls, tiled = seen(summary)
        if calls == 0:
            sys.exit(f"search_time: {kind}, {name}: the library saw no call")
    added = statistics.median(with_it) / statistics.median(without) - 1
    print(f"| {kind} | {name} | {min(without):.2f} / {statistics.median(without):.2f} | {min(with_it):.2f} / "
          f"{statistics.median(with_it):.2f} | {added:+.2f} | {tiled} of {calls} |", flush=True)
    return added <= LIMIT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch")
    parser.add_argument("--jax")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print((torch_layer if options.child[0] == "PyTorch" else jax_program)(options.child[1]))
        return 0
    module, met = frameworks(), True
    print("| framework | what | alone, s (least / median) | with the library, s | adds, times | calls tiled |\n|---|---|---|---|---|---|", flush=True)
    for kind, name, venv, names in (("PyTorch", "torch-2.15", options.torch, LAYERS), ("JAX", "jax-0.10", options.jax, PROGRAMS)):
        for what in names if venv else ():
            met &= row(module.Environment(name, venv, os.path.abspath(options.build)), kind, what, options.rounds)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
