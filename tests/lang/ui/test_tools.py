"""Images, videos and meshes in files, the stopwatch, the profiler."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.extras import MissingLibrary
from weft.lang.ui import ffmpeg

ARCHS = ("cpu", "python")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ti.init(arch=ti.cpu)


@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_written_images_can_be_read(channels: int) -> None:
    shape = (6, 4, channels) if channels else (6, 4)
    image = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    ti.tools.imwrite(image, "a.png", order="xy")
    assert (ti.tools.imread("a.png") == image.reshape(6, 4, max(channels, 1))).all()
    field = ti.field(ti.u8, shape)
    field.from_numpy(image)
    ti.tools.imwrite(field, "b.bmp")
    assert ti.tools.imread("b.bmp", 3).shape == (6, 4, 3)
    assert ti.tools.imread("a.png", channels=1).shape == (6, 4, 1)


def test_the_axes_of_files() -> None:
    from PIL import Image

    image = np.zeros((6, 4, 3), np.uint8)
    image[0, 0], image[5, 3] = (255, 0, 0), (0, 255, 0)
    ti.tools.imwrite(image, "a.png", order="xy")
    rows = np.asarray(Image.open("a.png"))
    assert rows.shape == (4, 6, 3)
    assert rows[3, 0].tolist() == [255, 0, 0]  # [0, 0] is the lower left
    assert rows[0, 5].tolist() == [0, 255, 0]


def test_colours_of_other_types() -> None:
    field = ti.field(ti.f32, (4, 1))
    field.from_numpy(np.array([[0.5], [1.5], [-1], [np.nan]], np.float32))
    ti.tools.imwrite(field, "a.png")
    assert ti.tools.imread("a.png").ravel().tolist() == [127, 255, 0, 0]
    ti.tools.imwrite(np.array([[65535], [32768]], np.uint16), "a.png", order="xy")
    assert ti.tools.imread("a.png").ravel().tolist() == [255, 127]
    vectors = ti.Vector.field(3, ti.f64, (2, 2))
    vectors.fill(1.0)
    ti.tools.imwrite(vectors, "a.jpg")
    assert ti.tools.imread("a.jpg").min() > 250
    with pytest.raises(TypeError, match="int32"):
        ti.tools.imwrite(np.zeros((2, 2), np.int32), "a.png")
    with pytest.raises(ValueError, match="shape"):
        ti.tools.imwrite(np.zeros((2, 2, 5)), "a.png")


@pytest.mark.parametrize("name", ["a.jpg", "a.JPEG"])
def test_a_jpg_keeps_noise(name: str) -> None:
    noise = np.random.default_rng(0).random((64, 64, 3)).astype(np.float32)
    gui = ti.GUI("noise", (64, 64), show_gui=False)
    gui.set_image(noise)
    gui.show("shown" + name)
    ti.tools.imwrite(noise, name)
    for file in (name, "shown" + name):
        read = ti.tools.imread(file) / 255
        assert read.shape == noise.shape
        assert abs(read.std() / noise.std() - 1) < 0.02
        assert np.abs(read - noise).mean() < 0.02  # at pillow's usual quality: 0.16


def test_resizing() -> None:
    ramp = np.arange(7)[:, None] * np.ones((7, 7))
    assert ti.tools.imresize(ramp, 4)[:, 0].tolist() == [0, 1, 3, 5]
    assert ti.tools.imresize(ramp, 10, 4)[:, 0].tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5, 6]
    assert ti.tools.imresize(np.zeros((2, 3, 4), np.uint8), 5, 6).shape == (5, 6, 4)


def test_videos(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    manager = ti.tools.VideoManager("results", framerate=10, automatic_build=False)
    for k in range(3):
        manager.write_frame(np.full((16, 8, 3), k * 100, np.uint8))
    with pytest.raises(ValueError, match="16 x 8"):
        manager.write_frame(np.zeros((4, 4)))
    assert sorted(path.name for path in Path(manager.get_frame_directory()).iterdir())[-1] == "000002.png"
    manager.make_video(mp4=False)
    with Image.open(manager.get_output_filename(".gif")) as video:
        assert (video.n_frames, video.size, video.info["duration"]) == (3, (16, 8), 100)
    monkeypatch.setattr(ffmpeg, "find_ffmpeg", lambda: "")
    with pytest.raises(MissingLibrary, match="ffmpeg"):
        manager.make_video(gif=False)
    with pytest.warns(UserWarning, match="ffmpeg"):
        manager.make_video()
    manager.clean_frames()
    assert not list(Path(manager.get_frame_directory()).iterdir())


def test_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r"weft\[viz\]"):
        ti.tools.imread("a.png")


def _mesh() -> Any:
    writer = ti.tools.PLYWriter(num_vertices=3, num_faces=1)
    writer.add_vertex_pos(np.array([0.0, 1, 0]), np.array([0.0, 0, 1]), np.zeros(3))
    writer.add_vertex_rgba(*np.ones((4, 3), np.float32))
    writer.add_vertex_id()
    writer.add_faces(np.array([0, 1, 2]))
    writer.add_face_piece(np.array([7]))
    return writer


def test_meshes() -> None:
    writer = _mesh()
    writer.export_frame_ascii(3, "mesh.ply")
    lines = Path("mesh_000003.ply").read_text().splitlines()
    assert lines[:2] == ["ply", "format ascii 1.0"]
    assert "element face 1" in lines
    assert lines[-2:] == ["0.0 1.0 0.0 1.0 1.0 1.0 1.0 2", "3 0 1 2 7"]
    writer.export("mesh.ply")
    content = Path("mesh.ply").read_bytes()
    assert len(content.split(b"end_header\n")[1]) == 3 * (3 * 8 + 4 * 4 + 4) + 1 + 3 * 4 + 4
    with pytest.warns(UserWarning, match="'word' is left out: its type must be one of .* not string") as record:
        writer.add_vertex_channel("word", "string", np.zeros(3))
    assert record[0].filename == __file__
    writer.export("again.ply")
    assert Path("again.ply").read_bytes() == content
    with pytest.raises(ValueError, match="3 numbers"):
        writer.add_vertex_piece(np.zeros(4))


def test_the_stopwatch(capsys: pytest.CaptureFixture[str]) -> None:
    with ti.Timer() as timer:
        time.sleep(0.01)
    assert 0.01 <= timer.seconds < 1
    with ti.Timer("nap"):
        pass
    assert capsys.readouterr().out.startswith("nap: ")


@pytest.mark.parametrize("arch", ARCHS)
def test_the_profiler(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=arch, kernel_profiler=True)
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = i

    @ti.kernel
    def first() -> ti.f32:
        return x[0]

    for _ in range(3):
        fill()
    assert first() == 0
    times = ti.profiler.query_kernel_profiler_info(fill.__name__)
    assert times.counter == 3
    assert 0 < times.min <= times.avg <= times.max
    assert ti.profiler.query_kernel_profiler_info("nothing").counter == 0
    total = ti.profiler.get_kernel_profiler_total_time()
    assert total * 1000 == pytest.approx(3 * times.avg + ti.profiler.query_kernel_profiler_info("first").avg)
    ti.profiler.print_kernel_profiler_info()
    table = capsys.readouterr().out.splitlines()
    assert f"arch={arch}" in table[0]
    assert {line.split()[-1] for line in table[2:-1]} == {"fill", "first"}
    ti.profiler.print_kernel_profiler_info("trace")
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[2:-1]] == ["fill"] * 3 + ["first"]
    ti.profiler.save_timeline("trace.json")
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event["ph"] == "X"] == ["fill"] * 3 + ["first"]
    ti.profiler.clear_kernel_profiler_info()
    assert ti.profiler.get_kernel_profiler_total_time() == 0
    ti.profiler.print_memory_profiler_info()
    ti.init(arch=arch)
    ti.profiler.print_kernel_profiler_info()
    assert "kernel_profiler=True" in capsys.readouterr().out
    with pytest.raises(ValueError, match="trace"):
        ti.profiler.print_kernel_profiler_info("all")
