"""Runs programs of onnx_programs.py in ONNX Runtime's CUDA provider, in forked children, and prints the outcome of each
as a line of JSON.

Reads jobs from standard input, one JSON object a line: {"program": name, "by_time": whether plans are timed,
"gpu_mem_limit": bytes, "env": {...}}. ONNX Runtime reports no peaks, so they are the device's. cuDNN's heuristics choose the convolutions; or times
do, as by default (EXHAUSTIVE), which a model predicts here.
"""
import time

import jobs
import onnx_programs

RUNS = 3


def run(job):
    import onnxruntime  # here: it starts a thread, which a fork loses
    start = time.time()
    model, given = onnx_programs.PROGRAMS[job["program"]].make()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 2
    settings = {"cudnn_conv_algo_search": "EXHAUSTIVE" if job.get("by_time") else "HEURISTIC"}
    if "gpu_mem_limit" in job:
        settings["gpu_mem_limit"] = job["gpu_mem_limit"]
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=[("CUDAExecutionProvider", settings)])
    if session.get_providers()[0] != "CUDAExecutionProvider":
        raise RuntimeError("the CUDA provider did not start")
    for _ in range(RUNS):
        session.run(None, {"x": given})
    return {"ran": True, "seconds": round(time.time() - start, 2)}


if __name__ == "__main__":
    jobs.serve(run, lambda error: str(error).replace("\n", " ")[:300])
