"""Videos through ffmpeg, that of the PATH or of the wheel imageio-ffmpeg, and files of VTK."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import weft as ti
from weft.lang import cli
from weft.lang.extras import MissingLibrary
from weft.lang.ui import ffmpeg


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def film() -> Path:
    """Ten frames of 38 x 21 pixels, the left half red, the right one growing blue."""
    if not ffmpeg.find_ffmpeg():
        pytest.skip("there is no ffmpeg: pip install imageio-ffmpeg")
    manager = ti.tools.VideoManager("film", framerate=10, automatic_build=False)
    for number in range(10):
        image = np.zeros((38, 21, 3), np.float32)
        image[:19, :, 0], image[19:, :, 2] = 1.0, number / 9
        manager.write_frame(image)
    manager.make_video(gif=True, mp4=True)
    assert Path(manager.get_output_filename(".gif")).stat().st_size > 100
    return Path(manager.get_output_filename(".mp4"))


def frames(path: Path, width: int, height: int) -> np.ndarray:
    """The pixels of a video, decoded: [frame, row from the top, column, colour]."""
    command = [ffmpeg.find_ffmpeg(), "-loglevel", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)


def test_an_mp4_holds_what_was_drawn(film: Path) -> None:
    shown = frames(film, 38, 22)  # one row more: the sides must be even
    assert len(shown) == 10
    assert (shown[:, 5, 5, 0] > 230).all()
    blue = shown[:, 5, 30, 2].astype(int)
    assert (np.diff(blue) > 15).all()
    assert blue[0] < 15


def test_commands_on_videos(film: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["gif", "-i", str(film), "-f", "5"]) == 0
    gif = ti.tools.imread(str(film.with_suffix(".gif")))
    assert gif.shape[:2] == (38, 22)
    assert cli.main(["video_speed", "-i", str(film), "-s", "2"]) == 0
    assert len(frames(film.with_name("video-sped.mp4"), 38, 22)) in (5, 6, 7)
    assert cli.main(["video_crop", "-i", str(film), "--x1", "18", "--x2", "38", "--y1", "1", "--y2", "11"]) == 0
    cropped = frames(film.with_name("video-cropped.mp4"), 20, 10)
    assert cropped[-1, 5, 10, 2] > 200
    assert cropped[-1, 5, 10, 0] < 40
    assert cli.main(["video_scale", "-i", str(film), "-w", "2", "--ratio-height", "1"]) == 0
    assert frames(film.with_name("video-scaled.mp4"), 76, 22).shape[0] == 10
    assert "video-scaled.mp4" in capsys.readouterr().out


@pytest.mark.usefixtures("film")
def test_a_video_of_the_pictures_in_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("film/frames")
    assert cli.main(["video", "-f", "40"]) == 0
    assert len(frames(Path("video.mp4"), 38, 22)) == 10
    assert cli.main(["video", "-o", "short.mp4", "000001.png", "000002.png"]) == 0
    assert len(frames(Path("short.mp4"), 38, 22)) == 2
    assert not [*Path().glob("*.txt")]


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("video", "there are no pictures for a video"),
        ("video none.png", "No such file or directory: 'none.png'"),
        ("gif -i none.mp4", "ffmpeg failed"),
        ("video_crop -i FILM --x1 5 --x2 5 --y1 1 --y2 11", "the part of the video is empty: x from 5 to 5"),
        ("video_speed -i FILM -s 0", "must be above 0, not 0.0"),
        ("video_scale -i FILM -w -1", "must be above 0, not -1.0"),
    ],
)
def test_commands_that_fail_say_why(command: str, text: str, film: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command.replace("FILM", str(film)).split()) == 2
    said = capsys.readouterr().err
    assert said.startswith("weft: ")
    assert text in said


def test_without_ffmpeg(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ffmpeg, "find_ffmpeg", lambda: "")
    with pytest.raises(MissingLibrary, match="pip install imageio-ffmpeg"):
        ffmpeg.mp4_to_gif("film.mp4", "film.gif", 10)
    assert cli.main(["gif", "-i", "film.mp4"]) == 2
    assert "pip install imageio-ffmpeg" in capsys.readouterr().err


def test_the_ffmpeg_of_the_path_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ffmpeg.find_ffmpeg() == str(program)


def numbers(node: ElementTree.Element) -> np.ndarray:
    """The numbers of a data array in a VTK file."""
    raw = base64.b64decode(node.text or "")
    kinds = {"Float32": "<f4", "Float64": "<f8", "Int32": "<i4"}
    assert int.from_bytes(raw[:8], "little") == len(raw) - 8
    return np.frombuffer(raw[8:], kinds[node.attrib["type"]])


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64, ti.i32])
def test_a_field_as_a_vtk_file(shape: tuple[int, ...], dtype: object) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(dtype, shape)
    x.from_numpy(np.arange(np.prod(shape)).reshape(shape).astype(x.to_numpy().dtype))
    assert ti.tools.write_vtk(x, "heat") == "heat.vtr"
    root = ElementTree.parse("heat.vtr").getroot()
    box = (*shape, 1)[:3]
    piece = root.find("RectilinearGrid/Piece")
    assert piece is not None
    assert piece.attrib["Extent"] == " ".join(f"0 {n}" for n in box)
    assert [len(numbers(node)) for node in piece.findall("Coordinates/DataArray")] == [n + 1 for n in box]
    (values,) = piece.findall("CellData/DataArray")
    assert values.attrib["Name"] == "heat"
    assert (numbers(values).reshape(box, order="F").reshape(shape) == x.to_numpy()).all()
    ti.reset()


def test_values_that_vtk_cannot_store() -> None:
    ti.init(arch=ti.cpu)
    with pytest.raises(ValueError, match="2 or 3 axes"):
        ti.tools.write_vtk(ti.field(ti.f32, 5), "a")
    with pytest.raises(ValueError, match="a field of numbers"):
        ti.tools.write_vtk(ti.Vector.field(2, ti.f32, (3, 3)), "a")
    with pytest.raises(TypeError, match="float16"):
        ti.tools.write_vtk(ti.field(ti.f16, (3, 3)), "a")
    ti.reset()


def test_the_command_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["example"]) == 0
    assert "mpm88" in capsys.readouterr().out
    assert cli.main(["example", "-p", "life.py"]) == 0
    source = capsys.readouterr().out
    assert "build = Life" in source
    assert cli.main(["example", "-s", "life"]) == 0
    assert Path("life.py").read_text() == source
    assert capsys.readouterr().out == "saved life.py: edit it, and run it with `python life.py`\n"
    assert cli.main(["example", "-s"]) == 2
    assert "the name of a demo is missing" in capsys.readouterr().err
    assert cli.main(["example", "nothing"]) == 2
    assert "there is no demo 'nothing'" in capsys.readouterr().err


def test_debugging_a_program(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_DEBUG", "0")
    Path("program.py").write_text(
        "import sys\nimport taichi as ti\nti.init(arch=ti.cpu)\nprint(ti.cfg.debug, sys.argv[1:])\n"
    )
    try:
        assert cli.main(["debug", "program.py", "a"]) == 0
    finally:
        ti.compat.uninstall()
        ti.reset()
    assert capfd.readouterr().out == "True ['a']\n"
