"""A recorded step with its instruction, and what may have led to its result. Knows no instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tinyton_lab.ptx.isa import Form, resolve
from tinyton_lab.ptx.syntax import Address, Instruction, Name, Negated, Operand, Pair, Vector
from tinyton_lab.record.events import Access, Step
from tinyton_lab.record.timeline import Timeline


class Register(NamedTuple):
    """The value that a lane's register has after step number `step`.

    It is in another warp of the CTA if `warp` is given. `type` is the PTX type it was read in, if that is known.
    Only `size` bytes from byte `first` on are meant; 0: all of it.
    """

    step: int
    lane: int
    name: str
    warp: int = -1
    type: str = ""
    first: int = 0
    size: int = 0

    def part_of(self, value: Any) -> Any:
        """The bytes that are meant of the register's value, as a number."""
        if not self.size or not isinstance(value, int):
            return value
        return value >> 8 * self.first & (1 << 8 * self.size) - 1


class Memory(NamedTuple):
    """The `size` bytes at `offset` of a memory that a `lane` names, as they are after step number `step`.

    `carried` says that the value is the one asked about, unchanged.
    """

    step: int
    lane: int
    space: str
    name: str
    offset: int
    size: int
    carried: bool = True


class Unknown(NamedTuple):
    """Where following ends, and why."""

    text: str


Cause = Register | Memory | Unknown


class Moment(NamedTuple):
    """A step at its place in a timeline, and its instruction.

    `part` and `run` say which of its accesses or movements is meant, as a `Touch` does; `first` and `size` which bytes
    of its result (size 0: all).
    """

    timeline: Timeline
    place: int
    step: Step
    instruction: Instruction
    form: Form
    part: int = -1
    run: int = -1
    first: int = 0
    size: int = 0

    @property
    def access(self) -> Access | None:
        """The access that is meant, the last one by default."""
        return self.step.accesses[self.part] if self.step.accesses else None

    def access_of(self, lane: int) -> Access | None:
        """The last access that a lane took part in."""
        return next((each for each in reversed(self.step.accesses) if each.offsets[lane] >= 0), None)

    def read(self, name: str, lane: int) -> Any:
        """What a lane's register held when the step read it."""
        return self.timeline.value(name, self.step.cta, self.step.warp, lane, self.place - 1)

    def register(self, name: str, lane: int) -> Register:
        """A register as the step read it."""
        return Register(self.place - 1, lane, name)

    def memory(self, access: Access, lane: int, shift: int, size: int) -> Memory:
        """Bytes of a lane's access as the step found them."""
        return Memory(self.place - 1, lane, access.space, access.name, access.offsets[lane] + shift, size)

    def active(self) -> list[int]:
        return [lane for lane in range(32) if self.step.mask >> lane & 1]


def moment(
    timeline: Timeline,
    place: int,
    instructions: dict[tuple[int, str], Instruction],
    part: int = -1,
    run: int = -1,
) -> Moment | None:
    """The step at a place with its instruction; None when the PTX has no such line."""
    step = timeline.steps[place]
    instruction = instructions.get((step.line, step.text))
    if instruction is None:
        return None
    return Moment(timeline, place, step, instruction, resolve(instruction.opcode), part, run)


def names_in(operand: Operand) -> Iterator[str]:
    """The registers (and symbols) that an operand names."""
    match operand:
        case Name(text=text):
            yield text
        case Negated(name=name):
            yield name
        case Pair(first=first, second=second):
            yield from (first, second)
        case Vector(items=items):
            for item in items:
                yield from names_in(item)
        case _:
            return


def items_of(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def first_name(operand: Operand) -> str:
    """The first register that an operand names; "" where it names none."""
    return next(names_in(operand), "")


def base_of(operand: Operand) -> str:
    """The register or symbol that an address starts from; "" where it is a number."""
    return operand.base.text if isinstance(operand, Address) and isinstance(operand.base, Name) else ""
