#!/usr/bin/env python3
"""Runs what documentation shows and compares what it prints.

    tests/support/run_docs.py --build DIR [--update] FILE...

A block ```console has lines `$ COMMAND` and what each prints, both streams: it is run in the source tree, and has to print just that; a line
`...` stands for any lines, `…` in a line for anything. A block ```sh is run with convshim in its dry run, and every other program a
stand-in that does nothing: its options have to be known, files may be missing. --update writes what is printed in place of what stands
in blocks without wildcards. Prints TAP.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BLOCK = re.compile(r"^( *)```(console|sh)\n(.*?)^\1```$", re.M | re.S)
STAND_INS = "python python3 pip docker srun sbatch systemctl systemd-run make sudo bash cat ssh loginctl".split()
# A clone is a folder.
GIT = '#!/bin/sh\n[ "$1" != clone ] || mkdir -p "$3"\n'
# `run` says what it would do; what would look at this machine or wait does nothing.
SHIM = """#!/bin/sh
case $1 in
    run) shift; exec {build}/convshim run --dry-run "$@" ;;
    doctor | status | simulate | tune | report) exec {build}/convshim "$1" --help ;;
    *) exec {build}/convshim "$@" ;;
esac
"""


def steps(text):
    """[(command, expected)] of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line, [])
        else:
            found[-1][1].append(line)
    return found


def pattern_of(lines):
    parts = ["(?:.*\n)*?" if line.strip() == "..." else ".*?".join(map(re.escape, line.rstrip().split("…"))) + " *\n" for line in lines]
    return "".join(parts)


def environment(build):
    settings = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", LC_ALL="C.UTF-8", SIMDEV_DIR=f"{build}/simdev")
    with open(os.path.join(ROOT, "build/config.mk"), encoding="utf-8") as file:
        config = dict(line.strip().split(" := ", 1) for line in file if " := " in line and line.split(" := ", 1)[1].strip())
    settings["LD_LIBRARY_PATH"] = ":".join(config[key] for key in ("CUDNN_LIB", "CUBLAS_LIB", "NVRTC_LIB") if key in config)
    for name in [name for name in settings if name.startswith("CONVSHIM")]:
        del settings[name]
    return settings


def run_console(text, build, update):
    """What is wrong, or None; and the block as it should be."""
    shown, wrong = [], None
    for command, expected in steps(text):
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment(build), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        if not re.fullmatch(pattern_of(expected), done.stdout):
            wrong = f"$ {command}\n{done.stdout}"
            if update and not any("…" in line or line.strip() == "..." for line in expected):
                expected = done.stdout.splitlines()
        shown.append("\n".join(["$ " + command] + expected))
    return wrong, "\n".join(shown) + "\n"


def run_shell(text, build):
    with tempfile.TemporaryDirectory() as folder:
        names = [(name, "#!/bin/sh\nexit 0\n") for name in STAND_INS] + [("git", GIT), ("convshim", SHIM.format(build=build))]
        for name, script in names:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(path, 0o755)
        settings = dict(environment(build), PATH=f"{folder}:{os.environ['PATH']}", HOME=folder)
        done = subprocess.run(["/bin/bash", "-ec", "source() { :; }\n" + text], cwd=folder, env=settings, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        return None if done.returncode == 0 else f"status {done.returncode}\n{done.stdout}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("file", nargs="+")
    options = parser.parse_args()
    build, number, failures = os.path.abspath(options.build), 0, 0
    for path in options.file:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        changed = text
        for block in BLOCK.finditer(text):
            body = re.sub(f"^{block[1]}", "", block[3], flags=re.M)
            wrong, right = (run_shell(body, build), body) if block[2] == "sh" else run_console(body, build, options.update)
            number += 1
            failures += wrong is not None
            line = text.count("\n", 0, block.start()) + 1
            print(f"{'not ok' if wrong else 'ok'} {number} - {os.path.relpath(path, ROOT)}:{line}")
            if wrong:
                print("# " + wrong.rstrip().replace("\n", "\n# "))
            if right != body:
                changed = changed.replace(block[3], "".join(block[1] + row + "\n" for row in right.splitlines()))
        if options.update and changed != text:
            with open(path, "w", encoding="utf-8") as file:
                file.write(changed)
    print(f"1..{number}")
    sys.exit(failures > 0 or number == 0)


main()
