"""From a function of tile IR to an LLVM module: entry, grid loop, polling, faults around the body of `regions`."""

from __future__ import annotations

import re

from tinyton_lab.base.dtypes import DType
from tinyton_lab.codegen.cpu import arithmetic, check, clusters, extents, slots
from tinyton_lab.codegen.cpu.code import Code
from tinyton_lab.codegen.cpu.memory import Memory
from tinyton_lab.codegen.cpu.regions import Regions
from tinyton_lab.codegen.cpu.values import Values
from tinyton_lab.ir.core import Function
from tinyton_lab.ir.types import Pointer
from tinyton_lab.llvm import native
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import memory as memory_ops
from tinyton_lab.ops import message as message_ops
from tinyton_lab.ops import shared as shared_ops
from tinyton_lab.passes.promises import without_promises
from tinyton_lab.runtime import frame
from tinyton_lab.runtime.cpu import Access, CpuCode, CpuParameter
from tinyton_lab.runtime.messages import Message

_LIGHT_OPS = 40  # an expanded math function has more
_MARK = re.compile(r", !dbg !\{(\d+)\}")


def compile(function: Function, checked: bool = True, machine: native.Machine | None = None) -> CpuCode:
    """Generate code for one function of tile IR, for this processor unless another is given.

    `checked` compares every access with its array. Raises TT5012, located, for an op that this engine lacks.
    """
    function = without_promises(function)
    check.check(function)
    machine = machine or native.host()
    code = Code(machine, bool(function.attrs.get("fp_fusion")))
    parameters = tuple(_parameter(value.name, value.type.element) for value in function.body.args)
    plan = clusters.plan(function)
    light = sum(1 for _ in function.walk()) <= _LIGHT_OPS
    again = frozenset(value for value, steps in plan.readers.items() if len(steps) > 1)
    values = Values(code, plan.roots, _slots(parameters), checked, plan.strides, light, again)
    checks = extents.Extents(values)
    memory = Memory(values, checks)
    regions = Regions(values, memory, plan)
    _arguments(values, function, parameters)
    accesses = _accesses(function, checks)
    odd = _misalignment(values, accesses) if checked else Register("0", "i64")
    with code.hoisted():
        regions.budget = code.variable(code.i64(frame.BUDGET_UNITS))
    code.scratch(0)
    work = regions.work(function.body)
    slots.empty(values, function)
    regions.block(function.body)
    code.uid = 0
    regions.poll(work)
    code.branch("next")
    text, uids = _split(_module(code, checks, odd))
    said = _messages(function)
    return CpuCode(function.name, text, uids, parameters, code.scratch_bytes, work, checked, machine, accesses, said)


def _parameter(name: str, element: DType | Pointer) -> CpuParameter:
    if isinstance(element, Pointer):
        return CpuParameter(name, element.element, pointer=True)
    return CpuParameter(name, element, pointer=False)


def _slots(parameters: tuple[CpuParameter, ...]) -> dict[int, int]:
    """First slot of each pointer parameter, counted from the first argument."""
    slots: dict[int, int] = {}
    at = 0
    for index, parameter in enumerate(parameters):
        if parameter.pointer:
            slots[index] = at
        at += frame.POINTER_SLOTS if parameter.pointer else 1
    return slots


def _arguments(values: Values, function: Function, parameters: tuple[CpuParameter, ...]) -> None:
    """Load the arguments in the entry block."""
    at = frame.ARGUMENTS
    for value, parameter in zip(function.body.args, parameters):
        element = value.type.element
        type = "i64" if parameter.pointer else arithmetic.memory_type(element)
        loaded = values.code.job_slot(at, type)
        with values.code.hoisted():
            values.scalars[value] = arithmetic.from_memory(values.code, loaded, element)
        at += frame.POINTER_SLOTS if parameter.pointer else 1


def _misalignment(values: Values, accesses: dict[int, Access]) -> Register:
    """Not zero where the address of an array that is accessed is no multiple of its elements' size."""
    b = values.code
    needed: dict[int, int] = {}
    for access in accesses.values():
        for parameter in access.parameters:
            needed[parameter] = max(needed.get(parameter, 1), access.element_bytes)
    total = b.i64(0)
    for parameter, size in needed.items():
        if size > 1:
            address = b.job_slot(values.pointers[parameter] + frame.ARGUMENTS)
            with b.hoisted():
                odd = b.binary("and", address, b.i64(size - 1))
                total = odd if total.text == "0" else b.binary("or", total, odd)
    return total


def _accesses(function: Function, checks: extents.Extents) -> dict[int, Access]:
    found: dict[int, Access] = {}
    for op in function.walk():
        if op.row in (memory_ops.load, memory_ops.store) or op.row.effect == "atomic":
            pointer = op.operand("pointer")
            if pointer is not None and isinstance(pointer.type.element, Pointer):
                size, roots = pointer.type.element.element.bytes, checks.values.roots.get(pointer)
                found[op.uid] = Access(op.span, op.row.name, size, tuple(sorted(roots or ())))
    return found


def _messages(function: Function) -> dict[int, Message]:
    found: dict[int, Message] = {}
    for op in function.walk():
        if op.row is message_ops.print_:
            value = op.operand("value")
            element, tile = (None, ()) if value is None else (value.type.element, value.type.shape)
            found[op.uid] = Message(op.span, op.attrs["prefix"], element, tile, bool(op.attrs.get("hex")))
        elif op.row is message_ops.check:
            found[op.uid] = Message(op.span, op.attrs["message"])
        elif op.row in (shared_ops.shared_load, shared_ops.shared_store):
            found[op.uid] = Message(op.span, "read" if op.results else "store to", slots=op.attrs["slots"])
    return found


