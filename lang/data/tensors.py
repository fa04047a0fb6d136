"""Conversions from and to PyTorch tensors, on the CPU and on the GPU. On a GPU, the data stays there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch

__all__ = ["from_torch", "to_torch"]


def to_torch(source: Any, device: Any = None) -> Any:
    """A new tensor with the elements of a field or ndarray, on the GPU if they are there. Raises ImportError without
    torch."""
    torch = import_module("torch")
    target = None if device is None else torch.device(device)
    source._check_all()
    lent = _on_gpu(source)
    if lent is None or target is None or target.type != "cuda":
        return torch.from_numpy(source.to_numpy()).to(target)
    with torch.cuda.device(lent.device):
        tensor = torch.from_dlpack(source).clone()
        lent.follow(torch.cuda.current_stream().cuda_stream)
    return tensor.to(target)


def from_torch(target: Any, tensor: Any) -> None:
    """Set all elements of a field or ndarray from a tensor of its full shape. Raises ValueError for another shape, and
    TypeMismatch for a type that numpy does not have (bfloat16: convert it with `.float()`)."""
    if not hasattr(tensor, "detach"):
        raise TypeMismatch(f"from_torch takes a torch tensor, not {type(tensor).__name__}")
    lent = _on_gpu(target) if tensor.is_cuda else None
    if lent is not None:
        torch = import_module("torch")
        with torch.cuda.device(lent.device):
            view = torch.from_dlpack(target)
            if view.dtype == tensor.dtype and view.shape == tensor.shape and view.device == tensor.device:
                view.copy_(tensor.detach())
                lent.follow(torch.cuda.current_stream().cuda_stream)
                return
    target.from_numpy(as_numpy(tensor))


def as_numpy(tensor: Any) -> Any:
    """The elements of a tensor as a numpy array, without a copy on the CPU."""
    try:
        return tensor.detach().cpu().resolve_conj().resolve_neg().numpy()
    except TypeError as error:
        raise TypeMismatch(
            f"numpy has no counterpart of {tensor.dtype}; convert the tensor: {_example(tensor)}"
        ) from error


def _example(tensor: Any) -> str:
    return "tensor.float()" if tensor.is_floating_point() else "tensor.to(torch.int32)"


def _on_gpu(lender: Any) -> Any:
    """The window onto GPU memory that a field or ndarray can lend. None if there is none."""
    try:
        cells = lender._lend()
    except BufferError:
        return None
    return None if isinstance(cells, np.ndarray) else cells
