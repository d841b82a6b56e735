"""Programs that scripts/frameworks runs with JAX: functions of convolutions on arrays of zeros. JAX is imported in
the child that runs them. Each entry returns (function, arguments)."""
from program_registry import PROGRAMS, program


def blocks(dtype, count=3, width=128, px=1024):
    """Residual blocks as in a VAE's decoder, NCHW."""
    import jax
    import jax.numpy as jnp

    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))

    def run(x, weights):
        for first, second in weights:
            x = x + conv(jax.nn.silu(conv(jax.nn.silu(x), first)), second)
        return x
    weight = jnp.zeros((width, width, 3, 3), dtype)
    return run, (jnp.zeros((1, width, px, px), dtype), [(weight, weight)] * count)


@program("residual blocks", "three of 128 channels, 1024 px, float16")
def blocks_f16():
    return blocks("float16")


@program("residual blocks", "three of 128 channels, 1024 px, float32")
def blocks_f32():
    return blocks("float32")


@program("residual blocks", "three of 128 channels, 1024 px, float32, with the gradients of weights and input")
def blocks_train_f32():
    import jax
    function, arguments = blocks("float32")
    return jax.grad(lambda x, weights: function(x, weights).sum(), argnums=(0, 1)), arguments
