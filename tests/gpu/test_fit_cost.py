#!/usr/bin/env python3
"""Tests of scripts/fit-cost and of suite/prediction.py without a GPU, as TAP: test_fit_cost.py BUILD_DIR."""

import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from suite import part_layers, prediction  # noqa: E402
from tap import main, same, test  # noqa: E402

TABLE = os.path.join(ROOT, "src", "decide", "cost.def")
TRUTH = {
    "dram_share": 0.7,
    "l2_rate": 20.0,
    "l2_share": 0.35,
    "tensor_share": 0.45,
    "fma_share": 0.55,
    "kernel_us": 5.5,
    "overlap": 0.8,
    "lane_us": 21.0,
}


def device(name):
    with open(os.path.join(ROOT, "conf", "devices", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def synthetic_points(lanes=(1, 2)):
    """Layers of the list, whole and in tiles, with a workspace as of engines that convert, or none."""
    path = os.path.join(ROOT, "tests", "data", "conv_layers.csv")
    points = []
    for layer in part_layers.choose(part_layers.read_layers(path), 60):
        shape = {name: int(layer[name]) for name in prediction.SHAPE}
        for dtype, layout in (("f16", "nchw"), ("f16", "nhwc"), ("f32", "nhwc"), ("f32", "nchw")):
            bytes_ = part_layers.moved_elements(layer) * part_layers.DTYPE_BYTES[dtype]
            head = {
                "model": layer["model"],
                "layer": layer["layer"],
                "api": "graph",
                "dir": "fwd",
                "dtype": dtype,
                "layout": layout,
                "shape": shape,
            }
            workspace = bytes_ if layout == "nchw" else 0
            points.append({**head, **prediction.UNTILED, "workspace": workspace})
            for tiles in (2, 8, 16):
                for count in lanes:
                    tiling = {"axis": "H", "tiles": tiles, "lanes": min(count, tiles)}
                    points.append({**head, **tiling, "workspace": workspace * count // tiles})
    return points


def measured(profile, points, coefficients, noise=0.0):
    """The points with the times that a GPU with these coefficients would take."""
    numbers = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        with prediction.Predictor(BUILD, folder, [(profile, points)]) as predictor:
            times = predictor.microseconds(coefficients)
    return [
        {**point, "us": time * math.exp(numbers.gauss(0, noise))}
        for point, time in zip(points, times)
        if not math.isnan(time)
    ]


def fit(folder, results, *options):
    paths = []
    for name, (profile, points) in results.items():
        paths.append(os.path.join(folder, name + ".json"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            json.dump({"simulated": False, "predictions": {"profile": profile, "points": points}}, file)
    out = os.path.join(folder, "cost.def")
    done = subprocess.run(
        [os.path.join(ROOT, "scripts", "fit-cost"), "--build", BUILD, "--out", out, *options, *paths],
        capture_output=True,
        text=True,
        timeout=500,
    )
    if done.returncode != 0:
        return done, None
    with open(out, encoding="utf-8") as file:
        return done, file.read()


def values(text):
    rows = re.findall(r"^CS_COST\((\w+), ([^,]+),", text, re.M)
    return {name: float(value) for name, value in rows}


def defaults():
    with open(TABLE, encoding="utf-8") as file:
        return values(file.read())


@test
def known_coefficients_are_found():
    h200, ada = device("h200"), device("rtx4090")
    with tempfile.TemporaryDirectory() as folder:
        points = synthetic_points()
        results = {"a": (h200, measured(h200, points, TRUTH)), "b": (ada, measured(ada, points, TRUTH))}
        assert len(results["a"][1]) > 500, len(results["a"][1])
        done, text = fit(folder, results)
        assert done.returncode == 0, done.stderr
    found = values(text)
    # Constants that no measurement covers, since every tile ran the client's own engine, are unchanged.
    untold = {"kernel_us_most", "other_knobs", "other_engine"}
    same(set(found), set(TRUTH) | untold)
    same({name: found[name] for name in untold}, {name: defaults()[name] for name in untold})
    for name, wanted in TRUTH.items():
        assert abs(found[name] - wanted) <= 0.02 * wanted, f"{name}: {found[name]}, not {wanted}\n{done.stdout}"
    assert "NVIDIA GeForce RTX 4090, NVIDIA H200" in text, text
    same(len(text.splitlines()) > 10 and max(map(len, text.splitlines())) <= 140, True)


@test
def measurements_that_scatter_give_nearly_the_same():
    h200 = device("h200")
    with tempfile.TemporaryDirectory() as folder:
        done, text = fit(folder, {"a": (h200, measured(h200, synthetic_points(), TRUTH, noise=0.05))})
        assert done.returncode == 0, done.stderr
    found = values(text)
    for name in ("dram_share", "tensor_share", "fma_share"):
        assert abs(found[name] - TRUTH[name]) <= 0.05 * TRUTH[name], f"{name}: {found[name]}\n{done.stdout}"


@test
def what_no_point_depends_on_keeps_its_value():
    h200 = device("h200")
    with tempfile.TemporaryDirectory() as folder:
        points = [point for point in synthetic_points(lanes=(1,)) if point["dtype"] == "f16"]
        done, text = fit(folder, {"a": (h200, measured(h200, points, TRUTH))})
        assert done.returncode == 0, done.stderr
    found, usual = values(text), defaults()
    for name in ("overlap", "lane_us", "fma_share"):
        same(found[name], usual[name])
        assert re.search(rf"^{name} .*no point depends on it$", done.stdout, re.M), done.stdout
    assert found["tensor_share"] != usual["tensor_share"]
    assert "No point depends on fma_share, kernel_us_most, overlap, lane_us" in " ".join(text.replace(" * ", " ").split()), text


@test
def a_table_that_was_fitted_can_be_fitted_again():
    h200 = device("h200")
    with tempfile.TemporaryDirectory() as folder:
        results = {"a": (h200, measured(h200, synthetic_points()[::9], TRUTH))}
        _, once = fit(folder, results)
        table = os.path.join(folder, "table.def")
        with open(table, "w", encoding="utf-8") as file:
            file.write(once)
        _, twice = fit(folder, results, "--table", table)
    same(values(twice), values(once))
    same(once.count("Fitted to:"), 1)
    same(twice.count("Fitted to:"), 1)


@test
def simulated_times_and_empty_results_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results.json")
        for results, words in (
            ({"simulated": True, "predictions": {"profile": {}, "points": [{}]}}, "simulated"),
            ({"simulated": False}, "no points to fit to"),
        ):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(results, file)
            before = os.path.getmtime(TABLE)
            done = subprocess.run(
                [os.path.join(ROOT, "scripts", "fit-cost"), "--build", BUILD, path], capture_output=True, text=True
            )
            same((done.returncode, words in done.stderr), (1, True))
            same(os.path.getmtime(TABLE), before)


@test
def rank_correlation_of_known_lists():
    same(prediction.spearman([1, 2, 3, 4], [10, 20, 30, 1000]), 1.0)
    same(prediction.spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1.0)
    same(prediction.spearman([1, 2], [1, 2]), None)
    same(prediction.spearman([1, 2, 3], [5, 5, 5]), None)
    same(prediction.ranks([30, 10, 20, 10]), [4.0, 1.5, 3.0, 1.5])
    # Two neighbours of five changed places: 1 - 6 * 2 / (5 * 24).
    assert abs(prediction.spearman([1, 2, 3, 4, 5], [1, 3, 2, 4, 5]) - 0.9) < 1e-12


def measured_point(layer, axis, us, predicted):
    tiling = {"axis": axis, "tiles": 1 if axis == "-" else 4, "lanes": 1}
    head = {"model": "m", "layer": layer, "dir": "fwd", "dtype": "f16", "layout": "nchw", "api": "graph"}
    return {**head, **tiling, "workspace": 0, "shape": {}, "us": us, "predicted_us": predicted}


@test
def order_of_times_and_of_what_tiles_cost():
    points = [
        measured_point("a", "-", 100, 10),
        measured_point("b", "-", 200, 40),
        measured_point("c", "-", 300, 45),
        measured_point("a", "H", 110, 12),
        measured_point("b", "H", 210, 42),
        measured_point("c", "H", 600, 90),
        measured_point("d", "H", 700, 91),  # whose untiled call was not measured
    ]
    result = prediction.rank(points)
    same((result["points"], result["tilings"], result["times"]), (7, 3, 1.0))
    # Measured 1.10, 1.05, 2; predicted 1.2, 1.05, 2: the same order.
    same(result["ratios"], 1.0)
    points[3]["predicted_us"] = 10.1
    assert prediction.rank(points)["ratios"] < 1
    # A measurement that comes again under another cap counts once; another tiling is another point.
    same(len(prediction.distinct(points + [dict(points[0], us=101)])), 7)
    same(len(prediction.distinct(points + [dict(points[3], tiles=5)])), 8)


@test
def tilings_are_read_from_summaries():
    def site(x, w, padding, axis, tiles, **others):
        problem = {"direction": "forward", "dtype": "f16", "layout": "nchw" if x[2] == 1 else "ncdhw", "steps": 0, "groups": 1}
        problem.update(x={"dims": x}, w={"dims": w}, padding=padding, stride=[1, 1, 1], dilation=[1, 1, 1])
        decision = {"axis": axis, "tiles": tiles, "lanes": 1, "staged": False} if axis else None
        decision and decision.update((name, others.pop(name)) for name in list(others) if name in decision)
        return {"problem": {**problem, **others}, "decision": decision, "rule": None}

    flat = [[0, 1, 1], [0, 1, 1]]
    found = [
        site([1, 512, 1, 64, 64], [512, 512, 1, 3, 3], flat, "H", 4),
        site([2, 16, 8, 32, 32], [24, 8, 3, 1, 1], [[1, 0, 0]] * 2, "N", 2, lanes=2, groups=2, stride=[1, 2, 2], dtype="bf16"),
        site([2, 512, 16, 16, 16], [256, 512, 3, 3, 3], [[1, 1, 1]] * 2, "ND", 32),
        site([1, 4, 1, 64, 64], [512, 4, 1, 3, 3], [[0, 1, 0], [0, 1, 1]], "H", 2),
        site([1, 4, 1, 64, 64], [512, 4, 1, 3, 3], flat, None, 1),
        site([1, 5, 1, 64, 64], [512, 5, 1, 3, 3], flat, "H", 2, staged=True),
        site([1, 6, 1, 64, 64], [512, 6, 1, 3, 3], flat, "H", 2, direction="dgrad"),
        site([1, 7, 1, 64, 64], [512, 7, 1, 3, 3], flat, "H", 2, dilation=[1, 2, 2]),
        {**site([1, 8, 1, 64, 64], [512, 8, 1, 3, 3], flat, "H", 2), "rule": "mine"},
    ]
    same(
        prediction.sites([{"sites": found[:3]}, {"sites": found[3:]}]),
        {
            (1, 512, 1, 64, 64, 512, 1, 3, 3, 1, 1, 1, 0, 1, 1, 1, "f16", "nchw"): {
                "axis": "H",
                "tiles": 4,
                "lanes": 1,
            },
            (2, 16, 8, 32, 32, 24, 3, 1, 1, 1, 2, 2, 1, 0, 0, 2, "bf16", "nchw"): {
                "axis": "N",
                "tiles": 2,
                "lanes": 2,
            },
        },
    )


@test
def points_that_are_none_are_refused():
    predict = os.path.join(BUILD, "gpu", "predict")
    good = "H200 900 132 1980000 3201000 6144 62914560 fwd f16 nchw 1 64 1 64 64 64 1 3 3 1 1 1 0 1 1 1 H 4 1 1000"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "points")

        def ask(line, coefficients):
            with open(path, "w", encoding="utf-8") as file:
                file.write(line + "\n")
            done = subprocess.run([predict, path], input=coefficients, capture_output=True, text=True)
            return done.returncode, done.stdout

        status, answer = ask(good, "\nkernel_us=50\n")
        same(status, 0)
        first, second = map(float, answer.split())
        assert 0 < first < second
        # Sixteen kernels, each with 47 microseconds more.
        assert abs(second - first - 16 * 47e-6) < 1e-12, answer
        same(ask(good.replace("H 4 1", "H 65 1"), "\n"), (0, "nan\n"))
        for line in (good[:-5], good.replace("f16", "f8"), good.replace("H 4 1", "Q 4 1"), good + "x"):
            same(ask(line, "\n"), (1, ""))
        for coefficients in ("kernel_us=1000\n", "speed=1\n", "kernel_us\n"):
            same(ask(good, coefficients), (1, ""))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_fit_cost.py BUILD_DIR")
    BUILD = os.path.abspath(sys.argv[1])
    sys.exit(main())
