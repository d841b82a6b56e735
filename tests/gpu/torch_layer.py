"""Single 2-D layers of a CSV through PyTorch: as they are, in channels_last, or by the package patch_conv.

One JSON line for each: layer, way, status, input_bytes, output_bytes, max_memory_allocated, ms_per_iteration.
"""

import argparse
import csv
import json
import statistics
import sys

import torch

import measure


def layer_module(row, dtype, device):
    number = {name: int(row[name]) for name in "n c h w k kh kw sh sw ph pw groups".split()}
    torch.manual_seed(0)
    conv = torch.nn.Conv2d(
        number["c"],
        number["k"],
        (number["kh"], number["kw"]),
        (number["sh"], number["sw"]),
        (number["ph"], number["pw"]),
        groups=number["groups"],
        bias=False,
    ).to(device, dtype)
    return conv, (number["n"], number["c"], number["h"], number["w"])


def measure_layer(row, options):
    dtype = measure.DTYPES[row["dtype"]]
    conv, shape = layer_module(row, dtype, options.device)
    x = torch.empty(shape, dtype=dtype, device=options.device).normal_()
    if options.way == "channels_last":
        conv, x = conv.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    elif options.way == "patch_conv":
        from patch_conv import convert_model

        conv = convert_model(conv, splits=options.splits)
    step = measure.Inference(conv, x)
    cuda = options.device == "cuda"
    if cuda:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    for _ in range(options.warmup):
        output_bytes = step.run()["output"].nbytes
    times = measure.times_ms(step, options.iterations, options.device)
    record = {
        "input_bytes": x.nbytes,
        "output_bytes": output_bytes,
        "ms_per_iteration": statistics.median(times),
    }
    if cuda:
        record["max_memory_allocated"] = torch.cuda.max_memory_allocated()
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", required=True)
    parser.add_argument("--way", default="plain", choices=("plain", "channels_last", "patch_conv"))
    parser.add_argument("--splits", type=int, default=8, help="of patch_conv")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=1)
    options = parser.parse_args()
    measure.no_device(options)
    failed = False
    with open(options.csv, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kd"] == row["d"] == "1" and row["dir"] == "fwd"]
    for row in rows:
        record = {
            "layer": f"{row['model']}/{row['layer']}",
            "way": options.way,
            "dtype": row["dtype"],
            "status": "ok",
        }
        try:
            record.update(measure_layer(row, options))
        except torch.OutOfMemoryError as error:
            record["status"] = "out of memory"
            print(f"{record['layer']}: {error}", file=sys.stderr)
        except Exception as error:  # one layer must not take the others along
            failed, record["status"] = True, "error"
            print(f"{record['layer']}: {type(error).__name__}: {error}", file=sys.stderr)
        print(json.dumps(record), flush=True)
        if options.device == "cuda":
            torch.cuda.empty_cache()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
