"""Write the addresses of the project into pyproject.toml, before a release is built.

They follow from the repository that the workflow runs in (GITHUB_SERVER_URL, GITHUB_REPOSITORY), so that a fork does
not refer to somebody else's pages.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PAGES = {"Source": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
BEFORE = "[project.optional-dependencies]"


def with_urls(text: str, server: str, repository: str) -> str:
    """The text of pyproject.toml with the addresses of that repository. Raises ValueError if it has addresses."""
    if "[project.urls]" in text or BEFORE not in text:
        raise ValueError("pyproject.toml has addresses already, or no optional dependencies to put them before")
    owner, _, name = repository.partition("/")
    rows = {page: f"{server}/{repository}{path}" for page, path in PAGES.items()}
    rows["Documentation"] = f"https://{owner.lower()}.github.io/{name}/"
    table = "".join(f'{page} = "{url}"\n' for page, url in rows.items())
    return text.replace(BEFORE, f"[project.urls]\n{table}\n{BEFORE}", 1)


def main() -> int:
    """Change pyproject.toml in the current folder."""
    path = Path("pyproject.toml")
    server, repository = os.environ.get("GITHUB_SERVER_URL", ""), os.environ.get("GITHUB_REPOSITORY", "")
    if not (server and "/" in repository):
        print("add_urls.py runs in a workflow: GITHUB_SERVER_URL and GITHUB_REPOSITORY are not set", file=sys.stderr)
        return 2
    path.write_text(with_urls(path.read_text(encoding="utf-8"), server, repository), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
