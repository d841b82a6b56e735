"""cuDNN's layers other than convolutions on the simulated device in compute mode against PyTorch's on the CPU.

PyTorch has its own kernels for most of these layers, which do not run here. So cuDNN is called through ctypes, on PyTorch's
device memory. A case returns pairs of (cuDNN's result, PyTorch's result).
"""
import ctypes

import torch
import torch.nn.functional as functional

TYPES = {torch.float32: 0, torch.float16: 2, torch.bfloat16: 9}
EPSILON = 1e-3


class Cudnn:
    """Calls by name; a status that is not 0 is an error."""

    def __init__(self):
        self.library, self.handle, self.made = ctypes.CDLL("libcudnn.so.9"), ctypes.c_void_p(), []
        self.call("Create", ctypes.byref(self.handle))

    def call(self, name, *args):
        status = getattr(self.library, "cudnn" + name)(*args)
        if status:
            raise RuntimeError(f"cudnn{name}: status {status}")

    def descriptor(self, kind, how, *args):
        made = ctypes.c_void_p()
        self.call(f"Create{kind}Descriptor", ctypes.byref(made))
        self.call(how, made, *args)
        return made

    def tensor(self, t):
        rank = t.dim()
        return self.descriptor("Tensor", "SetTensorNdDescriptor", TYPES[t.dtype], rank, (ctypes.c_int * rank)(*t.shape),
                               (ctypes.c_int * rank)(*t.stride()))

    def run(self, name, *args):
        """A tensor becomes its descriptor and its address; a float becomes alpha or beta."""
        flat, kept = [self.handle], []
        for arg in args:
            if isinstance(arg, torch.Tensor):
                flat += [self.tensor(arg), ctypes.c_void_p(arg.data_ptr())]
            elif isinstance(arg, float):
                kept.append(ctypes.c_float(arg))
                flat.append(ctypes.byref(kept[-1]))
            else:
                flat.append(arg)
        self.call(name, *flat)
        torch.cuda.synchronize()


def address(t):
    return ctypes.c_void_p(t.data_ptr())


def on_device(t, last):
    """A tensor with other strides, made on the host, so that the device only copies it."""
    if last and t.dim() > 3:
        t = t.contiguous(memory_format=torch.channels_last if t.dim() == 4 else torch.channels_last_3d)
    return t.cuda()


def draw(generator, dtype, *shape):
    return torch.randn(*shape, generator=generator).to(dtype)


def pooling(cudnn, generator, dtype, last, spatial, mode):
    window, stride, pad = (3, 2, 3)[:spatial], (2, 1, 2)[:spatial], (1, 0, 1)[:spatial]
    x = draw(generator, dtype, 2, 5, *(12, 11, 9)[:spatial])
    wanted_x = x.float().requires_grad_()
    if mode == 0:
        wanted = getattr(functional, f"max_pool{spatial}d")(wanted_x, window, stride, pad)
    else:
        wanted = getattr(functional, f"avg_pool{spatial}d")(wanted_x, window, stride, pad, count_include_pad=mode == 1)
    dy = draw(generator, dtype, *wanted.shape)
    wanted_dx, = torch.autograd.grad(wanted, wanted_x, dy.float())
    ints = lambda values: (ctypes.c_int * spatial)(*values)
    how = cudnn.descriptor("Pooling", "SetPoolingNdDescriptor", mode, 1, spatial, ints(window), ints(pad), ints(stride))
    x, y, dy, dx = (on_device(t, last) for t in (x, torch.zeros_like(dy), dy, torch.zeros_like(x)))
    cudnn.run("PoolingForward", how, 1.0, x, 0.0, y)
    cudnn.run("PoolingBackward", how, 1.0, y, dy, x, 0.0, dx)
    return [(y, wanted), (dx, wanted_dx)]


