#!/usr/bin/env python3
"""Policy fast foretells no layer more time than policy fit takes by the same model, on seven GPUs under four caps. TAP.

predicted_time.py BUILD: asks BUILD/convshim predict, which decides with the library's own code over the real cuDNN.
"""
import json
import os
import subprocess
import sys

GPUS = ("t4", "a100", "rtx3060", "rtx4090", "rtx5090", "h200", "b200")
CAPS = ("8MiB", "16MiB", "64MiB", "256MiB")
CSV = "tests/data/conv_layers.csv"


def cudnn():
    """The one that the tests are built against; without it a rule of thumb would answer."""
    with open("build/config.mk", encoding="utf-8") as file:
        for line in file:
            if line.startswith("CUDNN_LIB :="):
                return ["--cudnn", line.split(":=")[1].strip()]
    return []


def layers(build, gpu, cap, policy):
    command = [build + "/convshim", "predict", *cudnn()]
    command += ["--csv", CSV, "--device", gpu, "--workspace", cap]
    # The real cuDNN keeps what it was planned with.
    environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    command += ["--policy", policy, "--min-saving", "0", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode not in (0, 1):  # 1: cuDNN has no engine for some layer on this GPU
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    told = json.loads(done.stdout)
    return told["estimate"], {(layer["model"], layer["layer"]): layer.get("time_ratio") for layer in told["layers"]}


def slower(build, gpu):
    """What is wrong with a GPU's answers, and whether cuDNN gave them."""
    wrong, both = [], 0
    for cap in CAPS:
        estimate, fit = layers(build, gpu, cap, "fit")
        _, fast = layers(build, gpu, cap, "fast")
        if estimate:
            return [], 0, False
        for layer, ratio in fit.items():
            if not ratio:
                continue
            both += 1
            if not fast[layer] or fast[layer] > ratio * (1 + 1e-9):
                wrong.append(f"{gpu} {cap} {layer}: fit {ratio}, fast {fast[layer]}")
    return wrong, both, True


def main(build):
    failed = 0
    for number, gpu in enumerate(GPUS, 1):
        wrong, both, planned = slower(build, gpu)
        for line in wrong[:10]:
            print("# " + line)
        if planned:
            ok = not wrong and both > 100
            print(f"{'ok' if ok else 'not ok'} {number} - {gpu}: {both} layers, fast predicted no slower than fit")
        else:
            ok = True
            print(f"ok {number} - {gpu} # SKIP no real cuDNN: nothing real can be planned")
        failed += not ok
    print(f"1..{len(GPUS)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
