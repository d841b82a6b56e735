"""Programs that scripts/frameworks runs with ONNX Runtime: models made with onnx.helper, weights zero. Nothing is
downloaded. Each entry returns (model, input)."""
import numpy
import onnx
from onnx import TensorProto, helper

from program_registry import PROGRAMS, program


class Graph:
    """A chain of nodes; each method adds one and returns the name of its output."""

    def __init__(self, shape, dtype):
        self.dtype, self.shape = dtype, shape
        self.type = TensorProto.FLOAT16 if dtype == numpy.float16 else TensorProto.FLOAT
        self.nodes, self.weights = [], []

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(values, name))
        return name

    def add(self, operator, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def conv(self, x, inputs, outputs, size=3, stride=1, dilation=1, group=1):
        axes = len(self.shape) - 2
        weight = self.constant(numpy.zeros((outputs, inputs // group) + (size,) * axes, self.dtype))
        bias = self.constant(numpy.zeros(outputs, self.dtype))
        return self.add("Conv", x, weight, bias, pads=[dilation * (size // 2)] * 2 * axes, strides=[stride] * axes,
                        dilations=[dilation] * axes, group=group)

    def conv_relu(self, *arguments, **attributes):
        return self.add("Relu", self.conv(*arguments, **attributes))

    def transposed(self, x, inputs, outputs, size, stride):
        """A transposed convolution whose output is `stride` times as long."""
        weight = self.constant(numpy.zeros((inputs, outputs, size), self.dtype))
        return self.add("ConvTranspose", x, weight, self.constant(numpy.zeros(outputs, self.dtype)), strides=[stride],
                        pads=[(size - stride) // 2] * 2)

    def twice(self, x):
        return self.add("Resize", x, "", self.constant(numpy.array([1, 1, 2, 2], numpy.float32)), mode="nearest")

    def model(self, *outputs):
        given = helper.make_tensor_value_info("x", self.type, self.shape)
        results = [helper.make_tensor_value_info(output, self.type, None) for output in outputs]
        graph = helper.make_graph(self.nodes, "g", [given], results, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def rrdb(px, dtype, blocks=23, width=64, growth=32):
    """ESRGAN's generator (RRDBNet): 15 convolutions a block, and 6."""
    graph = Graph([1, 3, px, px], dtype)
    fifth = graph.constant(numpy.array(0.2, dtype))
    leaky = lambda x: graph.add("LeakyRelu", x, alpha=0.2)
    first = x = graph.conv("x", 3, width)
    for _ in range(blocks):
        block = x
        for _ in range(3):
            dense = [x]
            for i in range(4):
                joined = graph.add("Concat", *dense, axis=1) if i else x
                dense.append(leaky(graph.conv(joined, width + i * growth, growth)))
            last = graph.conv(graph.add("Concat", *dense, axis=1), width + 4 * growth, width)
            x = graph.add("Add", graph.add("Mul", last, fifth), x)
        x = graph.add("Add", graph.add("Mul", x, fifth), block)
    x = graph.add("Add", graph.conv(x, width, width), first)
    for _ in range(2):
        x = leaky(graph.conv(graph.twice(x), width, width))
    x = graph.conv(leaky(graph.conv(x, width, width)), width, 3)
    return graph.model(x), numpy.zeros((1, 3, px, px), dtype)


@program("upscaler", "RRDBNet (ESRGAN x4), 512 -> 2048 px, float16")
def rrdb_x4_f16():
    return rrdb(512, numpy.float16)


@program("upscaler", "RRDBNet (ESRGAN x4), 512 -> 2048 px, float32")
def rrdb_x4_f32():
    return rrdb(512, numpy.float32)


@program("backbone", "convolutions of VGG-16, batch 32 of 224 px, float32")
def vgg16_f32():
    graph, x, before = Graph([32, 3, 224, 224], numpy.float32), "x", 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x, before = graph.add("Relu", graph.conv(x, before, width)), width
        x = graph.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    return graph.model(x), numpy.zeros((32, 3, 224, 224), numpy.float32)


# --- stand-ins for applications: the layers of the published architectures, without their weights ----------------------

def residual_stages(graph, x, width, stages, strides):
    """Stages of basic blocks, [(channels, blocks)]; returns the output of each."""
    outputs = []
    for (channels, blocks), first in zip(stages, strides):
        for i in range(blocks):
            stride = first if i == 0 else 1
            side = graph.conv(x, width, channels, 1, stride) if stride > 1 or width != channels else x
            x = graph.add("Relu", graph.add("Add", graph.conv(graph.conv_relu(x, width, channels), channels, channels, stride=stride), side))
            width = channels
        outputs.append(x)
    return outputs


@program("immich", "SCRFD-10G, face detector, 640 px, float32")
def scrfd_f32():
    graph, x, width = Graph([1, 3, 640, 640], numpy.float32), "x", 3
    for channels, stride in (28, 2), (28, 1), (56, 1):
        x, width = graph.conv_relu(x, width, channels, stride=stride), channels
    x = graph.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    levels = residual_stages(graph, x, 56, [(56, 3), (88, 4), (88, 2), (224, 3)], (1, 2, 2, 2))[1:]
    levels = [graph.conv(level, channels, 56, 1) for level, channels in zip(levels, (88, 88, 224))]
    for i in (1, 0):
        levels[i] = graph.add("Add", levels[i], graph.twice(levels[i + 1]))
    outputs = []
    for level in levels:
        x, width = graph.conv(level, 56, 56), 56
        for _ in range(3):
            x, width = graph.conv_relu(x, width, 80), 80
        outputs += [graph.conv(x, 80, count) for count in (2, 8, 20)]
    return graph.model(*outputs), numpy.zeros((1, 3, 640, 640), numpy.float32)


@program("immich", "IResNet-50, face recogniser, batch 32 of 112 px, float32")
def iresnet50_f32():
    graph = Graph([32, 3, 112, 112], numpy.float32)
    x = graph.conv_relu("x", 3, 64)
    *_, x = residual_stages(graph, x, 64, [(64, 3), (128, 4), (256, 14), (512, 3)], (2, 2, 2, 2))
    return graph.model(x), numpy.zeros((32, 3, 112, 112), numpy.float32)


def hgnet(graph, x, strides):
    """PP-HGNetV2-B4, as of PP-OCRv5's server models: the stem, then stages of blocks whose six layers are joined."""
    for inputs, channels, stride in (3, 32, 2), (32, 32, 1), (32, 32, 1), (32, 32, 2), (32, 48, 1):
        x = graph.conv_relu(x, inputs, channels, stride=stride)
    width, outputs = 48, []
    for stride, middle, channels, blocks, is_light in ((strides[0], 48, 128, 1, False), (strides[1], 96, 512, 1, False),
                                                       (strides[2], 192, 1024, 3, True), (strides[3], 384, 2048, 1, True)):
        if stride > 1:
            x = graph.conv(x, width, width, stride=stride, group=width)
        for _ in range(blocks):
            joined, before = [x], width
            for _ in range(6):
                x = graph.conv_relu(graph.conv(x, before, middle, 1), middle, middle, 5, group=middle) if is_light else \
                    graph.conv_relu(x, before, middle)
                joined, before = joined + [x], middle
            x = graph.conv_relu(graph.add("Concat", *joined, axis=1), width + 6 * middle, channels // 2, 1)
            x, width = graph.conv_relu(x, channels // 2, channels, 1), channels
        outputs.append(x)
    return outputs


@program("PaddleOCR", "PP-OCRv5 server detector, 1920 px, float32")
def ocr_detector_f32():
    graph = Graph([1, 3, 1920, 1920], numpy.float32)
    levels = hgnet(graph, "x", (1, 2, 2, 2))
    levels = [graph.conv(level, channels, 256, 1) for level, channels in zip(levels, (128, 512, 1024, 2048))]
    for i in (2, 1, 0):
        levels[i] = graph.add("Add", levels[i], graph.twice(levels[i + 1]))
    levels = [graph.conv(level, 256, 64, 9) for level in levels]
    for i in range(1, 4):
        for _ in range(i):
            levels[i] = graph.twice(levels[i])
    x = graph.conv_relu(graph.add("Concat", *levels, axis=1), 256, 64)
    x = graph.conv_relu(graph.twice(x), 64, 64)
    return graph.model(graph.conv(graph.twice(x), 64, 1)), numpy.zeros((1, 3, 1920, 1920), numpy.float32)


@program("PaddleOCR", "PP-OCRv5 server recogniser, convolutions, batch 6 of 48x1280 px, float32")
def ocr_recogniser_f32():
    graph = Graph([6, 3, 48, 1280], numpy.float32)
    *_, x = hgnet(graph, "x", (1, 1, 1, 1))
    return graph.model(x), numpy.zeros((6, 3, 48, 1280), numpy.float32)


@program("VOICEVOX", "HiFi-GAN decoder of 512 channels, 40 s at 24 kHz, float32")
def hifigan_f32():
    frames = 3750
    graph, width = Graph([1, 80, frames], numpy.float32), 512
    x = graph.conv("x", 80, width, 7)
    for size, stride in (16, 8), (16, 8), (4, 2), (4, 2):
        x = graph.transposed(graph.add("LeakyRelu", x), width, width // 2, size, stride)
        width //= 2
        ends = []
        for kernel in 3, 7, 11:
            end = x
            for dilation in 1, 3, 5:
                inner = graph.conv(graph.add("LeakyRelu", end), width, width, kernel, dilation=dilation)
                end = graph.add("Add", graph.conv(graph.add("LeakyRelu", inner), width, width, kernel), end)
            ends.append(end)
        x = graph.add("Add", graph.add("Add", ends[0], ends[1]), ends[2])
    return graph.model(graph.add("Tanh", graph.conv(x, width, 1, 7))), numpy.zeros((1, 80, frames), numpy.float32)
