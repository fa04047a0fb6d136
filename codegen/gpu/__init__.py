"""The code that all GPU targets share: tasks as grids of threads."""
