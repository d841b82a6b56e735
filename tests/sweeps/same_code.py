#!/usr/bin/env python3
"""same_code.py BUILD [GPU...]: do tiles run the code of the untiled plan?

cuDNN plans fused convolutions (convolution + swish, channels last) and their tiles of rows on the same engine with the same
knobs, without a device. For engines that are compiled at run time, the public JSON of a plan contains the generated code.
This sweep compares hashes and lengths of that code and decodes nothing. It prints a table: GPU, layer, engine, and for each
tiling `same`, `differs` (other code of one length) or `length` (another length). `none` is a JSON without code.

Fails if planning one thing twice gives two codes, because then the comparison has no meaning. Differences are results, not
failures: docs/design/tiles.md states the conclusions. LAYERS=N takes the first N layers. The last lines are TAP.
"""
import ctypes
import hashlib
import json
import os
import sys

from predict import ROOT, cudnn

LAYERS = ((128, 128, 128, 128), (64, 96, 200, 200), (32, 32, 96, 96))  # channels in, channels out, H, W
TILINGS = (2, 4)  # tiles along H
HALF, FLOAT = 2, 0  # cudnnDataType_t


class Refused(Exception):
    """A status of cuDNN's."""


class Cudnn:
    def __init__(self, build):
        # Stands for the driver, of which cuDNN needs the name to compile.
        ctypes.CDLL(os.path.join(os.path.realpath(build), "stand_ins/libcuda.so.1"), ctypes.RTLD_GLOBAL)
        folder = cudnn()
        self.lib = ctypes.CDLL(os.path.join(folder[1], "libcudnn.so.9") if folder else "libcudnn.so.9")
        self.made = []

    def check(self, status):
        if status:
            raise Refused(status)

    def make(self, kind):
        made = ctypes.c_void_p()
        self.check(self.lib.cudnnBackendCreateDescriptor(kind, ctypes.byref(made)))
        self.made.append(made)
        return made

    def set(self, descriptor, name, kind, values):
        self.check(self.lib.cudnnBackendSetAttribute(descriptor, name, kind, ctypes.c_int64(len(values)), values))

    def finish(self, descriptor):
        self.check(self.lib.cudnnBackendFinalize(descriptor))
        return descriptor

    def get(self, descriptor, name, kind, values):
        count = ctypes.c_int64()
        self.check(self.lib.cudnnBackendGetAttribute(descriptor, name, kind, ctypes.c_int64(len(values) if values else 0),
                                                     ctypes.byref(count), values))
        return count.value

    def clear(self, keep=0):
        while len(self.made) > keep:
            self.lib.cudnnBackendDestroyDescriptor(self.made.pop())


def integers(*values):
    return (ctypes.c_int64 * len(values))(*values)


def numbers(*values):
    return (ctypes.c_int * len(values))(*values)


def descriptors(*values):
    return (ctypes.c_void_p * len(values))(*(value.value for value in values))


