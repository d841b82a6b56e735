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

    def conv(self, x, inputs, outputs, size=3, **attributes):
        weight = self.constant(numpy.zeros((outputs, inputs, size, size), self.dtype))
        bias = self.constant(numpy.zeros(outputs, self.dtype))
        return self.add("Conv", x, weight, bias, pads=[size // 2] * 4, **attributes)

    def twice(self, x):
        return self.add("Resize", x, "", self.constant(numpy.array([1, 1, 2, 2], numpy.float32)), mode="nearest")

    def model(self, output):
        given = helper.make_tensor_value_info("x", self.type, self.shape)
        result = helper.make_tensor_value_info(output, self.type, None)
        graph = helper.make_graph(self.nodes, "g", [given], [result], self.weights)
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
