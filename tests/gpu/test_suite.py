#!/usr/bin/env python3
"""Tests of scripts/gpu-suite itself without a GPU, as TAP: test_suite.py BUILD_DIR."""

import json
import os
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from suite import budget, child, machine, report, summaries, targets  # noqa: E402
from suite.suite import Suite  # noqa: E402
from tap import Skip, main, same, test  # noqa: E402

MIB = 1 << 20


@test
def summaries_of_two_processes_are_added():
    small = {"id": "SMALL", "text": "needs no more than the limit"}
    totals = {"calls": 35, "tiled": 20, "fallback": 2, "failed": 1, "not_tiled": [{**small, "calls": 7}]}
    totals.update(extra_launches=60, required_max=541589504, reported_max=1024)
    totals["not_tiled"].append({"id": "DTYPE", "text": "another type", "calls": 5})
    other = {"calls": 1, "tiled": 0, "fallback": 0, "failed": 0, "not_tiled": [{**small, "calls": 1}]}
    other.update(extra_launches=0, required_max=0, reported_max=0)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in "abc"]
        for path, text in zip(paths, (json.dumps({"totals": totals}), json.dumps({"totals": other}), '{"totals":')):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        whole = summaries.total(summaries.read(paths))
    same(whole["reasons"], {"needs no more than the limit": 8, "another type": 5})
    same((whole["processes"], whole["calls"], whole["tiled"], whole["not_tiled"]), (2, 36, 20, 13))
    same((whole["required"], whole["reported"], whole["fallback"], whole["failed"]), (541589504, 1024, 2, 1))
    same(
        summaries.in_words(whole),
        "20 of 36 tiled; 8 not tiled: needs no more than the limit; 2 on the fallback plan, 1 failed",
    )
    same(summaries.in_words(summaries.total([])), "saw no convolution")


@test
def a_part_keeps_its_time_and_hands_on_the_rest():
    now = [0.0]
    time_left = budget.Budget(100, {"A": 10, "B": 90}, clock=lambda: now[0])
    time_left.enter("A")
    same(time_left.left(), 10.0)
    now[0] = 4.0
    time_left.enter("B")
    same(time_left.left(), 96.0)
    now[0] = 101.0
    same(time_left.left(), -1.0)


def scratch_suite(folder, seconds=60):
    facts = report.Report(False, 1, {})
    facts.part = "A"
    time_left = budget.Budget(seconds, {"A": 1})
    time_left.enter("A")
    return Suite(
        ROOT, "build", folder, False, child.Runner(os.path.join(folder, "log"), "lib.so"), time_left, facts
    )


def shell(script):
    return ["bash", "-c", script]


@test
def what_a_child_says_and_how_it_ends_is_kept():
    with tempfile.TemporaryDirectory() as folder:
        suite = scratch_suite(folder)
        good = suite.measure("good", shell('echo "{\\"layer\\": 1}"; echo "{broken"; echo word'), 5)
        same((good.records, good.status), ([{"layer": 1}], 0))
        same(suite.measure("lacking", shell("echo 'no device' >&2; exit 77"), 5), None)
        suite.measure("bad", shell("echo '{\"layer\": 2}'; echo 'it broke' >&2; exit 3"), 5)
        suite.measure("missing", [os.path.join(folder, "none")], 5)
        begin = time.monotonic()
        slow = suite.measure("slow", shell("echo '{\"layer\": 4}'; sleep 60 & wait"), 5, limit=1)
        assert time.monotonic() - begin < 20, "the child's own child was waited for"
        same((slow.status, slow.records), (None, [{"layer": 4}]))
        same(suite.report.skipped, [{"part": "A", "name": "lacking", "reason": "no device"}])
        same([entry["name"] for entry in suite.report.failed], ["bad", "missing", "slow"])
        same(suite.report.failed[0]["reason"], "status 3: it broke")


@test
def what_does_not_fit_the_time_is_skipped_by_name():
    with tempfile.TemporaryDirectory() as folder:
        suite = scratch_suite(folder, seconds=2)
        same(suite.measure("too long", shell("touch " + os.path.join(folder, "ran")), 30), None)
        same(suite.report.skipped, [{"part": "A", "name": "too long", "reason": "time"}])
        assert not os.path.exists(os.path.join(folder, "ran"))


