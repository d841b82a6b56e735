"""PyTorch's convolutions on the simulated device in compute mode against PyTorch's own on the CPU: forward and both gradients.

Values are made on the host and copied, so that the device computes cuDNN's functions alone. Prints TAP. A point holds if the
differences of all three results can be explained by rounding to the type and by another order of sums.
"""
import ctypes
import sys

import torch

# name, spatial dimensions, batch, channels in and out, extent, filter, and arguments of torch.nn.functional.conv
CASES = [
    ("1-D", 1, 2, 8, 16, 100, 5, {"padding": 2}),
    ("2-D", 2, 2, 16, 32, 24, 3, {"padding": 1}),
    ("2-D strided", 2, 2, 16, 32, 24, 3, {"padding": 1, "stride": 2}),
    ("2-D dilated", 2, 1, 16, 16, 24, 3, {"padding": 2, "dilation": 2}),
    ("2-D grouped", 2, 2, 16, 32, 24, 3, {"padding": 1, "groups": 4}),
    ("2-D 1x1", 2, 2, 32, 16, 24, 1, {}),
    ("2-D large", 2, 2, 64, 64, 96, 3, {"padding": 1}),
    ("2-D transposed", 2, 2, 16, 8, 16, 4, {"padding": 1, "stride": 2, "transposed": True}),
    ("3-D", 3, 1, 8, 16, 12, 3, {"padding": 1}),
    ("3-D strided", 3, 1, 8, 16, 12, 3, {"padding": 1, "stride": 2}),
]
TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def results(x, w, options, spatial, dy=None):
    """[output, input gradient, filter gradient] on the host."""
    name = f"conv{'_transpose' if options.get('transposed') else ''}{spatial}d"
    options = {key: value for key, value in options.items() if key != "transposed"}
    x, w = x.requires_grad_(), w.requires_grad_()
    y = getattr(torch.nn.functional, name)(x, w, **options)
    dx, dw = torch.autograd.grad(y, (x, w), dy(y).to(y.device))
    return [tensor.detach().cpu().float() for tensor in (y, dx, dw)]


def check(case, dtype):
    _, spatial, batch, c_in, c_out, extent, size, options = case
    generator = torch.Generator().manual_seed(1)
    shape = (c_in, c_out) if options.get("transposed") else (c_out, c_in // options.get("groups", 1))
    x = torch.randn(batch, c_in, *(extent,) * spatial, generator=generator).to(dtype)
    w = torch.randn(*shape, *(size,) * spatial, generator=generator).to(dtype) / (c_in * size ** spatial) ** 0.5
    made = {}

    def gradient(y):
        if "dy" not in made:
            made["dy"] = torch.randn(y.shape, generator=generator).to(dtype)
        return made["dy"].to(y.dtype)
    wanted = results(x.float().clone(), w.float().clone(), options, spatial, gradient)
    got = results(x.clone().cuda(), w.clone().cuda(), options, spatial, gradient)
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(got, wanted))


def points():
    """(name, a function that returns the largest difference, tolerance)."""
    for case in CASES:
        for dtype in TOLERANCE:
            yield f"{case[0]}, {str(dtype).removeprefix('torch.')}", lambda: check(case, dtype), TOLERANCE[dtype]


def main():
    torch.backends.cudnn.allow_tf32 = False
    number, failures = 0, 0
    for name, run, tolerance in points():
        number += 1
        try:
            worst = run()
            good, text = worst <= tolerance, f"largest difference {worst:.2g} of the largest value"
        except RuntimeError as error:
            good, text = False, str(error).split("\n", 1)[0]
        failures += not good
        print(f"{'ok' if good else 'not ok'} {number} - {name}\n# {text}", flush=True)
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Not sys.exit: autograd's thread may still be letting go of the last tensors, and Python before 3.14 ends a
    # thread that asks for the interpreter's lock while the interpreter ends. That unwinds through a destructor of
    # PyTorch, which aborts the process ("terminate called without an active exception"), with and without the
    # library.
    ctypes.CDLL(None).exit(status)
