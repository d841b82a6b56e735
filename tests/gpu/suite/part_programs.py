"""Part C: PyTorch programs, unmodified, without and with convshim."""

import os
import shutil
import sys
from collections import namedtuple

from . import compare, machine, summaries
from .report import mib

WORKSPACE = "64MiB"
KEY = ("program", "case", "dtype", "mode")

# A child for each of "without" and "with"; expect is in seconds for one; floor runs a third without convolutions.
Program = namedtuple(
    "Program", "name script arguments expect settings floor reference", defaults=({}, False, None)
)

V8_OFF = {"TORCH_CUDNN_V8_API_DISABLED": "1"}
VAE = ("--case", "1024", "--dtype", "f16")

# The most telling first.
PROGRAMS = (
    Program(
        "vae",
        "vae_decoder.py",
        ("--case", "512,1024,2048", "--dtype", "f16"),
        14,
        floor=True,
        reference=("512", "f16"),
    ),
    Program("vae-compile", "vae_decoder.py", (*VAE, "--mode", "compile"), 40),
    Program("unet3d", "unet3d_train.py", ("--dtype", "f16"), 14, floor=True),
    Program("vae3d", "vae3d_decoder.py", ("--dtype", "bf16"), 14, floor=True),
    Program("resnet50", "resnet50.py", ("--dtype", "f16"), 12),
    Program("unet-b128", "unet_b128.py", ("--dtype", "f16"), 14, floor=True),
    Program("vae-graph", "vae_decoder.py", (*VAE, "--mode", "graph"), 10),
    Program("vae-benchmark", "vae_decoder.py", (*VAE, "--mode", "benchmark"), 14),
    Program("vae-v7", "vae_decoder.py", VAE, 10, V8_OFF),
    Program("fork-loader", "fork_loader.py", (), 12),
    Program("vae-wide", "vae_decoder.py", ("--case", "512,1024,2048", "--dtype", "bf16,f32"), 20, floor=True),
    Program("unet-b128-f32", "unet_b128.py", ("--dtype", "f32"), 14),
    Program("vae-channels-last", "vae_decoder.py", (*VAE, "--channels-last"), 10),
    Program("resnet50-benchmark", "resnet50.py", ("--dtype", "f16", "--mode", "benchmark"), 16),
)


def run(suite):
    reason = None
    if suite.simulated:
        reason = "PyTorch cannot run on the simulated device"
    elif not machine.has_module("torch"):
        reason = "PyTorch is not installed"
    if reason is None:
        _versions(suite)
    for program in PROGRAMS:
        if reason:
            suite.report.skip(program.name, reason)
        else:
            _program(suite, program)


VERSIONS = """
import json, torch
print(json.dumps({"torch": torch.__version__, "torch_cuda": torch.version.cuda,
                  "torch_cudnn": torch.backends.cudnn.version(), "torch_device": torch.cuda.get_device_name()}))
"""


def _versions(suite):
    """PyTorch's report about itself; its files are in the page cache afterwards."""
    outcome = suite.measure("versions", [sys.executable, "-c", VERSIONS], 20)
    if outcome and outcome.records:
        suite.report.gpu.update(outcome.records[0])


def _program(suite, program):
    folders = {side: suite.work(f"{program.name}-{side}") for side in ("without", "with")}
    try:
        plain = _child(suite, program, folders["without"], None)
        tiled = _child(suite, program, folders["with"], WORKSPACE) if plain else None
        floor = _floor(suite, program) if tiled and program.floor else []
        if tiled:
            finish(suite, program, plain, tiled, floor)
    finally:
        for folder in folders.values():
            shutil.rmtree(folder, ignore_errors=True)


def _child(suite, program, folder, workspace):
    os.makedirs(folder, exist_ok=True)
    arguments = list(program.arguments)
    if program.script != "fork_loader.py":
        arguments += ["--save", folder]
    name = f"{program.name}-{'with' if workspace else 'without'}"
    settings = dict(program.settings)
    if "compile" in arguments:
        # The second run finds the code that the first compiled.
        settings["TORCHINDUCTOR_CACHE_DIR"] = suite.work("inductor")
    return suite.measure(
        name, suite.python_program(program.script, *arguments), program.expect, settings, workspace
    )


def _floor(suite, program):
    argv = suite.python_program(program.script, *program.arguments, "--mode", "floor")
    outcome = suite.measure(f"{program.name}-floor", argv, program.expect)
    return outcome.records if outcome else []


