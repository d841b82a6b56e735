"""The command convshim of a wheel, which has its files in this package."""

import os
import sys


def main() -> None:
    command = os.path.join(os.path.dirname(os.path.realpath(__file__)), "bin", "convshim")
    os.execv(command, ["convshim", *sys.argv[1:]])
