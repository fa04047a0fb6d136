"""NVIDIA's GPUs: kernels as PTX, and the host's half of a launch."""
