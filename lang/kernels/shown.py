"""What a kernel shows of its compilation: `stages`, `last`, `explore`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.ir.errors import WeftError
from weft.lang.calls.recipe import Recipe

if TYPE_CHECKING:
    from weft.lang.calls.compile import Instance
    from weft.lang.stages import Stages

__all__ = ["Shown"]


class Shown:
    """The part of `Kernel` that looks at compiled code."""

    __name__: str
    _latest: Recipe | None

    def _prepared(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Instance:
        raise NotImplementedError  # `Kernel` has it

    def stages(self, *args: Any, **keywords: Any) -> Stages:
        """The stages of compiling the kernel for a call with such arguments (see `compile`). Compiles the kernel and
        does not run it. See `Stages`."""
        return _stages_of(self._prepared(args, keywords).recipe)

    @property
    def last(self) -> Stages:
        """The stages of the instance that was compiled or looked up last. Calls that go to the machine code directly do
        not count. Raises WeftError before the first call."""
        if self._latest is None:
            raise WeftError(f"kernel '{self.__name__}' was not compiled yet: call it, or use stages(...)")
        return _stages_of(self._latest)

    def explore(self, path: str | None = None, *args: Any, **keywords: Any) -> None:
        """Write an HTML page, in a single file, that shows what each line of the kernel is compiled to, for a call with
        such arguments. Without a path, a notebook shows the page below the cell. Compiles the kernel and does not run
        it."""
        from weft.lang.explore import show_page, write_page

        stages = [self.stages(*args, **keywords)]
        if path is None:
            show_page(stages)
        else:
            write_page(path, stages)


def _stages_of(recipe: Recipe) -> Stages:
    from weft.lang.stages import Stages  # programs that only run kernels do not need this import

    return Stages(recipe)
