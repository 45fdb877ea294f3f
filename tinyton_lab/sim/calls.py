"""Where parameters of a function and results of a call were stored. Follows no values and knows no branches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tinyton_lab.ptx.syntax import Address, Group, Instruction, Module, Name
from tinyton_lab.record.timeline import Timeline
from tinyton_lab.sim.moments import Moment, Register, base_of, first_name, items_of


class Calls:
    """Mutable: the steps of each warp of a recording (on first use), and which function each instruction stands in."""

    def __init__(self, module: Module, timeline: Timeline, find: Callable[[int], Instruction | None]) -> None:
        self.module, self.timeline, self.find = module, timeline, find
        self.warps: dict[tuple[tuple[int, int, int], int], list[int]] = {}

    def of_parameter(self, now: Moment, name: str, lane: int) -> Register | None:
        """The register whose value a ``ld.param`` finds; None where it is a parameter of the kernel."""
        source = now.instruction.operands[1]
        if not isinstance(source, Address) or now.form["space"] not in ("param", "param::func"):
            return None
        base, targets = base_of(source), items_of(now.instruction.operands[0])
        names = [first_name(item) for item in targets]
        offset = source.offset + names.index(name) * now.form.type.bytes
        stored = self._argument(now, lane, base) or self._result(now, lane, base)
        if stored is None:
            return None
        variable, place = stored
        return self._stored(now, lane, variable, offset, place)

    def _argument(self, now: Moment, lane: int, base: str) -> tuple[str, int] | None:
        """The caller's variable behind a parameter of a function, and the call."""
        for function in self.module.functions.values():
            names = [variable.name for variable in function.parameters]
            if function.kind == "entry" or base not in names:
                continue
            place = self._before(now, lane, now.place, partial(_calls, function.name))
            call = None if place is None else self.find(place)
            arguments = call.operands[-1] if call is not None else None
            if place is not None and isinstance(arguments, Group) and len(arguments.items) == len(names):
                return first_name(arguments.items[names.index(base)]), place
        return None

    def _result(self, now: Moment, lane: int, base: str) -> tuple[str, int] | None:
        """The called function's variable behind a result, and the step that reads it."""
        place = self._before(now, lane, now.place, lambda each: base in _results(each))
        call = None if place is None else self.find(place)
        if call is None:
            return None
        called = self.module.functions.get(first_name(call.operands[1]))
        number = _results(call).index(base)
        return None if called is None else (called.results[number].name, now.place)

    def _stored(self, now: Moment, lane: int, variable: str, offset: int, before: int) -> Register | None:
        """The register that was last stored at an offset of a parameter variable."""

        def stores(each: Instruction) -> bool:
            stored = each.opcode.startswith("st.param") and base_of(each.operands[0]) == variable
            return stored and _item(each, offset) != ""

        place = self._before(now, lane, before, stores)
        found = None if place is None else self.find(place)
        return None if place is None or found is None else Register(place, lane, _item(found, offset))

    def _before(self, now: Moment, lane: int, place: int, holds: Callable[[Instruction], bool]) -> int | None:
        """The last step of the warp before a place that a lane took part in and whose instruction is as wanted."""
        if not self.warps:
            for at, step in enumerate(self.timeline.steps):
                self.warps.setdefault((step.cta, step.warp), []).append(at)
        for at in reversed(self.warps[now.step.cta, now.step.warp]):
            if at < place and self.timeline.steps[at].mask >> lane & 1:
                instruction = self.find(at)
                if instruction is not None and holds(instruction):
                    return at
        return None


def _calls(name: str, instruction: Instruction) -> bool:
    """Whether an instruction calls a function, or one that only its address tells."""
    if instruction.opcode.partition(".")[0] != "call":
        return False
    named = [operand.text for operand in instruction.operands if isinstance(operand, Name)]
    return name in named or any(text.startswith("%") for text in named)


def _results(instruction: Instruction) -> list[str]:
    if instruction.opcode.partition(".")[0] != "call" or not isinstance(instruction.operands[0], Group):
        return []
    return [first_name(item) for item in instruction.operands[0].items]


def _item(store: Instruction, offset: int) -> str:
    """The register that a ``st.param`` puts at an offset; "" where it stores elsewhere."""
    target, items = store.operands[0], items_of(store.operands[1])
    size = int("".join(c for c in store.opcode.rpartition(".")[2] if c.isdigit())) // 8
    place, rest = divmod(offset - (target.offset if isinstance(target, Address) else 0), size)
    return first_name(items[place]) if 0 <= place < len(items) and not rest else ""
