"""NVIDIA GPUs: kernels as PTX, and the host part of a launch."""
