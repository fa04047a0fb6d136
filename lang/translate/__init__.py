"""From a Python function to a kernel's tree: everything Python-dynamic is settled here.

`translator` holds the state and the dispatch tables; `expressions`, `operators`, `indexing`, `attributes`, `calls` with
`functions`, `methods`, `constructors` and `inlining` say what expressions mean; `statements`, `loops` and `printing`
what statements do; `values` takes what is known at compile time to run time.
"""

from weft.lang.translate.kernels import Argument, Translation, translate_kernel

__all__ = ["Argument", "Translation", "translate_kernel"]
