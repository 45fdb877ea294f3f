"""The documentation does what it says: samples run, examples in docstrings hold, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.samples import FENCE, samples

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "tinyton_lab").rglob("*.py"))
    if path.name != "__main__.py"
]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if samples(page, "python")], ids=relative)
def test_samples_run(page: Path):
    command = [sys.executable, "-W", "error", "-m", "tests.samples", str(page)]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert seen.returncode == 0, seen.stderr


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name: str):
    assert doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed == 0


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_lead_somewhere(page: Path):
    prose = re.sub(r"`[^`\n]*`|^    .*", "", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"https?:|mailto:", target):
            file, _, anchor = target.partition("#")
            found = (page.parent / file).resolve() if file else page
            assert found.exists(), f"{relative(page)} links to {target}"
            assert not anchor or anchor in anchors(found), f"{relative(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_make_commands_exist(page: Path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    told = set(re.findall(r"(?:`|^)make (\w+)", page.read_text(encoding="utf-8"), re.MULTILINE))
    assert told - targets == set()
