"""The context that every part receives: the machine, the time, the report, and one way to run a measurement."""

import os
import sys

from . import machine

SKIPPED = 77
MIB = 1 << 20


# The program that runs the layers of a list, each once. It prints a JSON line for each.
LAYERS = ("convshim", "verify", "--once", "--time", 3600)


class Suite:
    """Not thread-safe. `programs` contains results that parts share: lists of records by name."""

    def __init__(self, root, build, out, simulated, runner, budget, report):
        self.root = root
        self.build = build
        self.out = out
        self.simulated = simulated
        self.runner = runner
        self.budget = budget
        self.report = report
        self.shared = {}
        self._libraries = None

    def path(self, *names):
        return os.path.join(self.root, *names)

    def work(self, name):
        """A file for a child to write, next to the report."""
        folder = os.path.join(self.out, "work")
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, name)

    def c_program(self, name, *arguments, capacity=None):
        """(argv, settings) of a program in the build folder."""
        program = [os.path.join(self.build, *name.split("/")), *map(str, arguments)]
        if self.simulated:
            size = ["--capacity", str(capacity)] if capacity else []
            settings = {"SIMDEV_DIR": os.path.join(self.build, "simdev")}
            return [self.path("scripts", "with-simdev"), *size, "--", *program], settings
        if self._libraries is None:
            self._libraries = machine.nvidia_folders()
        inherited = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
        return program, {"LD_LIBRARY_PATH": ":".join(self._libraries + inherited)}

    def python_program(self, name, *arguments):
        return [sys.executable, self.path("tests", "gpu", name), *map(str, arguments)]

    def measure(self, name, argv, expect, settings=None, workspace=None, limit=None):
        """Runs it and notes it in the report; None if it was skipped.

        A child that is expected to take longer than the part still has is skipped. One that takes more than three times
        as long as expected is stopped; its records so far count, and it is noted as failed.
        """
        left = self.budget.left()
        if left < expect:
            self.report.skip(name, "time")
            return None
        limit = min(limit or 3 * expect, max(left, expect))
        print(f"gpu-suite: {self.budget.spent():5.0f} s  {name}", file=sys.stderr, flush=True)
        outcome = self.runner.run(name, argv, limit, settings, workspace)
        if outcome.status == SKIPPED:
            self.report.skip(name, outcome.last_words)
            return None
        self.report.measured(outcome)
        if outcome.status is None:
            self.report.fail(name, f"stopped after {outcome.seconds:.0f} s")
        elif outcome.status != 0:
            self.report.fail(name, f"status {outcome.status}: {outcome.last_words}")
        return outcome

    def measure_c(self, name, program, expect, capacity=None, settings=None, workspace=None):
        argv, base = self.c_program(*program, capacity=capacity)
        return self.measure(name, argv, expect, {**base, **(settings or {})}, workspace)
