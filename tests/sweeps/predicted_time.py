#!/usr/bin/env python3
"""Policy fast foretells no layer more time than policy fit takes by the same model, on seven GPUs under four caps. TAP.

predicted_time.py BUILD: asks BUILD/convshim predict, which decides with the library's own code over the real cuDNN.
"""
import json
import sys

import predict

CAPS = ("8MiB", "16MiB", "64MiB", "256MiB")


def layers(build, gpu, cap, policy):
    done = predict.run(build, "--csv", predict.LAYERS, "--device", gpu, "--workspace", cap, "--policy", policy, "--min-saving", "0",
                       "--format", "json")
    if done.returncode not in (0, 1):
        sys.exit(f"Bail out! {gpu}, {cap}, {policy}: {done.stderr.strip()}")
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
    for number, gpu in enumerate(predict.GPUS, 1):
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
    print(f"1..{len(predict.GPUS)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
