#!/usr/bin/env python3
"""Small programs in every mode of the library: each one's results are right, and the device's counts are the expected ones.

    tests/sweeps/accounts.py BUILD [--record]

tests/golden/accounts.txt has, of every mode of tests/faults/modes.py, the convolutions and copies that ran, on how many streams, and
the largest workspace: a changed plan, lane or scratch appears there. --record writes the file. Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "faults"))
sys.dont_write_bytecode = True
from modes import MODES, WRONG, device_environment  # noqa: E402 pylint: disable=wrong-import-position

GOLDEN = os.path.join(ROOT, "tests/golden/accounts.txt")
KEYS = ("conv_launches", "copies", "graph_launches", "streams", "largest_workspace_used", "allocations")


def account(name, build, environment):
    """One line about a mode's program, and its fault or None."""
    options, command, more, *_ = MODES[name]
    with tempfile.TemporaryDirectory(prefix="convshim-account-") as folder:
        device = os.path.join(folder, "device.json")
        environment = dict(environment, SIMDEV_PLANNING="rule", OMP_NUM_THREADS="1", CONVSHIM_CONFIG=options, HOME=folder,
                           XDG_CONFIG_HOME=folder, XDG_CACHE_HOME=folder, SIMDEV_REPORT=device,
                           LD_PRELOAD=":".join(filter(None, [os.environ.get("CONVSHIM_SAN_RT"),
                                                             os.path.join(build, "libconvshim.so")])), **more)
        done = subprocess.run([os.path.join(build, command[0]), *command[1:]], cwd=folder, env=environment, timeout=600,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        said = done.stderr.decode(errors="replace")
        wrong = next((line for line in said.splitlines() if any(text in line for text in WRONG)), None)
        if done.returncode != 0 or wrong:
            return "", wrong or f"status {done.returncode}: {' / '.join(said.splitlines()[-3:])}"
        with open(device, encoding="utf-8") as file:
            seen = json.load(file)
    if seen["violations"]:
        return "", f"{seen['violations']} violations"
    return " ".join([name, *(str(seen[key]) for key in KEYS)]), None


def main():
    build = os.path.realpath(sys.argv[1])
    environment = device_environment(build)
    with open(GOLDEN, encoding="utf-8") as file:
        golden = {line.split()[0]: line.strip() for line in file}
    lines, failed = [], 0
    for number, name in enumerate(MODES):
        line, wrong = account(name, build, environment)
        lines.append(line)
        if not wrong and sys.argv[2:] != ["--record"] and line != golden.get(name):
            wrong = f"{line}\n# recorded: {golden.get(name)}"
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number + 1} - {name}" + (f"\n# {wrong}" if wrong else ""), flush=True)
    print(f"1..{len(MODES)}")
    if sys.argv[2:] == ["--record"] and not failed:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in ["mode " + " ".join(KEYS), *lines])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
