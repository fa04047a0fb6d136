"""`ti.save` and `ti.load`: all that a program has comes back, and a bad file changes nothing."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests import emulated
from tests.packages import with_package
from weft.lang.atomic_files import WriteFailed, previous_of

FORMATS = [".npz", with_package(".h5", "h5py"), with_package(".zarr", "zarr")]
KERNELS = """
import sys
import weft as ti
ti.init(arch=ti.cpu)
"""


@pytest.fixture(autouse=True)
def folder(kept_kernels: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def state() -> dict[str, Any]:
    """One of each kind of thing that has numbers."""
    particle = ti.types.struct(place=ti.math.vec3, number=ti.i64, inner=ti.types.struct(mass=ti.f16))
    nested = ti.field(ti.u8)
    ti.root.dense(ti.ij, 2).dense(ti.ij, (2, 4)).place(nested)
    return {
        "height": ti.field(ti.f32, (4, 5)),
        "speed": ti.Vector.field(2, ti.f64, (3, 2), needs_grad=True),
        "turn": ti.Matrix.field(2, 3, ti.f32, (), offset=()),
        "column": ti.Matrix.field(3, 1, ti.i16, 4, order="i"),
        "shifted": ti.field(ti.u1, (6,), offset=(-3,)),
        "nested": nested,
        "particles": particle.field(shape=7),
        "apart": particle.field(shape=(2, 3), layout=ti.Layout.SOA),
        "array": ti.ndarray(ti.math.mat2, (3,)),
        "structs": ti.ndarray(particle, 5),
        "slope": ti.ndarray(ti.f32, 5, needs_grad=True),
        "mine": np.zeros((2, 3), np.complex128),
        "parts": {"a": ti.field(ti.i32, 2), "b": np.zeros(3, np.uint16)},
    }


def numbers(things: Any) -> Any:
    """The numbers of all these things, as lists."""
    if isinstance(things, dict):
        return {name: numbers(thing) for name, thing in things.items()}
    if isinstance(things, np.ndarray):
        return things.tolist()
    gradient = getattr(things, "grad", None)
    return numbers(things.to_numpy()), None if gradient is None else numbers(gradient)


def fill(thing: Any, source: np.random.Generator) -> None:
    """Set all numbers of a thing to random ones."""
    if hasattr(thing, "members"):
        thing = thing.members
    if isinstance(thing, dict):
        for member in thing.values():
            fill(member, source)
        return
    array = thing if isinstance(thing, np.ndarray) else thing.to_numpy()
    drawn = source.integers(0, 2 if array.dtype == bool else 200, array.shape).astype(array.dtype)
    if isinstance(thing, np.ndarray):
        thing[...] = drawn
        return
    thing.from_numpy(drawn)
    if thing.grad is not None:
        fill(thing.grad, source)


VALUES = {"time": 0.1, "step": 2**70, "done": True, "label": "Fluß", "nothing": None, "far": float("inf")}


def start(arch: str, monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    """Begin a program on this arch, which may be a GPU in software."""
    if arch == "emulated":
        emulated.use(monkeypatch)
        arch = "cuda"
    ti.init(arch=arch, enable_fallback=False, **options)


EMULATED = pytest.param("emulated", marks=pytest.mark.emulated)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("arch", ["cpu", "python", EMULATED])
def test_save_and_load(ending: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start(arch, monkeypatch)
    before = state()
    fill(before, np.random.default_rng(1))
    wanted = numbers(before)
    ti.save(f"run{ending}", before, **VALUES)
    start(arch, monkeypatch)
    after = state()
    rest = ti.load(f"run{ending}", **after)
    assert numbers(after) == wanted
    assert rest == VALUES
    assert [type(value) for value in rest.values()] == [type(value) for value in VALUES.values()]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_is_read_without_the_fields(ending: str) -> None:
    before = state()
    fill(before, np.random.default_rng(2))
    ti.save(f"run{ending}", before, count=np.float32(2.5), vector=ti.Vector([1.0, 2.0]))
    found = ti.load(f"run{ending}")
    assert found["height"].tolist() == before["height"].to_numpy().tolist()
    assert found["speed.grad"].tolist() == before["speed"].grad.to_numpy().tolist()
    assert found["particles"]["inner"]["mass"].dtype == np.float16
    assert found["parts"]["b"].tolist() == before["parts"]["b"].tolist()
    assert type(found["count"]) is np.float32
    assert (found["count"], found["vector"].tolist()) == (2.5, [1, 2])


def test_numpy_reads_it() -> None:
    x = ti.field(ti.f32, 3)
    x.fill(2)
    ti.save("run.npz", x=x)
    with np.load("run.npz") as arrays:
        assert arrays["x"].tolist() == [2, 2, 2]


PAIRS = [("cpu", "cpu"), ("python", "python"), ("cpu", "python"), ("python", "cpu")]


@pytest.mark.parametrize(("saved", "loaded"), [*PAIRS, pytest.param("cpu", "emulated", marks=pytest.mark.emulated)])
def test_random_numbers_continue(saved: str, loaded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> list[float]:
        x = ti.field(ti.f32, 4)

        @ti.kernel
        def draw():
            for i in x:
                x[i] = ti.random()

        draw()
        draw()
        return [*x.to_numpy().tolist(), ti.random(ti.f64), ti.random(ti.i32)]

    start(saved, monkeypatch, random_seed=3)
    drawn()
    ti.save("run.npz")
    wanted = drawn()
    assert wanted != drawn()
    start(loaded, monkeypatch)
    ti.load("run.npz")
    assert drawn() == wanted
    ti.load("run.npz")
    assert drawn() == wanted


@pytest.mark.parametrize("ending", FORMATS)
def test_arrays_that_do_not_fit_are_left_unchanged(ending: str) -> None:
    ti.save(f"run{ending}", a=ti.field(ti.f32, 3), b=np.zeros(3, np.float32), x=ti.Vector.field(2, ti.f32, (4, 5)), n=1)
    a = ti.field(ti.f32, 3)
    a.fill(7)
    misfits = {
        r"contains elements of shape \(2,\) of float32, shape \(4, 5\), .* shape \(5, 4\)": ti.Vector.field(
            2, ti.f32, (5, 4)
        ),
        "of float32, shape .* of float64": ti.Vector.field(2, ti.f64, (4, 5)),
        r"target is float32, shape \(4, 5, 2\)": ti.field(ti.f32, (4, 5, 2)),
        r"shape \(4, 5\) from index \(1, 0\) on": ti.Vector.field(2, ti.f32, (4, 5), offset=(1, 0)),
        r"int8, shape \(4, 5, 2\)": np.zeros((4, 5, 2), np.int8),
    }
    for message, x in misfits.items():
        with pytest.raises(ti.CheckpointError, match=message):
            ti.load(f"run{ending}", a=a, x=x)
    with pytest.raises(ti.CheckpointError, match="has no array 'y'; it has a, b, x, n"):
        ti.load(f"run{ending}", a=a, y=ti.field(ti.f32, 3))
    with pytest.raises(TypeError, match="can fill only fields"):
        ti.load(f"run{ending}", a=a, n=1)
    gone, fixed = ti.ndarray(ti.f32, 3), np.zeros(3, np.float32)
    gone.end("it was freed")
    fixed.flags.writeable = False
    fixed_message = "'b' is read-only"
    targets = [(fixed, fixed_message), (ti.Vector([1.0, 2, 3]), fixed_message), (np.float32(1), fixed_message)]
    for target, message in [(gone, "it was freed"), *targets]:
        with pytest.raises((ti.FieldError, ValueError), match=message):
            ti.load(f"run{ending}", a=a, b=target)
    assert a.to_numpy().tolist() == [7, 7, 7]


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        (("run.npz",), {"x": [1, 2]}, r"fields, ndarrays, .* 'x' is \[1, 2\]"),
        (("run.npz",), {"x": {"y": object()}}, "'x.y' is <object"),
        (("run.npz",), {"x": np.array(["a"])}, "'x' is an array of <U1"),
        (("run.npz", [1]), {}, r"passed by name, as in ti.save\(path, x=x\), not \[1\]"),
        (("run.npz", {"x": 1}), {"x": 2}, "passed twice"),
        (("run.npz", {"x": {"y": np.zeros(2)}, "x.y": np.zeros(2)}), {}, "two items .* 'x.y'"),
        (("run.npz", {"a/b": 1}), {}, "unlike 'a/b'"),
        (("run.npz", {3: 1}), {}, "unlike 3"),
        ((7,), {}, "takes the path of a file"),
        (("run.txt",), {}, "must end in .npz, .zarr, .h5, .hdf5, unlike 'run.txt'"),
    ],
)
def test_mistakes(arguments: tuple[Any, ...], named: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ti.save(*arguments, **named)
    assert not list(Path().iterdir())


def test_files_that_are_no_checkpoints() -> None:
    with pytest.raises(FileNotFoundError, match=r"this checkpoint does not exist: 'none\.npz'"):
        ti.load("none.npz")
    np.savez("plain.npz", x=np.zeros(3))
    with pytest.raises(ti.CheckpointError, match=r"'plain\.npz' was not written by ti\.save"):
        ti.load("plain.npz")
    Path("text.npz").write_text("this is a text")
    with pytest.raises(ti.CheckpointError, match=r"'text\.npz' is damaged, or it is not a checkpoint"):
        ti.load("text.npz")


@pytest.mark.parametrize("module", ["h5py", "zarr"])
def test_a_missing_package_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ending, extra = {"h5py": (".h5", "hdf5"), "zarr": (".zarr", "zarr")}[module]
    with pytest.raises(ImportError, match=rf"pip install 'weft\[{extra}\]'"):
        ti.save(f"run{ending}", x=1)
    assert not list(Path().iterdir())


def test_unwritten_elements_are_not_saved() -> None:
    ti.init(arch=ti.cpu, check_uninitialised=True)
    x = ti.field(ti.f32, 3)
    x[0] = 1
    with pytest.raises(ti.WeftError, match="is read before it is written"):
        ti.save("run.npz", x=x)
    x.fill(2)
    ti.save("run.npz", x=x)
    y = ti.field(ti.f32, 3)
    ti.load("run.npz", x=y)
    assert y[1] == 2


# ---- damage


def files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())


@pytest.mark.parametrize("ending", FORMATS)
def test_damage_is_never_loaded(ending: str) -> None:
    """A byte that is wrong, and a file that is cut off: an error, or the very same numbers."""
    path, source = Path(f"run{ending}"), random.Random(5)
    values = np.random.default_rng(3).random((40, 30), np.float32)
    x = ti.field(ti.f32, (40, 30))
    x.from_numpy(values)
    ti.save(path, x=x, time=0.5)
    refused = 0
    for case in range(60):
        file = source.choice(files(path))
        content = file.read_bytes()
        place = source.randrange(len(content))
        wrong = bytes((content[place] ^ source.randrange(1, 256),))
        cut = case % 3 == 0
        file.write_bytes(content[:place] if cut else content[:place] + wrong + content[place + 1 :])
        x.fill(-1)
        try:
            rest = ti.load(path, x=x)
        except ti.CheckpointError as error:
            assert "is damaged" in str(error) or "was not written by ti.save" in str(error)  # noqa: PT017
            assert (x.to_numpy() == -1).all()
            refused += 1
        else:
            assert (x.to_numpy() == values).all()
            assert rest == {"time": 0.5}
        file.write_bytes(content)
    assert refused > 20
    ti.load(path, x=x)


FULL = (
    KERNELS
    + """
