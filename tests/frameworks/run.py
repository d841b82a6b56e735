"""Runs programs of programs.py in forked children, one after another, and prints the memory and time of each as a line of JSON.

Reads jobs from standard input, one JSON object a line: {"program": name, "mode": of modes.py, "env": {...}}; or
{"published": [row, ...], ...} for rows of one of tests/data/published_*.csv and of one type.
"""
import gc
import time

import torch

import jobs
import modes
import other_programs  # noqa: F401 (fills PROGRAMS)
import programs

WARM, MEASURED = 2, 1


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


def measure(make, mode):
    """Two calls to warm up, then one from an empty cache."""
    keep, call = make()
    warm, call = modes.MODES[mode].make(keep, call)
    cuda = torch.cuda
    for _ in range(WARM):
        warm()
    cuda.synchronize()
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    before, held = cuda.memory_allocated(), cuda.memory_reserved()
    for _ in range(MEASURED):
        call()
    cuda.synchronize()
    stats = cuda.memory_stats()
    del keep
    return {"allocated": cuda.max_memory_allocated() - before, "reserved": cuda.max_memory_reserved() - held,
            "weights": before, "allocated_peak": cuda.max_memory_allocated(), "reserved_peak": cuda.max_memory_reserved(),
            "retries": stats["num_alloc_retries"], "failed": stats["num_ooms"]}


def run(job):
    start = time.time()
    with torch.inference_mode() if "published" in job else torch.no_grad():
        result = {"rows": published(job["published"])} if "published" in job else \
            measure(programs.PROGRAMS[job["program"]].make, job.get("mode", "eager"))
    return {"ran": True, **result, "seconds": round(time.time() - start, 2)}


def describe(error):
    text = str(error).split("\n", 1)[0]
    return f"out of memory: {text}" if isinstance(error, torch.cuda.OutOfMemoryError) else f"{type(error).__name__}: {text}"


def load(job):
    """Loads the program without querying the device: a device initialized before the fork would be the parent's."""
    asked = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    programs.load(job.get("program", "sd_decode_f16"))
    torch.cuda.is_available = asked


if __name__ == "__main__":
    jobs.serve(run, describe, load)
