"""Lowered CHI to LLVM IR, and that to object code (CPU) or PTX (NVIDIA)."""
