"""Runs programs of tensorflow_programs.py in forked children, and prints the memory of each as a line of JSON.

Reads jobs from standard input, one JSON object a line: {"program": name, "by_time": whether plans are timed, "env":
{...}}. `allocated` is the peak of TensorFlow's own allocator above the memory that the program holds between its
calls. The device peak is coarse: the allocator doubles its blocks.
"""
import os
import time

import jobs
import tensorflow_programs

WARM, MEASURED = 2, 1


def run(job):
    os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
    os.environ["TF_CUDNN_USE_AUTOTUNE"] = "1" if job.get("by_time") else "0"
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    import tensorflow as tf  # here: it starts threads, which a fork loses
    if not tf.config.list_physical_devices("GPU"):
        raise RuntimeError("TensorFlow found no GPU")
    start, memory = time.time(), tf.config.experimental
    call = tensorflow_programs.PROGRAMS[job["program"]].make()
    for _ in range(WARM):
        call()
    held = memory.get_memory_info("GPU:0")["current"]
    memory.reset_memory_stats("GPU:0")
    for _ in range(MEASURED):
        result = call()
    del result
    return {"ran": True, "allocated": memory.get_memory_info("GPU:0")["peak"] - held, "weights": held,
            "seconds": round(time.time() - start, 2)}


if __name__ == "__main__":
    jobs.serve(run, lambda error: f"{type(error).__name__}: {error}".split("\n", 1)[0][:300])
