"""The parts of scripts/gpu-suite. Standard library only; programs that need PyTorch or JAX run as children."""
