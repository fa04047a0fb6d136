"""`ti.cfg`: the settings of the current program, by the names of the options of `init`."""

from __future__ import annotations

import os
from typing import Any

from weft.lang.program.init import DUMPS, program
from weft.lang.program.options import OPTIONS, inert

__all__ = ["cfg"]

_ON = ("offline_cache", "verbose")  # options that no pass reads, and that are true by default


class _CurrentConfig:
    """The settings of the current program: `cfg.debug`, `cfg.arch` and so on."""

    def __getattr__(self, name: str) -> Any:
        current = program()
        if name == "verify":
            return current.chosen.get(name, False)
        if hasattr(current.config, name):
            return getattr(current.config, name)
        if name == "cpu_max_num_threads":
            return current.config.threads or os.cpu_count()
        if name in DUMPS:
            return DUMPS[name] in current.dumps
        if name in OPTIONS:
            usual = name in _ON if OPTIONS[name] is bool else None
            return current.chosen.get(name, usual)
        what = f"the option '{name}' of init has no effect in Weft" if inert(name) else f"cfg has no '{name}'"
        raise AttributeError(what)

    def __repr__(self) -> str:
        return repr(program().config)


cfg = _CurrentConfig()