def pair_programs(plain, tiled, floor):
    """A row for each case that both ran; results are compared by checksum here."""
    after_of, floor_of = compare.by_key(tiled, KEY), compare.by_key(floor, KEY[:3])
    pairs = []
    for key, before in compare.by_key(plain, KEY).items():
        after = after_of.get(key)
        if after is None:
            continue
        least = floor_of.get(key[:3], {}).get("max_memory_allocated")
        pair = {
            **dict(zip(KEY, key)),
            "status_before": before["status"],
            "status_after": after["status"],
            "floor": least,
            "repeatable": before.get("repeatable"),
            "saved": (before.get("saved"), after.get("saved")),
            "bit_equal": None,
            "max_rel": None,
            "errors": None,
        }
        for name, field in (
            ("allocated", "max_memory_allocated"),
            ("reserved", "max_memory_reserved"),
            ("ms", "ms_per_iteration"),
        ):
            pair[name] = (before.get(field), after.get(field))
            pair[name + "_ratio"] = compare.ratio(after.get(field), before.get(field))
        pair["peak"] = tuple(
            (record["device_peak"] - record["device_base"] if record.get("device_peak") is not None else None)
            for record in (before, after)
        )
        pair["above_floor"] = compare.ratio(after.get("max_memory_allocated"), least)
        if before.get("checksum") and after.get("checksum"):
            pair["bit_equal"] = before["checksum"] == after["checksum"]
        pairs.append(pair)
    return pairs


def finish(suite, program, plain, tiled, floor):
    """Compares the programs that differ, and reports."""
    pairs = pair_programs(plain.records, tiled.records, floor)
    for pair in pairs:
        reference = None
        if program.reference == (pair["case"], pair["dtype"]) and pair["bit_equal"] is False:
            reference = _reference(suite, program, pair)
        if pair["bit_equal"] is False and all(pair["saved"]):
            _difference(suite, program, pair, reference)
        pair["name"] = program.name
    suite.shared.setdefault("programs", []).extend(pairs)
    report_pairs(suite.report, program.name, pairs, tiled.summary)


def _reference(suite, program, pair):
    """The same case in double precision, from weights and inputs rounded as the program's are."""
    folder = os.path.dirname(pair["saved"][0])
    case = ("--case", pair["case"], "--dtype", "f64", "--round", pair["dtype"], "--mode", "eager")
    once = ("--warmup", "0", "--iterations", "1", "--save", folder)
    argv = suite.python_program(program.script, *program.arguments, *case, *once)
    outcome = suite.measure(f"{program.name}-float64", argv, 15)
    return outcome.records[0].get("saved") if outcome and outcome.records else None


def _difference(suite, program, pair, reference):
    extra = ("--reference", reference) if reference else ()
    name = "-".join((program.name, pair["case"], pair["dtype"], "difference"))
    outcome = suite.measure(name, suite.python_program("compare_outputs.py", *pair["saved"], *extra), 8)
    if outcome and outcome.records:
        result = outcome.records[0]
        pair["max_rel"] = result["max_rel"]
        if reference:
            pair["errors"] = (result["reference_a"], result["reference_b"])


def report_pairs(report, name, pairs, summary):
    rows = []
    for pair in pairs:
        status = (
            None
            if pair["status_before"] == pair["status_after"] == "ok"
            else f"{pair['status_before']} / {pair['status_after']}"
        )
        rows.append(
            [
                f"{pair['case']} {pair['dtype']} {pair['mode']}",
                mib(pair["allocated"][0]),
                mib(pair["allocated"][1]),
                mib(pair["floor"]),
                mib(pair["reserved"][0]),
                mib(pair["reserved"][1]),
                mib(pair["peak"][0]),
                mib(pair["peak"][1]),
                pair["ms"][0],
                pair["ms"][1],
                pair["ms_ratio"],
                status or same_text(pair),
            ]
        )
    report.table(
        f"{name} (workspace {WORKSPACE}; convshim: {summaries.in_words(summary)})",
        (
            "case",
            "allocated MiB",
            "with",
            "without any workspace",
            "reserved MiB",
            "with",
            "device peak MiB",
            "with",
            "ms",
            "with",
            "ratio",
            "results",
        ),
        rows,
    )


def same_text(pair):
    """The known facts about the equality of the results."""
    if pair["bit_equal"] is None:
        return None
    if pair["bit_equal"]:
        return "bit-equal"
    text = "differ" if pair["max_rel"] is None else f"differ by {pair['max_rel']:.2g} of the largest value"
    if pair["errors"]:
        text += f" (error against f64: {pair['errors'][0]:.2g} without, {pair['errors'][1]:.2g} with)"
    if pair["repeatable"] is False:
        text += "; the program alone does not repeat itself either"
    return text
