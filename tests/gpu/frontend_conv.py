"""One convolution through NVIDIA's cudnn-frontend in Python, which finds cuDNN by dlsym. One JSON line."""

import argparse
import json
import os
import statistics
import sys

import torch

import measure

try:
    import cudnn
except ImportError as problem:
    print(f"cudnn-frontend cannot be imported: {problem}", file=sys.stderr)
    sys.exit(77)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--channels", type=int, default=512)
    parser.add_argument("--edge", type=int, default=512)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--device", default="cuda", choices=("cuda",))
    parser.add_argument("--save", metavar="DIR", help="write results there")
    options = parser.parse_args()
    measure.no_device(options)
    torch.manual_seed(0)
    c, edge = options.channels, options.edge
    x = torch.randn(1, c, edge, edge).to("cuda", torch.float16)
    w = (torch.randn(c, c, 3, 3) * (9 * c) ** -0.5).to("cuda", torch.float16)
    y = torch.empty(1, c, edge, edge, device="cuda", dtype=torch.float16)
    handle = cudnn.create_handle()
    cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
    graph = cudnn.pygraph(
        handle=handle,
        io_data_type=cudnn.data_type.HALF,
        intermediate_data_type=cudnn.data_type.FLOAT,
        compute_data_type=cudnn.data_type.FLOAT,
    )
    x_node, w_node = graph.tensor_like(x), graph.tensor_like(w)
    y_node = graph.conv_fprop(image=x_node, weight=w_node, padding=[1, 1], stride=[1, 1], dilation=[1, 1])
    y_node.set_output(True).set_dim(list(y.shape)).set_stride(list(y.stride()))
    graph.build([cudnn.heur_mode.A])
    size = graph.get_workspace_size()
    workspace = torch.empty(max(size, 1), device="cuda", dtype=torch.uint8)

    class Step:
        @staticmethod
        def run(update=False):
            graph.execute({x_node: x, w_node: w, y_node: y}, workspace)

    Step.run()
    times = measure.times_ms(Step, options.iterations, "cuda")
    result = {"output": y.cpu()}
    record = {
        "program": "frontend_conv",
        "case": f"{c}x{edge}",
        "dtype": "f16",
        "mode": "python",
        "status": "ok",
        "frontend": cudnn.__version__,
        "workspace": size,
        "checksum": measure.digest(result),
        "ms_per_iteration": statistics.median(times),
        "max_memory_allocated": torch.cuda.max_memory_allocated(),
    }
    if options.save:
        record["saved"] = os.path.join(options.save, "frontend_conv.pt")
        torch.save(result, record["saved"])
    print(json.dumps(record))
    cudnn.destroy_handle(handle)


if __name__ == "__main__":
    main()
