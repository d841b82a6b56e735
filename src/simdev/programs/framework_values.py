"""The values of PyTorch's tensors on a simulated GPU. framework_hook.py imports this file."""
import sys


class Values:
    """Small values of PyTorch are real: if all tensors of an operation are small and known, PyTorch's own CPU kernel
    computes it. The CUDA kernel runs as usual, so memory is the same. Memory that a kernel wrote without computing it
    is unknown from then on, and counts as zeros. Small results of unknown values are computed from these zeros too, so
    that a program's decisions agree with each other. A larger tensor has one value, that of its first element, which is
    followed through elementwise operations and reductions: exp is 1, a softmax adds up to 1. Both kinds of results are
    *assumed*, and stay unknown."""

    MOST_BYTES = 1 << 18   # of one operation's tensors together
    MOST_SHAPE = 1 << 26   # of tensors whose values determine a shape, and of `randperm`
    MOST_PIECES = 1 << 12  # of a tensor with gaps, as cudart_values.c has
    MOST_LINES = 1 << 10
    LEFT_ALONE = ("empty", "new_empty", "resize_", "set_", "record_stream", "is_", "_is_", "_use_", "_pin_", "_copy_from")
    # Not registered: PyTorch calls it with a number as a tensor on the device, which no Python function can get.
    NOT_FOR_PYTHON = "aten::pow.Tensor_Tensor_out"
    CHOOSES_FROM_FIRST = "index", "masked_select"  # the values of the first argument do not determine the shape
    OVERWRITES = ("fill_", "zero_", "copy_")
    # Operations on large tensors that give one value for one value: these and all that PyTorch calls pointwise.
    ONE_VALUE = {"fill_", "copy_", "gelu", "elu", "leaky_relu", "masked_fill_", "mean", "amax", "amin", "aminmax", "max", "min", "all", "any",
                 "median", "argmax", "argmin", "sum", "nansum", "linalg_vector_norm", "_softmax", "_log_softmax"}
    # The first result has a value of the first argument.
    MOVES = {"index", "index_select", "gather", "take", "flip", "roll", "embedding", "max_pool2d_with_indices", "avg_pool2d",
             "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d", "upsample_nearest1d", "upsample_nearest2d",
             "upsample_nearest3d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d", "_adaptive_avg_pool2d"}
    # Random samples: one sample that is not 0, for all elements.
    RANDOM = {"uniform", "normal", "exponential", "cauchy", "log_normal", "geometric", "random", "bernoulli", "poisson", "binomial",
              "_standard_gamma", "_sample_dirichlet", "_fused_dropout", "rrelu_with_noise"}
    MOST_DRAWS = 64
    # Computed on the host up to MOST_SHAPE bytes, from assumed values if necessary. CUDA's kernels read their results' lengths from
    # memory that no simulated kernel writes, or check them.
    COMPUTED = {"nonzero", "_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "mode",
                "repeat_interleave", "bincount", "histc", "bucketize", "searchsorted", "randperm"}
    SORTS = {"_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "mode"}
    # The spread of values that were not computed is 1: it is a divisor, and a scale of distributions.
    SPREAD = {"std", "var", "std_mean", "var_mean"}
    # Gradients that were not computed count as finite.
    CLEAN = "_amp_foreach_non_finite_check_and_unscale_"

    def __init__(self):
        self.libraries, self.device, self.generator, self.lines = [], None, None, {}

    def patch(self, torch):
        import ctypes
        if not hasattr(torch.library, "get_kernel"):  # PyTorch before 2.9
            return
        device = ctypes.CDLL(None)
        if not hasattr(device, "simdev_values_read"):
            return
        device.simdev_values_unknown.restype = ctypes.c_uint64
        device.simdev_values_forget.argtypes = ctypes.c_void_p, ctypes.c_size_t
        device.simdev_values_first.restype = ctypes.c_uint64
        device.simdev_values_first.argtypes = device.simdev_values_are_one.argtypes = ctypes.c_void_p, ctypes.c_size_t
        self.device, self.told = device, ctypes.c_int.in_dll(device, "simdev_values_told")
        self.ctypes, self.torch = ctypes, torch

        class Layout(ctypes.Structure):
            _fields_ = [("device", ctypes.c_void_p), ("element", ctypes.c_size_t), ("dimensions", ctypes.c_int64),
                        ("extent", ctypes.c_void_p), ("stride", ctypes.c_void_p)]
        self.layout = Layout
        self.arrays = [ctypes.c_int64 * dimensions for dimensions in range(17)]
        self.generator = torch.Generator(device="cpu")
        self.take_over("aten")

    def take_over(self, namespace):
        """Registers `run` in front of every CUDA kernel of the namespace that makes or changes a tensor."""
        if not self.device:
            return
        import warnings
        core = self.torch._C
        library = self.torch.library.Library(namespace, "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in core._dispatch_get_all_op_names():
                if not name.startswith(namespace + "::"):
                    continue
                if not core._dispatch_has_kernel_for_dispatch_key(name, "CUDA") and name != "aten::copy_":  # one kernel for all devices
                    continue
                base, _, overload = name[len(namespace) + 2:].partition(".")
                if base.startswith(self.LEFT_ALONE) or name == self.NOT_FOR_PYTHON:
                    continue
                operation = getattr(getattr(getattr(self.torch.ops, namespace), base), overload or "default")
                schema = operation._schema
                if any(item.alias_info and not item.alias_info.is_write for item in (*schema.arguments, *schema.returns)):
                    continue  # a view
                library.impl(name[len(namespace) + 2:], self.kernel(name, base, operation), "CUDA", with_keyset=True)
        self.libraries.append(library)

    def kernel(self, name, base, operation):
        """Returns the function that runs before one CUDA kernel."""
        torch, told, ctypes = self.torch, self.told, self.ctypes
        most = self.MOST_SHAPE if base in self.COMPUTED and base != "repeat_interleave" else self.MOST_BYTES
        tensor, strided, quiet, device = torch.Tensor, torch.strided, torch._C.DisableTorchFunction, self.device
        original = torch.library.get_kernel(name, "CUDA").call_boxed
        schema, tags = operation._schema, operation.tags
        written = [(place, item.name, item.is_out) for place, item in enumerate(schema.arguments)
                   if item.alias_info and item.alias_info.is_write and not (base == self.CLEAN and item.name == "found_inf")]
        forgets_before = base in self.OVERWRITES
        is_random = torch.Tag.nondeterministic_seeded in tags
        takes_generator = any(item.name == "generator" for item in schema.arguments)
        can_compute = (base != self.CLEAN and base != "_local_scalar_dense" and (takes_generator or not is_random)
                       and torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU"))
        has_shape_of_values = torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags or base in ("nms", "mode")
        data = {0} if base in self.CHOOSES_FROM_FIRST else set()
        reads = has_shape_of_values or base == "copy_"
        unread = {place for place, _, is_out in written if is_out or forgets_before or (is_random and base.endswith("_"))}
        places = {item.name: place for place, item in enumerate(schema.arguments)}
        follow = self.follower(base, operation, unread, places)
        tensors = [place for place, item in enumerate(schema.arguments) if str(item.type) in ("Tensor", "Optional[Tensor]")]
        tensors = tensors if len(tensors) > 1 else []
        number, masks = (int, float, complex), (torch.bool, torch.uint8)
        state = 1 if base in ("copy_", "_local_scalar_dense") else 2  # SIMDEV_VALUES_...: others read only what they wrote

        def changed(arguments, named):  # the arguments that the operation writes
            for place, key, _ in written:
                value = arguments[place] if place < len(arguments) else named.get(key)
                yield from value if isinstance(value, (list, tuple)) else (value,)

        def is_small(arguments, named):
            total = 0
            for value in (*arguments, *named.values()):
                if isinstance(value, tensor):
                    total += value.nbytes if value.layout is strided else most + 1
                elif isinstance(value, (list, tuple)):
                    for one in value:
                        if isinstance(one, tensor):
                            total += one.nbytes if one.layout is strided else most + 1
                if total > most:
                    return False
            return True

        def run_original(keyset, arguments, named):
            before = told.value
            told.value = state
            try:
                return original(keyset, *arguments, **named)
            finally:
                told.value = before

        def run(keyset, *arguments, **named):
            """Runs the CUDA kernel. If values are known or assumed, computes the results on the CPU and stores them, else forgets them."""
            with quiet():
                for place in tensors:
                    if place < len(arguments) and isinstance(arguments[place], number):
                        arguments = list(arguments)
                        arguments[place] = self.scalar(arguments[place], arguments)
                computed = host = None
                small = can_compute and is_small(arguments, named) and not (base == "copy_" and not self.is_on_device(arguments))
                write = device.simdev_values_write
                if small:
                    host = self.to_host(arguments, named, unread, places, False)
                    if has_shape_of_values and not (base == "index" and all(one is None or one.dtype not in masks for one in arguments[1])):
                        if not host:
                            write = device.simdev_values_assume
                            host = self.to_host(arguments, named, unread, places, True)
                        computed = self.compute(operation, host)
                        if computed is not None:
                            self.sort(base, arguments)
                            if write is device.simdev_values_assume and not self.to_host(arguments, named, unread | data, places, False):
                                self.note(base)
                            return self.to_device(computed, [one for one in changed(arguments, named) if one is not None], write)
                if base in self.COMPUTED and has_shape_of_values and not small and arguments[0].is_cuda:
                    made = self.of_large(base, operation, arguments, named, places)
                    if made is not None:
                        self.note(base)
                        return made
                asked = device.simdev_values_unknown() if reads else 0
                if forgets_before:
                    self.forget(changed(arguments, named))
                result = run_original(keyset, arguments, named)
                if reads and device.simdev_values_unknown() > asked:
                    self.note(base)
                results = result if isinstance(result, (list, tuple)) else (result,)
                if small and not host and base not in self.SPREAD and (base in self.COMPUTED or not self.have_one_value(arguments, named)):
                    write = device.simdev_values_assume
                    host = self.to_host(arguments, named, unread, places, True)
                if host and sum(one.nbytes for one in self.flat(results)) <= most:
                    computed = self.compute(operation, host)
                if computed is not None and self.store(computed, results, write) and \
                        self.store_changed(host, arguments, named, written, write):
                    return result
                values = follow(results, arguments, named) if follow and not torch._C._cuda_isCurrentStreamCapturing() else ()
                if not forgets_before:
                    self.forget(changed(arguments, named))
                    if not written:
                        self.forget(self.flat(results))
                for one, value, known in values:
                    self.write_all(one, value, known)
                return result
        return run

    def scalar(self, value, arguments):
        """A number among tensors, as a tensor that leads to the same type of result."""
        torch = self.torch
        kind = next(one.dtype for one in arguments if isinstance(one, torch.Tensor))
        own = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}.get(type(value), torch.complex64)
        weaker = kind.is_complex or isinstance(value, int) and kind != torch.bool or isinstance(value, float) and kind.is_floating_point
        return torch.ops.aten.scalar_tensor(value, dtype=kind if weaker or isinstance(value, bool) else own, device="cpu")

    def flat(self, values):
        """The dense tensors, of sparse ones their parts."""
        torch = self.torch
        for value in values:
            if isinstance(value, (list, tuple)):
                yield from self.flat(value)
            elif not isinstance(value, torch.Tensor):
                continue
            elif value.layout == torch.strided:
                yield value
            elif value.layout == torch.sparse_coo:
                yield from (value._indices(), value._values())
            elif value.layout in (torch.sparse_csr, torch.sparse_bsr):
                yield from (value.crow_indices(), value.col_indices(), value.values())
            elif value.layout in (torch.sparse_csc, torch.sparse_bsc):
                yield from (value.ccol_indices(), value.row_indices(), value.values())

    def have_one_value(self, arguments, named):
        """False if a dense tensor may have elements that differ."""
        return all(self.device.simdev_values_are_one(one.data_ptr(), one.nbytes) and one.is_contiguous() if one.is_cuda else not one.dim()
                   for one in self.flat((*arguments, *named.values())))

    def follower(self, base, operation, unread, places):
        """The function that finds the one value of an operation's results, from the first elements of its arguments. It returns
        (tensor, value as an integer, is it known) for each result, without zeros. None if all of them are zeros."""
        name = base if base in self.ONE_VALUE else base.removesuffix("_")
        known = base == "fill_"
        found = {}

        def move(results, arguments, _named):
            first = next(self.flat(results), None)
            return ((first, self.first(arguments[0]), False),) if first is not None and first.dtype == arguments[0].dtype else ()

        def parts(results, arguments, named):
            """Of `cat`, each part has a value; all have that of the first one if they are alike or in many pieces."""
            dimension = arguments[1] if len(arguments) > 1 else named.get("dim", 0)
            begin, whole = 0, results[0]
            ones = [one for one in arguments[0] if one.dim() == whole.dim() and one.numel()]
            firsts = [self.first(one) if one.dtype == whole.dtype else 0 for one in ones]
            if len(set(firsts)) <= 1 or whole.numel() // (whole.shape[dimension] * max(whole.stride(dimension), 1)) > self.MOST_PIECES:
                return ((whole, firsts[0], False),) if firsts else ()
            values = []
            for one, first in zip(ones, firsts):
                values.append((whole.narrow(dimension, begin, one.shape[dimension]), first, False))
                begin += one.shape[dimension]
            return values

        def value(results, arguments, named):
            if base == "copy_" and not self.is_kernel_copy(arguments):
                return ()
            flat = list(self.flat(results))
            key = self.key(arguments, named, unread, places, base in self.OF_MANY), *(one.dtype for one in flat)
            values = found.get(key)
            if values is None:
                values = self.compute_value(base, operation, arguments, named, unread, places, flat)
                if len(found) < self.MOST_LINES:
                    found[key] = values
            return [(one, value, known) for one, value in zip(flat, values)]

        def spread(results, arguments, _named):
            flat = list(self.flat(results))
            values = [self.bits(self.torch.ones((), dtype=flat[0].dtype, device="cpu"))] if not flat[0].dtype.is_complex else [0]
            return [(one, value, False) for one, value in zip(flat, values + [self.first(arguments[0])])]

        def dropout(results, arguments, _named):
            """No element is dropped. It has no generator, so the CPU's kernel would draw from the program's."""
            kept = self.first_to_host(arguments[0], True) / (1 - arguments[1] if arguments[2] and arguments[1] < 1 else 1)
            return (results[0], self.bits(kept.contiguous()) if kept.numel() else 0, False), (results[1], 1, False)

        if name == "native_dropout":
            return dropout

        if name in self.SPREAD:
            return spread
        if name in self.MOVES:
            return move
        if name == "cat":
            return parts
        if name in self.RANDOM:
            return value
        return value if name in self.ONE_VALUE or self.torch.Tag.pointwise in operation.tags else None

    def key(self, arguments, named, unread, places, of_many):
        """The arguments, with the first element instead of each tensor."""
        return tuple(self.key_of(value, place not in unread, of_many) for place, value in enumerate(arguments)) + \
            tuple((name, self.key_of(value, places[name] not in unread, of_many)) for name, value in named.items())

    def key_of(self, value, is_read, of_many):
        if isinstance(value, self.torch.Tensor):
            return value.dtype, self.first(value) if is_read else 0, value.shape if of_many else value.dim() > 0
        return tuple(self.key_of(one, is_read, of_many) for one in value) if isinstance(value, (list, tuple)) else (type(value), value)

    def first(self, one):
        """The bytes of the first element as an integer; 0 if it was not computed, or is larger than 8 bytes."""
        if not one.numel() or one.layout != self.torch.strided or one.element_size() > 8:
            return 0
        if one.is_cuda:
            return self.device.simdev_values_first(one.data_ptr(), one.element_size())
        return self.bits(one) if one.device.type == "cpu" else 0

    def bits(self, one):
        return int.from_bytes(self.ctypes.string_at(one.data_ptr(), one.element_size()), "little")

    def compute_value(self, base, operation, arguments, named, unread, places, results):
        host = self.to_host(arguments, named, unread, places, self.FIRST)
        computed = list(self.flat(self.compute(operation, host) or ()))
        for _ in range(self.MOST_DRAWS if base.removesuffix("_") in self.RANDOM else 0):
            if computed and bool(computed[-1].all()):
                break
            computed = list(self.flat(self.compute(operation, host) or ()))
        return [self.bits(self.of_many(base, one, arguments, result).to(result.dtype).contiguous()) if one.numel() and one.element_size() <= 8 else 0
                for one, result in zip(computed, results)]

    def sort(self, base, arguments):
        """The temporary memory of operations that sort, which are computed on the host: three copies of the values, roughly."""
        if base in self.SORTS:
            like = self.torch.ops.aten.empty_like
            del [like(arguments[0]) for _ in range(3)][:]

    def of_large(self, base, operation, arguments, named, places):
        """The results of an operation whose shapes depend on the values of a large tensor, from its first element. None: there is no rule."""
        torch, large, assume = self.torch, arguments[0], self.device.simdev_values_assume
        first = self.first_to_host(large, True)
        if base == "nonzero":
            return torch.zeros(large.numel() if bool(first.any()) else 0, large.dim(), dtype=torch.int64, device=large.device)
        if base == "repeat_interleave":
            asked = arguments[1] if len(arguments) > 1 else named.get("output_size")
            host = self.copy_to_host(large, True, True) if large.nbytes <= self.MOST_SHAPE else first * large.numel()
            return torch.zeros(int(host.sum()) if asked is None else asked, dtype=torch.int64, device=large.device)
        if base == "bincount":
            counts, = self.compute(operation, self.to_host(arguments, named, (), places, self.FIRST)) or (None,)
            return None if counts is None else self.to_device([counts * large.numel()], [], assume)
        if base not in self.SORTS:
            return None
        self.sort(base, arguments)
        if base == "mode":
            made = torch.ops.aten.amin(large, [arguments[1] if len(arguments) > 1 else -1], *arguments[2:3])
            return made, torch.zeros_like(made, dtype=torch.int64)
        values, *counts = self.compute(operation, self.to_host(arguments, named, (), places, self.FIRST))
        dim = named.get("dim", arguments[places["dim"]] if places.get("dim", len(arguments)) < len(arguments) else None)
        if dim is None:
            values, many, shape = self.to_device([values], [], assume), large.numel(), large.shape
        else:
            values, many, shape = torch.ops.aten.clone(large.narrow(dim, 0, 1)), large.shape[dim], large.shape[dim]
        inverse = torch.zeros(shape if counts[0].numel() else 0, dtype=torch.int64, device=large.device)
        return (values, inverse, *(torch.full(one.shape, many, dtype=torch.int64, device=large.device) for one in counts[1:]))

    OF_MANY = {"sum", "nansum", "linalg_vector_norm", "_softmax", "_log_softmax"}
    FIRST = object()  # instead of `assumes`: of each tensor only the first element, in a tensor with as many dimensions

    def of_many(self, base, value, arguments, result):
        """The value, computed for one element, for the elements that each element of the result depends on."""
        if base not in self.OF_MANY:
            return value
        many = arguments[0].numel() // max(result.numel(), 1)
        if base in ("sum", "nansum"):
            return value * many
        if base == "linalg_vector_norm":
            order = arguments[1] if len(arguments) > 1 else 2
            return value * many ** (1 / order) if order > 0 else value
        many = arguments[0].shape[arguments[1]] if arguments[0].dim() else 1
        return value / many if base == "_softmax" else value - self.torch.tensor(float(many)).log()

    def write_all(self, one, value, is_known):
        """Writes one element to all of a tensor. Zeros that were not computed are there already."""
        if (value or is_known) and one.is_cuda and one.numel() and one.element_size() <= 8 and one.dim() <= 16:
            described, element = self.describe(one, self.order(one)), self.ctypes.c_uint64(value)
            self.device.simdev_values_write_all(self.ctypes.byref(described[0]), self.ctypes.byref(element), is_known)

    def is_kernel_copy(self, arguments):
        """False if the device itself runs the copy, as one of memory."""
        to, source = arguments[0], arguments[1]
        alike = to.stride() == source.stride() or (to.is_contiguous() and source.is_contiguous())
        return to.is_cuda and source.is_cuda and not (alike and to.dtype == source.dtype)

    def is_on_device(self, arguments):
        return all(one.is_cuda for one in arguments if isinstance(one, self.torch.Tensor))

    def forget(self, tensors):
        for one in tensors:
            if isinstance(one, self.torch.Tensor) and one.is_cuda and one.layout == self.torch.strided:
                if one.is_contiguous():
                    self.device.simdev_values_forget(one.data_ptr(), one.nbytes)
                elif one.numel():
                    described = self.describe(one, self.order(one))
                    self.device.simdev_values_forget_tensor(self.ctypes.byref(described[0]))

    def describe(self, one, order):
        array = self.arrays[one.dim()]
        extent, stride = array(*self.ordered(one.shape, order)), array(*self.ordered(one.stride(), order))
        address = self.ctypes.addressof
        return self.layout(one.data_ptr(), one.element_size(), one.dim(), address(extent), address(stride)), extent, stride

    def order(self, one):
        """The dimensions in the order of memory, in which a dense tensor is one piece, such as one in channels_last. None: as they are."""
        if one.is_contiguous():
            return None
        stride = one.stride()
        return None if all(map(int.__ge__, stride, stride[1:])) else sorted(range(len(stride)), key=stride.__getitem__, reverse=True)

    def ordered(self, values, order):
        return [values[place] for place in order] if order else values

    def host_tensor(self, one, order=None):
        return self.torch.ops.aten.empty.memory_format(list(self.ordered(one.shape, order)), dtype=one.dtype, device="cpu")

    def copy_to_host(self, one, is_read, assumes):
        """A copy for the CPU, with values only if `is_read`. None if a value is unknown, unless `assumes`."""
        if not one.is_cuda or one.layout != self.torch.strided or one.is_quantized or one.dim() > 16:
            return one if not one.is_cuda else None
        if assumes is self.FIRST:
            return self.first_to_host(one, is_read)
        order = self.order(one)
        host = self.host_tensor(one, order)
        if is_read and one.numel():
            described = self.describe(one, order)
            if not self.device.simdev_values_read(self.ctypes.byref(described[0]), self.ctypes.c_void_p(host.data_ptr())) \
                    and not assumes:
                return None
        return host.permute(sorted(range(one.dim()), key=order.__getitem__)) if order else host

    def first_to_host(self, one, is_read):
        extent = 1 if one.numel() else 0
        host = self.torch.ops.aten.empty.memory_format([extent] * one.dim(), dtype=one.dtype, device="cpu")
        if extent:
            first = self.first(one) if is_read else 0
            self.ctypes.memmove(host.data_ptr(), first.to_bytes(16, "little"), one.element_size())
        return host

    def copy_value(self, value, is_read, assumes):
        """(the value for the CPU kernel, True), or (None, False)."""
        if isinstance(value, self.torch.Tensor):
            host = self.copy_to_host(value, is_read, assumes)
            return host, host is not None
        if isinstance(value, (list, tuple)) and any(isinstance(one, self.torch.Tensor) for one in value):
            hosts = [one if one is None else self.copy_to_host(one, is_read, assumes) for one in value]
            return hosts, all(host is not None or one is None for host, one in zip(hosts, value))
        if isinstance(value, self.torch.Generator):
            return self.generator, True
        if isinstance(value, self.torch.device):
            return self.torch.device("cpu"), True
        return value, True

    def to_host(self, arguments, named, unread, places, assumes):
        """The arguments for the CPU kernel; None if a value is unknown, unless `assumes`, or if the operation would be recorded instead of run."""
        if self.torch._C._cuda_isCurrentStreamCapturing():
            return None
        hosts, keys = [], {}
        for place, value in enumerate(arguments):
            host, known = self.copy_value(value, place not in unread, assumes)
            if not known:
                return None
            hosts.append(host)
        for key, value in named.items():
            host, known = self.copy_value(value, places[key] not in unread, assumes)
            if not known:
                return None
            keys[key] = host
        if "generator" in places:
            keys["generator"] = self.generator
        return hosts, keys

    def compute(self, operation, host):
        """None if there are no arguments, or the CPU cannot compute it, or refuses to."""
        if not host:
            return None
        try:
            result = operation(*host[0], **host[1])
        except Exception:  # pylint: disable=broad-except
            return None
        return result if isinstance(result, (list, tuple)) else (result,)

    def put(self, host, one, write):
        host, order = host.to(one.dtype), self.order(one)
        host = (host.permute(order) if order else host).contiguous()
        described = self.describe(one, order)
        write(self.ctypes.byref(described[0]), self.ctypes.c_void_p(host.data_ptr()))

    def store(self, computed, results, write):
        """Writes results to the device. False if the shape of the first one differs. Of the others, buffers of the CPU's kernel
        may differ from those of CUDA's, which are then unknown."""
        pairs = list(zip(self.flat(computed), self.flat(results)))
        if pairs and pairs[0][0].shape != pairs[0][1].shape:
            return False
        for host, one in pairs:
            if one.is_cuda and host.shape == one.shape:
                self.put(host, one, write)
            elif one.is_cuda:
                self.forget((one,))
        return True

    def store_changed(self, host, arguments, named, written, write):
        for place, key, _ in written:
            if place < len(arguments):
                pairs = (host[0][place],), (arguments[place],)
            elif named.get(key) is not None:
                pairs = (host[1][key],), (named[key],)
            else:
                continue
            if not self.store(*pairs, write):
                return False
        return True

    def to_device(self, computed, outputs, write):
        """The outputs that the caller provided, else new tensors on the device, or the answer itself."""
        made = []
        for place, host in enumerate(computed):
            if isinstance(host, self.torch.Tensor):
                one = outputs[place].resize_(host.shape) if outputs else \
                    self.torch.ops.aten.empty.memory_format(list(host.shape), dtype=host.dtype, device="cuda")
                if one.numel():
                    self.put(host, one, write)
                made.append(one)
            else:
                made.append(host)
        return made[0] if len(made) == 1 else tuple(made)

    def note(self, operation):
        """The program read a value that was never computed: remembers the operation and the program's line."""
        frame = sys._getframe(1)
        while frame and (frame.f_code.co_filename == __file__ or "/torch/" in frame.f_code.co_filename):
            frame = frame.f_back
        place = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}" if frame else ""
        key = operation.strip("_"), place
        if key in self.lines or len(self.lines) < self.MOST_LINES:
            self.lines[key] = self.lines.get(key, 0) + 1

    def report(self):
        """[{"operation": ..., "line": ..., "count": n}], most frequent first."""
        return [{"operation": operation, "line": line, "count": count}
                for (operation, line), count in sorted(self.lines.items(), key=lambda item: -item[1])]
