"""AMD GPUs as a target of LLVM, and AMD's math library."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from weft.ir.errors import WeftError

__all__ = ["DEFAULT", "MOST_SHARED", "AmdTarget", "math_library", "target_of"]

DEFAULT = "gfx90a"
MOST_SHARED = 64 << 10  # bytes of shared memory that a block may have


@dataclass(frozen=True)
class AmdTarget:
    """A processor, such as gfx90a (MI200) or gfx1100 (RX 7900)."""

    processor: str

    @property
    def version(self) -> int:
        """The number of its instruction set: 9010 for gfx90a."""
        return 1000 * int(self.processor[3:-2]) + 100 * int(self.processor[-2], 16) + int(self.processor[-1], 16)

    @property
    def lanes(self) -> int:
        """How many threads a wave has: 32 since gfx10, 64 before."""
        return 32 if self.version >= 10000 else 64


def target_of(name: str) -> AmdTarget:
    """The target of that name."""
    if not re.fullmatch(r"gfx(9|1[0-2])[0-9a-f]{2}", name):
        raise WeftError(f"Weft compiles for AMD's processors gfx900 to gfx1250, such as {DEFAULT}, not for {name!r}")
    return AmdTarget(name)


def math_library() -> Path | None:
    """Where AMD's math library is: WEFT_OCML, a ROCm installation, or the package triton."""
    named = os.environ.get("WEFT_OCML")
    if named:
        return Path(named)
    roots = [Path(os.environ[name]) for name in ("ROCM_PATH", "HIP_PATH") if name in os.environ]
    roots += [Path("/opt/rocm"), *sorted(Path("/opt").glob("rocm-*"), reverse=True)]
    places = [root / "amdgcn" / "bitcode" for root in roots]
    places += [Path(entry) / "triton" / "backends" / "amd" / "lib" for entry in sys.path if entry]
    return next((place / "ocml.bc" for place in places if (place / "ocml.bc").exists()), None)
