"""What is said of slow tests is said of tests that there are."""

from pathlib import Path

from tests.sampling import SLOW


def test_they_are_there() -> None:
    for entry in SLOW:
        file, _, test = entry.removesuffix("[emulated]").removesuffix("[python]").partition("::")
        path = Path(__file__).parent / file
        assert path.is_file(), f"{entry}: there is no such file"
        assert not test or f"def {test}(" in path.read_text(encoding="utf-8"), f"{entry}: there is no such test"
