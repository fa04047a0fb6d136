"""Every demo runs headless: two frames on the CPU, one in Python where that is quick enough, and the command line."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from tests.machine_code import LEARNING
from tests.sampling import every
from weft.demos import runner
from weft.demos.playing import rows
from weft.lang import cli
from weft.lang.ui import ffmpeg

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")


# What could depend on the order of the threads (atomics, sorting into cells) or on the seed, and must not.
ORDERLY = (
    "pbf",
    "smoke",
    "plume",
    "fem",
    "cloth",
    "physarum",
    "cornell",
    "sculptor",
    "rasterizer",
    "contours",
    "superpixels",
    "sorting",
)


@pytest.mark.parametrize("name", runner.NAMES)
def test_frames(name: str) -> None:
    frame = importlib.import_module(f"weft.demos.{name}").build()
    first, second = np.array(rows(frame(0))), rows(frame(1))
    for image in (first, second):
        assert image.ndim == 3
        assert image.shape[2] == 3
        assert np.isfinite(image).all()
        assert image.min() >= 0
        assert image.max() <= 1
        assert image.std() > 0.01, "the picture is empty"
    assert not np.array_equal(first, second), "nothing moves"


# One thread and six nanoseconds for each access: frames of these take 10 to 30 seconds.
SLOW_TO_CHECK = {"cloth", "mpm3d", "pbf", "plume", "raymarch", "sculptor", "snow", "stable_fluids", "vortex_street"}


@pytest.mark.parametrize("name", every(5, [name for name in runner.NAMES if name not in SLOW_TO_CHECK]))
@pytest.mark.unverified
def test_a_frame_without_races(name: str) -> None:
    weft.init(arch=weft.cpu, random_seed=1, check_races=True)
    importlib.import_module(f"weft.demos.{name}").build(**LEARNING.get(name, {}))(0)


@pytest.mark.parametrize("name", every(3, ORDERLY))
def test_the_same_seed_gives_the_same_picture(name: str) -> None:
    pictures = []
    for _ in range(2):
        weft.init(arch=weft.cpu, random_seed=7)
        frame = importlib.import_module(f"weft.demos.{name}").build()
        frame(0)
        pictures.append(np.array(rows(frame(1))))
    np.testing.assert_array_equal(*pictures)


def test_life_is_the_same_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A demo small enough to be interpreted: the same picture, number for number."""
    life = importlib.import_module("weft.demos.life")
    monkeypatch.setattr(life, "N", 24)
    pictures = []
    for arch in (weft.cpu, weft.python):
        weft.init(arch=arch, random_seed=3)
        frame = life.build()
        frame(0)
        pictures.append(rows(frame(1)))
    np.testing.assert_allclose(pictures[0], pictures[1], atol=1e-5)


def test_summaries_say_what_a_demo_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(runner.NAMES)
    assert all(len(line) < 140 for line in lines)


def test_the_gallery_shows_every_demo() -> None:
    """The page has each demo's sentence, command, picture and film; the files are small."""
    docs = Path(runner.__file__).parent.parent / "docs"
    page = (docs / "gallery.md").read_text(encoding="utf-8")
    for name in runner.NAMES:
        title, _, text = runner.summary(name).partition(": ")
        assert f"}} {title}\n" in page
        assert text[1:] in page
        assert f" ms - `weft demo {name}`\n" in page
    for suffix, limit in ((".jpg", 60_000), (".webp", 400_000)):
        files = sorted((docs / "pictures" / "gallery").glob(f"*{suffix}"))
        assert [file.stem for file in files] == sorted(runner.NAMES)
        assert all(file.stat().st_size < limit for file in files)
    assert f"{len(runner.NAMES)} demos" in (docs.parent / "README.md").read_text(encoding="utf-8")


def test_writing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    for name, frames in (("life.gif", 3), ("life.png", 2)):
        assert cli.main(["demo", "life", "--frames", str(frames), "--out", str(tmp_path / "new" / name)]) == 0
    with Image.open(tmp_path / "new" / "life.gif") as film:
        assert getattr(film, "n_frames", 1) == 3
    with Image.open(tmp_path / "new" / "life.png") as picture:
        assert picture.size == (512, 512)
    assert "frames per second" in capsys.readouterr().out


def test_without_a_display_a_picture_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "has_display", lambda: False)
    made = runner.run("life", frames=2)
    assert made["files"] == [str(Path("out/life.png"))]
    assert [path.name for path in Path("out").iterdir()] == ["life.png"]
    said = capsys.readouterr().out
    assert said.startswith(f"{runner.about('life')}\n")
    assert "there is no display for a window: computing 2 frames for" in said


@pytest.mark.parametrize("ending", [".mp4", ".gif"])
def test_films(ending: str, tmp_path: Path) -> None:
    if not ffmpeg.find_ffmpeg():
        pytest.skip("needs ffmpeg")
    made = runner.run("life", frames=12, out=str(tmp_path / f"film{ending}"))
    assert made["files"] == [str(tmp_path / f"film{ending}")]
    read = subprocess.run(
        [ffmpeg.find_ffmpeg(), "-i", *made["files"], "-map", "0:v", "-f", "framemd5", "-"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert len([line for line in read.stdout.splitlines() if line and line[0] != "#"]) == 12


def test_a_recording_that_is_interrupted_keeps_its_frames(tmp_path: Path) -> None:
    from PIL import Image

    def frame(number: int) -> Any:
        if number == 3:
            raise KeyboardInterrupt
        return np.full((8, 8, 3), number / 4)

    runner.play(frame, 10, "short", str(tmp_path / "short.png"))
    with Image.open(tmp_path / "short.png") as picture:
        assert picture.getpixel((0, 0)) == (128, 128, 128)


@pytest.mark.parametrize(("missing", "package"), [("PIL", "pillow"), ("matplotlib", "matplotlib")])
def test_without_what_draws_it_says_what_to_install(
    missing: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner, "run", lambda *_: importlib.import_module(missing))
    monkeypatch.setitem(sys.modules, missing, None)
    assert cli.main(["demo", "life"]) == 1
    assert capsys.readouterr().err == f"weft: demos need {package} to draw: pip install 'weft[viz]'\n"


@pytest.mark.parametrize("name", ["galaxy", "filters"])
def test_every_frame_shows_something(name: str) -> None:
    module = importlib.import_module(f"weft.demos.{name}")
    frame = module.build()
    if name == "filters":
        for number in (0, 15, 45, module.FRAMES - 1):
            image = frame(number)
            noisy, soft, sharp = (image[:, k * (frame.width + 8) :][:, : frame.width] for k in range(3))
            assert all(abs(smooth - noisy).mean() > 0.02 for smooth in (soft, sharp))
    else:
        for number in range(0, module.FRAMES, 10):
            assert (rows(frame(number)).max(2) > 0.2).mean() > 0.01


def test_a_misspelt_demo_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "lief"]) == 2
    assert capsys.readouterr().err == "weft: there is no demo 'lief'; did you mean 'life'?\n"


@pytest.mark.parametrize("given", [["demo", "nosuch"], ["demo", "life", "--frames", "0"], ["demo", "--arch", "tpu"]])
def test_wrong_commands(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = cli.main(given)
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status == 2
    assert "weft" in capsys.readouterr().err


def test_version_and_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out.startswith("weft ")
    assert cli.main(["doctor"]) == 0
    told = capsys.readouterr().out
    assert all(word in told for word in ("python", "llvmlite", "features", "threads", "cuda driver", "cache"))
