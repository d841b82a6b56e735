#!/usr/bin/env python3
"""The cost model held against published times: whole VAE decodes and encodes on a real RTX 4090 (tests/data/published_peaks.csv) and
single convolutions on a real A100 (tests/data/published_convolutions.csv). TAP.

published_times.py BUILD [--table]: asks BUILD/convshim predict, which plans with the real cuDNN, for the untiled time of every
convolution. PyTorch's other work is counted here: bytes of normalisations, activations, sums and biases at the
memory's bandwidth, and the arithmetic of the one attention. The model passes if it is within the bounds that are stated
in docs/design/decisions.md; --table prints the rows for it.
"""
import csv
import json
import os
import sys
import tempfile

import predict

MODELS, SINGLE = (os.path.join(predict.ROOT, "tests/data", name) for name in ("published_peaks.csv", "published_convolutions.csv"))
BANDWIDTH = 0.85 * 1008e9  # of an RTX 4090, as the model takes it
BANDWIDTH_OF_A100 = 0.85 * 2039e9
TENSOR = {"float16": 0.83 * 165e12, "float32": 0.7 * 82.6e12}  # of its attention; float32 without TF32
BYTES = {"float16": 2, "float32": 4}
# Times the published time that a prediction may be: see docs/design/decisions.md.
LEAST, MOST = 0.82, 1.16
LEAST_OF_ONE, MOST_OF_ONE = 0.9, 1.25


def resnet(layers, c, k, px):
    """A residual block: two convolutions of 3 x 3, each after a normalisation, and a shortcut where channels change."""
    layers += [(c, k, px, 3, 1), (k, k, px, 3, 1)]
    if c != k:
        layers.append((c, k, px, 1, 1))


def decoder(px):
    """(C, K, extent of the input, window, stride) of every convolution of the decoder."""
    layers = [(4, 4, px // 8, 1, 1), (4, 512, px // 8, 3, 1)]
    for _ in range(2):
        resnet(layers, 512, 512, px // 8)
    channels = 512
    for level, out in enumerate((512, 512, 256, 128)):
        size = px // 8 << level
        for _ in range(3):
            resnet(layers, channels, out, size)
            channels = out
        if level < 3:
            layers.append((out, out, 2 * size, 3, 1))
    layers.append((128, 3, px, 3, 1))
    return layers


def encoder(px):
    layers = [(3, 128, px, 3, 1)]
    channels = 128
    for level, out in enumerate((128, 256, 512, 512)):
        for _ in range(2):
            resnet(layers, channels, out, px >> level)
            channels = out
        if level < 3:
            layers.append((out, out, px >> level, 3, 2))
    for _ in range(2):
        resnet(layers, 512, 512, px // 8)
    return layers + [(512, 8, px // 8, 3, 1), (8, 8, px // 8, 1, 1)]


def convolutions(build, layers, dtype, device="rtx4090"):
    """Predicted seconds of all of them, untiled; None if no cuDNN answers."""
    short = {"float16": "f16", "float32": "f32"}[dtype]
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("layer,n,c,h,w,k,kh,kw,sh,sw,ph,pw,dtype\n")
        for number, (c, k, px, window, stride) in enumerate(layers):
            pad = 0 if stride == 2 else window // 2  # behind an explicit padding
            extent = px + 1 if stride == 2 else px
            file.write(f"{number},1,{c},{extent},{extent},{k},{window},{window},{stride},{stride},{pad},{pad},{short}\n")
        file.flush()
        done = predict.run(build, "--csv", file.name, "--device", device, "--format", "json")
    if done.returncode != 0:
        sys.exit(f"Bail out! {device}: {done.stderr.strip()}")
    told = json.loads(done.stdout)
    if told["estimate"]:
        return None
    return sum(layer["predicted_seconds"] for layer in told["layers"])


def beside(layers, dtype, px):
    """Seconds of everything else. A normalisation reads twice and writes, an activation, a bias and an upsampling read and write,
    a sum reads two and writes."""
    moved = 0
    for c, k, extent, window, stride in layers:
        image, result = c * extent**2, k * (extent // stride) ** 2
        moved += 2 * result  # bias
        if window == 3 and c > 8:
            moved += 5 * image + 1.5 * result  # normalised and activated; every second one is added to the block's input
    tokens = (px // 8) ** 2
    attention = 4 * tokens**2 * 512 + 8 * tokens * 512**2
    return moved * BYTES[dtype] / BANDWIDTH + attention / TENSOR[dtype]


def rows(path):
    with open(path, encoding="utf-8") as file:
        yield from csv.DictReader(line for line in file if not line.startswith("#"))


def models(build):
    """For each published time: its name, the time, the predictions for convolutions and for the rest, and the bounds
    of their ratio."""
    for row in rows(MODELS):
        if row["model"] != "SD1.5" or row["operation"].endswith("tiled"):
            continue
        px, dtype = int(row["px"]), row["dtype"]
        layers = {"decode": decoder, "encode": encoder}[row["operation"]](px)
        yield (f"{row['operation']} {px} px, {dtype}", float(row["seconds"]), convolutions(build, layers, dtype),
               beside(layers, dtype, px), LEAST, MOST)


def single(build):
    """Likewise of single convolutions; their biases are added by a kernel that reads and writes the result."""
    for row in rows(SINGLE):
        channels, px, window = int(row["channels"]), int(row["px"]), int(row["window"])
        seconds = convolutions(build, [(channels, channels, px, window, 1)], "float16", "a100")
        yield (f"{channels} channels, {px} px, {window} x {window}", float(row["milliseconds"]) / 1e3, seconds,
               2 * channels * px**2 * BYTES["float16"] / BANDWIDTH_OF_A100, LEAST_OF_ONE, MOST_OF_ONE)


def main(build, table):
    number = failed = 0
    for name, published, seconds, other, least, most in (*models(build), *single(build)):
        number += 1
        if seconds is None:
            print(f"ok {number} - {name} # SKIP no real cuDNN: nothing real can be planned")
            continue
        ratio = (seconds + other) / published
        if table:
            print(f"| {name} | {1e3 * published:.1f} ms | {1e3 * seconds:.1f} ms | {1e3 * other:.1f} ms | {ratio:.2f} |")
        ok = least <= ratio <= most
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {number} - {name}: {ratio:.2f} times the published time")
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--table" in sys.argv))
