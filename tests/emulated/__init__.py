"""A GPU in software: `use(monkeypatch)` makes `init(arch=cuda)` take it."""

from tests.emulated.device import EmulatedDevice, use

__all__ = ["EmulatedDevice", "use"]
