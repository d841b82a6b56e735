"""Runs a program of onnx_programs.py in ONNX Runtime's CUDA provider. ONNX Runtime reports no peaks, so they are the device's.

    run_onnx.py PROGRAM [--by-time]

cuDNN's heuristics choose the convolutions. With --by-time times do, as by default (EXHAUSTIVE), which a model predicts here.
"""
import sys

import onnxruntime

import onnx_programs

RUNS = 3

if __name__ == "__main__":
    model, given = onnx_programs.PROGRAMS[sys.argv[1]].make()
    settings = {"cudnn_conv_algo_search": "EXHAUSTIVE" if "--by-time" in sys.argv else "HEURISTIC"}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=[("CUDAExecutionProvider", settings)])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        sys.exit("the CUDA provider did not start")
    for _ in range(RUNS):
        session.run(None, {"x": given})
