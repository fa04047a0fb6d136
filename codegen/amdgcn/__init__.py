"""AMD's GPUs: kernels as object code. Nothing here launches them."""
