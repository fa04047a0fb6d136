"""`ti._lib.core`: functions that programs call to choose their arch or their window."""

from __future__ import annotations

from weft.lang.program.backends import BACKENDS

__all__ = ["GGUI_AVAILABLE", "with_cuda", "with_metal", "with_opengl", "with_vulkan"]

GGUI_AVAILABLE = True  # kernels draw the windows, so nothing else is required


def with_cuda() -> bool:
    """Return whether an NVIDIA GPU can be used."""
    return not BACKENDS["cuda"].missing(0)


def with_vulkan() -> bool:
    """Return False: Vulkan is not an arch of Weft. The same holds for the other functions."""
    return False


with_amdgpu = with_dx11 = with_dx12 = with_metal = with_opengl = with_vulkan
