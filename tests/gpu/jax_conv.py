"""A jitted stack of convolutions in JAX, which finds cuDNN by dlopen and dlsym. One JSON line for each dtype."""

import argparse
import hashlib
import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

try:
    import jax  # the setting must come first
    import jax.numpy as jnp
    import numpy
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)


def stack(x, filters):
    for weights in filters:
        x = jax.nn.silu(
            jax.lax.conv_general_dilated(
                x, weights, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW")
            )
        )
    return x


def run(dtype, options):
    rng = numpy.random.default_rng(0)
    c, edge = options.channels, options.edge
    x = jnp.asarray(rng.standard_normal((1, c, edge, edge), dtype=numpy.float32), dtype)
    filters = [
        jnp.asarray(rng.standard_normal((c, c, 3, 3), dtype=numpy.float32) * (9 * c) ** -0.5, dtype)
        for _ in range(options.layers)
    ]
    program = jax.jit(stack)
    result = numpy.asarray(program(x, filters).astype(jnp.float32))
    times = []
    for _ in range(options.iterations):
        begin = time.perf_counter()
        program(x, filters).block_until_ready()
        times.append((time.perf_counter() - begin) * 1000)
    record = {
        "program": "jax_conv",
        "case": f"{options.layers}x{c}x{edge}",
        "dtype": str(jnp.dtype(dtype)),
        "mode": "jit",
        "status": "ok",
        "checksum": hashlib.sha256(result.tobytes()).hexdigest()[:16],
        "ms": statistics.median(times),
    }
    memory = jax.devices()[0].memory_stats()
    if memory:
        record["allocated"] = memory.get("peak_bytes_in_use")
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--channels", type=int, default=256)
    parser.add_argument("--edge", type=int, default=512)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--iterations", type=int, default=10)
    options = parser.parse_args()
    platform = jax.default_backend()
    if platform != "gpu":
        print(f"JAX has no GPU here (its backend is {platform})", file=sys.stderr)
        sys.exit(77)
    for dtype in (jnp.float16, jnp.float32):
        print(json.dumps(run(dtype, options)), flush=True)


if __name__ == "__main__":
    main()