@test
def convshim_is_preloaded_only_where_asked():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CONVSHIM_CONFIG"], os.environ["CUDNN_CONV_WSCAP_DBG"] = "workspace=1", "1"
        try:
            runner = child.Runner(folder, "")
            script = shell(
                'echo "{\\"config\\": \\"$CONVSHIM_CONFIG\\", \\"cap\\": \\"$CUDNN_CONV_WSCAP_DBG\\"}"'
            )
            without, with_it = runner.run("a", script, 5), runner.run("a", script, 5, workspace="16MiB")
        finally:
            del os.environ["CONVSHIM_CONFIG"], os.environ["CUDNN_CONV_WSCAP_DBG"]
        same(without.records, [{"config": "", "cap": ""}])
        same(with_it.records, [{"config": "workspace=16MiB", "cap": ""}])
        assert "CONVSHIM_CONFIG=workspace=16MiB" in with_it.command, with_it.command


@test
def strict_makes_a_skip_a_failure():
    facts = report.Report(False, 9, {})
    same(facts.status(False), 1)  # nothing was measured
    facts.measurements.append({})
    same((facts.status(False), facts.status(True)), (0, 0))
    facts.skip("jax", "not installed")
    same((facts.status(False), facts.status(True)), (0, 1))
    facts.fail("vae", "status 1")
    same(facts.status(False), 1)


@test
def the_report_names_everything_and_marks_what_is_simulated():
    for simulated in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            facts = report.Report(simulated, 9, {"packages": {"torch": None, "jax": "1.2"}})
            facts.part = "B"
            facts.table("a|b", ("x", "y"), [[None, 1.5], ["p|q", True]])
            facts.table("empty", ("x",), [])
            facts.skip("patch_conv", "not installed")
            facts.fail("vae", "status 1")
            facts.targets = targets.judge({})
            written, text_file = facts.write(folder, {"A": "Facts", "B": "Layers"})
            with open(written, encoding="utf-8") as file:
                data = json.load(file)
            with open(text_file, encoding="utf-8") as file:
                text = file.read()
        same(data["skipped"], [{"part": "B", "name": "patch_conv", "reason": "not installed"}])
        same(("simulated" in written, "## B. Layers (simulated)" in text), (simulated, simulated))
        for piece in (
            "| - | 1.5 |",
            "| p\\|q | yes |",
            "- skipped: patch_conv: not installed",
            "- FAILED: vae: status 1",
            "cut short",
            "| jax | 1.2 |",
        ):
            assert piece in text, f"no '{piece}' in the report"
        for piece in ("torch |", "### empty", "## A."):
            assert piece not in text, f"'{piece}' in the report"


@test
def libraries_of_python_packages_are_found():
    with tempfile.TemporaryDirectory() as folder:
        for path in (
            "cudnn/lib/libcudnn.so.9",
            "cudnn/lib/libcudnn_cnn.so.9",
            "cu13/lib/libcudart.so.13",
            "nccl/lib/libnccl.so.2",
        ):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            open(os.path.join(folder, path), "wb").close()
        same(
            machine.nvidia_folders([folder]),
            [os.path.join(folder, name) for name in ("cudnn/lib", "cu13/lib")],
        )


@test
def all_python_here_compiles():
    names = [
        os.path.join(folder, name)
        for folder in (HERE, os.path.join(HERE, "suite"))
        for name in os.listdir(folder)
        if name.endswith(".py")
    ] + [os.path.join(ROOT, "scripts", "gpu-suite")]
    assert len(names) > 20
    for name in names:
        with open(name, encoding="utf-8") as file:
            compile(file.read(), name, "exec")


