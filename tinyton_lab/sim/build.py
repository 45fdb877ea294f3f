"""Builds the program of an entry: every reachable function lowered, block by block. Decides nothing about order."""

from __future__ import annotations

from collections.abc import Callable

from tinyton_lab.base.diagnostics import error
from tinyton_lab.ptx import cfg
from tinyton_lab.ptx.cfg import Names
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.syntax import Function, Instruction, Module, Variable
from tinyton_lab.ptx.table import ROWS
from tinyton_lab.sim import (
    bulk,
    clusters,
    control,
    copies,
    faults,
    matrices,
    membarriers,
    transfers,
    warpgroups,
    warps,
)
from tinyton_lab.sim.control import Call, Jump, Leave, copy_bytes
from tinyton_lab.sim.lanes import Chunk
from tinyton_lab.sim.lowering import Lowering, guarded
from tinyton_lab.sim.program import CodeBlock, Operation, Program, Routine

Handler = Callable[[Lowering, Instruction, Form, Names], Operation]
_TERMINATORS = ("branch", "branch_table", "call", "return", "exit", "barrier", "cluster_barrier")
_SPINS = ("load", "atomic", "memory_barrier")


def _nothing(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    return lambda chunk: None


def _trap(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    def run(chunk: Chunk) -> None:
        active = chunk.active()
        _, cta, thread = faults.place(chunk, active, None)
        raise faults.fault(
            chunk, "TT6022", instruction.line, instruction=form.opcode, where=faults.where(chunk, cta, thread)
        )

    return run


def _pure(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    return low.pure(instruction, form, names)


def _move(low: Lowering, instruction: Instruction, form: Form, names: Names) -> Operation:
    return low.move(instruction, form, names)


HANDLERS: dict[str, Handler] = {
    "": _pure,
    "move": _move,
    "load": transfers.load,
    "store": transfers.store,
    "atomic": transfers.atomic,
    "convert_address": transfers.convert_address,
    "test_address": transfers.test_address,
    "stack_allocate": transfers.stack_allocate,
    "stack_save": transfers.stack_save,
    "stack_restore": transfers.stack_restore,
    "warp": warps.warp,
    "matrix": matrices.matrix,
    "matrix_load": matrices.matrix_load,
    "matrix_store": matrices.matrix_store,
    "fragment_load": matrices.fragment_load,
    "fragment_store": matrices.fragment_store,
    "copy_async": copies.copy_async,
    "copy_commit": _nothing,
    "copy_wait": _nothing,
    "memory_barrier": membarriers.memory_barrier,
    "pending_count": membarriers.pending_count,
    "arrive_on_copies": membarriers.arrive_on_copies,
    "bulk_copy": bulk.bulk_copy,
    "bulk_reduce": bulk.bulk_reduce,
    "tensor_load": bulk.tensor_load,
    "tensor_store": bulk.tensor_store,
    "tensormap_replace": bulk.tensormap_replace,
    "tensormap_copy": bulk.tensormap_copy,
    "map_fence": bulk.tensormap_fence,
    "warpgroup_matrix": warpgroups.warpgroup_matrix,
    "map_address": clusters.map_address,
    "rank_of_address": clusters.rank_of_address,
    "warp_barrier": _nothing,
    "nothing": _nothing,
    "trap": _trap,
}


class Builder(Program):
    """Mutable: a program under construction."""

    def __init__(self, module: Module, entry: Function) -> None:
        super().__init__(module, entry)
        self.queue: list[Routine] = []
        self.module_layout()
        self.wanted(entry)
        # Shared variables of any function come before the launch's dynamic bytes.
        for function in self.functions:
            if any(isinstance(s, Variable) and s.space == "shared" for s in function.body or ()):
                self.routine(function)
        self.place_dynamic()
        done = 0
        while done < len(self.queue):
            self.lower(self.queue[done])
            done += 1
        self.find_recursion()

    def wanted(self, function: Function) -> Routine:
        """The routine of a function, queued for lowering on first use."""
        found = self.routine(function)
        if found not in self.queue:
            self.queue.append(found)
        return found

    def lower(self, routine: Routine) -> None:
        low = Lowering(self, routine)
        for block in routine.blocks:
            self.lower_block(low, routine, block, self.code[routine.first_block + block.index])
        self.pass_parameters(low, routine)

    def lower_block(self, low: Lowering, routine: Routine, block: cfg.Block, code: CodeBlock) -> None:
        flat = routine.flat
        successors = tuple(routine.first_block + s for s in block.successors)
        code.terminator = Jump(successors[0]) if successors else Leave(False, None, -1)
        for index in range(block.first, block.last):
            instruction, names = flat.instructions[index], flat.scopes[index]
            form = low.form(instruction)
            low.begin()
            effect = form.row.effect
            code.spins |= effect in _SPINS
            if effect in _TERMINATORS:
                self.terminate(low, routine, index, form, code, successors)
            else:
                handler = HANDLERS.get(effect)
                if handler is None:
                    raise error("TT6030", low.span(instruction), what=form.opcode, cure="")
                if (
                    index == block.first
                    and instruction.opcode.partition(".")[0] in cfg.MEETS
                    and "sync" in instruction.opcode
                ):
                    code.meets = (warps.member_mask(low, instruction, form, names), instruction.line)
                operation = handler(low, instruction, form, names)
                details = low.details(instruction, form, names)
                code.add(guarded(operation, *details.guard) if details.guard else operation, details)
                code.details.append(details)

    def terminate(
        self, low: Lowering, routine: Routine, index: int, form: Form, code: CodeBlock, successors: tuple[int, ...]
    ) -> None:
        """Give a block its terminator."""
        instruction, names = routine.flat.instructions[index], routine.flat.scopes[index]
        follow = successors[0] if successors else -1
        effect, found = form.row.effect, None
        if effect == "branch":
            found = control.branch(low, instruction, form, names, successors)
        elif effect == "branch_table":
            found = control.branch_table(low, instruction, form, names, self.table_blocks(routine, index), follow)
        elif effect == "barrier":
            found = control.barrier(low, instruction, form, names, follow)
        elif effect == "cluster_barrier":
            found = control.cluster_barrier(low, instruction, form, names, follow)
        elif effect == "call":
            found = self.call(low, instruction, form, names, code, follow)
        else:
            found = control.leave(low, instruction, form, names, follow)
        code.terminator = found or code.terminator
        code.ending = low.details(instruction, form, names)
        code.details.append(code.ending)

    def call(
        self, low: Lowering, instruction: Instruction, form: Form, names: Names, code: CodeBlock, follow: int
    ) -> Call | None:
        before, after, terminator = control.call(low, instruction, form, names, follow)
        guard = (terminator.guard if terminator else None) or (
            (low.predicate(instruction, form, names, instruction.guard), instruction.negated)
            if instruction.guard
            else None
        )
        if terminator is None:
            before, after = [*before, *after], []
        for operation in before:
            code.add(guarded(operation, *guard) if guard else operation, None)
        return terminator

    def table_blocks(self, routine: Routine, index: int) -> tuple[int, ...]:
        """The block of each label of a ``brx`` list."""
        wanted = cfg.targets(self.module, routine.flat, index)
        return tuple(routine.first_block + routine.block_at[target] for target in wanted)

    def pass_parameters(self, low: Lowering, routine: Routine) -> None:
        """A function's entry takes its parameters from the argument slots; its returns fill the result slots."""
        function, outer = routine.function, routine.flat.outer
        if function.kind == "entry":
            return
        moves: list[Operation] = []
        for number, variable in enumerate(function.parameters):
            slot, own = self.slot_register("argument", number), self.bytes_register(routine, outer, variable)
            self.byte_sizes[slot] = max(self.byte_sizes[slot], self.byte_sizes[own])
            moves.append(_mover(own, slot))
        first = self.code[routine.first_block]
        first.operations[:0] = moves
        first.notes[:0] = [None] * len(moves)
        for number, variable in enumerate(function.results):
            slot, own = self.slot_register("result", number), self.bytes_register(routine, outer, variable)
            self.byte_sizes[slot] = max(self.byte_sizes[slot], self.byte_sizes[own])
            for block in routine.blocks:
                code = self.code[routine.first_block + block.index]
                if isinstance(code.terminator, Leave) and not code.terminator.whole:
                    code.add(_mover(slot, own), None)


def _mover(target: int, source: int) -> Operation:
    return lambda chunk: copy_bytes(chunk, target, source)


def known_mnemonics() -> list[str]:
    """Every mnemonic of the table that the simulator executes."""
    return sorted(
        name for name, rows in ROWS.items() if any(r.effect in HANDLERS or r.effect in _TERMINATORS for r in rows)
    )
