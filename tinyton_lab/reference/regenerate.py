"""Writes the generated files of a checkout; which file comes from which function is listed in its pyproject."""

from __future__ import annotations

import argparse
import importlib
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def generated(root: Path = ROOT) -> dict[str, str]:
    """The generated files and the text each should have, by path below `root`.

    Raises RuntimeError outside of a checkout: an installed package carries the files, not their list.
    """
    project = root / "pyproject.toml"
    if not project.is_file():
        raise RuntimeError(f"{root} is no checkout: it has no pyproject.toml")
    listed: dict[str, str] = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["tinyton"]["generated"]
    return {path: _text(generator) for path, generator in sorted(listed.items())}


def _text(generator: str) -> str:
    module, function = generator.split(":")
    return getattr(importlib.import_module(module), function)()


def stale(root: Path = ROOT) -> dict[str, str]:
    """Those of `generated` whose file is missing or says something else."""
    texts = generated(root)
    return {
        path: text
        for path, text in texts.items()
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != text
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 1 when `--check` found a stale file."""
    parser = argparse.ArgumentParser(prog="tinyton regen", description="Write again what the tables generate.")
    parser.add_argument("--check", action="store_true", help="name the stale files, change nothing")
    options = parser.parse_args(arguments)
    texts = stale()
    for path, text in texts.items():
        print(f"{path}: {'stale' if options.check else 'written'}")
        if not options.check:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(text, encoding="utf-8", newline="\n")
    return int(options.check and bool(texts))
