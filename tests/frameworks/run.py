"""Runs a program of programs.py or other_programs.py, and prints the memory of its last call as a line of JSON.

    run.py PROGRAM [MODE]      MODE is one of modes.py
"""
import json
import sys

import torch

import modes
import other_programs  # noqa: F401 (fills PROGRAMS)
import programs

WARM, MEASURED = 2, 1


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


if __name__ == "__main__":
    with torch.no_grad():
        print(json.dumps(measure(programs.PROGRAMS[sys.argv[1]].make, sys.argv[2] if len(sys.argv) > 2 else "eager")))
