"""`ti._lib.core`: what programs ask of Taichi's own library, to choose their arch or their window by it."""

from __future__ import annotations

from weft.lang.program.backends import BACKENDS

__all__ = ["GGUI_AVAILABLE", "with_cuda", "with_metal", "with_opengl", "with_vulkan"]

GGUI_AVAILABLE = True  # windows are drawn by kernels, and need nothing


def with_cuda() -> bool:
    """Whether a GPU of NVIDIA's can be used."""
    return not BACKENDS["cuda"].missing(0)


def with_vulkan() -> bool:
    """Whether Vulkan can: it is no arch of Weft. Nor are the others."""
    return False


with_amdgpu = with_dx11 = with_dx12 = with_metal = with_opengl = with_vulkan
