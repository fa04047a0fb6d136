"""What is told about the project in several files is the same in all of them; workflows run what is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_there_is_one_version() -> None:
    (version,) = re.findall(r'^version = "(.*)"$', _text("pyproject.toml"), re.MULTILINE)
    assert re.findall(r"^version: (.*)$", _text("CITATION.cff"), re.MULTILINE) == [version]
    assert re.findall(r'^  version: "(.*)"$', _text("conda/recipe.yaml"), re.MULTILINE) == [version]
    assert re.findall(r'^__version__ = "(.*)"$', _text("__init__.py"), re.MULTILINE) == [version]


def test_the_recipe_needs_what_the_wheel_needs() -> None:
    (needed,) = re.findall(r"^dependencies = \[(.*)\]$", _text("pyproject.toml"), re.MULTILINE)
    run = _text("conda/recipe.yaml").split("  run:\n", 1)[1].split("  run_constraints", 1)[0]
    assert {name.replace(" ", "") for name in re.findall(r"- (.*)", run)} == {
        "python>=3.10",
        *re.findall(r'"(.*?)"', needed),
    }


def test_the_license_is_told_everywhere() -> None:
    for name in ("pyproject.toml", "CITATION.cff", "conda/recipe.yaml"):
        assert "Apache-2.0" in _text(name)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    makefile = _text("Makefile")
    for target in re.findall(r"run: make (\S+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for file in re.findall(r"run: python (\S+\.py)", text):
        assert (ROOT / file).is_file()
    for extra in re.findall(r"\.\[(\w+)\]", text):
        assert re.search(rf"^{extra} = \[", _text("pyproject.toml"), re.MULTILINE), extra
    jobs = re.split(r"^  (?=\w+:$)", text.split("\njobs:\n", 1)[1], flags=re.MULTILINE)[1:]
    assert jobs
    assert all("timeout-minutes:" in job and "runs-on:" in job for job in jobs), "a job that hangs must end"
    assert "permissions:\n  contents: read" in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_yaml(path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML: pip install pyyaml")
    made: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert made["jobs"]
    for job in made["jobs"].values():
        assert all("run" in step or "uses" in step for step in job["steps"])
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= made["jobs"].keys()


def test_addresses_follow_from_the_repository() -> None:
    spec = importlib.util.spec_from_file_location("add_urls", ROOT / ".github" / "add_urls.py")
    assert spec is not None
    assert spec.loader is not None
    add_urls = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(add_urls)
    text = add_urls.with_urls(_text("pyproject.toml"), "https://example.org", "Some/weft")
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
    urls = tomllib.loads(text)["project"]["urls"]
    assert urls["Issues"] == "https://example.org/Some/weft/issues"
    assert urls["Documentation"] == "https://some.github.io/weft/"
    with pytest.raises(ValueError, match="addresses already"):
        add_urls.with_urls(text, "https://example.org", "Some/weft")


def test_links_of_the_files_at_the_root() -> None:
    for name in ("CONTRIBUTING.md", "SECURITY.md"):
        for link in re.findall(r"\]\(([^)#]+)", _text(name)):
            assert (ROOT / link).exists(), f"{name}: {link}"
