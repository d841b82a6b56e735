"""Runs a program of tensorflow_programs.py, and prints its memory as a line of JSON.

    run_tensorflow.py PROGRAM

`allocated` is the peak of TensorFlow's own allocator above the memory that the program holds between its calls. The device peak is
coarse: the allocator doubles its blocks. Autotuning is off, since a model predicts times here.
"""
import json
import os
import sys

os.environ["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
os.environ["TF_CUDNN_USE_AUTOTUNE"] = "0"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import tensorflow as tf  # noqa: E402 (reads the variables)

import tensorflow_programs  # noqa: E402

WARM = 2

if __name__ == "__main__":
    if not tf.config.list_physical_devices("GPU"):
        sys.exit("TensorFlow found no GPU")
    memory = tf.config.experimental
    call = tensorflow_programs.PROGRAMS[sys.argv[1]].make()
    for _ in range(WARM):
        call()
    held = memory.get_memory_info("GPU:0")["current"]
    memory.reset_memory_stats("GPU:0")
    result = call()
    del result
    print(json.dumps({"allocated": memory.get_memory_info("GPU:0")["peak"] - held, "weights": held}))
