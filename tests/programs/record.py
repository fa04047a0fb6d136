"""Writes `expected.json` from what the programs here compute: `python record.py`, where `taichi` is the real one."""

import json
import multiprocessing
import runpy
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
PROBES = 12


def digest(array):
    """The shape of an array, its sum, its sum of magnitudes, and some of its numbers."""
    flat = np.asarray(array, dtype=np.float64).ravel()
    picked = flat[np.linspace(0, flat.size - 1, min(PROBES, flat.size)).astype(int)]
    return {
        "shape": list(np.shape(array)),
        "sum": float(flat.sum()),
        "size": float(np.abs(flat).sum()),
        "probes": [float(value) for value in picked],
    }


def measure(name):
    """The digests of what program `name` computes."""
    results = runpy.run_path(str(FOLDER / f"{name}.py"))["main"]()
    return {key: digest(array) for key, array in results.items()}


def names():
    """The programs."""
    return sorted(
        path.stem for path in FOLDER.glob("*.py") if path.stem != "record" and not path.stem.startswith("test_")
    )


if __name__ == "__main__":
    chosen = sys.argv[1:] or names()
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        measured = dict(zip(chosen, pool.map(measure, chosen, chunksize=1)))
    (FOLDER / "expected.json").write_text(json.dumps(measured, indent=1) + "\n")
