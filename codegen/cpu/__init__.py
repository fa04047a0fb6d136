"""The CPU: tasks as loops over chunks of a box, and iterations in SIMD lanes."""
