"""What GPUs share: tasks as grids of threads."""
