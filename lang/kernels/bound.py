"""A kernel that is a method of an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

    from weft.lang.stages import Stages

__all__ = ["BoundKernel"]


class BoundKernel:
    """A kernel as a method of `class_instance`."""

    is_kernel = True

    def __init__(self, kernel: Any, owner: Any) -> None:
        self.kernel = kernel
        self.class_instance = owner

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.kernel(self.class_instance, *args, **keywords)

    @property
    def grad(self) -> BoundKernel:
        """As `Kernel.grad`, for this object."""
        return BoundKernel(self.kernel.grad, self.class_instance)

    @property
    def assign(self) -> BoundKernel:
        """As `Kernel.assign`, for this object."""
        return BoundKernel(self.kernel.assign, self.class_instance)

    def compile(self, *args: Any, **keywords: Any) -> None:
        """As `Kernel.compile`, for this object."""
        self.kernel.compile(self.class_instance, *args, **keywords)

    def stages(self, *args: Any, **keywords: Any) -> Stages:
        """As `Kernel.stages`, for this object."""
        found: Stages = self.kernel.stages(self.class_instance, *args, **keywords)
        return found

    def explore(self, path: str | None = None, *args: Any, **keywords: Any) -> None:
        """As `Kernel.explore`, for this object."""
        self.kernel.explore(path, self.class_instance, *args, **keywords)

    def compile_async(self, *args: Any, **keywords: Any) -> Future[None]:
        """As `Kernel.compile_async`, for this object."""
        future: Future[None] = self.kernel.compile_async(self.class_instance, *args, **keywords)
        return future

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __reduce__(self) -> Any:
        return getattr, (self.class_instance, self.kernel.__name__)

    def __repr__(self) -> str:
        return f"<kernel {self.kernel.function.__qualname__} of {self.class_instance!r}>"
