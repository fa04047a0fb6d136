"""What every target shares: one op, a few lines of LLVM IR; the module; machine code."""
