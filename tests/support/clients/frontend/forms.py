"""Convolution graphs, their operands, and their expected results in float64.

All numbers are small integers or halves, and so are all sums on the way, so that float16 holds every result exactly and
no order of adding changes it.
"""

import cudnn
import numpy

IMAGES, CHANNELS, HEIGHT, WIDTH, FILTERS, KERNEL = 2, 64, 48, 40, 48, 3
X = (IMAGES, CHANNELS, HEIGHT, WIDTH)
Y = (IMAGES, FILTERS, HEIGHT, WIDTH)
W = (FILTERS, CHANNELS, KERNEL, KERNEL)
CHANNEL = (1, FILTERS, 1, 1)
GEOMETRY = {"padding": [1, 1], "stride": [1, 1], "dilation": [1, 1]}


def taps(image):
    """Row and column of each filter tap, and the part of the padded image that it meets."""
    for r in range(KERNEL):
        for s in range(KERNEL):
            yield r, s, image[:, :, r : r + HEIGHT, s : s + WIDTH]


def padded(x):
    return numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))


def forward(x, w):
    return sum(numpy.einsum("kc,nchw->nkhw", w[:, :, r, s], part, optimize=True) for r, s, part in taps(padded(x)))


def backward_data(dy, w):
    image = padded(numpy.zeros(X))
    for r, s, part in taps(image):
        part += numpy.einsum("kc,nkhw->nchw", w[:, :, r, s], dy, optimize=True)
    return image[:, :, 1:-1, 1:-1]


def backward_filter(x, dy):
    dw = numpy.empty(W)
    for r, s, part in taps(padded(x)):
        dw[:, :, r, s] = numpy.einsum("nkhw,nchw->kc", dy, part, optimize=True)
    return dw


def relu(values):
    return numpy.maximum(values, 0)


class Form:
    """`inputs`: shapes by name. `node` puts the operations into a graph, `values` computes the same on the host."""

    def __init__(self, inputs, output, node, values, channels_last=False):
        self.inputs, self.output = inputs, output
        self.node, self.values = node, values
        self.channels_last = channels_last


FORMS = {
    "forward": Form({"x": X, "w": W}, Y, lambda g, x, w: g.conv_fprop(x, w, **GEOMETRY), forward),
    "bias_relu": Form(
        {"x": X, "w": W, "bias": CHANNEL},
        Y,
        lambda g, x, w, bias: g.relu(g.add(g.conv_fprop(x, w, **GEOMETRY), bias)),
        lambda x, w, bias: relu(forward(x, w) + bias),
    ),
    # cuDNN 9.19 has engines for this one in NHWC only.
    "scale_add_relu": Form(
        {"x": X, "w": W, "scale": CHANNEL, "z": Y},
        Y,
        lambda g, x, w, scale, z: g.relu(g.add(g.mul(g.conv_fprop(x, w, **GEOMETRY), scale), z)),
        lambda x, w, scale, z: relu(forward(x, w) * scale + z),
        channels_last=True,
    ),
    "data": Form({"dy": Y, "w": W}, X, lambda g, dy, w: g.conv_dgrad(dy, w, **GEOMETRY), backward_data),
    "filter": Form({"x": X, "dy": Y}, W, lambda g, x, dy: g.conv_wgrad(x, dy, **GEOMETRY), backward_filter),
}
DTYPES = {"f16": (numpy.float16, cudnn.data_type.HALF), "f32": (numpy.float32, cudnn.data_type.FLOAT)}


def numbers(name, shape, random):
    if name == "scale":
        return random.choice([0.5, 1.0, 2.0], shape)
    limit = 1 if name in ("w", "dy") else 2
    return random.integers(-limit, limit, shape, endpoint=True).astype(numpy.float64)


def strides(shape, channels_last):
    n, c, h, w = shape
    return [c * h * w, 1, w * c, c] if channels_last else [c * h * w, h * w, w, 1]


class Problem:
    """One form in one type: its operands on the host, and `expected`, in dense NCHW."""

    def __init__(self, name, dtype, seed=4):
        self.form = FORMS[name]
        self.dtype, self._type = DTYPES[dtype]
        random = numpy.random.default_rng(seed)
        exact = {key: numbers(key, shape, random) for key, shape in self.form.inputs.items()}
        self.operands = {key: values.astype(self.dtype) for key, values in exact.items()}
        result = self.form.values(**exact)
        self.expected = result.astype(self.dtype)
        assert (self.expected == result).all(), "the result is not exact"

    def stored(self, values):
        """As it lies in memory."""
        return values.transpose(0, 2, 3, 1) if self.form.channels_last else values

    def loaded(self, buffer):
        shape = self.stored(numpy.empty(self.form.output)).shape
        values = buffer.read(shape, self.dtype)
        return values.transpose(0, 3, 1, 2) if self.form.channels_last else values

    def graph(self, handle):
        """The graph before it is planned; the names of its tensors are those of the operands, and `out`."""
        graph = cudnn.pygraph(
            handle=handle,
            io_data_type=self._type,
            intermediate_data_type=cudnn.data_type.FLOAT,
            compute_data_type=cudnn.data_type.FLOAT,
        )
        tensors = {
            name: graph.tensor(name=name, dim=list(shape), stride=strides(shape, self.form.channels_last), uid=uid)
            for uid, (name, shape) in enumerate(self.form.inputs.items(), start=1)
        }
        out = self.form.node(graph, **tensors)
        out.set_output(True).set_data_type(self._type).set_uid(len(tensors) + 1)
        out.set_dim(list(self.form.output)).set_stride(strides(self.form.output, self.form.channels_last))
        return graph
