"""The CPU: tasks as loops over shares of a box, and iterations in SIMD lanes."""
