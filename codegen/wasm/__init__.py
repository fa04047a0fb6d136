"""WebAssembly: the CPU's code as object files for wasm32. Nothing here runs them."""
