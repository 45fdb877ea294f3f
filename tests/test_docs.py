"""The documentation does what it says: samples run, examples in docstrings hold, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.samples import run_sample

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "tinyton_lab").rglob("*.py"))
    if path.name != "__main__.py"
]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def samples(page: Path, language: str) -> list[tuple[int, str]]:
    """The fenced samples of a page in one language, each with its first line's number."""
    text = page.read_text(encoding="utf-8")
    fences = [match for match in FENCE.finditer(text) if match[1] == language]
    return [(text.count("\n", 0, match.start(2)) + 1, match[2]) for match in fences]


@pytest.mark.parametrize("page", [page for page in PAGES if samples(page, "python")], ids=relative)
def test_samples_run(page: Path):
    namespace: dict[str, Any] = {}
    for line, text in samples(page, "python"):
        run_sample("\n" * (line - 1) + text, relative(page), namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if samples(page, "pycon")], ids=relative)
def test_sessions_hold(page: Path):
    text = "\n".join(sample for _, sample in samples(page, "pycon"))
    session = doctest.DocTestParser().get_doctest(text, {}, relative(page), str(page), 0)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session).failed == 0


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
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"https?:|mailto:", target):
            file, _, anchor = target.partition("#")
            found = (page.parent / file).resolve() if file else page
            assert found.exists(), f"{relative(page)} links to {target}"
            assert not anchor or anchor in anchors(found), f"{relative(page)} links to {target}"
