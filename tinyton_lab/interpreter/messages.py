"""Printing and checking on arrays: program by program, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.interpreter.machine import HANDLERS, NUMBER, Frame, Interpreter
from tinyton_lab.ir.core import Op
from tinyton_lab.ir.types import Pointer
from tinyton_lab.ops import message

Array = Any


def run_print(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    value, prefix, hexadecimal = op.operand("value"), op.attrs["prefix"], bool(op.attrs.get("hex"))
    shape = () if value is None else value.type.shape
    format = message.line_format(None if value is None else value.type.element, len(shape), prefix, hexadecimal)
    numbers = np.broadcast_to(frame.get(NUMBER), (frame.count,))
    elements = None if value is None else np.broadcast_to(frame.get(value), (frame.count, *shape))
    if elements is not None and (hexadecimal or (value is not None and isinstance(value.type.element, Pointer))):
        elements = np.ascontiguousarray(elements).view(f"u{elements.dtype.itemsize}")
    for row, number in enumerate(numbers):
        program = machine.coordinates(int(number))
        for place in np.ndindex(shape):
            shown = () if elements is None else (elements[(row, *place)].item(),)
            print(message.filled(format, program, place, shown), end="")
    return []


def run_check(machine: Interpreter, op: Op, frame: Frame) -> list[Array]:
    condition = frame.get(op.operand("condition"))
    bad = ~condition.reshape(len(condition), -1).all(axis=1)
    if bad.any():
        numbers = np.broadcast_to(frame.get(NUMBER), (frame.count,))
        program = machine.coordinates(int(numbers[int(np.argmax(bad))]))
        raise failure(op, program)
    return []


def failure(op: Op, program: tuple[int, int, int]) -> Exception:
    """TT4011 at a check."""
    text = op.attrs["message"]
    return error("TT4011", op.span, message=f": {text}" if text else "", program=program)


HANDLERS.update({message.print_: run_print, message.check: run_check})
