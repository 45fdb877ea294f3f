"""Lowering of what ends a block: branches, calls, returns and barriers become data that the scheduler acts on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.syntax import Group, Instruction, Name, Operand
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim import devicelib
from tinyton_lab.sim.lanes import Chunk
from tinyton_lab.sim.lowering import Lowering, Reader
from tinyton_lab.sim.program import Operation, Routine
from tinyton_lab.sim.transfers import write_bytes

Guard = tuple[int, bool] | None


@dataclass(frozen=True, slots=True)
class Jump:
    """Continue at a block."""

    target: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Lanes whose predicate holds go to `taken`, the others to `follow`."""

    register: int
    negated: bool
    taken: int
    follow: int


@dataclass(frozen=True, slots=True)
class Switch:
    """Lanes go to the block that their index selects."""

    index: Reader
    targets: tuple[int, ...]
    guard: Guard
    follow: int


@dataclass(frozen=True, slots=True)
class Leave:
    """Return from the function, or end the thread (`whole` always ends it)."""

    whole: bool
    guard: Guard
    follow: int


@dataclass(frozen=True, slots=True)
class Call:
    """Enter `routine`, or the one whose address `address` reads; `site` tells where to continue."""

    routine: Routine | None
    address: Reader | None
    guard: Guard
    follow: int
    site: int
    line: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Meet at a named barrier; `action` is sync, arrive or red."""

    action: str
    number: Reader
    fixed: int | None
    count: Reader | None
    op: str
    predicate: Reader | None
    write: Any
    guard: Guard
    follow: int
    line: int
    aligned: bool


@dataclass(frozen=True, slots=True)
class ClusterBarrier:
    """Arrive at the cluster's barrier (`waits` False), or wait for it."""

    waits: bool
    guard: Guard
    follow: int
    line: int


