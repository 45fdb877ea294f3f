"""The house rules as checks: direction of imports, budgets, names and generated files; the numbers are in pyproject."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "tinyton_lab"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["tinyton"]
RULES = PROJECT["architecture"]
FLOOR = {name: number for number, names in enumerate(RULES["floors"], start=1) for name in names}
GENERATED = (".gen.ts", ".gen.py", ".pyi")

MODULES = sorted((ROOT / PACKAGE).rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
TREES = {path: ast.parse(path.read_bytes(), filename=str(path)) for path in MODULES + TESTS}


def module_name(path: Path) -> str:
    """The dotted name below the package: ``ir/core.py`` is ``ir.core``, ``ir/__init__.py`` is ``ir.__init__``."""
    return ".".join(path.relative_to(ROOT / PACKAGE).with_suffix("").parts)


NAMES = {module_name(path): path for path in MODULES}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, anywhere in it, with its line: absolute dotted names, members included."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)}:{node.lineno}: imports are absolute"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and re.search(r"\b(import_module|__import__)$", ast.unparse(node.func)):
            if node.args and isinstance(node.args[0], ast.Constant):
                yield node.lineno, str(node.args[0].value)


def internal(dotted: str) -> str | None:
    """The module of the package that an import names: the longest prefix that is a file."""
    parts = dotted.split(".")[1:]
    for end in range(len(parts), -1, -1):
        for name in (".".join(parts[:end]), ".".join([*parts[:end], "__init__"])):
            if name in NAMES:
                return name
    return None


def own_imports(path: Path) -> Iterator[tuple[int, str]]:
    for line, dotted in imports(path):
        if dotted.split(".")[0] == PACKAGE:
            target = internal(dotted)
            assert target, f"{relative(path)}:{line}: {dotted} is not there"
            yield line, target


def top(name: str) -> str:
    return name.split(".")[0]


def test_every_file_has_a_floor_and_every_floor_a_file():
    assert sorted({top(name) for name in NAMES} ^ FLOOR.keys()) == []


def test_the_drawing_shows_the_floors():
    drawing = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```text\n")[1].split("  the ")[0]
    lines = [re.sub(r"/|\.py|floor", "", line).split() for line in drawing.splitlines() if line.strip()]
    drawn = {name: int(line[-1]) for line in lines for name in line[:-1]}
    assert drawn == {name: floor for name, floor in FLOOR.items() if name != "_version"}


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_imports_run_down(path: Path):
    here = top(module_name(path))
    wrong = [
        f"{relative(path)}:{line}: {here} (floor {FLOOR[here]}) imports {target} (floor {FLOOR[top(target)]})"
        for line, target in own_imports(path)
        if top(target) != here and FLOOR[top(target)] >= FLOOR[here]
    ]
    assert wrong == []


def test_no_circles():
    graph = {name: sorted({target for _, target in own_imports(path)} - {name}) for name, path in NAMES.items()}
    done: set[str] = set()

    def walk(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, "imports in a circle: " + " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for target in graph[name]:
                walk(target, (*trail, name))
            done.add(name)

    for name in graph:
        walk(name, ())


def allowed_third_parties(path: Path) -> set[str]:
    inside = path.relative_to(ROOT / PACKAGE).as_posix()
    table: dict[str, list[str]] = RULES["third_parties"]
    matching = [prefix for prefix in table if not prefix or inside == prefix or inside.startswith(prefix + "/")]
    return set(table[max(matching, key=len)])


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_third_parties(path: Path):
    known = sys.stdlib_module_names | allowed_third_parties(path) | {PACKAGE}
    assert [f"{relative(path)}:{line}: {name}" for line, name in imports(path) if name.split(".")[0] not in known] == []


@pytest.mark.parametrize("path", MODULES + TESTS, ids=relative)
def test_opens_with_a_sentence(path: Path):
    docstring = ast.get_docstring(TREES[path])
    assert docstring and docstring.split("\n\n")[0].endswith((".", "?", "!")), "open with one sentence: what it knows"


@pytest.mark.parametrize("path", MODULES + TESTS, ids=relative)
def test_functions_are_short(path: Path):
    functions = [n for n in ast.walk(TREES[path]) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {f"{relative(path)}:{f.lineno} {f.name}": (f.end_lineno or 0) - f.lineno + 1 for f in functions}
    assert {name: lines for name, lines in lengths.items() if lines > RULES["function_lines"]} == {}


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_no_assert_in_the_package(path: Path):
    asserts = [node.lineno for node in ast.walk(TREES[path]) if isinstance(node, ast.Assert)]
    assert asserts == [], "raise error(...) for a fault of the user, RuntimeError for one of ours"


def tracked(*patterns: str) -> list[Path]:
    """Files that git tracks or would track."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).is_file()]


def test_files_are_short():
    sources = [p for p in tracked("*.py", "*.ts", "*.js", "*.mjs", "*.css") if not p.name.endswith(GENERATED)]
    lengths = {relative(p): len(p.read_text(encoding="utf-8").splitlines()) for p in sources}
    assert {name: lines for name, lines in lengths.items() if lines > RULES["file_lines"]} == {}


def test_names_say_something():
    named = [p for p in tracked() if "data" not in p.relative_to(ROOT).parts]  # test data keeps its producer's names
    parts = {p: {part.split(".")[0].lower() for part in p.relative_to(ROOT).parts} for p in named}
    assert [relative(p) for p, names in parts.items() if names & set(RULES["forbidden_names"])] == []


def test_no_path_of_a_machine_is_tracked():
    pattern = re.compile(rb"(?:^|[\"'( =:`])/(?:work|root|home|Users|farm)/\w", re.MULTILINE)
    found = {relative(p): pattern.search(p.read_bytes()) for p in tracked() if p.suffix not in (".png", ".gz")}
    assert {name: match[0] for name, match in found.items() if match} == {}


@pytest.mark.parametrize("path", sorted(PROJECT["generated"]))
def test_generated_files_are_fresh(path: str):
    module, function = PROJECT["generated"][path].split(":")
    text = getattr(importlib.import_module(module), function)()
    assert (ROOT / path).read_text(encoding="utf-8") == text, "stale: run `make regen`"
