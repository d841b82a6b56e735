#!/usr/bin/env python3
"""Why some 16-bit filter gradients stay over 64 MiB, and that cuDNN has no other way which rounds once and is as fast.

    PYTHONPATH=FRONTEND tests/sweeps/filter_gradients.py BUILD [--csv LIST]

Counts the layers of a list that stay (NCHW and channels last, f16 and bf16, T4 and H200), and asks cuDNN about them:

* every engine with tensor cores that it offers, split sums or not, requires more than 64 MiB for the whole layer;
* no engine writes a float32 gradient from 16-bit tensors, to which tiles could be added up, in either layout;
* conversions to float32 and back exist, but most float32 gradients behind them are predicted to take longer than max_slowdown
  allows.

Prints TAP. Asked through NVIDIA's cudnn-frontend, on the simulated device: run by `make test-full` if that is installed.
"""
import argparse
import csv
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile

import predict
import prices

GPUS = ("t4", "h200")
LAYOUTS = ("nchw", "nhwc")
TYPES = ("f16", "bf16")


def list_left(build, layers, gpu, layout, dtype):
    """How many layers require more than the limit, and the names of those that still do with the library."""
    done = predict.run(build, "--csv", layers, "--device", gpu, "--layout", layout, "--dir", "wgrad", "--dtype", dtype,
                          "--workspace", "64MiB", "--format", "csv")
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if int(row["workspace_bytes"] or 0) > prices.LIMIT]
    return len(rows), [(row["model"], row["layer"]) for row in rows if int(row["tiled_workspace_bytes"]) > prices.LIMIT]


def extents(row, *names):
    return [int(row[name]) for name in names if int(row["d"]) > 1 or int(row["kd"]) > 1 or name not in ("d", "kd", "sd", "pd")]