def _module(code: Code, checks: extents.Extents, odd: Register) -> list[str]:
    """All lines of the module; op numbers are still marked on them."""
    body = "\n".join([*code.variables, *code.entry])
    lines = _RUN.format(
        prologue=body, odd=odd.text, body="\n".join(code.lines), **{name: 8 * slot for name, slot in _SLOTS.items()}
    ).splitlines()
    lines += _ENTER.format(
        **{name: 8 * slot for name, slot in _SLOTS.items()}, job_at=8 * frame.THREAD_SLOTS
    ).splitlines()
    lines += code.globals + checks.globals()
    if checks.tables:
        lines += extents.support().splitlines()
    defined = set(re.findall(r"^define [^@]*(@[\w.]+)\(", "\n".join(lines), re.MULTILINE))
    declared = sorted(code.declarations | dict.fromkeys(extents.DECLARATIONS if checks.tables else ()))
    lines += [line for line in declared if not any(f"{name}(" in line for name in defined)]
    lines.append("!100000 = !{i32 1}")
    return lines


def _split(lines: list[str]) -> tuple[str, tuple[int, ...]]:
    """Take the op numbers off the lines."""
    uids: list[int] = []
    plain: list[str] = []
    for line in lines:
        head, mark, tail = line.partition(", !dbg !{")
        plain.append(head)
        uids.append(int(tail[:-1]) if mark else 0)
    return "\n".join(plain) + "\n", tuple(uids)


_SLOTS = {
    "next": frame.NEXT,
    "total": frame.TOTAL,
    "chunk": frame.CHUNK,
    "stop": frame.STOP,
    "state": frame.STATE,
    "save": frame.SAVE_THREAD,
    "restore": frame.RESTORE_THREAD,
    "signals": frame.CHECK_SIGNALS,
    "program_at": frame.FAULT_PROGRAM,
}

_RUN = """\
define i32 @run(ptr noundef %job, ptr noundef %thread) nounwind {{
entry:
{prologue}
  %next.at = getelementptr i8, ptr %job, i64 {next}
  %total.at = getelementptr i8, ptr %job, i64 {total}
  %chunk.at = getelementptr i8, ptr %job, i64 {chunk}
  %total = load i64, ptr %total.at, align 8
  %chunk = load i64, ptr %chunk.at, align 8
  %aligned = icmp eq i64 {odd}, 0
  br i1 %aligned, label %grab, label %misaligned
misaligned:
  ret i32 3
grab:
  %lowest = atomicrmw add ptr %next.at, i64 %chunk monotonic
  %some = icmp slt i64 %lowest, %total
  br i1 %some, label %chosen, label %finished
chosen:
  %beyond = add i64 %lowest, %chunk
  %fits = icmp slt i64 %beyond, %total
  %highest = select i1 %fits, i64 %beyond, i64 %total
  br label %program.start
program.start:
  %program = phi i64 [ %lowest, %chosen ], [ %program.next, %next ]
{body}
next:
  %program.next = add i64 %program, 1
  %again = icmp slt i64 %program.next, %highest
  br i1 %again, label %program.start, label %grab
fault:
  %fault.at = getelementptr i8, ptr %thread, i64 {program_at}
  store i64 %program, ptr %fault.at, align 8
  store atomic i64 %total, ptr %next.at monotonic, align 8
  fence seq_cst
  ret i32 1
stopped:
  fence seq_cst
  ret i32 2
finished:
  fence seq_cst
  ret i32 0
}}
"""

_ENTER = """
define i32 @enter(ptr %frame) nounwind {{
  %job = getelementptr i8, ptr %frame, i64 {job_at}
  %state.at = getelementptr i8, ptr %frame, i64 {state}
  %save.at = getelementptr i8, ptr %frame, i64 {save}
  %restore.at = getelementptr i8, ptr %frame, i64 {restore}
  %save = load ptr, ptr %save.at
  %restore = load ptr, ptr %restore.at
  %state = call ptr %save()
  store ptr %state, ptr %state.at
  %code = call i32 @run(ptr %job, ptr %frame)
  %held = load ptr, ptr %state.at
  call void %restore(ptr %held)
  ret i32 %code
}}

define internal i32 @poll(ptr %job, ptr %thread) noinline cold nounwind {{
  %stop.at = getelementptr i8, ptr %job, i64 {stop}
  %stop = load atomic i64, ptr %stop.at monotonic, align 8
  %asked = icmp ne i64 %stop, 0
  br i1 %asked, label %yes, label %look
look:
  %state.at = getelementptr i8, ptr %thread, i64 {state}
  %state = load ptr, ptr %state.at
  %silent = icmp eq ptr %state, null
  br i1 %silent, label %no, label %signals
signals:
  %restore.at = getelementptr i8, ptr %thread, i64 {restore}
  %restore = load ptr, ptr %restore.at
  call void %restore(ptr %state)
  %check.at = getelementptr i8, ptr %thread, i64 {signals}
  %check = load ptr, ptr %check.at
  %raised = call i32 %check()
  %save.at = getelementptr i8, ptr %thread, i64 {save}
  %save = load ptr, ptr %save.at
  %saved = call ptr %save()
  store ptr %saved, ptr %state.at
  %interrupted = icmp ne i32 %raised, 0
  br i1 %interrupted, label %stop.all, label %no
stop.all:
  store atomic i64 1, ptr %stop.at monotonic, align 8
  br label %yes
yes:
  ret i32 1
no:
  ret i32 0
}}
"""
