"""The reference pages as Markdown, one function per table. Knows how a page looks, no fact of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

from tinyton_lab import language as tl
from tinyton_lab.base.dtypes import DTYPES
from tinyton_lab.base.faults import FAULTS, Fault
from tinyton_lab.base.knobs import KNOBS
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.ir.definition import OpDef
from tinyton_lab.language.builtin import BUILTINS, Builtin, LibraryFunction
from tinyton_lab.ops import (
    OPS,
    assembly,
    atomic,
    collective,
    contract,
    control,
    elementwise,
    local,
    math,
    memory,
    message,
    product,
    program,
    reduction,
    shape,
    shared,
)
from tinyton_lab.pipeline import TILE_PASSES
from tinyton_lab.ptx.table import ROWS
from tinyton_lab.reference.classes import CLASSES, members

FAMILIES: dict[str, ModuleType] = {
    "Element by element": elementwise,
    "Math functions": math,
    "Shapes": shape,
    "Memory": memory,
    "Reductions": reduction,
    "Products of matrices": product,
    "Elements of each other": collective,
    "Atomic accesses": atomic,
    "Messages": message,
    "Inline assembly": assembly,
    "Contractions": contract,
    "The program and its grid": program,
    "Control flow": control,
    "Shared memory of tiny-ton's dialect": shared,
    "Layout IR only": local,
}

PARTS = {
    "TT1": "Reading a kernel",
    "TT2": "Shapes and dtypes",
    "TT3": "Launching",
    "TT4": "While a kernel runs",
    "TT5": "Engines, targets and tools",
    "TT6": "PTX and the simulator",
    "TT8": "The notebook",
    "TT9": "The lab's own faults",
}


SETUP = """The examples of the classes below begin with

