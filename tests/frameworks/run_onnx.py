"""Runs a program of onnx_programs.py in ONNX Runtime's CUDA provider. ONNX Runtime reports no peaks, so they are the device's.

    run_onnx.py PROGRAM

cuDNN's heuristics choose the convolutions. By default times would (EXHAUSTIVE), which a model predicts here.
"""
import sys

import onnxruntime

import onnx_programs

RUNS = 3

if __name__ == "__main__":
    model, given = onnx_programs.PROGRAMS[sys.argv[1]].make()
    settings = {"cudnn_conv_algo_search": "HEURISTIC"}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=[("CUDAExecutionProvider", settings)])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        sys.exit("the CUDA provider did not start")
    for _ in range(RUNS):
        session.run(None, {"x": given})
