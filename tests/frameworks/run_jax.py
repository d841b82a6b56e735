"""Runs programs of jax_programs.py under jax.jit, in forked children, and prints the memory of each as a line of JSON.

Reads jobs from standard input, one JSON object a line: {"program": name, "by_time": whether plans are timed, "env":
{...}}. `allocated` is the memory of XLA's plan for the compiled program without its arguments and results
(memory_analysis); workspaces are part of it. Autotuning chooses by times, which a model predicts here, and holds the
memory of all tried plans: it is off unless requested.
"""
import os
import time

import jobs
import jax_programs

RUNS = 3


def run(job):
    if not job.get("by_time"):
        os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["JAX_PLATFORMS"] = "cuda"
    import jax
    start = time.time()
    function, arguments = jax_programs.PROGRAMS[job["program"]].make()
    compiled = jax.jit(function).lower(*arguments).compile()
    for _ in range(RUNS):
        jax.block_until_ready(compiled(*arguments))
    return {"ran": True, "allocated": compiled.memory_analysis().temp_size_in_bytes, "seconds": round(time.time() - start, 2)}


if __name__ == "__main__":
    jobs.serve(run, lambda error: f"{type(error).__name__}: {error}".split("\n", 1)[0][:300])
