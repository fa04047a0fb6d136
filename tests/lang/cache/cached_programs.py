"""Programs as text, run as a new process would run them, with a cache of their own."""

from __future__ import annotations

import itertools
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import weft as ti
import weft.lang.calls.compile as compiler

_numbers = itertools.count()


class Session:
    """Runs programs with one cache. `compiled` counts the kernels that were not found there."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.cache, self.compiled = folder, folder / "cache", 0
        monkeypatch.delenv("WEFT_OFFLINE_CACHE", raising=False)
        monkeypatch.setenv("WEFT_OFFLINE_CACHE_FILE_PATH", str(self.cache))
        make_artifact = compiler.make_artifact

        def counting(*args: Any) -> Any:
            self.compiled += 1
            return make_artifact(*args)

        monkeypatch.setattr(compiler, "make_artifact", counting)

    def run(self, text: str, name: str = "", modules: dict[str, str] | None = None, **options: Any) -> Any:
        """What `main()` of a program gives; `text` is a file of that name. `modules` are texts it can import."""
        ti.init(**{"arch": ti.cpu, **options})
        for module, source in (modules or {}).items():
            self._module(source, module, f"{module}.py")
        try:
            made = self._module(text, "program", name or f"program_{next(_numbers)}.py")
            return made.main()
        finally:
            for module in ("program", *(modules or {})):
                sys.modules.pop(module, None)

    def _module(self, text: str, module: str, file: str) -> Any:
        path = self.folder / file
        path.write_text(text)
        made = types.ModuleType(module)
        made.__file__ = str(path)
        sys.modules[module] = made
        exec(compile(text, str(path), "exec"), made.__dict__)
        return made

    def kept(self) -> int:
        """How many kernels are kept."""
        files = (self.cache / "kernels").glob("*") if self.cache.exists() else ()
        return sum(b'"artifact"' in file.read_bytes() for file in files)  # the runtime's own code is kept too

    def fresh(self, *args: Any, **keywords: Any) -> Any:
        """`run`, where all kernels must be compiled."""
        before = self.compiled
        result = self.run(*args, **keywords)
        assert self.compiled > before, "came from the cache"
        return result

    def warm(self, *args: Any, **keywords: Any) -> Any:
        """`run`, where all kernels must come from the cache."""
        before = self.compiled
        result = self.run(*args, **keywords)
        assert self.compiled == before, "was compiled"
        return result