def gpu_suite(*arguments, strict="0", **settings):
    environment = {**os.environ, **settings, "CONVSHIM_STRICT": strict}
    return subprocess.run(
        [sys.executable, os.path.join(ROOT, "scripts", "gpu-suite"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@test
def without_a_card_it_says_so():
    if machine.why_no_card() is None:
        raise Skip("a GPU is here")
    result = gpu_suite("--build", BUILD)
    same((result.returncode, result.stdout), (77, ""))
    same(len(result.stderr.splitlines()), 1)
    assert "no NVIDIA GPU" in result.stderr, result.stderr
    same(gpu_suite("--build", BUILD, strict="1").returncode, 1)


@test
def a_library_that_cannot_be_loaded_stops_it():
    with tempfile.TemporaryDirectory() as folder:
        result = gpu_suite("--simulated", "--build", folder)
        same(result.returncode, 1)
        assert "libconvshim.so is missing" in result.stderr, result.stderr
        with open(os.path.join(folder, "libconvshim.so"), "w", encoding="utf-8") as file:
            file.write("no library")
        result = gpu_suite("--simulated", "--build", folder)
        same(result.returncode, 1)
        assert "cannot be loaded here" in result.stderr, result.stderr


@test
def wrong_arguments_are_refused():
    for wrong in (("--only", "Z"), ("--minutes", "0"), ("--nonsense",)):
        same(gpu_suite("--simulated", *wrong).returncode, 2)


@test
def layers_and_capacity_run_on_the_simulated_device():
    with tempfile.TemporaryDirectory() as folder:
        result = gpu_suite("--simulated", "--build", BUILD, "--out", folder, "--only", "B,E")
        assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
        with open(os.path.join(folder, "gpu-suite-simulated.json"), encoding="utf-8") as file:
            data = json.load(file)
        same((data["simulated"], data["complete"], data["failed"]), (True, True, []))
        verdict = {row["target"]: row["verdict"] for row in data["targets"]}
        same(verdict["layers: results bit-equal where the same engine ran"], "met")
        same(verdict["an amount of memory at which only the tiled run finishes"], "met")
        tiled = [entry for entry in data["measurements"] if entry["name"] == "layers-f16-nchw-graph-8MiB"]
        assert tiled and tiled[0]["summary"]["tiled"] > 0, f"no tiled call was read: {tiled}"
        assert all(entry["command"] and entry["status"] in (0, 1) for entry in data["measurements"])
        check_predictions(data, verdict)


def check_predictions(data, verdict):
    """Every measured layer is predicted, untiled and tiled; the resulting order has no meaning for a GPU."""
    points = data["predictions"]["points"]
    axes = {point["axis"] for point in points}
    assert "-" in axes and len(axes) > 1, f"tilings: {axes}"
    assert all(point["us"] > 0 and point["predicted_us"] > 0 for point in points)
    rank = data["predictions"]["rank"]
    same(rank["points"], len(points))
    assert -1 <= rank["times"] <= 1, rank
    same(data["predictions"]["profile"]["memoryBusWidth"], 6144)
    assert verdict["predicted against measured times, rank correlation"] in ("met", "missed")
    whole = [point for point in points if point["axis"] == "-"]
    same(len({prediction_key(point) for point in points}), len(points))
    same(len(whole), len({(point["layer"], point["api"]) for point in whole}))


def prediction_key(point):
    return tuple(point[name] for name in ("model", "layer", "dtype", "layout", "api", "axis", "tiles", "workspace"))


@test
def a_strict_run_fails_for_what_it_skips():
    with tempfile.TemporaryDirectory() as folder:
        arguments = ("--simulated", "--build", BUILD, "--out", folder, "--only", "B,C")
        result = gpu_suite(*arguments, strict="1")
        same(result.returncode, 1)
        assert "strict: a skip is a failure" in result.stdout, result.stdout[-500:]


@test
def time_that_is_over_is_said():
    with tempfile.TemporaryDirectory() as folder:
        result = gpu_suite(
            "--simulated", "--build", BUILD, "--out", folder, "--only", "B", "--minutes", "0.02"
        )
        same(result.returncode, 1)  # nothing was measured
        assert "- skipped: layers-f16-nchw-graph: time" in result.stdout, result.stdout[-2000:]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: test_suite.py BUILD_DIR")
    BUILD = os.path.abspath(sys.argv[1])
    sys.exit(main())
