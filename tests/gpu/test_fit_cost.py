#!/usr/bin/env python3
"""Tests of scripts/fit-cost without a GPU, as TAP: test_fit_cost.py BUILD_DIR."""

import importlib.machinery
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from tap import main, same, test  # noqa: E402

SCRIPT = os.path.join(ROOT, "scripts", "fit-cost")
loader = importlib.machinery.SourceFileLoader("fit_cost", SCRIPT)
fit_cost = importlib.util.module_from_spec(importlib.util.spec_from_loader("fit_cost", loader))
loader.exec_module(fit_cost)

TABLE = os.path.join(ROOT, "src", "decide", "cost.def")
TRUTH = {"kernel_us": 6.5, "overlap": 0.8}
SHAPES = (
    "1x512x256x256 -> 512 k3x3 s1 p1 f16 nchw",
    "1x256x512x512 -> 128 k3x3 s1 p1 f32 nchw",
    "2x32x128x128x128 -> 32 k3x3x3 s1 p1 f16 ncdhw",
    "64x256x56x56 -> 512 k1x1 s2 p0 f16 nchw dgrad",
)


def rows():
    """Tilings of one axis and of two, on one lane and two, whose tensors are all converted."""
    found = []
    for text in SHAPES:
        first = "N" if text.startswith("64") else "D" if "ncdhw" in text else "H"
        for axis, tiles, step in ((first, 2, [0, 0]), (first, 8, [0, 0]), (first, 32, [0, 0]), ("ND", 8, [1, 32])):
            for lanes in (1, 2):
                if axis != "ND" or "ncdhw" in text:
                    tiling = {"axis": axis, "tiles": tiles if axis != "ND" else 8, "step": step, "lanes": lanes}
                    found.append({"text": text, **tiling, "required": 1 << 28, "reported": (1 << 28) * lanes // tiles})
    return found


def measured(folder, profile):
    """The rows with the times of a GPU that has the coefficients of TRUTH."""
    pairs = [fit_cost.Pair(profile, {**row, "ratio": 1, "untiled_us": 1}) for row in rows()]
    with fit_cost.Predictor(BUILD, folder, pairs) as predictor:
        times = predictor.microseconds(TRUTH)
    return [
        {**row, "tiled": True, "untiled_us": untiled, "with_us": tiled}
        for row, untiled, tiled in zip(rows(), times[::2], times[1::2])
        if not math.isnan(tiled)
    ]


def fit(folder, results, *options):
    path, out = os.path.join(folder, "results.json"), os.path.join(folder, "cost.def")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file)
    argv = [sys.executable, SCRIPT, "--build", BUILD, "--out", out, *options, path]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    values = {}
    if done.returncode == 0:
        with open(out, encoding="utf-8") as file:
            values = {match[1]: float(match[2]) for match in fit_cost.ROW.finditer(file.read())}
    return done, values


def h200():
    path = os.path.join(ROOT, "conf", "devices", "h200.json")
    with open(path, encoding="utf-8") as file:
        return path, json.load(file)


@test
def coefficients_are_found_from_ratios_of_one_axis_and_two():
    path, profile = h200()
    with tempfile.TemporaryDirectory() as folder:
        points = measured(folder, profile)
        assert any(len(point["axis"]) == 2 for point in points), "no tiling of two axes"
        keep = "dram_share,convert_rate,strided_rate,tensor_share,warp_share,lane_us,filter_tile"
        done, values = fit(folder, {"layers": points}, "--profile", path, "--keep", keep)
    same(done.returncode, 0)
    for name, value in TRUTH.items():
        assert abs(values[name] / value - 1) < 0.05, f"{name}: {values[name]}, not {value}"
    assert float(re.search(r"after: a factor of ([\d.]+)", done.stdout)[1]) < 1.01, done.stdout


@test
def a_coefficient_that_no_point_depends_on_keeps_its_value():
    path, profile = h200()
    with open(TABLE, encoding="utf-8") as file:
        before = {match[1]: float(match[2]) for match in fit_cost.ROW.finditer(file.read())}
    with tempfile.TemporaryDirectory() as folder:
        _, values = fit(folder, {"layers": measured(folder, profile)}, "--profile", path)
    same(values["other_engine"], before["other_engine"])


@test
def results_of_the_simulated_device_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        done, _ = fit(folder, {"gpu": {"simulated": True, "profile": "{}"}, "convolutions": []})
    same(done.returncode, 1)
    assert "simulated device" in done.stderr, done.stderr


@test
def results_without_a_profile_or_without_tilings_are_refused():
    path, _ = h200()
    with tempfile.TemporaryDirectory() as folder:
        done, _ = fit(folder, {"layers": []})
        assert done.returncode == 1 and "no profile" in done.stderr, done.stderr
        done, _ = fit(folder, {"layers": []}, "--profile", path)
        assert done.returncode == 1 and "no tilings" in done.stderr, done.stderr


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    sys.exit(main())
