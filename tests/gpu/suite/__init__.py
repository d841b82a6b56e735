"""What scripts/gpu-suite is made of. Standard library only; whatever needs PyTorch or JAX runs as a child."""
