#!/usr/bin/env python3
"""Runs the examples of the documentation and compares their output.

    tests/support/run_docs.py --build DIR [--update] FILE...

Every block of a page, fenced or indented by four blanks, is one of these, or fails:

  ```console   lines `$ COMMAND` and the output of each, both streams: run in the source tree, it must print exactly that;
               a line `...` stands for any lines, `…` in a line for any text
  ```sh        run with convshim in its dry run, and every other program a stand-in that does nothing: options and targets of make have to
               be known, files may be missing
  ```ini       an ini file without mistakes for `convshim config --check`
  ```python    run with the library, on the simulated device; torch and undefined names are stand-ins
  any other    follows a comment: <!-- printed by: COMMAND --> is run, and must print the block as above;
               <!-- not run: REASON --> is not run; the reason is for the next reader

--update replaces the text of blocks without wildcards by the output. Prints TAP.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FENCE = re.compile(r"^( *)```(\S*)\s*$")
COMMENT = re.compile(r"^ *<!-- (printed by|not run): (.*\S) -->\s*$")
STAND_INS = "python python3 pip docker apptainer module srun sbatch systemctl systemd-run sudo bash cat ssh loginctl".split()
# A clone is a folder.
GIT = '#!/bin/sh\n[ "$1" != clone ] || mkdir -p "$3"\n'
# Its targets are those that `make help` names.
MAKE = """#!/bin/sh
for target; do
    case $target in
        -* | *=*) ;;
        *) grep -q "^#: $target " {root}/Makefile {root}/tests/*.mk {root}/packaging/*.mk || {{ echo "make: no target $target"; exit 2; }} ;;
    esac
done
"""
# `run` prints its settings. For commands that would examine this machine, wait or read files, only the options are
# checked.
SHIM = """#!/bin/sh
case $1 in
    run) shift; exec {build}/convshim run --dry-run "$@" ;;
    doctor | status | simulate | report) ;;
    *) exec {build}/convshim "$@" ;;
esac
count=$# given=
for word; do
    [ "$word" != -- ] || given=yes
    [ -n "$given" ] || set -- "$@" "$word"
done
shift $count
exec {build}/convshim "$@" --help
"""
# Parts that an example leaves to its reader: modules, and names that it does not define.
STAGE = """
import sys
from unittest.mock import MagicMock
sys.modules["torch"] = MagicMock()
exec(compile(sys.stdin.read(), "the block", "exec"), {name: MagicMock() for name in ("torch", "model", "example")})
"""


class Block:
    """Lines of a page from `first` to before `end`, without the fences."""

    def __init__(self, kind, indent, first, end, comment):
        self.kind, self.indent, self.first, self.end, self.comment = kind, indent, first, end, comment


def comment_before(lines, at):
    while at > 0 and not lines[at - 1].strip():
        at -= 1
    found = COMMENT.match(lines[at - 1]) if at > 0 else None
    return found and found.groups()


def blocks(lines):
    found, at, listed = [], 0, False
    while at < len(lines):
        fence, line = FENCE.match(lines[at]), lines[at]
        end = at + 1
        if fence:
            while end < len(lines) and lines[end].rstrip() != fence[1] + "```":
                end += 1
            found.append(Block(fence[2], fence[1], at + 1, end, comment_before(lines, at)))
            end += 1
        elif re.match(r" {4}\S", line) and not listed and (at == 0 or not lines[at - 1].strip()):
            while end < len(lines) and (lines[end].startswith("    ") or (not lines[end].strip() and lines[end + 1 : end + 2] and
                                                                          lines[end + 1].startswith("    "))):
                end += 1
            found.append(Block("", "    ", at, end, comment_before(lines, at)))
        elif line.strip():
            # Text that is indented below an item belongs to it.
            listed = bool(re.match(r" *([*-]|\d+\.) ", line)) or (listed and line.startswith(" "))
        at = end
    return found


def steps(text):
    """[(command, expected)] of a console block."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (found[-1][0] + "\n" + line, [])
        elif found:
            found[-1][1].append(line)
        else:
            return [("false", [line])]
    return found


def pattern_of(lines):
    parts = ["(?:.*\n)*?" if line.strip() == "..." else ".*?".join(map(re.escape, line.rstrip().split("…"))) + " *\n" for line in lines]
    return "".join(parts)


def environment(build):
    settings = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}", LC_ALL="C.UTF-8", SIMDEV_DIR=f"{build}/simdev")
    with open(os.path.join(ROOT, "build/config.mk"), encoding="utf-8") as file:
        config = dict(line.strip().split(" := ", 1) for line in file if " := " in line and line.split(" := ", 1)[1].strip())
    settings["LD_LIBRARY_PATH"] = ":".join([build] + [config[key] for key in ("CUDNN_LIB", "CUBLAS_LIB", "NVRTC_LIB") if key in config])
    for name in [name for name in settings if name.startswith("CONVSHIM")]:
        del settings[name]
    return settings


def execute(command, folder, settings, text=None, limit=300):
    given = {"input": text} if text is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(command, cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit,
                          check=False, **given)


def printed(command, expected, build, update):
    """The fault, or None; and the expected lines."""
    done = execute(["bash", "-c", command], ROOT, environment(build))
    if re.fullmatch(pattern_of(expected), done.stdout):
        return None, expected
    if update and not any("…" in line or line.strip() == "..." for line in expected):
        expected = [line.rstrip() for line in done.stdout.splitlines()]
    return f"$ {command}\n{done.stdout}", expected


def run_console(text, build, update):
    shown, wrong = [], None
    for command, expected in steps(text):
        bad, lines = printed(command, expected, build, update)
        wrong = wrong or bad
        shown.append("\n".join(["$ " + command] + lines))
    return wrong, "\n".join(shown) + "\n"


def failure(done):
    return None if done.returncode == 0 else f"status {done.returncode}\n{done.stdout}"


def run_shell(text, build):
    with tempfile.TemporaryDirectory() as folder:
        names = [(name, "#!/bin/sh\nexit 0\n") for name in STAND_INS]
        names += [("git", GIT), ("convshim", SHIM.format(build=build)), ("make", MAKE.format(root=ROOT))]
        for name, script in names:
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(script)
            os.chmod(path, 0o755)
        # The list of layers that pages name, cut to a few of them to save time.
        with open(os.path.join(ROOT, "tests/data/conv_layers.csv"), encoding="utf-8") as layers, \
             open(os.path.join(folder, "layers.csv"), "w", encoding="utf-8") as some:
            some.writelines(layers.readlines()[:5])
        settings = dict(environment(build), PATH=f"{folder}:{os.environ['PATH']}", HOME=folder)
        return failure(execute(["/bin/bash", "-ec", "source() { :; }\n" + text], folder, settings, limit=60))


def run_ini(text, build):
    with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
        file.write(text)
        file.flush()
        return failure(execute([f"{build}/convshim", "config", "--check", file.name], ROOT, environment(build)))


def run_python(text, build):
    settings = dict(environment(build), PYTHONPATH=os.path.join(ROOT, "python"))
    return failure(execute([f"{build}/convshim", "run", "--summary", "off", "--log", "off", "--", sys.executable, "-c", STAGE], ROOT,
                           settings, text))


def check(block, text, build, update):
    """The fault, or None; and the expected text."""
    runners = {"sh": run_shell, "ini": run_ini, "python": run_python}
    if block.comment and block.comment[0] == "not run":
        return None, text
    if block.comment:
        wrong, lines = printed(block.comment[1], text.splitlines(), build, update)
        return wrong, "\n".join(lines) + "\n"
    if block.kind == "console":
        return run_console(text, build, update)
    if block.kind in runners:
        return runners[block.kind](text, build), text
    return "neither a kind of block that is run, nor behind a comment that says what prints it, or why nothing runs it", text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("file", nargs="+")
    options = parser.parse_args()
    build, number, failures, skipped = os.path.abspath(options.build), 0, 0, 0
    for path in options.file:
        with open(path, encoding="utf-8") as file:
            before = file.read()
        lines = before.splitlines()
        for block in reversed(blocks(lines)):
            text = "".join(line.removeprefix(block.indent) + "\n" for line in lines[block.first : block.end])
            wrong, right = check(block, text, build, options.update)
            number += 1
            failures += wrong is not None
            skipped += bool(block.comment) and block.comment[0] == "not run"
            print(f"{'not ok' if wrong else 'ok'} {number} - {os.path.relpath(path, ROOT)}:{block.first + 1}")
            if wrong:
                print("# " + wrong.rstrip().replace("\n", "\n# "))
            if right != text:
                lines[block.first : block.end] = [(block.indent + row).rstrip() for row in right.splitlines()]
        after = "".join(line + "\n" for line in lines)
        if options.update and after != before:
            with open(path, "w", encoding="utf-8") as file:
                file.write(after)
    print(f"1..{number}\n# {skipped} not run, for a reason that the page gives")
    sys.exit(failures > 0 or number == 0)


main()
