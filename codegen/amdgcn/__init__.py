"""AMD GPUs: kernels as object code. Weft does not launch it."""
