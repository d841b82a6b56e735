#!/usr/bin/env python3
"""Compares the cost model with the times in docs/results/gpu-*.json, as TAP: times.py BUILD_DIR.

A layer is a tiling that was measured, with its time relative to the untiled convolution. Another GPU joins by its file, whose `gpu` has
the name of a profile in conf/devices, or a `profile`. The list `engines` of a file contains facts about engine numbers, from cuDNN.
"""

import glob
import importlib.machinery
import importlib.util
import json
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from tap import main, same, test  # noqa: E402

loader = importlib.machinery.SourceFileLoader("fit_cost", os.path.join(ROOT, "scripts", "fit-cost"))
fit_cost = importlib.util.module_from_spec(importlib.util.spec_from_loader("fit_cost", loader))
loader.exec_module(fit_cost)

CLASS_BOUND = 1.05  # of the geometric mean of measured / predicted, and its reciprocal
LAYER_BOUND, LAYER_SHARE = 1.2, 0.9
OLD = {"kernel_us": 10, "overlap": 0.5}  # assumed before a GPU was measured


def profile_of(name):
    for path in sorted(glob.glob(os.path.join(ROOT, "conf", "devices", "*.json"))):
        with open(path, encoding="utf-8") as file:
            profile = json.load(file)
        if profile["deviceName"] == name:
            return profile
    return None


def results():
    """The layers of each file, as pairs of fit-cost."""
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "results", "gpu-*.json"))):
        with open(path, encoding="utf-8") as file:
            name = json.load(file)["gpu"]["name"]
        yield os.path.basename(path), fit_cost.read_results([path], profile_of(name))


def compared(pairs, coefficients=None):
    """(pair, predicted ratio) of each layer."""
    with tempfile.TemporaryDirectory() as folder, fit_cost.Predictor(BUILD, folder, pairs) as predictor:
        times = predictor.microseconds(coefficients)
    found = [(pair, tiled / untiled) for pair, untiled, tiled in zip(pairs, times[::2], times[1::2])]
    assert not any(math.isnan(ratio) for _, ratio in found), "the planner does not make a measured tiling"
    return found


def classes_of(row):
    """A layer's type, direction, lanes and axis, each alone, and the first three together."""
    words = row["text"].split()
    direction = words[-1] if words[-1].endswith("grad") else "fwd"
    kind = "f32" if "f32" in words else "16-bit"
    lanes = f"{row['lanes']} lane" + ("s" if row["lanes"] > 1 else "")
    return [kind, direction, lanes, f"axis {row['axis']}", f"{kind} {direction} {lanes}"]


def by_class(layers):
    """The logarithms of measured / predicted, by class."""
    found = {}
    for pair, ratio in layers:
        for name in classes_of(pair.row):
            found.setdefault(name, []).append(math.log(pair.ratio / ratio))
    return found


def mean(values):
    return math.exp(sum(values) / len(values))


def outside(layers):
    """The classes whose mean is out of bounds."""
    return [name for name, values in by_class(layers).items() if abs(math.log(mean(values))) > math.log(CLASS_BOUND)]


@test
def each_class_takes_the_predicted_time():
    for name, pairs in results():
        assert len(pairs) >= 10, f"{name} has {len(pairs)} layers that can be predicted"
        layers = compared(pairs)
        for label, values in sorted(by_class(layers).items()):
            spread = math.exp(math.sqrt(sum(value * value for value in values) / len(values)))
            print(f"# {name}: {label}: {len(values)} layers, measured / predicted {mean(values):.3f}, spread {spread:.3f}")
        same(outside(layers), [])


@test
def nine_of_ten_layers_take_the_predicted_time():
    for name, pairs in results():
        layers = compared(pairs)
        far = [pair for pair, ratio in layers if abs(math.log(pair.ratio / ratio)) > math.log(LAYER_BOUND)]
        for pair in far:
            print(f"# {name}: {pair.row['text']}, {pair.row['axis']} x {pair.row['tiles']}: measured {pair.ratio:.2f}")
        assert len(far) <= (1 - LAYER_SHARE) * len(layers), f"{name}: {len(far)} of {len(layers)}"


@test
def no_measured_layer_is_predicted_to_be_faster_than_untiled():
    for name, pairs in results():
        same((name, [pair.lines[1] for pair, ratio in compared(pairs) if ratio < 1]), (name, []))


@test
def the_constants_before_the_first_gpu_do_not_pass():
    for _, pairs in results():
        assert outside(compared(pairs, OLD)), "no class is out of bounds"


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    sys.exit(main())