class Graph:
    """Operation graphs of convolution and swish, with the strides of the whole layer."""

    def __init__(self, lib, device):
        self.lib, self.device = lib, device

    def tensor(self, uid, dims, strides, virtual=False, dtype=HALF):
        made = self.lib.make(NAMES["CUDNN_BACKEND_TENSOR_DESCRIPTOR"])
        for name, kind, values in (("DATA_TYPE", "DATA_TYPE", numbers(dtype)), ("DIMENSIONS", "INT64", integers(*dims)),
                                   ("STRIDES", "INT64", integers(*strides)), ("UNIQUE_ID", "INT64", integers(uid)),
                                   ("BYTE_ALIGNMENT", "INT64", integers(16))):
            self.lib.set(made, NAMES["CUDNN_ATTR_TENSOR_" + name], NAMES["CUDNN_TYPE_" + kind], values)
        if virtual:
            self.lib.set(made, NAMES["CUDNN_ATTR_TENSOR_IS_VIRTUAL"], NAMES["CUDNN_TYPE_BOOLEAN"], (ctypes.c_bool * 1)(True))
        return self.lib.finish(made)

    def convolution(self, pre, post):
        made = self.lib.make(NAMES["CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR"])
        for name, kind, values in (("COMP_TYPE", "DATA_TYPE", numbers(FLOAT)), ("CONV_MODE", "CONVOLUTION_MODE", numbers(1)),
                                   ("SPATIAL_DIMS", "INT64", integers(2)), ("PRE_PADDINGS", "INT64", integers(*pre)),
                                   ("POST_PADDINGS", "INT64", integers(*post)), ("DILATIONS", "INT64", integers(1, 1)),
                                   ("FILTER_STRIDES", "INT64", integers(1, 1))):
            self.lib.set(made, NAMES["CUDNN_ATTR_CONVOLUTION_" + name], NAMES["CUDNN_TYPE_" + kind], values)
        return self.lib.finish(made)

    def make(self, layer, first, last):
        """Output rows [first, last) of the layer, with the strides of the whole."""
        channels, filters, height, width = layer
        top, bottom = max(first - 1, 0), min(last + 1, height)
        step = (channels * height * width, 1, channels * width, channels)
        out = (filters * height * width, 1, filters * width, filters)
        x = self.tensor(1, (1, channels, bottom - top, width), step)
        w = self.tensor(2, (filters, channels, 3, 3), (9 * channels, 1, 3 * channels, channels))
        between = self.tensor(3, (1, filters, last - first, width), out, True, FLOAT)
        y = self.tensor(4, (1, filters, last - first, width), out)
        conv = self.convolution((1 if first == 0 else 0, 1), (1 if last == height else 0, 1))
        forward = self.lib.make(NAMES["CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR"])
        for name, value in (("X", x), ("W", w), ("Y", between), ("CONV_DESC", conv)):
            self.lib.set(forward, NAMES["CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_" + name], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                         descriptors(value))
        for name, value in (("ALPHA", 1), ("BETA", 0)):
            self.lib.set(forward, NAMES["CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_" + name], NAMES["CUDNN_TYPE_FLOAT"],
                         (ctypes.c_float * 1)(value))
        self.lib.finish(forward)
        kind = self.lib.make(NAMES["CUDNN_BACKEND_POINTWISE_DESCRIPTOR"])
        self.lib.set(kind, NAMES["CUDNN_ATTR_POINTWISE_MODE"], NAMES["CUDNN_TYPE_POINTWISE_MODE"],
                     numbers(NAMES["CUDNN_POINTWISE_SWISH_FWD"]))
        self.lib.set(kind, NAMES["CUDNN_ATTR_POINTWISE_MATH_PREC"], NAMES["CUDNN_TYPE_DATA_TYPE"], numbers(FLOAT))
        self.lib.finish(kind)
        swish = self.lib.make(NAMES["CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR"])
        for name, value in (("PW_DESCRIPTOR", kind), ("XDESC", between), ("YDESC", y)):
            self.lib.set(swish, NAMES["CUDNN_ATTR_OPERATION_POINTWISE_" + name], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                         descriptors(value))
        self.lib.finish(swish)
        graph = self.lib.make(NAMES["CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR"])
        self.lib.set(graph, NAMES["CUDNN_ATTR_OPERATIONGRAPH_OPS"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"], descriptors(forward, swish))
        return self.lib.finish(graph)


def names():
    """The enumerators of cudnn_graph.h and of the headers next to it, as the preprocessor reads them."""
    import re
    import subprocess
    with open(os.path.join(ROOT, "build/config.mk"), encoding="utf-8") as file:
        include = next(line.split(":=")[1].strip() for line in file if line.startswith("CUDNN_INC :="))
    source = subprocess.run(["cc", "-E", "-P", "-I", include, "-include", "cudnn.h", "-x", "c", "/dev/null"], capture_output=True, text=True,
                            check=True).stdout
    found = {}
    for body in re.findall(r"enum\s*\w*\s*\{([^}]*)\}", source):
        value = -1
        for entry in (part.strip() for part in body.split(",")):
            match = re.match(r"(CUDNN_\w+)(?:\s+__attribute__\s*\(\(.*?\)\))?(?:\s*=\s*(-?\w+))?$", entry)
            if match:
                number = re.match(r"-?(0x[0-9a-fA-F]+|\d+)", match[2] or "")
                value = int(number[0], 0) if number else found.get(match[2], value + 1)
                found[match[1]] = value
    return found


NAMES = names()


def code_of(lib, plan):
    """The hash and the length of the names and the code of a plan's kernels in its JSON; None if the JSON has no code."""
    name, kind = NAMES["CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION"], NAMES["CUDNN_TYPE_CHAR"]
    text = ctypes.create_string_buffer(lib.get(plan, name, kind, None))
    lib.get(plan, name, kind, text)
    kernels = json.loads(text.raw.rstrip(b"\0"))["engine"].get("payload", {}).get("kernels", [])
    code = "".join(kernel["kernelName"] + kernel["cubin"] for kernel in kernels if kernel.get("cubin"))
    return (hashlib.sha256(code.encode()).hexdigest(), len(code)) if code else None


class Planner:
    def __init__(self, lib, gpu):
        self.lib = lib
        with open(os.path.join(ROOT, "conf/devices", gpu + ".json"), encoding="utf-8") as file:
            profile = json.load(file)
        text = json.dumps({key: value for key, value in profile.items() if key not in ("source", "memoryBusWidth")}).encode()
        self.device = lib.make(NAMES["CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR"])
        lib.set(self.device, NAMES["CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION"], NAMES["CUDNN_TYPE_CHAR"],
                ctypes.create_string_buffer(text, len(text)))
        lib.finish(self.device)
        self.graphs = Graph(lib, self.device)
        self.kept = len(lib.made)

    def device_of(self, descriptor, name):
        self.lib.set(descriptor, NAMES[name], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"], descriptors(self.device))

    def plan(self, configuration):
        plan = self.lib.make(NAMES["CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR"])
        self.device_of(plan, "CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP")
        self.lib.set(plan, NAMES["CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                     descriptors(configuration))
        return self.lib.finish(plan)

    def offers(self, layer):
        """The engines that the heuristics offer for the untiled layer, each with the knobs of its first offer."""
        heuristics = self.lib.make(NAMES["CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR"])
        self.lib.set(heuristics, NAMES["CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                     descriptors(self.graphs.make(layer, 0, layer[2])))
        self.lib.set(heuristics, NAMES["CUDNN_ATTR_ENGINEHEUR_MODE"], NAMES["CUDNN_TYPE_HEUR_MODE"], numbers(NAMES["CUDNN_HEUR_MODE_A"]))
        self.device_of(heuristics, "CUDNN_ATTR_ENGINEHEUR_DEVICEPROP")
        self.lib.finish(heuristics)
        offered = [self.lib.make(NAMES["CUDNN_BACKEND_ENGINECFG_DESCRIPTOR"]) for _ in range(24)]
        count = self.lib.get(heuristics, NAMES["CUDNN_ATTR_ENGINEHEUR_RESULTS"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                             descriptors(*offered))
        first = {}
        for index, choices in map(self.read, offered[:count]):
            first.setdefault(index, choices)
        return first.items()

    def read(self, configuration):
        engine = self.lib.make(NAMES["CUDNN_BACKEND_ENGINE_DESCRIPTOR"])
        self.lib.get(configuration, NAMES["CUDNN_ATTR_ENGINECFG_ENGINE"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"], descriptors(engine))
        index = integers(0)
        self.lib.get(engine, NAMES["CUDNN_ATTR_ENGINE_GLOBAL_INDEX"], NAMES["CUDNN_TYPE_INT64"], index)
        knobs = [self.lib.make(NAMES["CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR"]) for _ in range(32)]
        count = self.lib.get(configuration, NAMES["CUDNN_ATTR_ENGINECFG_KNOB_CHOICES"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                             descriptors(*knobs))
        choices = []
        for knob in knobs[:count]:
            kind, value = numbers(0), integers(0)
            self.lib.get(knob, NAMES["CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE"], NAMES["CUDNN_TYPE_KNOB_TYPE"], kind)
            self.lib.get(knob, NAMES["CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE"], NAMES["CUDNN_TYPE_INT64"], value)
            choices.append((kind[0], value[0]))
        return index[0], tuple(choices)

    def code(self, layer, first, last, index, choices):
        """The code of a plan for some rows, on this engine with these knobs."""
        engine = self.lib.make(NAMES["CUDNN_BACKEND_ENGINE_DESCRIPTOR"])
        self.lib.set(engine, NAMES["CUDNN_ATTR_ENGINE_OPERATION_GRAPH"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                     descriptors(self.graphs.make(layer, first, last)))
        self.lib.set(engine, NAMES["CUDNN_ATTR_ENGINE_GLOBAL_INDEX"], NAMES["CUDNN_TYPE_INT64"], integers(index))
        self.device_of(engine, "CUDNN_ATTR_ENGINE_DEVICEPROP")
        self.lib.finish(engine)
        configuration = self.lib.make(NAMES["CUDNN_BACKEND_ENGINECFG_DESCRIPTOR"])
        self.lib.set(configuration, NAMES["CUDNN_ATTR_ENGINECFG_ENGINE"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"], descriptors(engine))
        knobs = []
        for kind, value in choices:
            knob = self.lib.make(NAMES["CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR"])
            self.lib.set(knob, NAMES["CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE"], NAMES["CUDNN_TYPE_KNOB_TYPE"], numbers(kind))
            self.lib.set(knob, NAMES["CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE"], NAMES["CUDNN_TYPE_INT64"], integers(value))
            knobs.append(self.lib.finish(knob))
        if knobs:
            self.lib.set(configuration, NAMES["CUDNN_ATTR_ENGINECFG_KNOB_CHOICES"], NAMES["CUDNN_TYPE_BACKEND_DESCRIPTOR"],
                         descriptors(*knobs))
        self.lib.finish(configuration)
        return code_of(self.lib, self.plan(configuration))


def compared(whole, tile):
    if tile is None or whole is None:
        return "none"
    return "same" if tile == whole else "differs" if tile[1] == whole[1] else "length"


def outcome(planner, layer, tiles, engine, whole):
    """The first of `tiles` tiles, and an inner one, against the untiled code."""
    rows = -(-layer[2] // tiles)
    found = []
    for first in (0, rows) if tiles > 2 else (0,):
        try:
            found.append(compared(whole, planner.code(layer, first, min(first + rows, layer[2]), *engine)))
        except Refused as refused:
            found.append(f"refused {refused}")
    return "/".join(found)


def sweep(lib, gpu):
    """The numbers of plans with code, and of those with another code the second time."""
    planned = unsteady = 0
    planner = Planner(lib, gpu)
    for layer in LAYERS[:int(os.environ.get("LAYERS", len(LAYERS)))]:
        for engine in planner.offers(layer):
            try:
                whole = planner.code(layer, 0, layer[2], *engine)
                again = planner.code(layer, 0, layer[2], *engine)
            except Refused:
                continue
            planned += whole is not None
            unsteady += whole != again
            row = [outcome(planner, layer, tiles, engine, whole) for tiles in TILINGS]
            print(f"{gpu:8} {layer[0]:4} -> {layer[1]:4} {layer[2]}x{layer[3]}  engine {engine[0]:3}  code "
                  f"{whole[1] if whole else 0:7}  " + "  ".join(f"{tiles} tiles: {text}" for tiles, text in zip(TILINGS, row)), flush=True)
            lib.clear(planner.kept)
    lib.clear()
    return planned, unsteady


def main():
    lib = Cudnn(sys.argv[1])
    gpus = sys.argv[2:] or ["a100", "h200", "rtx4090", "b200"]
    failed = False
    for number, gpu in enumerate(gpus, 1):
        planned, unsteady = sweep(lib, gpu)
        failed |= not planned or unsteady > 0
        print(f"{'ok' if planned and not unsteady else 'not ok'} {number} - {gpu}: the code of {planned} plans is the same when"
              f" they are planned again, of {unsteady} it is not")
    print(f"1..{len(gpus)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
