"""The code that all targets share: emitters of single ops, the module, and machine code."""
