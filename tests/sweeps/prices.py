#!/usr/bin/env python3
"""The cost of tiles by default and under 64 MiB: every layer of a list on seven GPUs in both layouts, by `convshim predict`.

    tests/sweeps/prices.py BUILD [--csv LIST | --random SEED] [--markdown]

By default, the largest peak of each model must not be higher with the library, and for each GPU the median over models, layouts and
directions of the peak divided by the floor must stay within its bound. With a limit of 64 MiB, at most one forward convolution or data gradient of a list
may stay over it, and no tiling may be predicted to take more than 32 times as long. Prints TAP with the tables as comments; --markdown prints the tables alone (docs/results/prices.md); --random takes layers of no model.
"""
import argparse
import csv
import io
import json
import random
import statistics
import sys
import tempfile

import predict

LIMIT = 64 << 20
# Median over models, of forward convolutions and data gradients of a GPU: largest peak with the library divided by the largest floor.
MEDIAN = 1.15
# Times the untiled time: the default of max_slowdown.
SLOWEST = 32


def is_planned(build):
    return not json.loads(predict.run(build, "1x8x16x16 -> 8 k3x3 s1 p1 f16 nchw", "--format", "json").stdout)["estimate"]


def predicted(build, layers, gpu, layout, direction, workspace):
    """The rows of a list that have a plan; engines for a type that the GPU lacks make the command's status 1."""
    done = predict.run(build, "--csv", layers, "--device", gpu, "--layout", layout, "--dir", direction, "--workspace", workspace,
                       "--max-slowdown", "32", "--format", "csv")
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["workspace_bytes"]]
    if done.returncode not in (0, 1) or not rows:
        sys.exit(f"Bail out! {gpu}, {layout}, {direction}: {done.stderr.strip() or 'no rows'}")
    return rows


def floor_of(row):
    """The size of the tensors."""
    return sum(int(row[part]) for part in ("input_bytes", "filter_bytes", "output_bytes"))


def of_models(rows):
    """For each model: its largest peak without and with the library, and its largest floor."""
    models = {}
    for row in rows:
        peaks = models.setdefault(row["model"], [0, 0, 0])
        floor = floor_of(row)
        for at, size in enumerate((floor + int(row["workspace_bytes"]), int(row["tiled_peak_bytes"]), floor)):
            peaks[at] = max(peaks[at], size)
    return list(models.values())


def median(numbers):
    return f"{statistics.median(numbers):.3f}" if numbers else "-"


def judged(rows):
    """The row of the table: counts of the layers that require more than 64 MiB, and the peaks of all models."""
    over = [row for row in rows if int(row["workspace_bytes"]) > LIMIT]
    tiled = [row for row in over if row["tiled_axis"] != "-"]
    slow = [float(row["predicted_slowdown"]) for row in tiled if row["predicted_slowdown"]]
    return {"over": len(over), "untiled": len(over) - len(tiled), "raised": sum(row["raised"] == "yes" for row in tiled),
            "left": sum(int(row["tiled_workspace_bytes"]) > LIMIT for row in over), "slowest": max(slow, default=1.0),
            "models": of_models(rows), "slow": slow}


HEADS = ("GPU", "layout", "direction", "over 64 MiB", "not tiled", "raised", "still over 64 MiB", "slowest", "peak/floor without", "with")


def table(build, layers, workspace):
    for gpu in predict.GPUS:
        for layout in ("nchw", "nhwc"):
            for direction in ("fwd", "dgrad", "wgrad"):
                result = judged(predicted(build, layers, gpu, layout, direction, workspace))
                if result["over"]:
                    yield gpu, layout, direction, result


def medians(models):
    """Of the largest peaks of models, divided by their largest floors: without and with the library."""
    return tuple(statistics.median(peaks[side] / peaks[2] for peaks in models) for side in (0, 1))


def cells(gpu, layout, direction, result):
    return (gpu, layout, direction, *(str(result[key]) for key in ("over", "untiled", "raised", "left")), f"{result['slowest']:.2f}",
            *(f"{median:.3f}" for median in medians(result["models"])))


def summary(results):
    """Sums over the directions that come under any limit, of each GPU and of all, and whether they are within the bounds."""
    lines, good = [], True
    for gpu in (*predict.GPUS, "all"):
        chosen = [result for name, _, direction, result in results if gpu in (name, "all") and direction != "wgrad"]
        models = [model for result in chosen for model in result["models"]]
        slow = [time for result in chosen for time in result["slow"]]
        without, peak = medians(models)
        good &= peak <= MEDIAN
        lines.append(f"| {gpu} | {len(models)} | {without:.3f} | {peak:.3f} | {statistics.median(slow):.2f} | {statistics.mean(slow):.2f} |")
    head = "| GPU | models | peak/floor without | with | time of tiled layers, median | mean |"
    return ["Forward convolutions and data gradients:", "", head, "|---|---|---|---|---|---|", *lines], good


def random_layers(seed, file):
    """Writes 232 layers as a CSV: most of them large enough for a workspace of more than LIMIT."""
    draw = random.Random(seed)
    file.write("layer,n,c,h,w,k,kh,kw,sh,sw,ph,pw,dtype\n")
    for number in range(232):
        n, extent = draw.choice((1, 1, 2, 4, 8, 16)), draw.choice((48, 64, 96, 128, 200, 256, 384, 512, 720, 1024))
        window, stride = draw.choice((1, 3, 3, 3, 5, 7)), draw.choice((1, 1, 1, 1, 2))
        c, k = (draw.choice((16, 32, 48, 64, 96, 128, 192, 256, 320, 512)) for _ in range(2))
        wide, pad = extent * draw.choice((2, 3, 4)) // 2, window // 2
        if n * c * extent * wide < 1 << 31 and n * k * extent * wide < 1 << 31:
            file.write(f"{number},{n},{c},{extent},{wide},{k},{window},{window},{stride},{stride},{pad},{pad},"
                       f"{draw.choice(('f16', 'bf16', 'f32'))}\n")
    file.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--csv", default=predict.LAYERS)
    parser.add_argument("--random", type=int, metavar="SEED")
    parser.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if options.random is None:
        return judge(options)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        random_layers(options.random, file)
        options.csv = file.name
        return judge(options)


def judge(options):
    if not is_planned(options.build):
        print("ok 1 - prices # SKIP no real cuDNN: nothing real can be planned\n1..1")
        return 0
    tests = failed = 0
    for workspace in ("auto", "64MiB"):
        lines, results = [], []
        for gpu, layout, direction, result in table(options.build, options.csv, workspace):
            results.append((gpu, layout, direction, result))
            lines.append("| " + " | ".join(cells(gpu, layout, direction, result)) + " |")
            good = (all(after <= before for before, after, _ in result["models"]) if workspace == "auto" else
                    result["slowest"] <= SLOWEST and (direction == "wgrad" or result["left"] <= 1))
            tests += 1
            failed += not good
            if not options.markdown:
                print(f"{'ok' if good else 'not ok'} {tests} - {workspace}, {gpu}, {layout}, {direction}", flush=True)
        sums, good = summary(results)
        if workspace == "auto":
            tests += 1
            failed += not good
            if not options.markdown:
                print(f"{'ok' if good else 'not ok'} {tests} - {workspace}, medians", flush=True)
        before = "" if options.markdown else "# "
        print(f"{before}\n{before}`workspace = {workspace}`\n{before}\n{before}| {' | '.join(HEADS)} |\n{before}|{'---|' * len(HEADS)}")
        print("\n".join(before + line for line in [*lines, "", *sums]), flush=True)
    if not options.markdown:
        print(f"1..{tests}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
