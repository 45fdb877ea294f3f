"""The normal form of the notebooks that are tests: outputs kept, nothing in the file that changes from run to run.

``python -m tinyton_lab.lab.notebooks [--check | --execute] [NOTEBOOK ...]`` rewrites the notebooks, by default all of
``notebooks/``; with ``--check`` it only names those that are not in the form, with ``--execute`` it runs them first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

CELL_SECONDS = 120
RECORD_MIME = "application/vnd.tinyton."
VOLATILE = ("env", "seconds", "timing")
METADATA: dict[str, Any] = {
    "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
    "language_info": {"name": "python"},
}


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Put a notebook into the normal form, in place, and return it.

    Cells are numbered in order, code cells counted from 1 as a fresh kernel would; of a cell's metadata its tags stay,
    of an output's the records, without what they say of time and machine.

    >>> cell = nbformat.v4.new_code_cell("1 + 1", execution_count=7, metadata={"collapsed": True, "tags": ["a"]})
    >>> normal = normalise(nbformat.v4.new_notebook(cells=[cell]))
    >>> normal.cells[0].id, normal.cells[0].execution_count, normal.cells[0].metadata
    ('cell-00', 1, {'tags': ['a']})
    """
    count = 0
    for index, cell in enumerate(notebook.cells):
        cell.id = f"cell-{index:02d}"
        cell.metadata = nbformat.from_dict({"tags": cell.metadata["tags"]} if cell.metadata.get("tags") else {})
        if cell.cell_type == "code":
            count += bool(cell.source.strip())
            _normalise_code(cell, count if cell.source.strip() else None)
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def _normalise_code(cell: NotebookNode, count: int | None) -> None:
    cell.execution_count = count
    cell.outputs = _merge_streams(cell.outputs)
    for output in cell.outputs:
        if "execution_count" in output:
            output.execution_count = count
        if "metadata" in output:
            output.metadata = nbformat.from_dict(_records(output.metadata))


def _merge_streams(outputs: Sequence[NotebookNode]) -> list[NotebookNode]:
    """Join what a stream wrote in a row: how it was cut into messages is chance."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def _records(metadata: dict[str, Any]) -> dict[str, Any]:
    records = {mime: value for mime, value in metadata.items() if mime.startswith(RECORD_MIME)}
    return {
        mime: {key: part for key, part in value.items() if key not in VOLATILE} if isinstance(value, dict) else value
        for mime, value in records.items()
    }


def normal_text(path: Path, *, execute: bool = False) -> str:
    """The text that the notebook file has in the normal form, after a run in a fresh kernel when `execute`."""
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    if execute:
        run_all(notebook, path.parent)
    return nbformat.writes(normalise(notebook)) + "\n"


def run_all(notebook: NotebookNode, folder: Path) -> None:
    """Run a notebook in a fresh kernel whose working folder is `folder`; its outputs are written into it."""
    from nbclient import NotebookClient

    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 1 when `--check` found a notebook out of form."""
    parser = argparse.ArgumentParser(prog="python -m tinyton_lab.lab.notebooks", description=__doc__)
    parser.add_argument("--check", action="store_true", help="name the notebooks out of form, change nothing")
    parser.add_argument("--execute", action="store_true", help="run each notebook in a fresh kernel first")
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: all of notebooks/")
    options = parser.parse_args(arguments)
    changed: list[Path] = []
    for path in options.notebooks or sorted(Path("notebooks").glob("*.ipynb")):
        text = normal_text(path, execute=options.execute)
        if text != path.read_text(encoding="utf-8"):
            changed.append(path)
            if not options.check:
                path.write_text(text, encoding="utf-8")
    for path in changed:
        print(f"{path}: {'not in the normal form (make notebooks)' if options.check else 'rewritten'}")
    return int(options.check and bool(changed))


if __name__ == "__main__":
    sys.exit(main())