def nan_in_maximum(cudnn, generator, dtype, last):
    """A window with a NaN is NaN, one of -inf is -inf."""
    x = draw(generator, dtype, 1, 3, 8, 8)
    x[0, 0, 3, 4], x[0, 1] = float("nan"), float("-inf")
    wanted = functional.max_pool2d(x.float(), 2)
    two, none = (ctypes.c_int * 2)(2, 2), (ctypes.c_int * 2)(0, 0)
    how = cudnn.descriptor("Pooling", "SetPoolingNdDescriptor", 0, 1, 2, two, none, two)
    x, y = on_device(x, last), on_device(wanted.to(dtype), last)
    cudnn.run("PoolingForward", how, 1.0, x, 0.0, y)
    y = y.cpu().float()
    same = (torch.isnan(y) == torch.isnan(wanted)) & ((y == wanted) | torch.isnan(wanted))
    return [(same.float(), torch.ones_like(wanted))]


def softmax(cudnn, generator, dtype, last, algorithm, mode):
    x, dy = draw(generator, dtype, 2, 7, 5, 6), draw(generator, dtype, 2, 7, 5, 6)
    wanted_x = x.float().requires_grad_()
    seen = wanted_x.reshape(2, -1, 1, 1) if mode == 0 else wanted_x
    wanted = (functional.log_softmax if algorithm == 2 else functional.softmax)(seen, 1).reshape(x.shape)
    wanted_dx, = torch.autograd.grad(wanted, wanted_x, dy.float())
    given = on_device(wanted.detach().to(dtype), last)
    x, y, dy, dx = (on_device(t, last) for t in (x, torch.zeros_like(x), dy, torch.zeros_like(x)))
    cudnn.run("SoftmaxForward", algorithm, mode, 1.0, x, 0.0, y)
    cudnn.run("SoftmaxBackward", algorithm, mode, 1.0, given, dy, 0.0, dx)
    return [(y, wanted), (dx, wanted_dx)]


ACTIVATIONS = {"sigmoid": (0, torch.sigmoid), "relu": (1, torch.relu), "tanh": (2, torch.tanh),
               "clipped relu": (3, lambda x: torch.clamp(x, 0, 0.7)), "elu": (4, lambda x: functional.elu(x, 0.7)),
               "swish": (6, functional.silu)}


def activation(cudnn, generator, dtype, last, name):
    mode, function = ACTIVATIONS[name]
    x, dy = draw(generator, dtype, 2, 5, 7, 6), draw(generator, dtype, 2, 5, 7, 6)
    wanted_x = x.float().requires_grad_()
    wanted = function(wanted_x)
    wanted_dx, = torch.autograd.grad(wanted, wanted_x, dy.float())
    how = cudnn.descriptor("Activation", "SetActivationDescriptor", mode, 0, ctypes.c_double(0.7))
    x, y, dy, dx = (on_device(t, last) for t in (x, torch.zeros_like(x), dy, torch.zeros_like(x)))
    cudnn.run("ActivationForward", how, 1.0, x, 0.0, y)
    cudnn.run("ActivationBackward", how, 1.0, y, dy, x, 0.0, dx)
    return [(y, wanted), (dx, wanted_dx)]


