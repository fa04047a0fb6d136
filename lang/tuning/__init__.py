"""`ti.autotune`: which configuration of a kernel is the fastest."""
