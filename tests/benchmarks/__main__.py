"""Run the measurements named on the command line, or all, and print one table each."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import tests.benchmarks as folder

NAMES = sorted(
    name
    for _, name, package in pkgutil.iter_modules(folder.__path__)
    if not package and name not in ("measure", "__main__")
)


def main(wanted: list[str]) -> int:
    missed = 0
    for name in wanted or NAMES:
        print(f"\n{name}: {importlib.import_module(f'tests.benchmarks.{name}').__doc__.splitlines()[0]}")
        for row in importlib.import_module(f"tests.benchmarks.{name}").rows():
            print(row, flush=True)
            missed += not row.reached
    return missed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
