"""The CPU: tasks as loops over shares of a box, iterations in SIMD lanes."""