import resource
sys.dont_write_bytecode = True  # the limit would cut it off, too
path = sys.argv[1]
x = ti.field(ti.f64, 40_000)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    ti.save(path, x=x)
except OSError as error:
    print(type(error).__name__, error)
"""
)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize("ending", [".npz", with_package(".h5", "h5py")])
def test_a_full_disk_leaves_the_old_file(ending: str) -> None:
    ti.save(f"run{ending}", x=ti.field(ti.f64, 10), step=1)
    run = subprocess.run([sys.executable, "-c", FULL, f"run{ending}"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("WriteFailed ")
    assert f"could not write 'run{ending}'" in run.stdout
    assert "The old content is unchanged." in run.stdout
    assert [path.name for path in Path().iterdir()] == [f"run{ending}"]
    assert ti.load(f"run{ending}")["step"] == 1


ENDLESS = (
    KERNELS
    + """
x = ti.field(ti.i32, 300_000)
step = 0
while True:
    step += 1
    x.fill(step)
    ti.save(sys.argv[1], x=x, step=step)
    print(step, flush=True)
"""
)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
@pytest.mark.parametrize("ending", FORMATS)
def test_a_killed_write_leaves_a_whole_file(ending: str) -> None:
    source, path = random.Random(4), Path(f"run{ending}")
    for _ in range(4):
        with subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.stdout.readline()
            time.sleep(source.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
        found = ti.load(path)
        assert found["step"] >= 2
        assert (found["x"] == found["step"]).all()


@with_package(None, "zarr").marks[0]
def test_a_folder_that_was_being_replaced() -> None:
    ti.save("run.zarr", step=1)
    Path("run.zarr").rename(previous_of(Path("run.zarr")))  # as a kill between the two steps leaves it
    assert ti.load("run.zarr") == {"step": 1}
    ti.save("run.zarr", step=2)
    assert ti.load("run.zarr") == {"step": 2}


def test_where_files_go() -> None:
    ti.save("a/b/run.npz", step=1)
    shutil.move("a/b/run.npz", "a/other.npz")
    Path("a/b/run.npz").symlink_to(Path("a/other.npz").resolve())
    ti.save(Path("a/b/run.npz"), step=2)
    assert Path("a/b/run.npz").is_symlink()
    assert ti.load("a/other.npz") == {"step": 2}
    Path("folder.npz").mkdir()
    with pytest.raises(WriteFailed, match=r"could not write 'folder\.npz': a folder of that name exists"):
        ti.save("folder.npz", step=1)
    assert sorted(path.name for path in Path().iterdir()) == ["a", "folder.npz"]
