"""WebAssembly: the CPU's code as object files for wasm32. Weft does not run them."""
