"""The cost model's predictions for the measured layers, and how well they order the measured times.

A point is a dict: model, layer, dir, dtype, layout, api; shape (n c d h w k kd kh kw sd sh sw pd ph pw groups); axis,
tiles, lanes of the tiling ("-", 1, 1 for the untiled call); workspace in bytes; us, measured. The model itself runs in build/gpu/predict.
"""

import json
import math
import os
import re
import subprocess

from . import compare

SHAPE = "n c d h w k kd kh kw sd sh sw pd ph pw groups".split()
PROFILE = (
    "deviceVer",
    "multiProcessorCount",
    "smClockRateKHz",
    "memClockRateKHz",
    "memoryBusWidth",
    "l2CacheSize",
)
UNTILED = {"axis": "-", "tiles": 1, "lanes": 1}

class Predictor:
    """Queries the model about points on a GPU, any number of times: a context manager around one child."""

    def __init__(self, build, folder, points_by_profile):
        """`points_by_profile`: pairs of a profile (a dict with cuDNN's keys) and a list of points."""
        path = os.path.join(folder, "points")
        with open(path, "w", encoding="utf-8") as file:
            for profile, points in points_by_profile:
                file.writelines(_line(profile, point) for point in points)
        self._child = subprocess.Popen(
            [os.path.join(build, "gpu", "predict"), path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait()

    def microseconds(self, coefficients=None):
        """One number a point, nan for a tiling that cannot be made; with the defaults unless given otherwise."""
        line = " ".join(f"{name}={value!r}" for name, value in (coefficients or {}).items())
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer:
            raise RuntimeError(f"predict ended with status {self._child.wait()}")
        return [1e6 * float(word) for word in answer.split()]


def _line(profile, point):
    name = re.sub(r"\s+", "_", profile.get("deviceName") or "unknown")
    words = [name[:60]] + [int(profile.get(key) or 0) for key in PROFILE]
    layout = "nhwc" if point["layout"].endswith("c") else "nchw"  # ndhwc, ncdhw
    words += [point["dir"], point["dtype"], layout] + [point["shape"][key] for key in SHAPE]
    words += [point[key] for key in ("axis", "tiles", "lanes", "workspace")]
    return " ".join(map(str, words)) + "\n"


def ranks(values):
    """1 for the least; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            found[place] = (start + end) / 2 + 1
        start = end + 1
    return found


def spearman(a, b):
    """Rank correlation; None for fewer than three values or where all of one list are equal."""
    if len(a) < 3:
        return None
    x, y = ranks(a), ranks(b)
    middle = (len(a) + 1) / 2
    over = sum((p - middle) * (q - middle) for p, q in zip(x, y))
    under = math.sqrt(sum((p - middle) ** 2 for p in x) * sum((q - middle) ** 2 for q in y))
    return over / under if under > 0 else None


def sites(summaries):
    """{(shape, dtype, layout): {axis, tiles, lanes}} of the convolutions that are cut along one axis by convshim's summaries.

    Forward, alone, symmetric padding and no dilation, as in our lists. Convolutions that are cut along two axes or
    by a rule, and copied tiles, are left out.
    """
    found = {}
    for site in (site for summary in summaries for site in summary["sites"]):
        problem, tiling = site["problem"], site["decision"]
        before, after = problem["padding"]
        if tiling is None or len(tiling["axis"]) != 1 or tiling["staged"] or site["rule"]:
            continue
        if problem["direction"] != "forward" or before != after or max(problem["dilation"]) > 1 or problem["steps"]:
            continue
        kernel = problem["w"]["dims"]
        shape = problem["x"]["dims"] + kernel[:1] + kernel[2:] + problem["stride"] + before + [problem["groups"]]
        layout = {"ncdhw": "nchw", "ndhwc": "nhwc"}.get(problem["layout"], problem["layout"])
        found[(*shape, problem["dtype"], layout)] = {name: tiling[name] for name in ("axis", "tiles", "lanes")}
    return found


def points_of(entry):
    """The measured points of a variant of part B: each layer untiled, and tiled where a summary has the tiling."""
    points = []
    for pair in entry["pairs"]:
        shape = entry["shapes"].get((pair["model"], pair["layer"]))
        if shape is None:
            continue
        head = {key: pair[key] for key in ("model", "layer", "dtype", "layout", "api")}
        head.update(dir="fwd", shape=shape)
        tiling = entry["sites"].get((*(shape[key] for key in SHAPE), pair["dtype"], pair["layout"]))
        if pair["us_before"] is not None:
            points.append({**head, **UNTILED, "workspace": pair["workspace_before"], "us": pair["us_before"]})
        if pair["us_after"] is not None and tiling and compare.reduced([pair]):
            points.append({**head, **tiling, "workspace": pair["workspace_after"], "us": pair["us_after"]})
    return points


def distinct(points):
    """Each (layer, tiling) once: the untiled calls were measured once for all caps."""
    found = {}
    for point in points:
        key = tuple(value for name, value in point.items() if name not in ("shape", "us"))
        found.setdefault(key, point)
    return list(found.values())


def ratios(points):
    """(predicted, measured) of the tiled time over the untiled one, for every tiled point."""
    whole = {_call(point): point for point in points if point["axis"] == "-"}
    pairs = [(point, whole.get(_call(point))) for point in points if point["axis"] != "-"]
    return [
        (tiled["predicted_us"] / plain["predicted_us"], tiled["us"] / plain["us"])
        for tiled, plain in pairs
        if plain is not None
    ]


def _call(point):
    return tuple(point[name] for name in ("model", "layer", "dtype", "layout", "api"))


def rank(points):
    """How well predictions order the measurements: of all times, and of the cost of tiles."""
    tiled = ratios(points)
    return {
        "points": len(points),
        "times": spearman([p["predicted_us"] for p in points], [p["us"] for p in points]),
        "tilings": len(tiled),
        "ratios": spearman([predicted for predicted, _ in tiled], [measured for _, measured in tiled]),
        "median_factor": compare.median(
            [max(p["predicted_us"] / p["us"], p["us"] / p["predicted_us"]) for p in points]
        ),
    }


def card_profile(suite):
    """The GPU's own description; the bus width, which cuDNN's does not have, from conf/devices."""
    path = suite.work("profile.json")
    if not os.path.exists(path):
        outcome = suite.measure_c("profile", ("gpu/gpu_facts", "--capture", path), 3)
        if outcome is None or outcome.status != 0:
            return None
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    folder = suite.path("conf", "devices")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            known = json.load(file)
        if known["deviceName"] == profile["deviceName"]:
            profile.setdefault("memoryBusWidth", known["memoryBusWidth"])
    return profile


def judge(suite):
    """Predicts the measurements of part B; the points and the rank correlation go to the report."""
    entries = suite.shared.get("layers", [])
    points = distinct([point for entry in entries for point in points_of(entry)])
    if not points:
        return
    profile = card_profile(suite)
    if not os.path.exists(os.path.join(suite.build, "gpu", "predict")) or profile is None:
        suite.report.skip("predictions", "gpu/predict is not built" if profile else "the GPU's profile is not known")
        return
    with Predictor(suite.build, os.path.dirname(suite.work("points")), [(profile, points)]) as predictor:
        for point, predicted in zip(points, predictor.microseconds()):
            point["predicted_us"] = predicted
    known = [point for point in points if not math.isnan(point["predicted_us"])]
    result = rank(known)
    suite.shared["rank"] = result
    suite.report.predictions = {"profile": profile, "rank": result, "points": known}
    suite.report.table(
        "predicted against measured times (Spearman's rank correlation)",
        ("layers and tilings", "times", "tilings", "tiled over untiled", "median factor between them"),
        [[result[name] for name in ("points", "times", "tilings", "ratios", "median_factor")]],
    )
