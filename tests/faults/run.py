#!/usr/bin/env python3
"""Every call that the library makes fails once: its allocations, and its calls to cuDNN, driver and runtime.

    tests/faults/run.py BUILD [--mode NAME]... [--every K | --stacks] [--jobs N] [--record]

BUILD/faults/libconvshim.so counts these calls as points (faults.h). Each mode, a program with options, runs once to
count them. Then it runs once for every point, which fails alone, and for some points with all later ones. With
--every, it runs for every K-th point, from a different start in each mode; with --stacks, for the first and the last
of the points with the same calls. After each failure the program must end by itself, with the right result or with a
status that cuDNN may return, and the device must see no illegal call. A mode with fewer points than points.txt records
fails: some calls are no longer made, or no longer seen. --record writes that file, with nine tenths of the counts.
Prints TAP.
"""
import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile

from modes import MODES, WRONG, device_environment

RECORDED = os.path.join(os.path.dirname(os.path.realpath(__file__)), "points.txt")
HANGS = 120  # seconds


class Mode:
    def __init__(self, name, build, environment):
        self.name, self.build = name, build
        options, command, more, *every = MODES[name]
        self.every = every[0] if every else 1
        self.command = [os.path.join(build, command[0]), *command[1:]]
        self.environment = dict(environment, SIMDEV_PLANNING="rule", OMP_NUM_THREADS="1", CONVSHIM_CONFIG=options,
                                LD_PRELOAD=os.path.join(build, "faults", "libconvshim.so"), **more)
        self.stacks = {}  # the first and the last point, by what called it

    def note_stacks(self, path):
        with open(path, encoding="utf-8") as file:
            for point, stack in (line.split() for line in file):
                first, last = self.stacks.get(stack, (int(point), 0))
                self.stacks[stack] = (min(first, int(point)), max(last, int(point)))

    def run(self, at):
        """The fault of a run in which that point fails (None: no point), its number of points, and the call that
        failed."""
        with tempfile.TemporaryDirectory(prefix="convshim-fault-") as folder:
            environment = dict(self.environment, FAULT_REPORT=os.path.join(folder, "points"), HOME=folder,
                               XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder, XDG_STATE_HOME=folder,
                               SIMDEV_REPORT=os.path.join(folder, "device.json"))
            if at is not None:
                environment["FAULT_AT"] = at
            else:
                environment["FAULT_STACKS"] = os.path.join(folder, "stacks")
            errors = os.path.join(folder, "errors")
            with open(errors, "w", encoding="utf-8") as file:
                process = subprocess.Popen(self.command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=file, start_new_session=True)
                try:
                    status = process.wait(HANGS)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return f"hangs: not over after {HANGS} seconds", 0, "?"
            with open(errors, encoding="utf-8", errors="replace") as file:
                said = file.read()
            points, fired = self.report(environment["FAULT_REPORT"])
            if at is None:
                self.note_stacks(environment["FAULT_STACKS"])
            return self.judge(status, said, environment["SIMDEV_REPORT"], at), points, fired

    @staticmethod
    def report(path):
        try:
            with open(path, encoding="utf-8") as file:
                points, fired = file.read().split()
            return int(points), fired
        except (OSError, ValueError):
            return 0, "?"

    @staticmethod
    def judge(status, said, device, at):
        tail = " / ".join(said.strip().splitlines()[-3:])
        if status < 0:
            return f"ends by signal {-status}: {tail}"
        for text in WRONG:
            if text in said:
                line = next(line for line in said.splitlines() if text in line)
                return f"wrong: {line}"
        if status != 0 and at is None:
            return f"fails without a fault, status {status}: {tail}"
        if status not in (0, 1):
            return f"status {status}: {tail}"
        if status == 1 and not said.strip():
            return "status 1 without a word"
        try:
            with open(device, encoding="utf-8") as file:
                violations = json.load(file)["violations"]
        except (OSError, ValueError, KeyError):
            return "the device left no report"
        return f"{violations} violations" if violations else None


def recorded():
    try:
        with open(RECORDED, encoding="utf-8") as file:
            return {line.split()[0]: int(line.split()[1]) for line in file if line.strip() and not line.startswith("#")}
    except FileNotFoundError:
        return {}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--mode", action="append", choices=sorted(MODES))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", action="store_true")
    return parser.parse_args()


def cases(mode, points, options, number):
    """The points that fail alone, and every tenth of them together with all later points."""
    every = options.every * mode.every
    chosen = sorted({n for ends in mode.stacks.values() for n in ends})[::mode.every] if options.stacks else \
        list(range(1 + number % every, points + 1, every))
    return [str(n) for n in chosen] + [f"{n}+" for n in chosen[::10]]


def run_mode(mode, number, options, least, pool):
    """Failures of a mode, its points, how many runs there were, kinds of calls that failed."""
    wrong, points, _ = mode.run(None)
    if wrong:
        return [wrong], points, 1, set()
    failures = []
    if points < least:
        failures.append(f"{points} points, of which {least} are recorded")
    at = cases(mode, points, options, number)
    kinds = set()
    for case, (wrong, _, fired) in zip(at, pool.map(mode.run, at)):
        kinds.add(fired)
        if wrong:
            failures.append(f"FAULT_AT={case} ({fired}): {wrong}")
    return failures, points, len(at) + 1, kinds


def main():
    options = arguments()
    build = os.path.realpath(options.build)
    environment = device_environment(build)
    least, counts, failed, kinds = recorded(), {}, 0, set()
    names = options.mode or list(MODES)
    runs = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, name in enumerate(names):
            mode = Mode(name, build, environment)
            failures, counts[name], made, seen = run_mode(mode, number, options, least.get(name, 0), pool)
            runs += made
            kinds |= seen - {"none", "?"}
            failed += bool(failures)
            print(f"{'not ok' if failures else 'ok'} {number + 1} - {name}: {counts[name]} points, {made} runs", flush=True)
            for failure in failures[:20]:
                print(f"# {failure}")
            if len(failures) > 20:
                print(f"# and {len(failures) - 20} more")
    print(f"1..{len(names)}")
    print(f"# {sum(counts.values())} points in {len(names)} modes, {runs} runs, {len(kinds)} functions that failed: "
          f"{' '.join(sorted(kinds))}")
    if options.record:
        with open(RECORDED, "w", encoding="utf-8") as file:
            file.write("# mode, least calls that can fail: written by tests/faults/run.py --record\n")
            file.writelines(f"{name} {counts[name] * 9 // 10}\n" for name in names)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