def engines(build, row, gpu, layout, dtype):
    """Of one layer: workspace and notes of all that the heuristics offer."""
    image, kernel = extents(row, "d", "h", "w"), extents(row, "kd", "kh", "kw")
    options = ["--input", "x".join(map(str, [row["n"], row["c"], *image])),
               "--filter", "x".join(map(str, [row["k"], int(row["c"]) // int(row["groups"]), *kernel])),
               "--pad", "x".join(map(str, extents(row, "pd", "ph", "pw"))), "--groups", row["groups"],
               "--stride", "x".join(map(str, extents(row, "sd", "sh", "sw"))), "--dtype", dtype, "--dir", "wgrad"]
    done = predict.run(build, *options, "--device", gpu, "--layout", layout, "--engines", "--format", "csv")
    return [(int(offer["workspace_bytes"]), offer["notes"]) for offer in csv.DictReader(io.StringIO(done.stdout))]


def times(build, layers, gpu, dtype):
    """Predicted seconds of the untiled gradients."""
    done = predict.run(build, "--csv", layers, "--device", gpu, "--dir", "wgrad", "--dtype", dtype, "--format", "json")
    return [float(row["predicted_seconds"] or 0) for row in json.loads(done.stdout)["layers"]]


def strides(dims, channels_last):
    order = [1, *range(len(dims) - 1, 1, -1), 0] if channels_last else range(len(dims) - 1, -1, -1)
    result, step = [0] * len(dims), 1
    for i in order:
        result[i], step = step, step * dims[i]
    return result


def is_offered(cudnn, handle, build_graph):
    """True if cuDNN proposes an engine for a graph and takes it."""
    graph = cudnn.pygraph(intermediate_data_type=cudnn.data_type.FLOAT, compute_data_type=cudnn.data_type.FLOAT, handle=handle)
    build_graph(graph)
    try:
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        graph.check_support()
    except cudnn.cudnnGraphNotSupportedError:
        return False
    return graph.get_execution_plan_count() > 0


def ask(layers):
    """Under the simulated device: a line for each layer, layout and type, `gradient in itself, in float32, conversions`."""
    import cudnn  # pylint: disable=import-error,import-outside-toplevel

    handle = cudnn.create_handle()
    types = {"f16": cudnn.data_type.HALF, "bf16": cudnn.data_type.BFLOAT16, "f32": cudnn.data_type.FLOAT}

    def gradient(row, last, taken, written):
        image, kernel = extents(row, "d", "h", "w"), extents(row, "kd", "kh", "kw")
        step, pad = extents(row, "sd", "sh", "sw"), extents(row, "pd", "ph", "pw")
        out = [(i + 2 * p - k) // s + 1 for i, k, s, p in zip(image, kernel, step, pad)]
        dims = {"image": [int(row["n"]), int(row["c"]), *image], "loss": [int(row["n"]), int(row["k"]), *out],
                "filter": [int(row["k"]), int(row["c"]) // int(row["groups"]), *kernel]}

        def build_graph(graph):
            tensors = {name: graph.tensor(name=name, dim=dims[name], stride=strides(dims[name], last), data_type=types[taken])
                       for name in ("image", "loss")}
            result = graph.conv_wgrad(**tensors, padding=pad, stride=step, dilation=[1] * len(pad))
            result.set_output(True).set_data_type(types[written]).set_dim(dims["filter"])
            result.set_stride(strides(dims["filter"], last))

        return is_offered(cudnn, handle, build_graph)

    def conversion(row, taken, written):
        dims = [int(row["n"]), int(row["c"]), int(row["d"]) * int(row["h"]) * int(row["w"])]

        def build_graph(graph):
            tensor = graph.tensor(name="x", dim=dims, stride=strides(dims, False), data_type=types[taken])
            graph.identity(input=tensor).set_output(True).set_data_type(types[written]).set_dim(dims).set_stride(strides(dims, False))

        return is_offered(cudnn, handle, build_graph)

    for row in csv.DictReader(open(layers, encoding="utf-8")):
        for dtype in TYPES:
            for layout in LAYOUTS:
                last = layout == "nhwc"
                print(row["model"], row["layer"], dtype, layout, gradient(row, last, dtype, dtype), gradient(row, last, dtype, "f32"),
                      conversion(row, dtype, "f32") and conversion(row, "f32", dtype))


class Tap:
    """Counts and prints."""

    def __init__(self):
        self.count = self.failed = 0

    def check(self, good, name):
        self.count += 1
        self.failed += not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {name}")

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed else 0


def check_engines(tap, build, rows, left):
    """Of the whole layers: the least workspace that an engine with tensor cores requires."""
    least = []
    for (gpu, layout, dtype), names in left.items():
        for row in rows:
            if (row["model"], row["layer"]) in names:
                offers = engines(build, row, gpu, layout, dtype)
                with_cores = [bytes_ for bytes_, notes in offers if "tensor cores" in notes]
                least.append((min(with_cores, default=0), len(with_cores), sum("split sum" in notes for _, notes in offers)))
    print(f"# {sum(count for _, count, _ in least)} offers with tensor cores for {len(least)} layers, of all"
          f" {sum(split for _, _, split in least)} with split sums: {min(bytes_ for bytes_, _, _ in least) / 2**20:.1f} MiB at least")
    tap.check(all(bytes_ > prices.LIMIT for bytes_, _, _ in least), "no engine with tensor cores requires less, split sums or not")


def check_cudnn(tap, build, layers):
    command = [os.path.join(predict.ROOT, "scripts", "with-simdev"), "--", sys.executable, __file__, build, "--ask", layers]
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "SIMDEV_DIR": os.path.join(os.path.realpath(build), "simdev")})
    answers = [line.split()[-3:] for line in done.stdout.splitlines() if line.endswith(("True", "False"))]
    for line in [] if answers else done.stderr.splitlines()[-5:]:
        print("#", line)
    own, wide, converted = ([answer[i] == "True" for answer in answers] for i in range(3))
    print(f"# of {len(answers)} gradients cuDNN offers {sum(own)} in their own type, {sum(wide)} in float32; of their input"
          f" {sum(converted)} conversions to float32 and back")
    tap.check(answers and all(own) and not any(wide), "no engine writes a float32 gradient from 16 bits")
    tap.check(answers and all(converted), "conversions to float32 and back exist")


def check_times(tap, build, layers):
    """The conversions are not counted: they read and write three times the bytes once more."""
    slower = []
    for gpu in GPUS:
        narrow, wide = times(build, layers, gpu, "f16"), times(build, layers, gpu, "f32")
        slower += [w / n for n, w in zip(narrow, wide) if n > 0]
    print(f"# in float32 {sum(ratio > prices.SLOWDOWN for ratio in slower)} of {len(slower)} untiled gradients are predicted to take"
          f" more than {prices.SLOWDOWN} times as long, the median {prices.median(slower)} times")
    tap.check(slower and statistics.median(slower) > prices.SLOWDOWN, "most float32 gradients are slower than max_slowdown allows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--csv", default=predict.LAYERS)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask:
        ask(options.ask)
        return 0
    if not prices.is_planned(options.build):
        print("1..0 # SKIP no real cuDNN")
        return 0
    tap, left = Tap(), {}
    for dtype in TYPES:
        for layout in LAYOUTS:
            for gpu in GPUS:
                over, names = list_left(options.build, options.csv, gpu, layout, dtype)
                left[gpu, layout, dtype] = names
                print(f"# {dtype} {layout} {gpu}: {over} over 64 MiB, {len(names)} stay there")
    stay = {name for names in left.values() for name in names}
    with open(options.csv, encoding="utf-8") as file:
        reader = csv.DictReader(file)
        rows = [row for row in reader if (row["model"], row["layer"]) in stay]
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
        writer = csv.DictWriter(file, reader.fieldnames)
        writer.writeheader()
        writer.writerows(rows)
        file.flush()
        check_engines(tap, options.build, rows, left)
        check_cudnn(tap, options.build, file.name)
        check_times(tap, options.build, file.name)
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
