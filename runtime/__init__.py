"""Run the code that `codegen` makes: devices, memory, threads, launches and faults."""