def _flag(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Guard:
    if not instruction.guard:
        return None
    return low.predicate(instruction, form, names, instruction.guard), instruction.negated


def branch(
    low: Lowering, instruction: Instruction, form: Form, names: Names, successors: tuple[int, ...]
) -> Jump | Branch:
    if len(instruction.operands) != 1 or not isinstance(instruction.operands[0], Name):
        low.refuse(instruction, form, "needs a label")
    guard = _flag(low, instruction, form, names)
    if guard is None or len(successors) == 1:
        return Jump(successors[-1])
    return Branch(guard[0], guard[1], successors[1], successors[0])


def branch_table(
    low: Lowering, instruction: Instruction, form: Form, names: Names, blocks: tuple[int, ...], follow: int
) -> Switch:
    """`blocks` is the block of each entry of the label list."""
    if len(instruction.operands) != 2 or not blocks:
        low.refuse(instruction, form, "needs an index and a label list")
    index = low.reader(instruction, form, names, instruction.operands[0], TYPES["u32"])
    return Switch(index, blocks, _flag(low, instruction, form, names), follow)


def leave(low: Lowering, instruction: Instruction, form: Form, names: Names, follow: int) -> Leave:
    return Leave(form.row.effect == "exit", _flag(low, instruction, form, names), follow)


def barrier(low: Lowering, instruction: Instruction, form: Form, names: Names, follow: int) -> Barrier:
    """``bar`` and ``barrier`` in all three actions."""
    operands, action, write, predicate = list(instruction.operands), form["action"], None, None
    u32 = TYPES["u32"]
    if action == "red":
        result = operands.pop(0) if len(operands) in (3, 4) else None
        if not isinstance(result, Name):
            low.refuse(instruction, form, "needs a destination, a barrier and a predicate")
        target = low.destination(instruction, form, names, result.text, form.type_of(form.row.roles[0]), False)
        write = low.writer(target, TYPES["pred"] if form["op"] != "popc" else u32)
        predicate = low.reader(instruction, form, names, operands.pop(), TYPES["pred"])
    if not 1 <= len(operands) <= 2 or (action == "arrive" and len(operands) != 2):
        low.refuse(instruction, form, "needs a barrier number" + (" and a thread count" if action == "arrive" else ""))
    slot = low.slot(instruction, form, names, operands[0], u32)
    fixed = int(slot) if isinstance(slot, np.ndarray) else None
    number = low.reader(instruction, form, names, operands[0], u32)
    count = low.reader(instruction, form, names, operands[1], u32) if len(operands) == 2 else None
    aligned = form.row.mnemonic == "bar" or form.has("aligned")
    return Barrier(
        action,
        number,
        fixed,
        count,
        form["op"],
        predicate,
        write,
        _flag(low, instruction, form, names),
        follow,
        instruction.line,
        aligned,
    )


def cluster_barrier(low: Lowering, instruction: Instruction, form: Form, names: Names, follow: int) -> ClusterBarrier:
    return ClusterBarrier(form["action"] == "wait", _flag(low, instruction, form, names), follow, instruction.line)


def call(
    low: Lowering, instruction: Instruction, form: Form, names: Names, follow: int
) -> tuple[list[Operation], list[Operation], Call | None]:
    """(operations before the call, operations after it, the terminator); no terminator for the device library.

    A call of a PTX function runs its later operations when it returns, so they belong to its site.
    """
    groups = [operand for operand in instruction.operands if isinstance(operand, Group)]
    plain = [operand for operand in instruction.operands if isinstance(operand, Name)]
    if not plain:
        low.refuse(instruction, form, "needs a function")
    first_is_result = isinstance(instruction.operands[0], Group)
    results = groups[0].items if first_is_result else ()
    arguments = (
        groups[1].items
        if first_is_result and len(groups) > 1
        else groups[0].items
        if groups and not first_is_result
        else ()
    )
    before = [_pass_in(low, instruction, form, names, item, index) for index, item in enumerate(arguments)]
    after = [_pass_out(low, instruction, form, names, item, index) for index, item in enumerate(results)]
    program, name = low.program, plain[0].text
    guard = _flag(low, instruction, form, names)
    found = names.lookup(name)
    if found is not None and found[1].space == "reg":
        address = low.reader(instruction, form, names, plain[0], TYPES["b64"])
        for function in program.functions:
            if function.body is not None:
                program.wanted(function)
        return (
            before,
            [],
            Call(None, address, guard, follow, program.site(low.routine, None, follow, after), instruction.line),
        )
    function = program.module.functions.get(name)
    if function is None:
        raise error("TT6005", low.span(instruction), name=name)
    if function.body is None:
        operation = devicelib.FUNCTIONS.get(name)
        if operation is None:
            raise error(
                "TT6030",
                low.span(instruction),
                what=f"the external function {name}",
                cure="link its PTX into the module",
            )
        return [*before, lambda chunk: operation(chunk, instruction.line)], after, None
    routine = program.wanted(function)
    return (
        before,
        [],
        Call(routine, None, guard, follow, program.site(low.routine, routine, follow, after), instruction.line),
    )


def _pass_in(low: Lowering, instruction: Instruction, form: Form, names: Names, item: Operand, index: int) -> Operation:
    slot = low.program.slot_register("argument", index)
    if isinstance(item, Name):
        found = names.lookup(item.text)
        if found is not None and found[1].space == "param":
            source = low.program.bytes_register(low.routine, found[0], found[1])
            low.program.byte_sizes[slot] = max(low.program.byte_sizes[slot], low.program.byte_sizes[source])
            return lambda chunk: copy_bytes(chunk, slot, source)
    low.refuse(instruction, form, "wants .param variables as arguments")


def _pass_out(
    low: Lowering, instruction: Instruction, form: Form, names: Names, item: Operand, index: int
) -> Operation:
    slot = low.program.slot_register("result", index)
    if isinstance(item, Name):
        found = names.lookup(item.text)
        if found is not None and found[1].space == "param":
            target = low.program.bytes_register(low.routine, found[0], found[1])
            return lambda chunk: copy_bytes(chunk, target, slot)
    low.refuse(instruction, form, "wants .param variables as results")


def copy_bytes(chunk: Chunk, target: int, source: int) -> None:
    """Copy a bytes register in the active lanes; a longer target keeps its tail."""
    value, old = chunk.registers[source], chunk.registers[target]
    have, want = value.shape[-1], old.shape[-1]
    if have > want:
        value = value[..., :want]
    elif have < want:
        shape = np.broadcast_shapes(value.shape[:-1], old.shape[:-1])
        parts = (np.broadcast_to(value, (*shape, have)), np.broadcast_to(old[..., have:], (*shape, want - have)))
        value = np.concatenate(parts, axis=-1)
    write_bytes(chunk, target, value)
