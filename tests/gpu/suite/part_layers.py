"""Part B: single layers, untiled, tiled and under cuDNN's own workspace cap; patch_conv; channels_last."""

import csv
import os

from . import compare, machine, prediction, summaries
from .report import mib
from .suite import LAYERS

CAPS = (64, 16, 256)
SIMULATED_CAPS = (8,)
DTYPE_BYTES = {"f32": 4, "f16": 2, "bf16": 2}
SHAPE = prediction.SHAPE


def read_layers(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def moved_elements(layer):
    """Elements of input and output."""
    number = {name: int(layer[name]) for name in SHAPE}
    output = number["n"] * number["k"]
    for axis in "dhw":
        output *= (number[axis] + 2 * number["p" + axis] - number["k" + axis]) // number["s" + axis] + 1
    return number["n"] * number["c"] * number["d"] * number["h"] * number["w"] + output


def choose(layers, count):
    """The largest layers of every model in turn, each shape once: the same list for the same file."""
    models, seen = {}, set()
    for layer in layers:
        shape = tuple(layer[name] for name in SHAPE)
        if layer["dir"] == "fwd" and shape not in seen:
            seen.add(shape)
            models.setdefault(layer["model"], []).append(layer)
    for of_model in models.values():
        of_model.sort(key=moved_elements, reverse=True)
    chosen = []
    while len(chosen) < count and any(models.values()):
        for of_model in models.values():
            if of_model and len(chosen) < count:
                chosen.append(of_model.pop(0))
    return chosen


def shapes(path):
    return {
        (layer["model"], layer["layer"]): {name: int(layer[name]) for name in SHAPE}
        for layer in read_layers(path)
    }


def write_layers(path, layers):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(
            file, fieldnames=["model", "layer", "dir", *SHAPE, "dtype"], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(layers)


class Layers:
    """Runs a list of layers in one variant after another; every run is one child."""

    def __init__(self, suite, name, path, expect, iterations, options=""):
        """`options` of convshim in addition to its workspace, as in CONVSHIM_CONFIG."""
        self.suite = suite
        self.name = name
        self.path = path
        self.expect = expect
        self.iterations = iterations
        self.options = options
        self.rows = {}
        self.summaries = {}
        self.sites = {}

    def run(self, dtype, layout, api, workspace=None, wscap=None, extra=()):
        """The records of one variant, from memory if it ran before; [] if it was skipped."""
        key = (dtype, layout, api, workspace, wscap)
        if key not in self.rows:
            self.rows[key] = self._run(key, extra)
        return self.rows[key]

    def _run(self, key, extra):
        dtype, layout, api, workspace, wscap = key
        name = "-".join(
            [self.name, dtype, layout, api]
            + ([workspace] if workspace else [])
            + ([f"wscap{wscap}"] if wscap else [])
        )
        program = (
            *LAYERS,
            "--csv",
            self.path,
            "--dtype",
            dtype,
            "--layout",
            layout,
            "--api",
            api,
            "--iterations",
            self.iterations,
            "--warmup",
            min(3, self.iterations - 1),
            *extra,
        )
        settings = {"CUDNN_CONV_WSCAP_DBG": str(wscap)} if wscap else {}
        if workspace:
            if self.options:
                settings["CONVSHIM_CONFIG"] = f"workspace={workspace};{self.options}"
        outcome = self.suite.measure_c(name, program, self.expect, settings=settings, workspace=workspace)
        self.summaries[key] = outcome.summary if outcome else None
        self.sites[key] = prediction.sites(outcome.summaries) if outcome else {}
        return [] if outcome is None else [row for row in outcome.records if "layer" in row]


def run(suite):
    if suite.simulated:
        _simulated(suite)
    else:
        _on_card(suite)
    prediction.judge(suite)


def _on_card(suite):
    path = suite.work("chosen.csv")
    layers = choose(read_layers(suite.path("tests", "data", "conv_layers.csv")), 40)
    layers += [
        layer
        for layer in read_layers(suite.path("tests", "gpu", "extra_layers.csv"))
        if layer["model"] == "cudnn.torch-262"
    ]
    write_layers(path, layers)
    layers_run = Layers(suite, "layers", path, 6, 20)
    wscaps = _wscaps(suite)
    for wave in waves(CAPS):
        for variant, cap, capped in wave:
            _variant(suite, layers_run, variant, cap, wscaps.get(cap) if capped else None)
        if wave is FIRST_WAVE:
            _patch_conv_shapes(suite)
            _patch_conv(suite)


FIRST_WAVE = [(("f16", "nchw", "graph"), cap, True) for cap in CAPS]


def waves(caps):
    """Most telling first: (dtype, layout, api), cap in MiB, whether cuDNN's own cap runs too."""
    main = (
        ("f32", "nchw", "graph"),
        ("bf16", "nchw", "graph"),
        ("f16", "nchw", "legacy"),
        ("f16", "nhwc", "graph"),
    )
    rest = [
        (dtype, layout, api)
        for dtype in ("f16", "bf16", "f32")
        for layout in ("nchw", "nhwc")
        for api in ("graph", "legacy")
    ]
    rest = [variant for variant in rest if variant not in main and variant != ("f16", "nchw", "graph")]
    return [
        FIRST_WAVE,
        [(variant, caps[0], variant[0] == "f32") for variant in main],
        [(variant, caps[0], False) for variant in rest],
        [(variant, cap, False) for cap in caps[1:] for variant in (*main, *rest)],
    ]


def _wscaps(suite):
    unit = suite.shared.get("cap_unit")
    if unit == "MiB":
        return {cap: cap for cap in CAPS}
    if unit == "bytes":
        return {cap: cap << 20 for cap in CAPS}
    suite.report.skip(
        "layers under CUDNN_CONV_WSCAP_DBG",
        {None: "its unit was not learned (part A)", "none": "it has no effect on this cuDNN"}.get(
            unit, "its effect is unclear (part A)"
        ),
    )
    return {}


def _simulated(suite):
    path = suite.work("chosen.csv")
    layers = read_layers(suite.path("tests", "data", "conv_layers.csv"))
    small = [
        layer for layer in choose(layers, len(layers)) if (1 << 21) <= moved_elements(layer) <= (1 << 23)
    ]
    write_layers(path, small[:3])
    layers_run = Layers(suite, "layers", path, 20, 2)
    for variant in (("f16", "nchw", "graph"), ("f16", "nchw", "legacy")):
        for cap in SIMULATED_CAPS:
            _variant(suite, layers_run, variant, cap, None)


def _variant(suite, layers_run, variant, cap, wscap):
    """Untiled and tiled, and under cuDNN's cap; the rows go to the report and to the targets."""
    plain = layers_run.run(*variant)
    tiled = layers_run.run(*variant, workspace=f"{cap}MiB") if plain else []
    capped = layers_run.run(*variant, wscap=wscap) if plain and wscap else []
    if not tiled:
        return
    entry = {
        "variant": variant,
        "cap": cap,
        "plain": plain,
        "tiled": tiled,
        "capped": capped,
        "pairs": compare.pair_layers(plain, tiled),
        "summary": layers_run.summaries[(*variant, f"{cap}MiB", None)],
        "shapes": shapes(layers_run.path),
        "sites": layers_run.sites[(*variant, f"{cap}MiB", None)],
    }
    suite.shared.setdefault("layers", []).append(entry)
    report_variant(suite.report, entry)


def report_variant(report, entry):
    capped = {
        tuple(pair[name] for name in compare.LAYER_KEY): pair
        for pair in compare.pair_layers(entry["plain"], entry["capped"])
    }
    rows = []
    for pair in entry["pairs"]:
        cap = capped.get(tuple(pair[name] for name in compare.LAYER_KEY), {})
        rows.append(
            [
                f"{pair['model']}/{pair['layer']}",
                mib(pair["floor"]),
                mib(pair["workspace_before"]),
                mib(pair["workspace_after"]),
                mib(pair["peak_before"]),
                mib(pair["peak_after"]),
                pair["peak_ratio"],
                pair["us_before"],
                pair["us_after"],
                pair["time_ratio"],
                engines(pair),
                bit_text(pair),
                mib(cap.get("workspace_after")),
                cap.get("us_after"),
            ]
        )
    report.table(
        f"{', '.join(entry['variant'])}: untiled, tiled at {entry['cap']} MiB"
        + (", CUDNN_CONV_WSCAP_DBG at the same" if entry["capped"] else "")
        + f" (convshim: {summaries.in_words(entry['summary'])})",
        (
            "layer",
            "in+filter+out MiB",
            "workspace",
            "tiled",
            "device peak",
            "tiled",
            "tiled peak / floor",
            "us",
            "tiled",
            "ratio",
            "engine",
            "bit-equal",
            "workspace under WSCAP",
            "us under WSCAP",
        ),
        rows,
    )


def engines(pair):
    before, after = pair["engine_before"], pair["engine_after"]
    return before if before == after else f"{before} -> {after}"


def bit_text(pair):
    """Yes, no, or the statuses if one did not run."""
    if pair["bit_equal"] is None:
        return f"{pair['status_before']} / {pair['status_after']}"
    return pair["bit_equal"]


def _patch_conv_shapes(suite):
    """The two shapes that patch_conv's authors publish, by cuDNN alone and with tiles."""
    shapes = suite.work("patch_conv.csv")
    write_layers(
        shapes,
        [
            layer
            for layer in read_layers(suite.path("tests", "gpu", "extra_layers.csv"))
            if layer["model"] == "patch_conv"
        ],
    )
    runs = Layers(suite, "patch_conv", shapes, 30, 3)
    plain = runs.run("f16", "nchw", "graph")
    tiled = runs.run("f16", "nchw", "graph", workspace="64MiB") if plain else []
    if tiled:
        entry = {
            "variant": ("f16", "nchw", "graph"),
            "cap": 64,
            "plain": plain,
            "tiled": tiled,
            "capped": [],
            "pairs": compare.pair_layers(plain, tiled),
            "summary": runs.summaries[("f16", "nchw", "graph", "64MiB", None)],
        }
        suite.shared["patch_conv_shapes"] = entry
        report_variant(suite.report, entry)


def _patch_conv(suite):
    """The same shapes through PyTorch: as they are, channels_last, by the package patch_conv, and tiled."""
    if not machine.has_module("torch"):
        suite.report.skip("patch_conv", "PyTorch is not installed")
        return
    ways = [("plain", None), ("channels_last", None), ("plain", "64MiB")]
    if machine.has_module("patch_conv"):
        ways.insert(1, ("patch_conv", None))
    else:
        suite.report.skip("patch_conv", "the package patch_conv is not installed")
    shapes = suite.work("patch_conv.csv")
    rows = []
    for way, workspace in ways:
        if not os.path.exists(shapes):
            return
        name = f"torch-layer-{way}" + ("-convshim" if workspace else "")
        argv = suite.python_program("torch_layer.py", "--csv", shapes, "--way", way)
        outcome = suite.measure(name, argv, 15, workspace=workspace)
        for record in outcome.records if outcome else ():
            rows.append(
                [
                    record["layer"],
                    way + (" under convshim" if workspace else ""),
                    record["status"],
                    mib(record.get("max_memory_allocated")),
                    record.get("ms_per_iteration"),
                ]
            )
    suite.report.table(
        "patch_conv's shapes through PyTorch",
        ("layer", "way", "status", "max_memory_allocated MiB", "ms"),
        rows,
    )
