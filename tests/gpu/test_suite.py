#!/usr/bin/env python3
"""Rehearses scripts/gpu-suite on the simulated device in account mode, with and without faults, as TAP: test_suite.py BUILD_DIR.

Each test runs the command of tests/gpu/README.md in a folder that has only the carried files, with a PATH without compilers. The
PyTorch parts run if the python3 on PATH has PyTorch (or the one that CONVSHIM_TORCH_PYTHON names)."""

import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from tap import Skip, main, same, test  # noqa: E402

PYTHON = os.environ.get("CONVSHIM_TORCH_PYTHON", sys.executable)
MOST_BYTES = 1 << 20


class Machine:
    """A folder with the carried files, and a PATH of a few programs."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="bare-")
        self.out = os.path.join(self.folder, "out")
        self.root = os.path.join(self.folder, "convshim")
        for pattern in ("scripts/gpu-suite", "tests/gpu/*.py", "tests/gpu/*.csv", "tests/gpu/*.json"):
            for path in glob.glob(os.path.join(ROOT, pattern)):
                self.carry(path, os.path.relpath(path, ROOT))
        for path in glob.glob(os.path.join(BUILD, "gpu", "*convshim*")):
            self.carry(path, os.path.join("build", "gpu", os.path.basename(path)))
        programs = os.path.join(self.folder, "bin")
        os.mkdir(programs)
        for name in ("env", "sh", "bash", "readlink", "dirname", "basename", "sed", "cksum", "cut", "mktemp"):
            os.symlink(shutil.which(name), os.path.join(programs, name))
        with open(os.path.join(programs, "python3"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{PYTHON}" "$@"\n')
        os.chmod(os.path.join(programs, "python3"), 0o755)
        self.path = programs
        return self

    def carry(self, path, name):
        to = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy2(path, to)

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def edit(self, before, after):
        path = os.path.join(self.root, "scripts", "gpu-suite")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert before in text, before
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(before, after, 1))

    def start(self, *options, settings=None, gpu=True):
        command = ["env", "PATH=" + self.path, PYTHON, os.path.join(self.root, "scripts", "gpu-suite"), "--out", self.out]
        simulated = [os.path.join(ROOT, "scripts", "with-simdev"), "--account", "--"]
        # With SIMDEV_PROGRESS all processes share the memory of one simulated device.
        environment = {
            **os.environ, "SIMDEV_DIR": os.path.join(BUILD, "simdev"), "SIMDEV_PROGRESS": os.path.join(self.folder, "progress"),
            "HOME": self.folder, **(settings or {}),
        }
        return subprocess.Popen(
            (simulated if gpu else []) + command + list(options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def run(self, *options, settings=None, gpu=True):
        process = self.start(*options, settings=settings, gpu=gpu)
        out, err = process.communicate()
        return process.returncode, out, err

    def results(self):
        """The parsed gpu-suite.json, after a check of all files."""
        names = [name for name in os.listdir(self.out) if not name.endswith(".new")]
        assert 0 < len(names) <= 8, names
        sizes = sum(os.path.getsize(os.path.join(self.out, name)) for name in names)
        assert sizes <= MOST_BYTES, f"{sizes} bytes"
        texts = {name: read(os.path.join(self.out, name)) for name in names if not name.endswith(".tgz")}
        with tarfile.open(os.path.join(self.out, "log.tgz")) as archive:
            for member in archive.getmembers():
                texts[member.name] = archive.extractfile(member).read().decode()
        for name, text in texts.items():
            for word in (self.folder, ROOT, os.uname().nodename):
                assert len(word) < 4 or word not in text, f"{name} contains {word}"
        return json.loads(texts["gpu-suite.json"])


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def table(results, title):
    return next(table["rows"] for table in results["tables"] if table["title"].startswith(title))


@test
def every_part_ends_with_figures():
    parts = ["facts", "verify", "layers"] + (["captures", "graph", "programs", "memory", "pressure", "modes", "runtime"] if has("torch") else []) + (["jax"] if has("jax") else [])
    with Machine() as machine:
        # The simulated device is slower than a GPU.
        machine.edit('suite.verify("verify", [], min(60, suite.left() - 5), 90)', 'suite.verify("verify", [], 200, 300)')
        status, _, err = machine.run("--quick", "--minutes", "20", "--only", ",".join(parts))
        results = machine.results()
    assert results["complete"] and results["facts"]["simulated"], err
    same(status, 0)
    assert "equal" in [row[-1] for row in table(results, "convshim verify")], results["tables"]
    assert table(results, "Ladder")[0][0] > 0, "the ladder has no time of a kernel"
    same(table(results, "Ladder")[0][2:], [50, 0])
    for title in ("layers f16 nchw", "layers f32 nchw", "gradients f16 nchw", "layers f16 nhwc"):
        same([row[-1] for row in table(results, title)], ["equal"] * 4)
    if "captures" in parts:
        rows = {tuple(row[:2]): row[2:] for row in table(results, "Captures")}
        same(rows["cudaMalloc", "global"][:3], [900, "invalid", 901])
        same(rows["cudaMalloc", "relaxed"][:3], [0, "active", 0])
        assert all(row[:3] == row[3:] for row in rows.values()), "the library changes what a capture allows"
    if "programs" in parts:
        rows = table(results, "Programs")
        wanted = {"resnet50", "unet-b128", "unet3d", "vae", "vae, CUDA graph", "vae3d", "vae, two streams", "vae, cudaMallocAsync"}
        assert wanted <= {row[0] for row in rows}, rows
        same({row[2] for row in rows if row[0] == "unet3d"}, {"without", "without, expandable segments", "with", "with, default allocator"})
        assert all(row[3] > 0 and row[6] > 0 and row[8] > 0 for row in rows if row[0] in wanted), rows
        short = [row[5] for row in rows if row[0] == "vae, 3/4 of its memory"]
        alone = [row[5] for row in rows if row[:3] == ["vae", "512 f16", "without"]]
        assert len(short) == 2 and max(short) < alone[0], rows
        assert len(table(results, "Device memory beyond tensors")) > 5, results["notes"]


@test
def a_part_that_raises_ends_alone():
    with Machine() as machine:
        machine.edit("def facts(suite):\n", 'def facts(suite):\n    raise KeyError("broken")\n')
        status, _, _ = machine.run("--quick", "--minutes", "5", "--only", "facts,layers")
        results = machine.results()
    same(status, 1)
    assert results["complete"] and any("KeyError" in note for note in results["notes"]), results["notes"]
    same(len(table(results, "layers f16 nchw")), 4)


@test
def a_part_that_hangs_or_crashes_ends_alone():
    hangs = {
        "in the suite": ("def facts(suite):\n", "def facts(suite):\n    time.sleep(1000)\n"),
        "in a child": ("def facts(suite):\n", 'def facts(suite):\n    suite.run("hang", ["sleep", "1000"], 1000)\n'),
        "crash of a child": ("def facts(suite):\n", 'def facts(suite):\n    suite.run("crash", ["sh", "-c", "kill -SEGV $$"], 1000)\n'),
    }
    for place, (before, after) in hangs.items():
        with Machine() as machine:
            os.symlink(shutil.which("sleep"), os.path.join(machine.path, "sleep"))
            machine.edit(before, after)
            start = time.monotonic()
            status, _, _ = machine.run("--quick", "--minutes", "2", "--only", "facts,layers")
            seconds = time.monotonic() - start
            results = machine.results()
        same((place, status), (place, 1))
        assert seconds < 150, f"{place}: {seconds} s"
        assert any(note.startswith("facts: ") for note in results["notes"]), results["notes"]
        assert "layers-f16-nchw" in results["parts"]["layers"], results["parts"]


@test
def a_missing_program_is_an_error_before_the_first_measurement():
    for name in ("build/gpu/convshim", "build/gpu/libconvshim.so", "tests/gpu/layers.csv", "tests/gpu/resnet50.py"):
        with Machine() as machine:
            os.unlink(os.path.join(machine.root, name))
            status, _, err = machine.run("--quick")
            same(status, 2)
            assert name in err and "make gpu" in err, err
            assert not os.path.exists(machine.out)


@test
def a_killed_run_leaves_its_results():
    with Machine() as machine:
        process = machine.start("--quick", "--only", "facts,layers", "--minutes", "10")
        name = os.path.join(machine.out, "gpu-suite.json")
        end = time.monotonic() + 300
        while time.monotonic() < end and not (os.path.exists(name) and "layers-f16-nchw" in read(name)):
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        results = machine.results()
    assert not results["complete"]
    assert "layers-f16-nchw" in results["parts"]["layers"], results["parts"]


@test
def little_memory_is_no_error_of_convshim():
    with Machine() as machine:
        machine.run("--minutes", "8", "--only", "verify", settings={"SIMDEV_CAPACITY": "1GiB"})
        results = machine.results()
        answer = json.loads(read(os.path.join(machine.out, "verify.json")))["answer"]
    assert "not run, such as" in answer and "Not safe" not in answer, answer
    assert {row[-1] for row in table(results, "convshim verify")} <= {"equal", "not run"}


@test
def a_gpu_with_an_unknown_name_is_measured():
    with Machine() as machine:
        profile = json.loads(read(os.path.join(ROOT, "conf", "devices", "h100.json")))
        profile["deviceName"] = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
        path = os.path.join(machine.folder, "mig.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(profile, file)
        machine.run("--quick", "--minutes", "3", "--only", "verify,layers", settings={"SIMDEV_PROFILE": path})
        results = machine.results()
    same(results["facts"]["gpu"], profile["deviceName"])
    same(len(table(results, "layers f16 nchw")), 4)


@test
def without_a_gpu_the_status_is_77():
    if shutil.which("nvidia-smi"):
        raise Skip("this machine may have a GPU")
    with Machine() as machine:
        status, _, err = machine.run(gpu=False)
        same(status, 77)
        assert "no GPU" in err, err


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    if BUILD == os.path.join(ROOT, "build"):
        subprocess.run(["make", "-C", ROOT, "--no-print-directory", "-s", "gpu"], check=True, stdout=sys.stderr)
    sys.exit(main())
