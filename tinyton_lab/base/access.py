"""How a fault of memory is told, in the same words on every engine. Knows extents of arguments, no engine and no IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.source import Span


class Extent(Protocol):
    """Where an argument lies: its first element is at `address`, its bytes are ``first <= address < last``.

    `first` is below `address` for a view with negative strides.
    """

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...


def out_of_bounds(
    span: Span | None,
    access: str,
    address: int,
    element_bytes: int,
    program: tuple[int, int, int],
    argument: Extent,
    arguments: Sequence[Extent] = (),
) -> TinytonError:
    """Make the fault TT4001: program `program` would ``load`` or ``store`` (`access`) an element outside `argument`.

    `address` and `element_bytes` say which element; `arguments` are all of the launch, to name the one that was hit.
    """
    return error(
        "TT4001",
        span,
        access=access,
        index=(address - argument.address) // element_bytes,
        argument=argument.name,
        extent=_extent(argument, element_bytes),
        program=program,
        neighbour=_neighbour(address, argument, arguments),
    )


def misaligned(span: Span | None, access: str, address: int, element_bytes: int, argument: Extent) -> TinytonError:
    """Make the fault TT4002: the address is no multiple of the element's size."""
    return error("TT4002", span, access=access, offset=address - argument.address, argument=argument.name,
                 element_bytes=element_bytes)  # fmt: skip


def _extent(argument: Extent, element_bytes: int) -> str:
    """The elements an argument has, counted from its first: ``the elements 0 to 9``."""
    first = -((argument.address - argument.first) // element_bytes)
    count = (argument.last - argument.first) // element_bytes
    return f"the elements {first} to {first + count - 1}" if count else "no elements"


def _neighbour(address: int, argument: Extent, arguments: Sequence[Extent]) -> str:
    """Name the other argument that holds the address, or say nothing."""
    for other in arguments:
        if other.name != argument.name and other.first <= address < other.last:
            return f"; that place belongs to {other.name}"
    if argument.first <= address < argument.last:
        return f"; that place lies between the elements of the view passed as {argument.name}"
    return ""
