"""Measures rows of one of tests/data/published_*.csv, all of one kind and type, and prints {"rows": figures} as a line of JSON.

    run_published.py ROWS      a JSON list of rows
"""
import gc
import json
import sys

import torch

import programs

WARM = 2


def empty():
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def published(rows):
    """Rows as they were measured."""
    measure_rows = published_qwen if "height" in rows[0] else published_layers if "layer" in rows[0] else published_sd
    return measure_rows(rows)


def published_qwen(rows):
    """One warm-up call, then one from an empty cache."""
    from diffusers import AutoencoderKLQwenImage
    vae = programs.on_device(AutoencoderKLQwenImage, torch.float16)
    peaks = []
    for row in rows:
        height, width = int(row["height"]), int(row["width"])
        if row["operation"] == "decode":
            latent = programs.data(1, 16, 1, height // 8, width // 8, dtype=torch.float16)
            call = lambda: vae.decode(latent, return_dict=False)[0]
        else:
            image = programs.data(1, 3, 1, height, width, dtype=torch.float16)
            call = lambda: vae.encode(image).latent_dist.mode()
        call()
        empty()
        call()
        torch.cuda.synchronize()
        peaks.append({"allocated": torch.cuda.max_memory_allocated()})
    return peaks


def published_layers(rows):
    peaks = []
    for row in rows:
        sizes = (int(row[key]) for key in ("in_channels", "out_channels", "kernel", "stride", "padding"))
        layer = getattr(torch.nn, row["layer"])(*sizes).to("cuda")
        given = programs.data(*map(int, row["input"].split("x")))
        empty()
        layer(given)
        torch.cuda.synchronize()
        peaks.append({"allocated": torch.cuda.max_memory_allocated()})
        del layer, given
    return peaks


def published_sd(rows):
    """Rows of one type as they were measured: in one process, one after another, on one model. The cache is emptied
    after each warm-up call and before the measured one. By then the result of the last warm-up call has been freed.
    PyTorch up to 2.9 holds the workspace of cuBLAS, which keeps a segment of 64 MiB from the first row on. So that
    segment does not count as the call's own."""
    dtype = getattr(torch, rows[0]["dtype"])
    vae = programs.sd_vae().to(dtype).to("cuda").eval()
    return [measure_published(vae, row, dtype) for row in rows]


def measure_published(vae, row, dtype):
    px = int(row["px"])
    operation, _, tiled = row["operation"].partition("_")
    vae.use_tiling = bool(tiled)
    vae.tile_sample_min_size, vae.tile_latent_min_size = 512, 64
    if operation == "decode":
        given = programs.data(1, 4, px // 8, px // 8, dtype=dtype)
        call = lambda: vae.decode(given / vae.config.scaling_factor, return_dict=False)[0]
    else:
        given = programs.data(1, 3, px, px, dtype=dtype)
        call = lambda: vae.encode(given).latent_dist.sample()
    for _ in range(WARM):
        result = call()
        empty()
    del result
    empty()
    before, held = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    last = call()
    torch.cuda.synchronize()
    peaks = {"allocated": torch.cuda.max_memory_allocated() - before, "reserved": torch.cuda.max_memory_reserved() - held}
    del last
    return peaks


if __name__ == "__main__":
    with torch.inference_mode():
        print(json.dumps({"rows": published(json.loads(sys.argv[1]))}))
