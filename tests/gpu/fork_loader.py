"""Training with a data loader whose workers are forked while the program already runs convolutions on the GPU.

One JSON line: program, status, batches, losses (a checksum of them), ms_per_iteration, max_memory_allocated, loader_pids.
"""

import argparse
import hashlib
import json
import os
import statistics
import sys
import time

import torch
from torch import nn

import measure


class Images(torch.utils.data.Dataset):
    """Random images; each contains the process that made it."""

    def __init__(self, count, edge):
        self.count = count
        self.edge = edge

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.randn(3, self.edge, self.edge, generator=generator)
        return torch.nn.functional.avg_pool2d(image[None], 3, 1, 1)[0], os.getpid()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--edge", type=int, default=256)
    parser.add_argument("--width", type=int, default=128)
    options = parser.parse_args()
    measure.no_device(options)
    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    width = options.width
    model = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.SiLU(),
        nn.Conv2d(width, width, 3, padding=1),
        nn.SiLU(),
        nn.Conv2d(width, 3, 3, padding=1),
    ).to(options.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # Convolutions before the fork: the workers inherit a process in which the library is awake.
    model(torch.zeros(1, 3, options.edge, options.edge, device=options.device)).sum().backward()
    loader = torch.utils.data.DataLoader(
        Images(4 * options.batches, options.edge), batch_size=4, num_workers=2, multiprocessing_context="fork"
    )
    losses, times, pids = [], [], set()
    for epoch in range(2):
        for images, makers in loader:
            begin = time.perf_counter()
            images = images.to(options.device)
            optimizer.zero_grad(set_to_none=True)
            loss = (model(images) - images).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            times.append((time.perf_counter() - begin) * 1000)
            pids.update(makers.tolist())
    record = {
        "program": "fork_loader",
        "case": "2 workers",
        "dtype": "f32",
        "mode": "eager",
        "status": "ok",
        "batches": len(losses),
        "loader_processes": len(pids - {os.getpid()}),
        "checksum": hashlib.sha256(repr(losses).encode()).hexdigest()[:16],
        "ms_per_iteration": statistics.median(times),
    }
    if options.device == "cuda":
        record["max_memory_allocated"] = torch.cuda.max_memory_allocated()
        record["max_memory_reserved"] = torch.cuda.max_memory_reserved()
    print(json.dumps(record))
    sys.exit(0 if record["loader_processes"] else 1)


if __name__ == "__main__":
    main()
