"""Kernels as methods of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

    from weft.lang.kernels.kernel import Kernel
    from weft.lang.stages import Stages

__all__ = ["BoundKernel"]


class BoundKernel:
    """A kernel as a method of `class_instance`."""

    is_kernel = True

    def __init__(self, kernel: Any, owner: Any) -> None:
        self.kernel: Kernel = kernel
        self.class_instance = owner

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.kernel(self.class_instance, *args, **keywords)

    def compile(self, *args: Any, **keywords: Any) -> None:
        """As `Kernel.compile`, for this object."""
        self.kernel.compile(self.class_instance, *args, **keywords)

    def stages(self, *args: Any, **keywords: Any) -> Stages:
        """As `Kernel.stages`, for this object."""
        return self.kernel.stages(self.class_instance, *args, **keywords)

    def explore(self, path: str, *args: Any, **keywords: Any) -> None:
        """As `Kernel.explore`, for this object."""
        self.kernel.explore(path, self.class_instance, *args, **keywords)

    def compile_async(self, *args: Any, **keywords: Any) -> Future[None]:
        """As `Kernel.compile_async`, for this object."""
        return self.kernel.compile_async(self.class_instance, *args, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __reduce__(self) -> Any:
        return getattr, (self.class_instance, self.kernel.__name__)

    def __repr__(self) -> str:
        return f"<kernel {self.kernel.function.__qualname__} of {self.class_instance!r}>"
