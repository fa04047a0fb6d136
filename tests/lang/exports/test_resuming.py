"""A simulation that is killed and started again leaves what it leaves without the interruption."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lang.exports.readers import hdf_steps, xml_arrays
from tests.packages import needs
from weft.lang.exports.vtk_files import read_pvd

PROGRAM = """
import sys, time
from pathlib import Path
import weft as ti
ending, pause = sys.argv[1], float(sys.argv[2])
ti.init(arch=ti.cpu, random_seed=5)
Particle = ti.types.struct(place=ti.math.vec3, speed=ti.math.vec3)
sand, steps = Particle.field(shape=500), 30

@ti.kernel
def advance():
    for i in sand:
        sand[i].speed += 0.1 * ti.Vector([ti.randn(), ti.randn(), ti.randn()])
        sand[i].place += 0.1 * sand[i].speed

step = ti.load("run.npz", sand=sand)["step"] if Path("run.npz").exists() else 0
recorder = ti.Recorder("sand" + ending, first=step)
while step < steps:
    advance()
    recorder.points(sand.place, speed=sand.speed, time=step)
    step += 1
    if step % 4 == 0 or step == steps:
        recorder.close()
        ti.save("run.npz", sand=sand, step=step)
    print(step, flush=True)
    time.sleep(pause)
"""


def final(folder: Path) -> Any:
    with np.load(folder / "run.npz") as arrays:
        return {name: arrays[name] for name in ("sand.place", "sand.speed")}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize(
    "ending",
    [".vtp", pytest.param(".vtkhdf", marks=[needs("h5py"), needs("vtk")]), pytest.param(".usdc", marks=needs("pxr"))],
)
def test_a_killed_simulation_is_continued(ending: str, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    command = [sys.executable, "-c", PROGRAM, ending]
    subprocess.run([*command, "0"], cwd=whole, check=True, stdout=subprocess.DEVNULL)
    for stop in (10, 19):
        with subprocess.Popen([*command, "0.02"], cwd=broken, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if int(line) == stop:
                    process.send_signal(signal.SIGKILL)
                    break
        assert process.wait() == -signal.SIGKILL
    subprocess.run([*command, "0"], cwd=broken, check=True, stdout=subprocess.DEVNULL)
    for name, array in final(whole).items():
        assert np.array_equal(final(broken)[name], array), name
    assert np.array_equal(recorded(broken, ending), recorded(whole, ending))
    assert recorded(whole, ending).shape == (30, 500, 3)


def recorded(folder: Path, ending: str) -> Any:
    """The positions of all frames."""
    if ending == ".vtp":
        frames = read_pvd(folder / "sand.pvd")
        assert [time for time, _ in frames] == list(range(30))
        return np.stack([xml_arrays(folder / file)[1]["Points"] for _, file in frames])
    if ending == ".vtkhdf":
        from vtk.util.numpy_support import vtk_to_numpy

        return np.stack(
            [vtk_to_numpy(data.GetPoints().GetData()) for _, data in hdf_steps(str(folder / "sand.vtkhdf"))]
        )
    from pxr import Usd

    stage = Usd.Stage.Open(str(folder / "sand.usdc"))
    points = stage.GetPrimAtPath("/World/points").GetAttribute("points")
    return np.stack([np.asarray(points.Get(code)) for code in range(int(stage.GetEndTimeCode()) + 1)])
