"""Write blocks step by step: scalars, nests, loops and branches at tile level. Knows the plan, not how it was made."""

from __future__ import annotations

from collections.abc import Sequence

from tinyton_lab.base.dtypes import int32
from tinyton_lab.codegen.cpu import arithmetic, atomics, lanes, messages, slots
from tinyton_lab.codegen.cpu.blueprint import Fill, Reduce, Root, Single, Store
from tinyton_lab.codegen.cpu.clusters import ATOMIC, LANEWISE, MESSAGES, REGIONS, Plan, Step
from tinyton_lab.codegen.cpu.memory import Memory
from tinyton_lab.codegen.cpu.nests import Nest
from tinyton_lab.codegen.cpu.products import Multiply, Product
from tinyton_lab.codegen.cpu.values import Buffer, Values
from tinyton_lab.ir.core import Block, Op, Value
from tinyton_lab.llvm.text import Register
from tinyton_lab.ops import contract, control, memory, product, program, reduction, shape, shared
from tinyton_lab.runtime import frame

_UNKNOWN_TRIPS = 16
_LANES_PER_UNIT = 1
_STEPS_PER_UNIT = 16


class Regions:
    """Writes the blocks of one function. Control leaves at ``stopped`` when a loop is asked to end."""

    def __init__(self, values: Values, memory: Memory, plan: Plan) -> None:
        self.values, self.memory, self.plan, self.code = values, memory, plan, values.code
        self.budget: Register | None = None
        self.lanes = lanes.Lanes(values, self.block)

    def block(self, block: Block) -> None:
        """Write all steps of a block but its terminator."""
        for step in self.plan.steps[block]:
            if not step.op.row.terminator:
                self._step(step)

    def _step(self, step: Step) -> None:
        self._before(step)
        op = step.op
        self.code.uid = op.uid
        if step.product is not None:
            self._multiply(step.product)
        elif op.row is reduction.reduce:
            self._reduce(step)
        elif op.row is memory.store and (op.operand("value") or op.inputs.__next__()).type.shape:
            self._nest(op_shape(op), [*self._along(step, op_shape(op)), Store(op)])
        elif op.row in REGIONS:
            {control.for_: self._for, control.while_: self._while, control.if_: self._if}[op.row](step)
        elif op.row in LANEWISE:
            lanes.emit(self.lanes, op)
        elif op.row in ATOMIC:
            atomics.emit(self.lanes, self.memory.extents, op)
        elif op.row in MESSAGES:
            messages.emit(self.lanes, self.memory.extents, op)
        elif op.row in shared.ROWS:
            slots.emit(self.lanes, self.memory.extents, op)
        elif op.results or op.row.effect == "write":
            self._scalar(op)

    # -- nests --------------------------------------------------------------------------------------------------------
    def _nest(self, shape: tuple[int, ...], roots: Sequence[Root]) -> None:
        Nest(self.values, self.memory, shape, roots).emit()
        for root in roots:
            if isinstance(root, Fill):
                self.values.buffers[root.value] = root.buffer

    def _fill(self, value: Value, step: Step | None = None) -> Fill:
        """Plan to keep a tile in a buffer of its own; `step` has its elements from elsewhere."""
        readers = [reader for reader in self.plan.readers.get(value, ()) if reader is not step]
        masks = {each.op.operand("mask") if self._stores(each, value) else None for each in readers}
        (mask,) = masks if len(masks) == 1 else (None,)
        return Fill(value, self.values.buffer(value.type), mask)

    def _stores(self, step: Step, value: Value) -> bool:
        """Whether all that a step does with a tile is to store what is made of it element for element."""
        if step.op.row is not memory.store:
            return False
        tile, kept = frozenset((value,)), [each for each in (*step.before, *step.along) if each is not value]
        return not (
            any(self._reads(each, tile, None) for each in kept)
            or any(self._reads(part, tile, value.type.shape) for part in step.op.inputs)
        )

    def _before(self, step: Step) -> None:
        """Materialise what must lie in memory ahead of a step."""
        for value in step.before:
            if value not in self.values.buffers:
                self._nest(value.type.shape, [self._fill(value)])
        for op, pairs in step.copies:
            self._copy(op, sorted(pairs))
        if step.op.row is not reduction.reduce and step.op.row is not memory.store:
            for value in step.along:
                self._nest(value.type.shape, [self._fill(value)])

    def _along(self, step: Step, shape: tuple[int, ...]) -> list[Root]:
        """Tiles to write in the same loops as the step; those of another shape are written ahead."""
        same: list[Root] = []
        for value in step.along:
            if value.type.shape == shape:
                same.append(self._fill(value, step))
            else:
                self._nest(value.type.shape, [self._fill(value)])
        return same

    def _copy(self, op: Op, pairs: list[tuple[int, int]]) -> None:
        """Copy what a load reads, where its array overlaps one that is about to be written."""
        b = self.code
        overlap = Register("false", "i1")
        for first, second in pairs:
            one = self.overlap(first, second)
            with b.hoisted():
                overlap = one if overlap.text == "false" else b.binary("or", overlap, one)
        buffer = self.values.buffer(op.result.type)
        with b.when(overlap):
            Nest(self.values, self.memory, op.result.type.shape, [Fill(op.result, buffer)], compact=True).emit()
        self.values.copies[op] = buffer, overlap

    def overlap(self, first: int, second: int) -> Register:
        """Whether the bytes of two pointer arguments meet; computed once per launch."""
        b = self.code
        bounds: list[tuple[Register, Register]] = []
        for parameter in (first, second):
            slot = self.values.pointers[parameter] + frame.ARGUMENTS
            start, limit = b.job_slot(slot + frame.FIRST), b.job_slot(slot + frame.LIMIT)
            with b.hoisted():
                bounds.append((start, b.binary("add", start, limit)))
        (start, end), (other_start, other_end) = bounds
        with b.hoisted():
            return b.binary("and", b.compare("icmp ult", start, other_end), b.compare("icmp ult", other_start, end))

    def _reduce(self, step: Step) -> None:
        shape = op_shape(step.op)
        roots: list[Root] = list(self._along(step, shape))
        reduces: list[Reduce] = []
        for op in (step.op, *step.joined):
            buffers = tuple(self.values.buffer(result.type) for result in op.results if result.type.shape)
            reduces.append(Reduce(op, buffers))
        self._nest(shape, [*roots, *reduces])
        for root in reduces:
            self.values.buffers.update(zip(root.op.results, root.buffers))

    def _multiply(self, found: Product) -> None:
        buffers, tile = self.values.buffers, found.accumulator
        before = None if tile is None else buffers[tile]
        result = before if before is not None and found.in_place else self.values.buffer(found.result.type)
        adds = found.added is not None
        a, b = buffers[found.a], buffers[found.b]
        Multiply(self.code, a, b, found.a_turned, found.b_turned, before, result, adds).emit()
        buffers[found.result] = result

    # -- scalars ------------------------------------------------------------------------------------------------------
    def _scalar(self, op: Op) -> None:
        b = self.code
        if op.row is memory.load or op.row is memory.store:
            self._nest((), [Single(op)] if op.results else [Store(op)])
        elif op.row is shape.constant:
            self.values.scalars[op.result] = arithmetic.constant(op.attrs["value"], op.result.type.element)
        elif op.row is program.program_id:
            self.values.scalars[op.result] = self.program(op.attrs["axis"])
        elif op.row is program.num_programs:
            slot = b.job_slot(frame.GRID + op.attrs["axis"])
            with b.hoisted():
                self.values.scalars[op.result] = b.convert("trunc", slot, "i32")
        elif op.row is shape.reshape:
            self._nest((), [Single(op)])
        elif op.row.elementwise:
            self.values.scalars[op.result] = arithmetic.apply(b, op, [self.values.scalar(v) for v in op.inputs])
        elif op.row is not contract.assume:
            raise RuntimeError(f"cpu: {op.row.name} has no lowering")

    def program(self, axis: int) -> Register:
        """This program's index along an axis, from its linear number."""
        b = self.code
        number = Register("%program", "i64")
        x, y = (b.job_slot(frame.GRID + at) for at in (0, 1))
        if axis == 0:
            found = b.binary("urem", number, x)
        elif axis == 1:
            found = b.binary("urem", b.binary("udiv", number, x), y)
        else:
            found = b.binary("udiv", b.binary("udiv", number, x), y)
        return b.convert("trunc", found, int32.llvm)

    # -- carried values -----------------------------------------------------------------------------------------------
    def _cells(self, values: Sequence[Value]) -> list[Register | Buffer]:
        """A place for each carried value: a variable or a buffer, holding what the loop starts with."""
        cells: list[Register | Buffer] = []
        for value in values:
            if value.type.shape:
                cells.append(self.values.buffer(value.type))
            else:
                cells.append(self.code.variable(self.values.scalar(value)))
        tiles = [(value, cell) for value, cell in zip(values, cells) if isinstance(cell, Buffer)]
        self._write_tiles(tiles, frozenset())
        return cells

    def _enter(self, arguments: Sequence[Value], cells: Sequence[Register | Buffer]) -> None:
        """Make block arguments or results stand for their places."""
        for argument, cell in zip(arguments, cells):
            if isinstance(cell, Buffer):
                self.values.buffers[argument] = cell
            else:
                type = arithmetic.register_type(argument.type.element)
                self.values.scalars[argument] = self.code.get(cell, type)

    def _assign(self, cells: Sequence[Register | Buffer], values: Sequence[Value], carried: Sequence[Value]) -> None:
        """Write new values to their places, as if all at once."""
        scalars = [None if value.type.shape else self.values.scalar(value) for value in values]
        tiles = [
            (value, cell)
            for value, cell in zip(values, cells)
            if isinstance(cell, Buffer) and self.values.buffers.get(value) != cell
        ]
        self._write_tiles(tiles, frozenset(carried))
        for cell, scalar in zip(cells, scalars):
            if scalar is not None and isinstance(cell, Register):
                self.code.set(cell, scalar)

    def _write_tiles(self, tiles: list[tuple[Value, Buffer]], carried: frozenset[Value]) -> None:
        """Fill buffers; through temporaries where a value still reads what another one overwrites."""
        direct = [(v, cell) for v, cell in tiles if self._in_place(v, cell, carried, [value for value, _ in tiles])]
        others = [pair for pair in tiles if pair not in direct]
        staged = [(value, cell, self.values.buffer(value.type)) for value, cell in others]
        for value, _, temporary in staged:
            Nest(self.values, self.memory, value.type.shape, [Fill(value, temporary)]).emit()
        for tile_shape in dict.fromkeys(value.type.shape for value, _ in direct):
            roots = [Fill(value, cell) for value, cell in direct if value.type.shape == tile_shape]
            Nest(self.values, self.memory, tile_shape, roots).emit()
        for value, cell, temporary in staged:
            known = self.values.buffers.get(value)
            self.values.buffers[value] = temporary
            Nest(self.values, self.memory, value.type.shape, [Fill(value, cell)]).emit()
            if known is None:
                del self.values.buffers[value]
            else:
                self.values.buffers[value] = known

    def _in_place(self, value: Value, cell: Buffer, carried: frozenset[Value], together: list[Value]) -> bool:
        """Whether every carried buffer read on the way to the new values is read element for element, in one nest."""
        if not carried:
            return True
        if any(other.type.shape != value.type.shape for other in together):
            return not any(self._reads(other, carried, None) for other in together)
        return not any(self._reads(other, carried, value.type.shape) for other in together)

    def _reads(self, value: Value, carried: frozenset[Value], same: tuple[int, ...] | None) -> bool:
        """Whether a value reads a carried tile; with `same`, only where not through elementwise ops of that shape."""
        pending, seen = [(value, same)], set[tuple[Value, bool]]()
        while pending:
            current, straight = pending.pop()
            if current in carried and (straight is None or current.type.shape != straight):
                return True
            op = current.op
            if (current, straight is None) in seen or op is None:
                continue
            seen.add((current, straight is None))
            if current not in self.values.buffers and current.type.shape and current not in carried:
                pending += [(operand, straight if op.row.elementwise else None) for operand in op.inputs]
        return False

    # -- control ------------------------------------------------------------------------------------------------------
    def poll(self, work: int) -> None:
        """Spend some of the budget; when it is gone, look whether someone wants this launch to stop."""
        b = self.code
        if self.budget is None:
            raise RuntimeError("cpu: polling outside a program")
        left = b.binary("sub", b.get(self.budget, "i64"), b.i64(max(work, 1)))
        b.set(self.budget, left)
        look, go_on = b.label("poll"), b.label("on")
        b.branch_if(b.compare("icmp slt", left, b.i64(0)), look, go_on)
        b.place(look)
        b.set(self.budget, b.i64(frame.BUDGET_UNITS))
        pointers = (Register("%job", "ptr"), Register("%thread", "ptr"))
        asked = b.call("poll", pointers, "i32")
        b.branch_if(b.compare("icmp ne", asked, Register("0", "i32")), "stopped", go_on)
        b.place(go_on)

    def _for(self, step: Step) -> None:
        b, op = self.code, step.op
        (body,) = op.blocks
        lower, _, stride, *inits = op.inputs
        cells = self._cells(inits)
        index, *arguments = body.args
        type = arithmetic.register_type(index.type.element)
        trips = b.variable(self._trips(op))
        counter = b.variable(self.values.scalar(lower))
        head, inside, done = b.label("for"), b.label("body"), b.label("done")
        b.branch(head)
        b.place(head)
        left = b.get(trips, type)
        b.branch_if(b.compare("icmp ne", left, Register("0", type)), inside, done)
        b.place(inside)
        with b.scope():
            self.values.scalars[index] = b.get(counter, type)
            self._enter(arguments, cells)
            self.block(body)
            self._before(self.plan.steps[body][-1])
            self._assign(cells, list(body.terminator.inputs), arguments)
            b.set(counter, b.binary("add", b.get(counter, type), self.values.scalar(stride)))
            b.set(trips, b.binary("sub", b.get(trips, type), Register("1", type)))
            self.poll(self.work(body))
        b.branch(head)
        b.place(done)
        self._enter(op.results, cells)

    def _trips(self, op: Op) -> Register:
        """How often a `for` runs, as an unsigned number: no step of it overflows."""
        b = self.code
        lower, upper, stride, *_ = op.inputs
        element = lower.type.element
        signed = arithmetic.is_signed(element)
        low, high, step = (self.values.scalar(value) for value in (lower, upper, stride))
        zero, one = Register("0", low.type), Register("1", low.type)
        how = "s" if signed else "u"
        falls = b.compare("icmp slt", step, zero) if signed else Register("false", "i1")
        first, last = b.select(falls, high, low), b.select(falls, low, high)
        size = b.select(falls, b.binary("sub", zero, step), step)
        runs = b.binary("and", b.compare(f"icmp {how}lt", first, last), b.compare("icmp ne", step, zero))
        safe = b.select(runs, size, one)
        whole = b.binary("udiv", b.binary("sub", b.binary("sub", last, first), one), safe)
        return b.select(runs, b.binary("add", whole, one), zero)

    def _while(self, step: Step) -> None:
        b, op = self.code, step.op
        before, body = op.blocks
        cells = self._cells(list(op.inputs))
        head, inside, done = b.label("while"), b.label("body"), b.label("done")
        b.branch(head)
        b.place(head)
        kept = dict(b.wide), set(b.known)
        self._enter(before.args, cells)
        self.block(before)
        test, *passed = before.terminator.inputs
        self._before(self.plan.steps[before][-1])
        condition = self.values.scalar(test)
        passes = self._pass_on(passed)
        b.branch_if(condition, inside, done)
        b.place(inside)
        with b.scope():
            self._enter(body.args, passes)
            self.block(body)
            self._before(self.plan.steps[body][-1])
            self._assign(cells, list(body.terminator.inputs), [*before.args, *body.args])
            self.poll(self.work(before) + self.work(body))
        b.branch(head)
        b.place(done)
        b.wide, b.known = kept
        self._enter(op.results, passes)

    def _pass_on(self, values: Sequence[Value]) -> list[Register | Buffer]:
        """Places of what a `condition` passes to the body and to the results."""
        passes: list[Register | Buffer] = []
        tiles: list[tuple[Value, Buffer]] = []
        for value in values:
            if not value.type.shape:
                passes.append(self.code.variable(self.values.scalar(value)))
                continue
            known = self.values.buffers.get(value)
            buffer = known or self.values.buffer(value.type)
            if known is None:
                tiles.append((value, buffer))
            passes.append(buffer)
        self._write_tiles(tiles, frozenset())
        return passes

    def _if(self, step: Step) -> None:
        b, op = self.code, step.op
        condition = self.values.scalar(next(op.inputs))
        cells: list[Register | Buffer] = []
        for result in op.results:
            type = arithmetic.register_type(result.type.element)
            cells.append(self.values.buffer(result.type) if result.type.shape else b.variable(arithmetic.zero(type)))
        labels = [b.label("then"), b.label("else")]
        done = b.label("done")
        b.branch_if(condition, *labels)
        for block, label in zip(op.blocks, labels):
            b.place(label)
            with b.scope():
                self.block(block)
                if block.ops:
                    self._before(self.plan.steps[block][-1])
                    self._assign(cells, list(block.terminator.inputs), [])
            b.branch(done)
        b.place(done)
        self._enter(op.results, cells)

    # -- estimates ----------------------------------------------------------------------------------------------------
    def work(self, block: Block) -> int:
        """Lane operations of one run of a block, inner loops counted with the trips that are known."""
        total = 0
        for op in block.ops:
            elements = max((value.type.elements for value in (*op.results, *op.inputs)), default=1)
            if op.row is product.dot:
                elements = op.result.type.elements * (op.operands[0] or op.result).type.shape[-1] // _STEPS_PER_UNIT
            inner = sum(self.work(each) for each in op.blocks) if op.row in REGIONS else 0
            total += max(elements * _LANES_PER_UNIT, 1) + inner * (_UNKNOWN_TRIPS if op.row is not control.if_ else 1)
        return total


def op_shape(op: Op) -> tuple[int, ...]:
    """The shape of the loops of a store or a reduction."""
    value = op.operand("value") if op.row is memory.store else op.operands[0]
    return () if value is None else value.type.shape
