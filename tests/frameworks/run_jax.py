"""Runs a program of jax_programs.py under jax.jit, and prints its memory as a line of JSON.

    run_jax.py PROGRAM

`allocated` is the memory of XLA's plan for the compiled program without its arguments and results (memory_analysis). Workspaces are
part of it. Autotuning is off: it chooses by times, which a model predicts here, and holds the memory of all tried plans.
"""
import json
import os
import sys

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["JAX_PLATFORMS"] = "cuda"
os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"

import jax  # noqa: E402 (reads the variables)

import jax_programs  # noqa: E402

RUNS = 3

if __name__ == "__main__":
    function, arguments = jax_programs.PROGRAMS[sys.argv[1]].make()
    compiled = jax.jit(function).lower(*arguments).compile()
    for _ in range(RUNS):
        jax.block_until_ready(compiled(*arguments))
    print(json.dumps({"allocated": compiled.memory_analysis().temp_size_in_bytes}))
