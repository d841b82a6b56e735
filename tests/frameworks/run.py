"""Runs programs of programs.py in forked children, one after another, and prints what each one took as a line of JSON.

Reads jobs from standard input, one JSON object a line: {"program": name, "env": {...}, "report": path}; or
{"published": [{"operation", "dtype", "px"}, ...], ...} for rows of published_peaks.csv of one type. The interpreter and the packages are
loaded once; a child gets its environment before it touches the device, so that each job has a device of its own.
"""
import gc
import json
import os
import sys
import time

import torch

import programs

WARM, MEASURED = 2, 1


def empty():
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def published(rows):
    """Rows of one type as they were taken: in one process, one after another, on one model. The cache is emptied after each call
    to warm up and before the measured one. What is then still held does not count as the call's own: the result of the last call
    to warm up, and in PyTorch up to 2.9 the workspace of cuBLAS, which keeps a segment of 64 MiB from the first row on."""
    dtype = getattr(torch, rows[0]["dtype"])
    vae = programs.sd_vae().to(dtype).to("cuda").eval()
    return [measure_published(vae, row, dtype) for row in rows]


def measure_published(vae, row, dtype):
    px = int(row["px"])
    if row["operation"] == "decode":
        given = programs.data(1, 4, px // 8, px // 8, dtype=dtype)
        call = lambda: vae.decode(given / vae.config.scaling_factor, return_dict=False)[0]
    else:
        given = programs.data(1, 3, px, px, dtype=dtype)
        call = lambda: vae.encode(given).latent_dist.sample()
    for _ in range(WARM):
        result = call()
        empty()
    before, held = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    last = call()
    torch.cuda.synchronize()
    peaks = {"allocated": torch.cuda.max_memory_allocated() - before, "reserved": torch.cuda.max_memory_reserved() - held}
    del result, last
    return peaks


def measure(make):
    """Two calls to warm up, then one from an empty cache."""
    keep, call = make()
    cuda = torch.cuda
    for _ in range(WARM):
        call()
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


def child(job):
    os.environ.update(job.get("env", {}))
    start = time.time()
    try:
        with torch.inference_mode() if "published" in job else torch.no_grad():
            result = {"rows": published(job["published"])} if "published" in job else \
                measure(programs.PROGRAMS[job["program"]].make)
        result["ran"] = True
    except torch.cuda.OutOfMemoryError as error:
        result = {"ran": False, "error": "out of memory: " + str(error).split("\n", 1)[0]}
    except Exception as error:  # whatever a framework throws is the row's result
        result = {"ran": False, "error": f"{type(error).__name__}: {error}".split("\n", 1)[0]}
        import traceback
        traceback.print_exc()
    result["seconds"] = round(time.time() - start, 2)
    return result


def load(name):
    """With a device that is not asked for: one that came up before the fork would be the parent's."""
    asked = torch.cuda.is_available
    torch.cuda.is_available = lambda: True
    programs.load(name)
    torch.cuda.is_available = asked


def main():
    for line in sys.stdin:
        job = json.loads(line)
        load(job.get("program", "sd_decode_f16"))
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            os.write(write, json.dumps(child(job)).encode())
            os.close(write)
            sys.exit(0)  # not _exit: the device and the library write their reports now
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read()
        _, status = os.waitpid(pid, 0)
        result = json.loads(text) if text else {"ran": False, "error": f"ended with wait status {status}"}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