```python
import numpy as np

import tinyton_lab as tt
import tinyton_lab.language as tl
```"""


def page(title: str, source: str, introduction: str, *blocks: str) -> str:
    """One page: where it comes from, its title, an introduction and its blocks."""
    note = f"<!-- Generated from {source} by `make regen`. -->"
    return "\n\n".join([note, f"# {title}", introduction, *blocks]) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; a bar in a cell is escaped.

    >>> print(table(["name", "bits"], [("i8", 8)]))
    | name | bits |
    | --- | --- |
    | i8 | 8 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def code(text: object) -> str:
    """A cell in code type; an empty one stays empty."""
    return f"`{text}`" if str(text) else ""


def dtypes() -> str:
    """The page of the element types."""
    header = ["dtype", "tile IR", "Triton prints", "kind", "bits", "LLVM", "PTX", "numpy", "computed with"]
    rows = [
        [
            code(f"tl.{row.public}"),
            *map(code, (row.name, row.short)),
            row.kind,
            row.bits,
            *map(code, (row.llvm, row.ptx, row.numpy_name)),
            "no: loaded, stored and cast" if row.storage_only else "yes",
        ]
        for row in DTYPES.values()
    ]
    introduction = "What a tile's elements can be. A Python int is typed by its value, a Python float is `float32`."
    return page("Element types", "tinyton_lab/base/dtypes.py", introduction, table(header, rows))


def targets() -> str:
    """The page of the machines to compile for."""
    header = [
        "target",
        "lanes per warp",
        "threads per CTA",
        "warps per SM",
        "CTAs per SM",
        "registers per SM",
        "shared bytes per CTA",
        "opt-in shared bytes",
        "bf16 arithmetic",
        "async copy",
    ]
    rows = [
        [
            code(row.name),
            row.warp_lanes,
            row.max_threads_per_cta,
            row.max_warps_per_sm,
            row.max_ctas_per_sm,
            row.registers_per_sm,
            row.shared_bytes_per_cta,
            row.shared_bytes_opt_in,
            "yes" if row.native_bf16 else "no",
            "yes" if row.async_copy else "no",
        ]
        for row in TARGETS.values()
        if row.is_gpu
    ]
    introduction = "The GPUs that code is generated for, on any machine; `cpu` is the machine itself."
    return page("Targets", "tinyton_lab/base/targets.py", introduction, table(header, rows))


def knobs() -> str:
    """The page of the environment variables."""
    rows = [[code(row.variable), row.kind, code(row.default), row.doc] for row in KNOBS.values()]
    introduction = "Environment variables, read at each use; an argument of a launch goes before them."
    header = ["variable", "kind", "default", "what it does"]
    return page("Knobs", "tinyton_lab/base/knobs.py", introduction, table(header, rows))


def ops() -> str:
    """The page of the operations of tile IR."""
    introduction = (
        "The operations of tile IR. Every engine, the folder and the verifier read this table. `?` marks an operand "
        "that may be absent, `*` the rest of the operands. An op without a bound of its error is exact on every engine."
    )
    blocks: list[str] = []
    for title, family in FAMILIES.items():
        rows = [row for row in OPS.values() if any(row is member for member in vars(family).values())]
        if rows:
            blocks += [f"## {title}", table(["op", "operands", "attributes", "what it does"], map(_op, rows))]
    return page("Operations", "tinyton_lab/ops/", introduction, *blocks)


def _op(row: OpDef) -> list[str]:
    operands = [f"{'*' if role.variadic else ''}{role.name}{'?' if role.optional else ''}" for role in row.roles]
    attributes = [attribute.name + ("" if attribute.required else "?") for attribute in row.attributes]
    notes = [row.doc]
    if row.ulp:
        notes.append(f"Within {row.ulp:g} ulp.")
    if row.laws:
        notes.append(f"Laws: {', '.join(row.laws)}.")
    notes += [f"Not on {engine}: {reason}." for engine, reason in sorted(row.unsupported.items())]
    if row.example:
        notes.append(f"`{row.example}`")
    return [code(row.name), code(" ".join(operands)), code(" ".join(attributes)), " ".join(notes)]


def ptx() -> str:
    """The page of the PTX instructions that the simulator knows."""
    rows = [[code(row.syntax), row.doc, row.pipe, row.section] for _, forms in sorted(ROWS.items()) for row in forms]
    introduction = (
        "The PTX instructions that are parsed, printed and simulated. Of the words in braces one may be written, of the"
        " bare ones one must. `pipe` is the unit of a GPU that executes it, `section` that of the PTX ISA manual."
    )
    return page(
        "PTX instructions", "tinyton_lab/ptx/", introduction, table(["form", "what it does", "pipe", "section"], rows)
    )


def passes() -> str:
    """The page of the passes of tile IR, in the order they run."""
    rows = [
        [
            number,
            code(row.name),
            row.doc,
            "yes" if row.required else "no",
            "; ".join(f"`{name}`: {reason}" for name, reason in row.after),
        ]
        for number, row in enumerate(TILE_PASSES, start=1)
    ]
    introduction = "The passes of tile IR in the order they run; each is a stage of the record, `tile/<number>-<name>`."
    header = ["", "pass", "what it does", "required", "after"]
    return page("Passes", "tinyton_lab/pipeline.py", introduction, table(header, rows))


def language() -> str:
    """The page of the functions and classes of the kernel language."""
    introduction = (
        "What a kernel can call, besides its own helpers; all of it is in `tinyton_lab.language` (`tl`) and in "
        "`tinyton_lab` (`tt`). Methods of a value are called like the functions: `x.sum(0)` is `tl.sum(x, 0)`."
    )
    functions = {name: getattr(tl, name) for name in sorted(tl.__all__)}
    rows = [
        [code(f"{name}{_signature(function)}"), (function.__doc__ or "").strip().split("\n")[0]]
        for name, function in functions.items()
        if function in BUILTINS or isinstance(function, LibraryFunction)
    ]
    blocks = [table(["function", "what it does"], rows), SETUP]
    for row in CLASSES:
        found = [[code(written), doc] for written, doc in members(row)]
        listed = [table(["member", "what it is"], found)] if found else []
        blocks += [f"## {row.name}", row.doc, *listed, f"```python\n{row.example.strip()}\n```"]
    return page("The language", "tinyton_lab/language/", introduction, *blocks)


def _signature(function: Callable[..., object]) -> str:
    return Builtin("", "", getattr(function, "__wrapped__", function)).spelled


def errors() -> str:
    """The page of every fault a person can meet."""
    introduction = (
        "Every fault of a kernel, a launch or a command is a `tinyton_lab.TinytonError` with one of these codes. "
        "In a message, words in angle brackets are filled in."
    )
    blocks: list[str] = []
    for prefix, title in PARTS.items():
        rows = [row for key, row in sorted(FAULTS.items()) if key.startswith(prefix)]
        if rows:
            blocks += [f"## {title}", *(_fault(row) for row in rows)]
    return page("Errors", "tinyton_lab/base/faults/", introduction, *blocks)


def _fault(row: Fault) -> str:
    says = [f"    {row.code}: {_filled_in(row.message)}"]
    if row.cure:
        says.append(f"      help: {_filled_in(row.cure)}")
    parts = [f"### {row.code}", f"**{row.title}.** {row.why}", "\n".join(says)]
    if row.specimen:
        parts.append(f"For example:\n\n```py\n{row.specimen.strip()}\n```")
    return "\n\n".join(parts)


def _filled_in(template: str) -> str:
    return re.sub(r"\{(\w+)[^}]*\}", r"<\1>", template).replace("{{", "{").replace("}}", "}")
