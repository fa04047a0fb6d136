"""Recordings as USD: USD's own library reads what was written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.packages import needs

pytestmark = needs("pxr")

ENDINGS = [".usda", ".usdc", ".usd"]
FACES = np.array([[0, 1, 2], [2, 1, 3]])


def opened(path: str) -> Any:
    """The stage, read from a copy: USD keeps files in memory by their names."""
    from pxr import Usd

    copy = f"read_{len(list(Path().iterdir()))}{Path(path).suffix}"
    shutil.copyfile(path, copy)
    return Usd.Stage.Open(copy)


def values(stage: Any, path: str, name: str) -> list[Any]:
    """The samples of an attribute, at all its time codes."""
    attribute = stage.GetPrimAtPath(path).GetAttribute(name)
    return [np.asarray(attribute.Get(code)).tolist() for code in attribute.GetTimeSamples()]


@pytest.mark.parametrize("ending", ENDINGS)
def test_points(ending: str) -> None:
    recorder = ti.Recorder(f"out/a{ending}", fps=12)
    x, speed = ti.Vector.field(2, ti.f32, 3), ti.field(ti.f64, 3)
    for number in range(3):
        x.fill(number)
        speed.fill(number / 2)
        recorder.points(
            x,
            speed=speed,
            number=np.arange(3) + 2**40,
            small=np.full(3, -number, np.int8),
            pull=np.full((3, 3), number, np.float32),
            stress=np.full((3, 2, 2), number, np.float32),
            color=np.full((3, 4), 51 * number, np.uint8),
            radius=np.full(3, 0.25),
        )
    recorder.close()
    stage = opened(f"out/a{ending}")
    assert recorder.files == [Path(f"out/a{ending}")]
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0, 2, 12)
    assert stage.GetDefaultPrim().GetPath() == "/World"
    read = {
        "points": [[[n, n, 0]] * 3 for n in range(3)],
        "extent": [[[n, n, 0]] * 2 for n in range(3)],
        "widths": [[0.5] * 3] * 3,
        "weft:time": [0, 1 / 12, 2 / 12],
        "primvars:speed": [[n / 2] * 3 for n in range(3)],
        "primvars:number": [[2**40, 2**40 + 1, 2**40 + 2]] * 3,
        "primvars:small": [[-n] * 3 for n in range(3)],
        "primvars:pull": [[[n] * 3] * 3 for n in range(3)],
        "primvars:stress": [[n] * 12 for n in range(3)],
        "primvars:displayColor": [[pytest.approx([n / 5] * 3)] * 3 for n in range(3)],
        "primvars:displayOpacity": [pytest.approx([n / 5] * 3) for n in range(3)],
    }
    for name, expected in read.items():
        assert values(stage, "/World/points", name) == expected, name
    assert stage.GetPrimAtPath("/World/points").GetAttribute("primvars:stress").GetMetadata("elementSize") == 4


@pytest.mark.parametrize("ending", ENDINGS)
def test_meshes(ending: str) -> None:
    recorder = ti.Recorder(f"a{ending}")
    for number in range(4):
        faces = FACES if number < 2 else FACES[:1]
        recorder.mesh(np.full((4, 3), number), faces, weight=np.arange(4.0))
    stage = opened(f"a{ending}")
    assert [len(points) for points in values(stage, "/World/mesh", "points")] == [4] * 4
    mesh = stage.GetPrimAtPath("/World/mesh")
    assert mesh.GetAttribute("faceVertexIndices").GetTimeSamples() == [0, 2]  # only where they change
    assert [list(mesh.GetAttribute("faceVertexIndices").Get(code)) for code in (1, 3)] == [
        [0, 1, 2, 2, 1, 3],
        [0, 1, 2],
    ]
    assert [list(mesh.GetAttribute("faceVertexCounts").Get(code)) for code in (1, 3)] == [[3, 3], [3]]
    assert mesh.GetAttribute("subdivisionScheme").Get() == "none"


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_continues(ending: str) -> None:
    recorder = ti.Recorder(f"a{ending}")
    for number in range(5):
        recorder.mesh(np.full((4, 3), number), FACES if number < 3 else FACES[:1])
    recorder = ti.Recorder(f"a{ending}", first=2)
    for number in (20, 30):
        recorder.mesh(np.full((4, 3), number), FACES)
    stage = opened(f"a{ending}")
    assert [points[0][0] for points in values(stage, "/World/mesh", "points")] == [0, 1, 20, 30]
    assert stage.GetEndTimeCode() == 3
    indices = stage.GetPrimAtPath("/World/mesh").GetAttribute("faceVertexIndices")
    assert [len(indices.Get(code)) for code in range(4)] == [6] * 4
    with pytest.raises(ValueError, match="has 4 frames, so the series cannot continue at number 5"):
        ti.Recorder(f"a{ending}", first=5)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_is_replaced(ending: str) -> None:
    recorders = []
    for length in (3, 1):  # the first recorder still has the file open
        recorders.append(ti.Recorder(f"a{ending}"))
        for number in range(length):
            recorders[-1].points(np.full((2, 3), number))
    assert values(opened(f"a{ending}"), "/World/points", "points") == [[[0, 0, 0]] * 2]


def test_names_become_identifiers() -> None:
    particle = ti.types.struct(mass=ti.f32)
    recorder = ti.Recorder("a.usda")
    recorder.points(np.zeros((2, 3)), p=particle.field(shape=2), **{"2 words": np.zeros(2)})
    stage = opened("a.usda")
    names = stage.GetPrimAtPath("/World/points").GetPropertyNames()
    assert {"primvars:p:mass", "primvars:__words"} <= set(names)


FULL = """
import resource, sys
import numpy as np
import weft as ti
sys.dont_write_bytecode = True  # the limit would cut it off, too
recorder = ti.Recorder(sys.argv[1])
recorder.points(np.zeros((10, 3)))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    recorder.points(np.random.rand(40_000, 3))
except OSError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_leaves_the_old_file(ending: str) -> None:
    run = subprocess.run([sys.executable, "-c", FULL, f"a{ending}"], capture_output=True, text=True, check=True)
    assert re.match(rf"WriteFailed \[Errno \d+\] could not write 'a{ending}': .*(File too large|writ)", run.stdout)
    assert [path.name for path in Path().iterdir()] == [f"a{ending}"]
    stage = opened(f"a{ending}")
    assert [len(points) for points in values(stage, "/World/points", "points")] == [10]


def test_pending_frames_are_written_at_the_end() -> None:
    def frames() -> int:
        return int(opened("a.usdc").GetEndTimeCode()) + 1

    recorder = ti.Recorder("a.usdc")
    for number in range(30):
        recorder.points(np.zeros((2, 3)))
        assert frames() >= (number + 1) * 8 // 9
    assert frames() < 30
    recorder.close()
    assert frames() == 30
    recorder.points(np.zeros((2, 3)))
    del recorder
    assert frames() == 31
    with ti.Recorder("a.usdc", first=31) as recorder:
        recorder.points(np.zeros((2, 3)))
        recorder.points(np.zeros((2, 3)))
    assert frames() == 33
