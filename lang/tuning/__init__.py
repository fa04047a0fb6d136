"""`ti.autotune`: find the fastest configuration of a kernel."""
