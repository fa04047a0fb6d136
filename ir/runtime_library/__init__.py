"""The run-time library: functions in CHI that passes call. They are compiled for each target with the kernel that calls
them.

    locks = SpinLocks("locks", words)            words: a field of i32 that the pass adds to the kernel
    locks.acquire(build, index)                  %none = invoke function=locks_acquire, [%index], touched=(words)
    ...
    locks.release(build, index)
    functions += locks.functions()               they go where the real functions of a program go

A structure keeps its state in fields that its user provides and that are zero at first. Its functions are ordinary
functions of the program: the verifier, the evaluator, the passes and the code generators of all targets handle them.

- `spin_locks`: mutual exclusion of iterations
- `append_list`: a list that grows up to its capacity
"""
