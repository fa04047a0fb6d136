"""Taichi's names that Weft does not have yet, with the feature that each of them needs."""

from __future__ import annotations

__all__ = ["LATER", "later"]

# First parts of the missing names, by the missing feature.
LATER: dict[str, tuple[str, ...]] = {
    "quantized types": ("BitpackedFields", "types.quant", "SNode.quant_array", "FieldsBuilder.quant_array"),
    "compilation ahead of time": ("aot", "DeviceCapability"),
    "meshes": ("Mesh", "MeshInstance", "mesh_local", "mesh_patch_idx", "mesh_relation_access"),
    "textures": ("Texture", "Format", "types.texture", "types.rw_texture"),
}


def later(name: str) -> str:
    """Return the feature that `name` (without `ti.`) needs: "sparse SNodes" for `activate`; "" if Weft does not know
    the name."""
    for what, names in LATER.items():
        if any(name == known or name.startswith(known + ".") for known in names):
            return what
    return ""
