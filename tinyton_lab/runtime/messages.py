"""What native programs print and which of their checks failed: from op numbers and bits to lines and faults."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.dtypes import DType
from tinyton_lab.base.source import Span
from tinyton_lab.ir.types import Pointer
from tinyton_lab.ops import message
from tinyton_lab.runtime import frame


@dataclass(frozen=True, slots=True)
class Message:
    """A `print` or a `check`: where it stands, its text, and the tile that it looks at (element None: no tile).

    Also an access of shared memory: its text is what it does, and `slots` how many there are.
    """

    span: Span | None
    text: str
    element: DType | Pointer | None = None
    shape: tuple[int, ...] = ()
    hexadecimal: bool = False
    slots: int = 0

    def line(self, program: tuple[int, int, int], element: int, bits: int) -> str:
        """The line that a `print` gives for one element."""
        place = tuple(int(n) for n in np.unravel_index(element, self.shape)) if self.shape else ()
        format = message.line_format(self.element, len(self.shape), self.text, self.hexadecimal)
        return message.filled(format, program, place, () if self.element is None else (self._value(bits),))

    def _value(self, bits: int) -> Any:
        element = self.element
        if element is None or isinstance(element, Pointer) or self.hexadecimal:
            return bits & (1 << 64) - 1
        raw = np.array([bits & (1 << element.bits) - 1], f"u{element.bytes}")
        return int(raw[0]) if element.kind == "bool" else raw.view(element.numpy)[0].item()

    def failure(self, program: tuple[int, int, int], lane: int = 0, slot: int = 0) -> TinytonError:
        """TT4011 of a `check`; TT4014 or TT4012 of a lane that accesses a slot."""
        if self.slots:
            code = "TT4012" if 0 <= slot < self.slots else "TT4014"
            fields: dict[str, Any] = {"lane": f"lane {lane}", "action": self.text, "slot": slot, "slots": self.slots}
            return error(code, self.span, program=program, **fields)
        return error("TT4011", self.span, message=f": {self.text}" if self.text else "", program=program)


PRINTER = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 5)


def printer(messages: Mapping[int, Message]) -> Any:
    """A function for native code, which calls it with the address of the job, the op, the program, element and bits."""

    def show(job: int, uid: int, program: int, element: int, bits: int) -> None:
        x, y, _ = (ctypes.c_int64 * 3).from_address(job + frame.GRID * frame.SLOT_BYTES)
        place = program % x, program // x % y, program // (x * y)
        print(messages[uid].line(place, element, bits), end="")

    return PRINTER(show)
