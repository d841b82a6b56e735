"""python -m convshim [--OPTION VALUE ...] app.py [ARGUMENT ...]: runs a Python program with the library."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NoReturn

from . import ConvshimError, configure_subprocess

USAGE = """usage: python -m convshim [--OPTION VALUE ...] (SCRIPT | -m MODULE | -c CODE) [ARGUMENT ...]

Runs a Python program with libconvshim.so preloaded, in this process. OPTION is any of docs/options.md:
python -m convshim --workspace 32MiB app.py. 'convshim run' does the same for other programs."""


def refuse(line: str) -> NoReturn:
    print(f"convshim: {line}\nTry 'python -m convshim --help'.", file=sys.stderr)
    sys.exit(2)


def parse(words: list[str]) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    while words and words[0].startswith("--"):
        word = words.pop(0)
        if word == "--":
            break
        name, equals, value = word[2:].partition("=")
        if not equals and not words:
            refuse(f"option '{word}' needs a value")
        options[name.replace("-", "_")] = value if equals else words.pop(0)
    return options, words


def python_options() -> list[str]:
    """Python's own options, which come before -m convshim."""
    if not hasattr(sys, "orig_argv"):  # before Python 3.10
        return subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined, no-any-return]
    words = sys.orig_argv[1:len(sys.orig_argv) - len(sys.argv) + 1]
    word = words.pop()
    if not word.startswith("-"):  # the module's name
        word = words.pop()
    flags = word.partition("m")[0]  # for example of -Om
    return words if flags == "-" else [*words, flags]


def main() -> None:
    words = sys.argv[1:]
    if words and words[0] in ("-h", "--help"):
        print(USAGE)
        return
    options, words = parse(words)
    try:
        env = dict(configure_subprocess(None, **options))  # first, because an unknown option has used the program as its value
    except (ValueError, OSError, ConvshimError) as error:
        refuse(str(error))
    if not words:
        refuse("no program given")
    env["CONVSHIM_RUN"] = str(os.getpid())
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *python_options(), *words], env)


if __name__ == "__main__":
    main()
