"""Part E: compute-sanitizer on a tiled run, the capacity test, the layer of pytorch issue 163539 against float64."""

import re

from . import compare, machine
from .part_layers import read_layers, write_layers, SIMULATED_CAPS
from .report import mib
from .suite import LAYERS, MIB

SANITIZED = ("sd15-vae-512", "mid.res0.conv1")
CAPACITY = {False: ("sdxl-vae-1024", 1), True: ("sd15-vae-512", 0)}


def run(suite):
    _capacity(suite)
    _issue_163539(suite)
    _sanitizer(suite)


def _one_layer(suite, name, wanted, file="conv_layers.csv"):
    """A CSV with the first layer that wanted(layer) accepts."""
    folder = "gpu" if file == "extra_layers.csv" else "data"
    layers = [layer for layer in read_layers(suite.path("tests", folder, file)) if wanted(layer)]
    path = suite.work(f"{name}.csv")
    write_layers(path, layers[:1])
    return path


def _sanitizer(suite):
    tool = None if suite.simulated else machine.tool("compute-sanitizer")
    if tool is None:
        suite.report.skip(
            "compute-sanitizer", "it needs a GPU" if suite.simulated else "it is not installed"
        )
        return
    path = _one_layer(suite, "sanitized", lambda layer: (layer["model"], layer["layer"]) == SANITIZED)
    argv, settings = suite.c_program(
        *LAYERS, "--csv", path, "--dtype", "f16", "--iterations", 1, "--warmup", 1
    )
    rows = []
    for check in ("memcheck", "racecheck"):
        # The library is preloaded into the program, not into the sanitizer.
        name = f"sanitizer-{check}"
        preload = {**settings, **suite.runner.preload(name, "8MiB")}
        inner = ["env", *(f"{key}={value}" for key, value in preload.items()), *argv]
        outcome = suite.measure(name, [tool, "--tool", check, "--error-exitcode", "9", *inner], 25)
        if outcome is None:
            continue
        errors = sanitizer_errors(outcome.stdout + outcome.stderr)
        tiled = outcome.summary["tiled"] if outcome.summary else None
        rows.append([check, errors, tiled, outcome.status])
        if errors == 0 and not tiled:
            suite.report.fail(name, "no call was tiled under the sanitizer: nothing was checked")
        suite.shared.setdefault("sanitizer", {})[check] = (errors, tiled)
    suite.report.table(
        "compute-sanitizer on a tiled run", ("tool", "errors", "calls tiled", "status"), rows
    )


def sanitizer_errors(text):
    """The number that the tool's own last line gives, or None."""
    found = re.findall(r"(?:ERROR SUMMARY: (\d+) errors?|RACECHECK SUMMARY: (\d+) hazards?)", text)
    return int(found[-1][0] or found[-1][1]) if found else None


def _capacity(suite):
    """Memory between the needs of the tiled and the untiled run: one finishes, the other fails.

    The memory of the context is unknown in advance, so the amount is found by halving."""
    model, index = CAPACITY[suite.simulated]
    layers = [
        layer
        for layer in read_layers(suite.path("tests", "data", "conv_layers.csv"))
        if layer["model"] == model
    ]
    layers.sort(key=lambda layer: int(layer["h"]) * int(layer["w"]) * (int(layer["c"]) + int(layer["k"])))
    small = [layer for layer in layers if int(layer["h"]) == 64 and layer["c"] == layer["k"]]
    path = suite.work("capacity.csv")
    write_layers(path, small[:1] if suite.simulated else layers[-1:])
    workspace = f"{SIMULATED_CAPS[0]}MiB" if suite.simulated else "64MiB"
    program = (*LAYERS, "--csv", path, "--iterations", 1, "--warmup", 0)
    needs = []
    for side, cap in (("without", None), ("with", workspace)):
        outcome = suite.measure_c(f"capacity-free-{side}", program, 8, workspace=cap)
        if outcome is None or outcome.status != 0 or "device_peak" not in outcome.records[-1]:
            return
        needs.append(outcome.records[-1]["device_peak"])
    if needs[1] >= needs[0]:
        suite.report.fail("capacity", "the tiled run needs no less than the untiled one")
        return
    low, high = needs[1], needs[0] + (0 if suite.simulated else 2048 * MIB)
    rows = []
    for attempt in range(8):
        amount = (low + high) // 2
        states = [
            _with_memory(suite, f"capacity-{attempt}-{side}", program, amount, cap)
            for side, cap in (("without", None), ("with", workspace))
        ]
        if None in states:
            break
        rows.append([mib(amount), *states])
        if states == ["out of memory", "ok"]:
            break
        low, high = (low, amount) if states[0] == "ok" else (amount, high)
    found = bool(rows) and rows[-1][1:] == ["out of memory", "ok"]
    suite.report.table(
        f"capacity (untiled needs {mib(needs[0])} MiB, tiled {mib(needs[1])} MiB, context aside)",
        ("memory left MiB", "without", "with"),
        rows,
    )
    if rows:
        suite.shared["capacity"] = found
    if rows and not found:
        suite.report.fail("capacity", "no amount of memory at which only the tiled run finishes")


def _with_memory(suite, name, program, amount, workspace):
    """The state of the run with that much memory: ok, out of memory, another word of it, or None if it was skipped."""
    if suite.simulated:
        argv, settings = suite.c_program(*program, capacity=amount)
    else:
        inner, settings = suite.c_program(*program)
        if workspace:
            preload = suite.runner.preload(name, workspace)
            inner = ["env", *(f"{key}={value}" for key, value in preload.items()), *inner]
        argv, _ = suite.c_program("gpu/gpu_ballast", "--leave", amount, "--", *inner)
    if suite.budget.left() < 6:
        suite.report.skip(name, "time")
        return None
    outcome = suite.runner.run(name, argv, 30, settings, workspace if suite.simulated else None)
    suite.report.measured(outcome)
    states = [record["status"] for record in outcome.records if "layer" in record]
    if states:
        return states[-1]
    # No line: the memory was too small for the context or the handle.
    return "out of memory" if "emory" in outcome.stderr else f"status {outcome.status}"


def _issue_163539(suite):
    if suite.simulated:
        suite.report.skip("pytorch issue 163539", "its tensors are too large for the simulated device")
        return
    path = _one_layer(
        suite, "issue-163539", lambda layer: layer["model"] == "pytorch-163539", "extra_layers.csv"
    )
    program = (*LAYERS, "--csv", path, "--iterations", 3, "--warmup", 1, "--float64", 2000)
    plain = suite.measure_c("issue-163539-untiled", program, 20)
    tiled = suite.measure_c("issue-163539-tiled", program, 20, workspace="64MiB") if plain else None
    if not plain or not tiled:
        return
    rows = [
        [
            name,
            row["status"],
            row.get("engine"),
            mib(row.get("workspace")),
            row.get("median_us"),
            row.get("max_abs_error"),
            row.get("max_rel_error"),
            row.get("samples_not_finite"),
        ]
        for name, outcome in (("untiled", plain), ("tiled", tiled))
        for row in outcome.records
        if "layer" in row
    ]
    suite.report.table(
        "the layer of pytorch issue 163539 against float64",
        (
            "run",
            "status",
            "engine",
            "workspace MiB",
            "us",
            "largest error",
            "of the largest value",
            "not finite",
        ),
        rows,
    )
    suite.shared["issue_163539"] = compare.pair_layers(plain.records, tiled.records)
