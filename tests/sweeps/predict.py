"""`convshim predict` for the sweeps that use it: planned by the cuDNN that the tests are built against."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
LAYERS = os.path.join(ROOT, "tests/data/conv_layers.csv")
GPUS = ("t4", "a100", "rtx3060", "rtx4090", "rtx5090", "h200", "b200")


def cudnn():
    """Without it a rule of thumb would answer."""
    with open(os.path.join(ROOT, "build/config.mk"), encoding="utf-8") as file:
        found = [line.split(":=")[1].strip() for line in file if line.startswith("CUDNN_LIB :=")]
    return ["--cudnn", found[0]] if found and found[0] else []


def run(build, *options):
    """Status 1: cuDNN has no engine for some layer on that GPU."""
    # The real cuDNN does not free the objects it planned with.
    environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    return subprocess.run([os.path.join(os.path.realpath(build), "convshim"), "predict", *cudnn(), *options], capture_output=True,
                          text=True, env=environment, check=False)