def norm(cudnn, generator, dtype, last, spatial):
    x, dy = (draw(generator, dtype, 4, 6, *(7, 5, 4)[:spatial]) for _ in range(2))
    x = x * 3 + 1
    scale, bias, mean, variance = (torch.rand(6, generator=generator) + 0.5 for _ in range(4))
    inference = functional.batch_norm(x.float(), mean, variance, scale, bias, False, 0.1, EPSILON)
    leaves = [t.clone().requires_grad_() for t in (x.float(), scale, bias)]
    new_mean, new_variance = mean.clone(), variance.clone()
    wanted = functional.batch_norm(leaves[0], new_mean, new_variance, *leaves[1:], True, 0.1, EPSILON)
    gradients = torch.autograd.grad(wanted, leaves, dy.float())
    flat = lambda t: t.reshape(1, 6, *(1,) * spatial).cuda()
    empty = torch.zeros(6)
    scale, bias, mean, variance = map(flat, (scale, bias, mean, variance))
    saved_mean, saved_inverse, of_scale, of_bias = (flat(empty) for _ in range(4))
    x, y, z, dy, dx = (on_device(t, last) for t in (x, torch.zeros_like(x), torch.zeros_like(x), dy, torch.zeros_like(x)))
    double = ctypes.c_double
    cudnn.run("BatchNormalizationForwardInference", 1, 1.0, 0.0, x, z, scale, address(bias), address(mean), address(variance),
              double(EPSILON))
    cudnn.run("BatchNormalizationForwardTraining", 1, 1.0, 0.0, x, y, scale, address(bias), double(0.1), address(mean),
              address(variance), double(EPSILON), address(saved_mean), address(saved_inverse))
    cudnn.run("BatchNormalizationBackward", 1, 1.0, 0.0, 1.0, 0.0, x, dy, dx, scale, address(of_scale), address(of_bias),
              double(EPSILON), address(saved_mean), address(saved_inverse))
    return [(z, inference), (y, wanted), (mean, new_mean), (variance, new_variance), (dx, gradients[0]),
            (of_scale, gradients[1]), (of_bias, gradients[2])]


def bias_gradient(cudnn, generator, dtype, last):
    """Many elements of one sign, whose sum is inexact if they are added one by one."""
    dy = (torch.rand(4, 3, 300, 300, generator=generator) + 1).to(dtype)
    wanted = dy.double().sum((0, 2, 3))
    dy, db = on_device(dy, last), torch.zeros(1, 3, 1, 1).cuda()
    cudnn.run("ConvolutionBackwardBias", 1.0, dy, 0.0, db)
    return [(db, wanted.float())]


def lrn(cudnn, generator, dtype, last):
    x, dy = draw(generator, dtype, 2, 9, 5, 6), draw(generator, dtype, 2, 9, 5, 6)
    wanted_x = x.float().requires_grad_()
    wanted = functional.local_response_norm(wanted_x, 5, 0.5, 0.75, 2.0)
    wanted_dx, = torch.autograd.grad(wanted, wanted_x, dy.float())
    double = ctypes.c_double
    how = cudnn.descriptor("LRN", "SetLRNDescriptor", 5, double(0.5), double(0.75), double(2.0))
    x, y, dy, dx = (on_device(t, last) for t in (x, torch.zeros_like(x), dy, torch.zeros_like(x)))
    cudnn.run("LRNCrossChannelForward", how, 0, 1.0, x, 0.0, y)
    cudnn.run("LRNCrossChannelBackward", how, 0, 1.0, y, dy, x, 0.0, dx)
    return [(y, wanted), (dx, wanted_dx)]


def cases():
    for spatial in (2, 3):
        for mode, name in enumerate(("maximum", "average with padding", "average")):
            yield f"{spatial}-D pooling, {name}", pooling, (spatial, mode)
    yield "maximum of NaN and of -inf", nan_in_maximum, ()
    for algorithm, name in ((1, "softmax"), (2, "log-softmax")):
        for mode, over in enumerate(("an image", "channels")):
            yield f"{name} over {over}", softmax, (algorithm, mode)
    for name in ACTIVATIONS:
        yield name, activation, (name,)
    for spatial in (2, 3):
        yield f"{spatial}-D batch normalisation", norm, (spatial,)
    yield "gradient of a bias", bias_gradient, ()
    yield "local response normalisation", lrn, ()


def check(cudnn, case, dtype, last):
    """The largest difference, as a share of the largest value."""
    generator = torch.Generator().manual_seed(1)
    pairs = [(a.detach().cpu().float().flatten(), b.detach().float().flatten()) for a, b in
             case[1](cudnn, generator, dtype, last, *case[2])]
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in pairs)
