"""Part D: other ways into cuDNN: the legacy API from C, JAX, NVIDIA's cudnn-frontend in Python and C++.

The library may not intercept clients that find cuDNN with dlopen and dlsym. The summary of the run shows it.
"""

import array
import json
import os
import shutil

from . import machine, summaries
from .part_programs import pair_programs, same_text
from .report import mib

WORKSPACE = "64MiB"


def run(suite):
    _c_client(suite, "vae_decoder-legacy", ("support/apps/vae_decoder", "--api", "legacy"), 20)
    _c_client(suite, "vae_decoder-graph", ("support/apps/vae_decoder", "--api", "graph"), 20)
    if suite.simulated:
        for name in ("jax", "cudnn-frontend in Python", "cudnn-frontend in C++"):
            suite.report.skip(name, "it cannot run on the simulated device")
        return
    _python(suite, "jax", "jax_conv.py", "jax", 30)
    _python(suite, "cudnn-frontend in Python", "frontend_conv.py", "cudnn", 12)
    _frontend_cpp(suite)


def _c_client(suite, name, program, expect):
    """An ordinary C program; its outputs are compared byte by byte."""
    program = (*program, "--dtype", "f16", "--px", 64 if suite.simulated else 512)
    workspace = "5MiB" if suite.simulated else WORKSPACE
    records, summary = [], None
    for side, cap in (("without", None), ("with", workspace)):
        json_file, dump = suite.work(f"{name}-{side}.json"), suite.work(f"{name}-{side}.bin")
        outcome = suite.measure_c(
            f"{name}-{side}", (*program, "--json", json_file, "--dump", dump), expect, workspace=cap
        )
        if outcome is None or outcome.status != 0:
            return
        records.append((read_json(json_file), read_bytes(dump)))
        summary = outcome.summary
        for path in (json_file, dump):
            os.unlink(path)
    (before, bits_before), (after, bits_after) = records
    suite.report.table(
        f"{name} (workspace {workspace}; convshim: {summaries.in_words(summary)})",
        (
            "largest workspace MiB",
            "with",
            "wall seconds",
            "with",
            "bit-equal",
            "largest difference of the largest value",
        ),
        [
            [
                mib(before.get("largest_workspace")),
                mib(after.get("largest_workspace")),
                before.get("wall_seconds"),
                after.get("wall_seconds"),
                bits_before == bits_after,
                float_difference(bits_before, bits_after),
            ]
        ],
    )
    suite.shared.setdefault("clients", []).append(
        {"name": name, "bit_equal": bits_before == bits_after, "summary": summary}
    )


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def float_difference(a, b):
    """Largest difference of two dumps of 32-bit floats by the largest value; None if they are not alike in size."""
    a, b = array.array("f", a), array.array("f", b)
    if len(a) != len(b):
        return None
    largest = max(map(abs, a), default=0.0)
    worst = max((abs(x - y) for x, y in zip(a, b)), default=0.0)
    return worst / largest if largest else worst


def _python(suite, title, script, module, expect):
    if not machine.has_module(module):
        suite.report.skip(title, f"the Python module {module} is not installed")
        return
    folders = [suite.work(f"{module}-{side}") for side in ("without", "with")]
    try:
        outcomes = []
        for folder, workspace in zip(folders, (None, WORKSPACE)):
            os.makedirs(folder, exist_ok=True)
            side = "with" if workspace else "without"
            outcomes.append(
                suite.measure(
                    f"{module}-{side}",
                    suite.python_program(script, "--save", folder),
                    expect,
                    workspace=workspace,
                )
            )
            if outcomes[-1] is None:
                return
        _report(suite, title, *outcomes)
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def _report(suite, title, plain, tiled):
    pairs = pair_programs(plain.records, tiled.records, [])
    suite.shared.setdefault("clients", []).extend(
        {"name": title, "bit_equal": pair["bit_equal"], "summary": tiled.summary} for pair in pairs
    )
    suite.report.table(
        f"{title} (workspace {WORKSPACE}; convshim: {summaries.in_words(tiled.summary)})",
        ("case", "allocated MiB", "with", "ms", "with", "results"),
        [
            [
                f"{pair['case']} {pair['dtype']}",
                mib(pair["allocated"][0]),
                mib(pair["allocated"][1]),
                *pair["ms"],
                same_text(pair),
            ]
            for pair in pairs
        ],
    )


def _frontend_cpp(suite):
    """Built here, since the header's version must fit this machine's cuDNN."""
    title = "cudnn-frontend in C++"
    frontend, cudnn, cuda = (
        machine.header(name) for name in ("cudnn_frontend.h", "cudnn.h", "cuda_runtime.h")
    )
    compiler = machine.tool("g++") or machine.tool("nvcc")
    missing = [
        name
        for name, found in (
            ("cudnn_frontend.h", frontend),
            ("cudnn.h", cudnn),
            ("cuda_runtime.h", cuda),
            ("a C++ compiler", compiler),
        )
        if not found
    ]
    libraries = {name: machine.library(name) for name in ("libcudnn.so", "libcudart.so", "libnvrtc.so")}
    missing += [name for name, path in libraries.items() if not path]
    if missing:
        suite.report.skip(title, f"not on this machine: {', '.join(missing)}")
        return
    program = suite.work("frontend_conv")
    build = suite.measure(
        "frontend-cpp-build",
        [
            compiler,
            "-std=c++17",
            "-O1",
            "-o",
            program,
            suite.path("tests", "gpu", "frontend_conv.cpp"),
            *(f"-I{folder}" for folder in dict.fromkeys((frontend, cudnn, cuda))),
            *libraries.values(),
            "-ldl",
        ],
        60,
    )
    if build is None or build.status != 0:
        return
    _, settings = suite.c_program("convshim")
    outcomes = [
        suite.measure(f"frontend-cpp-{side}", [program], 10, settings, workspace)
        for side, workspace in (("without", None), ("with", WORKSPACE))
    ]
    if all(outcomes):
        _report(suite, title, *outcomes)
