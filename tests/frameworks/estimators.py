"""Estimators of memory on rows of tests/data/published_peaks.csv, on the CPU.

Arguments: the name of a function below, and rows as JSON. Prints a list of JSON: peaks above the weights in bytes, or texts of
errors. The model is the part of the VAE that runs, decoder or encoder. Each estimator is called as its own page shows.
"""
import json
import sys

import torch

from programs import sd_vae


class Part(torch.nn.Module):
    def __init__(self, vae, decodes):
        super().__init__()
        self.first = vae.post_quant_conv if decodes else vae.encoder
        self.then = vae.decoder if decodes else vae.quant_conv

    def forward(self, x):
        return self.then(self.first(x))


def part(row):
    torch.set_default_dtype(row.dtype)
    return Part(sd_vae(), row.decodes).eval()


class Row:
    def __init__(self, row):
        self.decodes, self.dtype, self.name = row["operation"] == "decode", getattr(torch, row["dtype"]), row["dtype"]
        px = int(row["px"])
        self.shape = (4, px // 8, px // 8) if self.decodes else (3, px, px)


def mem_tracker(row):
    """PyTorch's torch.distributed._tools.mem_tracker on fake tensors of a GPU."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), torch.device("cuda"):
        model, x = part(row), torch.empty(1, *row.shape, dtype=row.dtype)
        tracker = MemTracker()
        tracker.track_external(model, x)
        with tracker:
            model(x)
        peak, = [sizes["Total"] for device, sizes in tracker.get_tracker_snapshot("peak").items() if device.type == "cuda"]
    return peak - sum(one.nbytes for one in model.parameters())


def torch_kitsune(row):
    from kitsune.predict import predict_memory
    result = predict_memory(part(row), input_shape=row.shape, batch_size=1, dtype=row.name, training=False)
    return result.total_bytes - result.param_bytes


def vram_check(row):
    from vram_check import analyze
    result = analyze(part(row), batch_size=1, dtype=row.name, optimizer="none", training=False)["estimate"]
    return result.total_bytes - result.parameters_bytes


def estimate(function, row):
    try:
        return int(function(Row(row)))
    except Exception as error:  # pylint: disable=broad-except
        return f"fails: {type(error).__name__}"


if __name__ == "__main__":
    print(json.dumps([estimate(globals()[sys.argv[1]], row) for row in json.loads(sys.argv[2])]))
