"""Rows of ops that tell people something at run time, and how a printed line looks, the same on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.ir.definition import Attrs
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.ops.table import ANY, row


def infer_nothing(types: Sequence[Tile | None], attrs: Attrs) -> tuple[Tile, ...]:
    return ()


print_ = row(
    "print",
    "value?",
    "prefix hex=",
    infer=infer_nothing,
    accepts=ANY,
    effect="control",
    layout="message",
    example='tl.device_print("x", x)',
    doc="Print a line for each element: the program, the index in the tile, the prefix, the element.",
)
check = row(
    "check",
    "condition",
    "message",
    infer=infer_nothing,
    accepts=("bool",),
    effect="control",
    layout="message",
    example='tl.device_assert(n > 0, "n must be positive")',
    doc="End the launch with a fault unless the condition holds in every element. The CPU checks in checked mode.",
)


def conversion(element: DType | Pointer, hex: bool, long: str = "") -> str:
    """How an element is spelled: ``%f``, ``%d``, ``0x%08x``; `long` is C's mark of numbers of 64 bits.

    >>> from tinyton_lab.base.dtypes import float16, int64
    >>> conversion(float16, False), conversion(int64, False, "ll"), conversion(int64, True)
    ('%f', '%lld', '0x%016x')
    """
    long = long if element.bits == 64 else ""
    if isinstance(element, Pointer) or hex:
        return f"0x%0{max(element.bits // 4, 1)}{long}x"
    if element.kind == "float":
        return "%f"
    return f"%{long}{'d' if element.signed else 'u'}"


def line_format(element: DType | Pointer | None, rank: int, prefix: str, hex: bool, long: str = "") -> str:
    """The format of a line: three numbers of the program, the index, the element.

    >>> line_format(None, 0, "here", False)
    'pid (%d, %d, %d) idx () here\\n'
    """
    places = ", ".join(["%d"] * rank)
    text = prefix.strip().removesuffix(":").replace("%", "%%")
    if element is not None:
        text = f"{text}: {conversion(element, hex, long)}".removeprefix(": ")
    return f"pid (%d, %d, %d) idx ({places}) {text}".rstrip() + "\n"


def filled(format: str, program: Sequence[int], place: Sequence[int], values: Sequence[Any]) -> str:
    """A line of output."""
    return format % (*program, *place, *values)
