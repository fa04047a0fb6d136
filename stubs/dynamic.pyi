"""Names that mypy takes for Any, also in annotations with numbers in brackets (`ti.Array[ti.f32, 2]`)."""

from typing import Any

Array: Any
NDArray: Any
