"""Devices, memory, threads, launches and faults: what runs the code that `codegen` made."""
