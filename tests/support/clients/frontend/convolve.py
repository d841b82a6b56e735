"""Convolutions through NVIDIA's cudnn package, which loads cuDNN and looks its functions up.

For each form and type one line, `FORM TYPE workspace BYTES plans COUNT`: the largest workspace asked for, and how many
plans ran. Every result is compared with float64's on the host, to the bit; status 1 if one differs.
"""

import argparse
import sys

import cudnn
from device import Buffer, CudaGraph, finish
from forms import DTYPES, FORMS, Problem


class Case:
    """A problem on the device."""

    def __init__(self, handle, form, dtype):
        self.handle, self.form, self.dtype = handle, form, dtype
        self.problem = Problem(form, dtype)
        self.inputs = self.on_device(self.problem)
        self.out = Buffer(self.problem.expected.nbytes)

    @staticmethod
    def on_device(problem):
        stored = map(problem.stored, problem.operands.values())
        return [Buffer(values.nbytes).write(values) for values in stored]

    def pack(self, inputs=None):
        buffers = [*(inputs or self.inputs), self.out]
        return {uid: buffer.address for uid, buffer in enumerate(buffers, start=1)}

    def planned(self):
        graph = self.problem.graph(self.handle)
        graph.validate()
        graph.build_operation_graph()
        graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
        graph.check_support()
        return graph

    def built(self):
        graph = self.planned()
        graph.build_plans()
        return graph

    def check(self, expected=None):
        """Waits for the result and looks at it."""
        finish()
        expected = self.problem.expected if expected is None else expected
        result = self.problem.loaded(self.out)
        different = int((result != expected).sum())
        if different:
            raise ValueError(f"{different} of {result.size} elements are wrong")
        return result


def first(case, _):
    """The plan that the heuristics like best."""
    graph = case.built()
    workspace = Buffer(graph.get_workspace_size())
    graph.execute(case.pack(), workspace.address, handle=case.handle)
    return workspace.size, 1


def every(case, _):
    """All plans, in one workspace, as an autotuner runs them."""
    graph = case.planned()
    return run_all(case, graph)


def limited(case, limit):
    """All plans that need at most the limit, by the reports of their configurations before they are built."""
    graph = case.planned()
    graph.deselect_workspace_greater_than(limit)
    return run_all(case, graph)


def run_all(case, graph):
    # An engine that compiles takes seconds for its tiles.
    graph.deselect_behavior_notes([cudnn.behavior_note.RUNTIME_COMPILATION])
    graph.build_plans(cudnn.build_plan_policy.ALL)
    sizes = {}
    for index in range(graph.get_execution_plan_count()):
        try:
            sizes[index] = graph.get_workspace_size_plan_at_index(index)
        except (RuntimeError, cudnn.cudnnGraphNotSupportedError):
            continue  # barred, or not built
    workspace = Buffer(max(sizes.values()))
    for index in sizes:
        case.out.clear()
        graph.execute_plan_at_index(case.pack(), workspace.address, index, handle=case.handle)
        case.check()
    return workspace.size, len(sizes)


def json(case, _):
    """A plan that was written to JSON and read back, after the graph is gone."""
    data = case.built().serialize()
    graph = cudnn.pygraph(handle=case.handle)
    graph.deserialize(case.handle, data)
    workspace = Buffer(graph.get_workspace_size())
    graph.execute(case.pack(), workspace.address, handle=case.handle)
    return workspace.size, 1


def cuda_graph(case, _):
    """A plan in a CUDA graph, then the same graph with other operands and another workspace."""
    graph = case.built()
    size = graph.get_workspace_size()
    workspaces = [Buffer(size), Buffer(size)]
    recorded = CudaGraph()
    graph.populate_cuda_graph(case.handle, case.pack(), workspaces[0].address, recorded.address)
    for _ in range(2):
        case.out.clear()
        recorded.launch()
        case.check()
    other = Problem(case.form, case.dtype, seed=5)
    inputs = case.on_device(other)
    graph.update_cuda_graph(case.handle, case.pack(inputs), workspaces[1].address, recorded.address)
    case.out.clear()
    recorded.launch()
    case.check(other.expected)
    graph.update_cuda_graph(case.handle, case.pack(), workspaces[0].address, recorded.address)
    case.out.clear()
    recorded.launch()
    return size, 1


MODES = {"first": first, "every": every, "limited": limited, "json": json, "cuda_graph": cuda_graph}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("forms", nargs="+", choices=FORMS)
    parser.add_argument("--type", choices=DTYPES, help="of all tensors; default: one after the other")
    parser.add_argument("--limit", type=int, help="bytes, for the mode `limited`")
    parser.add_argument("--dump", metavar="FILE", help="write the results there")
    options = parser.parse_args()
    handle = cudnn.create_handle()
    results = []
    for form in options.forms:
        for dtype in [options.type] if options.type else DTYPES:
            case = Case(handle, form, dtype)
            case.out.clear()
            size, plans = MODES[options.mode](case, options.limit)
            results.append(case.check().tobytes())
            print(form, dtype, "workspace", size, "plans", plans)
    if options.dump:
        with open(options.dump, "wb") as file:
            file.write(b"".join(results))
    cudnn.destroy_handle(handle)


if __name__ == "__main__":
    sys.exit(main())
