"""What pyright and mypy say about programs: nothing, where the annotations are types; of calls in annotations, that
they are no types; of each mistake, the rule that its line names."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import weft
from tests.checkers.programs import arrays, fields

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
CLEAN = ("arrays.py", "editor_0.py", "editor_1.py", "fields.py", "revealed.py")
FORM = {"pyright": "reportInvalidTypeForm", "mypy": "valid-type"}  # an annotation that is a call

MYPY = """
[mypy]
strict = true
python_version = 3.10
mypy_path = {site}

[mypy-taichi_mpm]
disallow_untyped_defs = false
disallow_incomplete_defs = false
disallow_untyped_calls = false

[mypy-weft.lang.*]  # its own types are checked by `make check`
follow_imports = skip
"""

# What checkers cannot know of programs in Taichi's style: a class with `@ti.dataclass` has a method `field`; `float` of
# a vector is a vector. (The third is an error in the types of the program.)
UNKNOWN = r"\b[A-Z]\w+\.field\(|float\(i - j\)\.norm\(\)|speeds\.index\(tuple"

Found = dict[str, dict[int, set[str]]]  # of each file, the rules that complain of a line


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with Weft as `pip` installs it."""
    package = tmp_path / "site" / "weft"
    package.mkdir(parents=True)
    for name in ("__init__.py", "__init__.pyi", "py.typed", "codegen", "demos", "ir", "lang", "runtime", "stubs"):
        _link(package / name, ROOT / name)
    for module in (ROOT / "stubs" / "modules").iterdir():
        _link(package / module.name, module)
    return package.parent


def _link(place: Path, target: Path) -> None:
    """Make `target` available at `place`, as a copy where links are not allowed."""
    try:
        place.symlink_to(target)
    except OSError:
        _ = shutil.copytree(target, place) if target.is_dir() else shutil.copy(target, place)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with the programs here, and those of the page about editors, which are strict too."""
    folder = tmp_path / "all"
    folder.mkdir()
    for path in PROGRAMS.glob("*.py"):
        (folder / path.name).write_text(path.read_text())
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "editor.md").read_text(), re.DOTALL)
    for number, block in enumerate(blocks):
        (folder / f"editor_{number}.py").write_text(f"# pyright: strict\n{block}")
    assert {path.name for path in folder.iterdir()} >= set(CLEAN)
    return folder


def _pyright(folder: Path, site: Path) -> Found:
    _link(site.parent / "programs", folder)
    config = {
        "include": ["programs"],
        "extraPaths": [str(site)],
        "typeCheckingMode": "standard",  # a comment in a program makes it strict
        "pythonVersion": "3.10",
        "reportUnusedExpression": False,
        "reportUnusedCallResult": False,
    }
    place = site.parent / "pyrightconfig.json"
    place.write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(place), "--pythonpath", sys.executable]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(run.stdout)
    assert report["summary"]["filesAnalyzed"] == len(list(folder.glob("*.py"))), run.stdout
    found: Found = defaultdict(lambda: defaultdict(set))
    for one in report["generalDiagnostics"]:
        rule = one.get("rule", one["message"])
        found[Path(one["file"]).name][one["range"]["start"]["line"] + 1].add(rule)
    return found


def _mypy(folder: Path, site: Path) -> Found:
    config = site.parent / "mypy.ini"
    config.write_text(MYPY.format(site=site))
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(site.parent / "cache")]
    files = sorted(map(str, folder.glob("*.py")))
    run = subprocess.run([*command, *files], capture_output=True, text=True, check=False, cwd=site.parent)
    assert not run.stderr, run.stderr
    found: Found = defaultdict(lambda: defaultdict(set))
    for line in run.stdout.splitlines():
        if match := re.match(r"(.+?):(\d+): error: .*\[([\w-]+)\]$", line):
            found[Path(match[1]).name][int(match[2])].add(match[3])
        else:
            assert ": note: " in line or line.startswith(("Found", "Success")), line
    return found


def _expected(checker: str) -> dict[int, set[str]]:
    """The rules that the lines of `mistakes.py` name."""
    expected: dict[int, set[str]] = {}
    for number, line in enumerate((PROGRAMS / "mistakes.py").read_text().splitlines(), 1):
        if match := re.search(r"  # (report[\w,]+) ([\w-]+)$", line):
            rules = match[1] if checker == "pyright" else match[2]
            expected |= {number: set(rules.split(","))} if rules != "-" else {}
    return expected


def _check(found: Found, checker: str) -> None:
    assert {name: found[name] for name in CLEAN if found[name]} == {}
    lines = (PROGRAMS / "taichi_mpm.py").read_text().splitlines()
    calls = {number for number, line in enumerate(lines, 1) if re.search(r"# form( form)?$", line)}
    assert found["taichi_mpm.py"] == {number: {FORM[checker]} for number in calls}
    assert found["mistakes.py"] == _expected(checker)


def test_pyright(programs: Path, site: Path) -> None:
    _check(_pyright(programs, site), "pyright")


def test_mypy(programs: Path, site: Path) -> None:
    _check(_mypy(programs, site), "mypy")


@pytest.mark.exhaustive
def test_pyright_finds_no_errors_in_the_demos(site: Path) -> None:
    """(mypy checks them in `make check`.)"""
    assert _pyright(ROOT / "demos", site) == {}


@pytest.mark.exhaustive
def test_pyright_and_programs_for_taichi(site: Path, tmp_path: Path) -> None:
    """Apart from annotations, it complains of what is in `UNKNOWN`."""
    folder = tmp_path / "taichi"
    folder.mkdir()
    for path in (ROOT / "tests" / "programs").glob("*.py"):
        text = path.read_text()
        if "import taichi as ti" in text:
            (folder / path.name).write_text(re.sub(r"(import|from) taichi\b", r"\1 weft", text))
    found = _pyright(folder, site)
    assert len(list(folder.iterdir())) > 20
    for name, lines in found.items():
        text = (folder / name).read_text().splitlines()
        for number, rules in lines.items():
            wrong = {rule for rule in rules if rule != FORM["pyright"] and not re.search(UNKNOWN, text[number - 1])}
            assert not wrong, f"{name}:{number}: {wrong}: {text[number - 1]}"


@pytest.mark.parametrize("arch", [weft.cpu, weft.python])
def test_the_programs_run(arch: str) -> None:
    weft.init(arch=arch)
    energy, count = fields.run()
    assert energy == pytest.approx(10.683185, rel=1e-5)  # of eight balls that fell for 0.06 s: the same on each arch
    assert count == 3 * sum(range(8))
    blended, lit, total = arrays.run()
    assert blended == pytest.approx(1 - 0.5 * 0.75 + 3 / 14**0.5, rel=1e-5)
    sums = np.array([15, 1, 6]) + [1, 2, 3] + [4 + 5 - 1 - 2 - 3, 0, 0] + 4 * np.array([4, 8, 12]) + 1
    assert (lit, total) == (2, sums[0] + sums[1])
