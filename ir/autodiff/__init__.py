"""Derivatives of kernels: the rules of scalar operators, and the parts of the pass `differentiate`.

The pass turns a kernel at level CHI with a `mode` into its derivative. Forward mode ("jvp") is described in
`forward.py`, reverse mode ("vjp") in `reverse.py`. This is what reverse mode takes and gives:

    takes     `kernel.fields` lists each field with a gradient, and before it the field `grad` that it names.
              The gradient of an array parameter `a` is a parameter `a.grad` of the same type with `hidden="grad"`.
              Parameters that are passed by value, and fields and arrays without a gradient, are constants.
    gives     a kernel with the same parameters and fields, without results. It takes the gradients of what the
              original kernel stores, and adds to the gradients of what that loads. It sets the gradient of each element
              that the original overwrites to 0. An atomic sum keeps it. It never stores to memory of the program, it
              prints nothing, and it leaves assertions out.
    reads     memory of the program as it is when it runs, where adjoints need values. The fields and parameters in
              `kernel.saved` must then hold what they held before the original kernel. All others must hold what they
              held after it.
    reports   `kernel.lost`: where the original stores a value that carries a derivative to memory without a gradient.
    refuses   see `refusals.py`, `structure.py` and `clobbers.py`. Each refusal is a CompilationError with the line.
"""
