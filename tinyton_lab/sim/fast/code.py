"""One entry as LLVM text: its nodes as blocks, its registers as values, its lanes under a mask. Knows no launch."""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.llvm.text import Builder, Register, vector
from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim.fast import converts, floats, integers, packed
from tinyton_lab.sim.fast.accesses import Accesses, Spot
from tinyton_lab.sim.fast.context import (
    FINISHED,
    FRAME_BARRIER,
    FRAME_LIVE,
    FRAME_REGISTERS,
    FRAME_STATE,
    FRAME_STATUS,
    LANES,
    WAITING,
    Fault,
    Slot,
)
from tinyton_lab.sim.fast.cutting import Node
from tinyton_lab.sim.fast.emission import Unsupported, const, emitter_of, inverted
from tinyton_lab.sim.fast.exchanges import EXCHANGES
from tinyton_lab.sim.fast.fragments import load_fragment, store_fragment
from tinyton_lab.sim.fast.matrices import load_rows, matrix, store_rows
from tinyton_lab.sim.fast.memory import NOTE
from tinyton_lab.sim.fast.plan import ENDS, Plan
from tinyton_lab.sim.fast.registers import MASK, Registers
from tinyton_lab.sim.fast.steps import Source, Step, Target

_PLACES = vector("i32", LANES)
_GONE = 0x7FFFFFFF
# Operands that go through memory: at most 32 registers of 64 bits a lane.
_BUFFER = LANES * 8 * 32
# Emitters register themselves when these are imported.
FAMILIES = (integers, floats, converts, packed)


@dataclass(frozen=True, slots=True)
class Code:
    """LLVM text with what a launch must know of it.

    `functions` are those it calls through the context, in the order of their slots; `spots` the accesses that may
    fault, `lines` the PTX line of each node, `specials` the slots of special registers. `ordered` tells that CTAs must
    run one after another for a fixed result, `hope` what may turn out to be beyond it.
    """

    text: str
    functions: dict[str, str]
    spots: tuple[Spot, ...]
    lines: tuple[int, ...]
    specials: dict[str, int]
    frame_bytes: int
    ordered: bool
    hope: str


def generate(plan: Plan) -> Code:
    """Write the code of a planned entry; raises Unsupported."""
    return _Writer(plan).write()


class _Writer:
    """Mutable: one entry being written."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.b = Builder("cpu")
        self.registers = Registers(self.b, plan)
        self.accesses = Accesses(self.b, self.registers)
        self.specials: dict[str, int] = {}
        self.resting = [node for node in plan.nodes if node.barrier is not None]
        self.offsets: dict[int, int] = {}
        self.holds = any(node.divergent and _named(node) for node in plan.nodes)
        at = FRAME_REGISTERS
        for register in sorted({r for node in self.resting for r in plan.nodes[node.follow].live}):
            self.offsets[register] = at
            at += 256
        self.frame_bytes = at

    def write(self) -> Code:
        self.entry()
        for node in self.plan.nodes:
            self.node(node)
        self.dispatcher()
        self.endings()
        body = "\n".join(self.b.lines)
        warp = f"define i32 @warp(ptr %ctx, ptr %frame, i32 %number) {{\n{body}\n}}\n"
        text = "\n".join([*self.b.declarations, *self.accesses.constants.values(), NOTE, warp])
        return Code(
            text,
            dict(self.accesses.functions),
            tuple(self.accesses.spots),
            tuple(node.line for node in self.plan.nodes),
            self.specials,
            self.frame_bytes,
            self.plan.waits or any(_ordered(step) for node in self.plan.nodes for step in node.every()),
            self.plan.hope,
        )

    # Beginning and end of a warp's turn.
    def entry(self) -> None:
        b, r = self.b, self.registers
        b.place("entry")
        for name in ("addresses", "data", "xs", "ys"):
            b.effect(f"%{name} = alloca [{_BUFFER} x i8], align 64")
        for register in range(len(r.types)):
            b.effect(f"%r{register} = alloca {r.type_of(register)}, align 64")
        b.effect(f"%live = alloca {MASK}")
        b.effect(f"%pc = alloca {_PLACES}, align 64")
        b.effect(f"%held = alloca {MASK}")
        b.effect("%forced = alloca i1")
        b.effect(f"store {MASK} zeroinitializer, ptr %held")
        b.effect("store i1 false, ptr %forced")
        b.effect("%thread = shl i32 %number, 5")
        self.threads()
        live = self.field(FRAME_LIVE)
        bits = b.emit(f"load i32, ptr {live.text}", "i32")
        b.effect(f"store {b.emit(f'bitcast {bits} to {MASK}', MASK)}, ptr %live")
        for name, register in self.plan.program.specials.items():
            self.special(name, register)
        state = b.emit(f"load i32, ptr {self.field(FRAME_STATE).text}", "i32")
        cases = " ".join(f"i32 {node.number + 1}, label %resume.{node.number}" for node in self.resting)
        b.effect(f"switch {state}, label %fresh [ {cases} ]")
        b.place("fresh")
        for register in sorted(self.plan.nodes[0].live - set(self.plan.program.specials.values())):
            type_ = r.type_of(register)
            r.store(register, const(0, Register("", type_)))
        b.branch("node.0")
        for node in self.resting:
            self.resume(node)

    def threads(self) -> None:
        """Each lane's number in the CTA."""
        b, wide = self.b, vector("i64", LANES)
        first = b.emit("zext i32 %thread to i64", "i64")
        lanes = Register(f"<{', '.join(f'i64 {n}' for n in range(LANES))}>", wide)
        total = b.binary("add", b.splat(first, LANES), lanes)
        b.effect(f"%threads = add {total}, zeroinitializer")

    def field(self, offset: int) -> Register:
        return self.b.emit(f"getelementptr i8, ptr %frame, i64 {offset}", "ptr")

    def resume(self, node: Node) -> None:
        """Go on behind the barrier of a node."""
        b, r = self.b, self.registers
        b.place(f"resume.{node.number}")
        for register in sorted(self.plan.nodes[node.follow].live):
            type_, at = r.type_of(register), self.field(self.offsets[register])
            r.store(register, self.thaw(type_, at))
        if node.barrier is not None and node.barrier.targets:
            r.node, r.mask = node, b.emit(f"load {MASK}, ptr %live", MASK)
            self.answer(node.barrier)
        if node.divergent:
            live, pc = b.emit(f"load {MASK}, ptr %live", MASK), Register("", _PLACES)
            b.effect(f"store {b.select(live, const(node.follow, pc), const(_GONE, pc))}, ptr %pc")
        self.gather(node, node.follow)
        b.branch(f"node.{node.follow}")

    def answer(self, step: Step) -> None:
        """What ``bar.red`` found: how many threads' predicates hold, whether any does, or all do."""
        b = self.b
        told = self.accesses.slot(Slot.TOLD + (step.sources[0].bits & 15))
        if step.form["op"] == "popc":
            self.registers.write(step, step.targets[0], b.emit(f"trunc {told} to i32", "i32"))
            return
        # For ``and`` the threads are counted whose predicate does not hold.
        word = "eq" if step.form["op"] == "and" else "ne"
        self.registers.write(step, step.targets[0], b.compare(f"icmp {word}", told, const(0, told)))

    def ask(self, step: Step, number: int) -> None:
        """Add this warp's threads to what ``bar.red`` counts."""
        b, r = self.b, self.registers
        flags = r.spread(r.read(step.sources[-1]))
        flags = inverted(b, flags) if step.form["op"] == "and" else flags
        bits = r.bits(b.binary("and", flags, r.mask))
        count = b.emit(f"zext {b.intrinsic('llvm.ctpop', bits)} to i64", "i64")
        at = b.emit(f"getelementptr i64, ptr %ctx, i64 {Slot.HOLDS + number}", "ptr")
        have = b.emit(f"load i64, ptr {at.text}", "i64")
        b.effect(f"store {b.binary('add', have, count)}, ptr {at.text}")

    def thaw(self, type_: str, at: Register) -> Register:
        """A register's value from the frame; predicates lie there as bits."""
        b = self.b
        if type_ == MASK:
            bits = b.emit(f"load i32, ptr {at.text}, align 8", "i32")
            return b.emit(f"bitcast {bits} to {MASK}", MASK)
        return b.emit(f"load {type_}, ptr {at.text}, align 8", type_)

    def freeze(self, node: Node) -> None:
        """Put what lives behind a node's barrier into the frame."""
        b, r = self.b, self.registers
        for register in sorted(self.plan.nodes[node.follow].live):
            value, at = r.load(register), self.field(self.offsets[register])
            if value.type == MASK:
                value = r.bits(value)
            b.effect(f"store {value}, ptr {at.text}, align 8")
        live = b.emit(f"load {MASK}, ptr %live", MASK)
        b.effect(f"store {r.bits(live)}, ptr {self.field(FRAME_LIVE).text}")
        b.effect(f"store i32 {node.number + 1}, ptr {self.field(FRAME_STATE).text}")

    def special(self, name: str, register: int) -> None:
        """A special register's value: of the lane, the CTA, or the launch."""
        b, r = self.b, self.registers
        type_ = r.type_of(register)
        if name == "%cc":
            r.store(register, Register("zeroinitializer", type_))
            return
        if name.startswith("%tid."):
            table = b.emit(f"inttoptr {self.accesses.slot(Slot.COORDINATES)} to ptr", "ptr")
            at = b.emit(f"getelementptr i8, ptr {table.text}, i64 {4096 * 'xyz'.index(name[-1])}", "ptr")
            at = b.emit(f"getelementptr i32, ptr {at.text}, i32 %thread", "ptr")
            r.store(register, b.emit(f"load {type_}, ptr {at.text}, align 4", type_))
            return
        if name in _OF_LANE:
            numbers = ", ".join(f"i32 {_OF_LANE[name](n)}" for n in range(LANES))
            r.store(register, Register(f"<{numbers}>", type_))
            return
        bits = r.types[register].bits
        if name == "%stack":
            r.store(register, const((self.plan.program.local_bytes + 15) & ~15, Register("", type_)))
            return
        if name == "%warpid":
            value = Register("%number", "i32")
        else:
            place = Slot.PLACE + "xyz".index(name[-1]) if name.startswith("%ctaid.") else self.slot_of(name)
            value = self.accesses.slot(place)
            value = value if bits == 64 else b.emit(f"trunc {value} to i{bits}", f"i{bits}")
        r.store(register, value if type_[0] != "<" else r.spread(value))

    def slot_of(self, name: str) -> int:
        found = self.specials.setdefault(name, Slot.SPECIALS + len(self.specials))
        if found >= Slot.END:
            raise Unsupported("so many special registers")
        return found

    # Nodes.
    def node(self, node: Node) -> None:
        b, r = self.b, self.registers
        r.node = node
        b.place(f"node.{node.number}")
        if node.divergent:
            pc = b.emit(f"load {_PLACES}, ptr %pc", _PLACES)
            r.mask = b.compare("icmp eq", pc, const(node.number, pc))
            if self.holds:
                self.hold(node)
        else:
            r.mask = b.emit(f"load {MASK}, ptr %live", MASK)
        for step in node.every():
            if step is not node.barrier:
                self.step(step)
        if node.barrier is not None:
            self.barrier(node, node.barrier)
        elif node.leaves:
            self.leave(node)
        elif node.branch is not None:
            self.branch(node)
        else:
            self.follow(node)

    def step(self, step: Step) -> None:
        effect, r, a = step.effect, self.registers, self.accesses
        if effect == "":
            self.pure(step)
        elif effect == "move":
            self.move(step)
        elif effect == "warp":
            self.exchange(step, EXCHANGES[step.form.row.mnemonic](a, r, step))
        elif effect == "matrix":
            self.exchange(step, tuple(matrix(a, r, step)))
        elif effect == "matrix_load":
            self.exchange(step, tuple(load_rows(a, r, step)))
        elif effect == "matrix_store":
            store_rows(a, r, step)
        elif effect == "fragment_load":
            self.exchange(step, tuple(load_fragment(a, r, step)))
        elif effect == "fragment_store":
            store_fragment(a, r, step)
        elif effect in _MEMORY:
            getattr(a, _MEMORY[effect])(step)
        elif effect in ENDS:
            flags = r.active_bits(step)
            self.give_up(self.registers.node, self.b.compare("icmp ne", flags, const(0, flags)))

    def pure(self, step: Step) -> None:
        emitter = emitter_of(step.form)
        if emitter is None:
            raise Unsupported(step.form.opcode)
        found = emitter(self.b, step.form, *self.registers.operands(step))
        self.exchange(step, found if isinstance(found, tuple) else (found,))

    def exchange(self, step: Step, values: tuple[Register, ...]) -> None:
        """Write results; one that is the step's own guard comes last."""
        guard = -1 if step.guard is None else step.guard.register
        for target, value in sorted(zip(step.targets, values), key=lambda each: _writes(each[0], guard)):
            self.registers.write(step, target, value)

    def move(self, step: Step) -> None:
        r, b = self.registers, self.b
        value = r.read(step.sources[0])
        if len(step.targets) == 1:
            r.write(step, step.targets[0], value)
            return
        bits = step.sources[0].type.bits // len(step.targets)
        for place, target in enumerate(step.targets):
            if target is not None:
                part = b.binary("lshr", value, const(place * bits, value)) if place else value
                r.write(step, target, b.convert("trunc", part, f"i{bits}"))

    # Where a node leads.
    def back(self, node: Node, target: int) -> None:
        """Go to a node; going back costs fuel, and asks whether to stop."""
        if target > node.number:
            self.b.branch(f"node.{target}")
            return
        b = self.b
        at = b.emit(f"getelementptr i64, ptr %ctx, i64 {Slot.FUEL}", "ptr")
        left = b.emit(f"load i64, ptr {at.text}", "i64")
        less = b.emit(f"sub {left}, 1", "i64")
        b.effect(f"store {less}, ptr {at.text}")
        stop = b.emit(f"inttoptr {self.accesses.slot(Slot.STOP)} to ptr", "ptr")
        asked = b.emit(f"load volatile i32, ptr {stop.text}", "i32")
        halt = b.compare("icmp ne", asked, const(0, asked))
        empty = b.compare("icmp slt", less, const(0, less))
        b.branch_if(b.binary("or", halt, empty), f"stop.{node.number}", f"node.{target}")
        b.place(f"stop.{node.number}")
        kind = b.select(halt, Register(str(int(Fault.STOPPED)), "i64"), Register(str(int(Fault.STEPS)), "i64"))
        b.effect(f"call void @note(ptr %ctx, {kind}, i32 {node.number}, i32 %thread, i64 0)")
        b.branch("give.up")

    def gather(self, node: Node, target: int) -> None:
        """All living lanes go on together, to where they may part: note where they are."""
        if node.divergent or not self.plan.nodes[target].divergent:
            return
        live, pc = self.b.emit(f"load {MASK}, ptr %live", MASK), Register("", _PLACES)
        self.b.effect(f"store {self.b.select(live, const(target, pc), const(_GONE, pc))}, ptr %pc")

    def follow(self, node: Node) -> None:
        if not node.divergent:
            self.gather(node, node.follow)
            self.back(node, node.follow)
            return
        self.send(node, self.registers.mask, node.follow)
        if node.follow <= node.number + 1:
            self.back(node, node.follow)
        else:
            self.b.branch("dispatch")

    def send(self, node: Node, lanes: Register, target: int) -> None:
        b = self.b
        pc = b.emit(f"load {_PLACES}, ptr %pc", _PLACES)
        b.effect(f"store {b.select(lanes, const(target, pc), pc)}, ptr %pc")

    def branch(self, node: Node) -> None:
        b, r = self.b, self.registers
        if node.branch is None:
            raise RuntimeError("fast engine: this node does not branch")
        condition = r.read(node.branch)
        if node.case is not None:
            condition = b.compare("icmp eq", condition, const(node.case, condition))
        if not condition.lanes:
            self.uniform_branch(node, condition)
            return
        pc = Register("", _PLACES)
        ways = b.select(condition, const(node.taken, pc), const(node.follow, pc))
        if node.divergent:
            old = b.emit(f"load {_PLACES}, ptr %pc", _PLACES)
        else:
            old = const(_GONE, pc)
        b.effect(f"store {b.select(r.mask, ways, old)}, ptr %pc")
        first = min(node.taken, node.follow)
        other = max(node.taken, node.follow)
        chosen = condition if first == node.taken else inverted(b, condition)
        bits = r.bits(b.binary("and", chosen, r.mask))
        some = b.compare("icmp ne", bits, const(0, bits))
        alone = not node.divergent or first <= node.number + 1
        if not alone:
            b.branch("dispatch")
            return
        yes, no = b.label("first"), b.label("other")
        b.branch_if(some, yes, no)
        b.place(yes)
        self.back(node, first)
        b.place(no)
        if not node.divergent or other == node.number + 1:
            self.b.branch(f"node.{other}")
        else:
            self.b.branch("dispatch")

    def uniform_branch(self, node: Node, condition: Register) -> None:
        b = self.b
        yes, no = b.label("taken"), b.label("follow")
        b.branch_if(condition, yes, no)
        for label, target in ((yes, node.taken), (no, node.follow)):
            b.place(label)
            self.gather(node, target)
            if node.divergent:
                self.send(node, self.registers.mask, target)
            if node.divergent and target > node.number + 1:
                b.branch("dispatch")
            else:
                self.step_back(node, target, label)

    def step_back(self, node: Node, target: int, label: str) -> None:
        """`back`, where one node may go back on both ways."""
        if target > node.number:
            self.b.branch(f"node.{target}")
        elif label.startswith("taken"):
            self.back(node, target)
        else:
            self.b.branch(f"node.{target}") if node.taken <= node.number else self.back(node, target)

    def leave(self, node: Node) -> None:
        """Lanes end here: all of the mask, or those for which the branch register holds."""
        b, r = self.b, self.registers
        going = r.mask
        if node.branch is not None:
            going = b.binary("and", going, r.spread(r.read(node.branch)))
        live = b.emit(f"load {MASK}, ptr %live", MASK)
        rest = b.binary("and", live, inverted(b, going))
        b.effect(f"store {rest}, ptr %live")
        if node.divergent:
            self.send(node, going, _GONE)
            if node.branch is not None:
                self.send(node, b.binary("and", r.mask, inverted(b, going)), node.follow)
            b.branch("dispatch")
            return
        if node.branch is None:
            b.branch("finish")
            return
        bits = r.bits(rest)
        on = b.label("on")
        b.branch_if(b.compare("icmp eq", bits, const(0, bits)), "finish", on)
        b.place(on)
        self.gather(node, node.follow)
        self.back(node, node.follow)

    def barrier(self, node: Node, step: Step) -> None:
        """Arrive; unless that is all, rest until the others have come."""
        b = self.b
        if node.divergent:
            self.together(node)
        number = step.sources[0].bits & 15
        at = b.emit(f"getelementptr i64, ptr %ctx, i64 {Slot.ARRIVED + number}", "ptr")
        have = b.emit(f"load i64, ptr {at.text}", "i64")
        b.effect(f"store {b.binary('add', have, const(32, have))}, ptr {at.text}")
        counts = step.sources[1:]
        if step.form["action"] == "red":
            self.ask(step, number)
            counts = counts[:-1]
        if counts:
            count = self.registers.read(counts[0])
            if count.lanes:
                raise Unsupported("a barrier for a varying number of threads")
            wide = b.emit(f"zext {count} to i64", "i64")
            spot = b.emit(f"getelementptr i64, ptr %ctx, i64 {Slot.EXPECTED + number}", "ptr")
            b.effect(f"store {wide}, ptr {spot.text}")
        if step.form["action"] == "arrive":
            self.follow(node)
            return
        self.freeze(node)
        b.effect(f"store i32 {number}, ptr {self.field(FRAME_BARRIER).text}")
        b.effect(f"store i32 {WAITING}, ptr {self.field(FRAME_STATUS).text}")
        b.effect("ret i32 0")

    def together(self, node: Node) -> None:
        """Give up unless all living lanes are here."""
        live = self.b.emit(f"load {MASK}, ptr %live", MASK)
        self.give_up(
            node, self.b.compare("icmp ne", self.registers.bits(live), self.registers.bits(self.registers.mask))
        )

    def give_up(self, node: Node, when: Register) -> None:
        """Leave a launch to the trace engine."""
        b = self.b
        now, on = b.label("now"), b.label("on")
        b.branch_if(when, now, on)
        b.place(now)
        b.effect(f"call void @note(ptr %ctx, i64 {int(Fault.BEYOND)}, i32 {node.number}, i32 %thread, i64 0)")
        b.branch("give.up")
        b.place(on)

    # Lanes that parted.
    def hold(self, node: Node) -> None:
        """An instruction between lanes waits for the living lanes that it names, unless nobody else can go on."""
        b, r = self.b, self.registers
        if not _named(node) or node.collective is None:
            b.effect(f"store {MASK} zeroinitializer, ptr %held")
            b.effect("store i1 false, ptr %forced")
            return
        named = r.spread(r.read(_member_mask(node.collective)))
        zero = const(0, named)
        wanted = b.intrinsic("llvm.vector.reduce.or", b.select(r.mask, named, zero), type="i32")
        live = r.bits(b.emit(f"load {MASK}, ptr %live", MASK))
        absent = b.binary("and", b.binary("and", wanted, live), inverted(b, r.bits(r.mask)))
        forced = b.emit("load i1, ptr %forced", "i1")
        wait = b.binary("and", b.compare("icmp ne", absent, const(0, absent)), inverted(b, forced))
        later, now = b.label("later"), b.label("now")
        b.branch_if(wait, later, now)
        b.place(later)
        held = b.emit(f"load {MASK}, ptr %held", MASK)
        b.effect(f"store {b.binary('or', held, r.mask)}, ptr %held")
        b.branch("dispatch")
        b.place(now)
        b.effect(f"store {MASK} zeroinitializer, ptr %held")
        b.effect("store i1 false, ptr %forced")

    def dispatcher(self) -> None:
        """Run the first node, in program order, where lanes are."""
        b = self.b
        b.place("dispatch")
        pc = b.emit(f"load {_PLACES}, ptr %pc", _PLACES)
        seen = pc
        if self.holds:
            held = b.emit(f"load {MASK}, ptr %held", MASK)
            seen = b.select(held, const(_GONE, pc), pc)
        first = b.intrinsic("llvm.vector.reduce.umin", seen, type="i32")
        targets = [n.number for n in self.plan.nodes]
        cases = " ".join(f"i32 {n}, label %node.{n}" for n in targets if self.reached(n))
        b.effect(f"switch {first}, label %nobody [ {cases} ]")
        b.place("nobody")
        if not self.holds:
            b.branch("finish")
            return
        everyone = b.intrinsic("llvm.vector.reduce.umin", pc, type="i32")
        b.effect("store i1 true, ptr %forced")
        b.effect(f"store {MASK} zeroinitializer, ptr %held")
        gone = b.compare("icmp eq", everyone, const(_GONE, everyone))
        b.branch_if(gone, "finish", "dispatch")

    def reached(self, number: int) -> bool:
        """Whether lanes that parted may come to a node."""
        node = self.plan.nodes[number]
        if node.divergent:
            return True
        parting = [other for other in self.plan.nodes if other.divergent or other.branch is not None]
        return any(number in other.successors for other in parting)

    def endings(self) -> None:
        b = self.b
        b.place("finish")
        b.effect(f"store i32 {FINISHED}, ptr {self.field(FRAME_STATUS).text}")
        b.effect("ret i32 0")
        b.place("give.up")
        b.effect("ret i32 1")


_MEMORY = {
    "load": "load",
    "store": "store",
    "atomic": "atomic",
    "convert_address": "convert_address",
    "test_address": "test_address",
    "copy_async": "copy",
    "stack_allocate": "stack",
    "stack_save": "stack",
    "stack_restore": "stack",
}
_FULL = (1 << 32) - 1
_OF_LANE = {
    "%laneid": lambda n: n,
    "%lanemask_eq": lambda n: 1 << n,
    "%lanemask_lt": lambda n: (1 << n) - 1,
    "%lanemask_le": lambda n: (2 << n) - 1,
    "%lanemask_ge": lambda n: _FULL & ~((1 << n) - 1),
    "%lanemask_gt": lambda n: _FULL & ~((2 << n) - 1),
}


def _writes(target: Target | None, register: int) -> bool:
    return target is not None and target.register == register


def _named(node: Node) -> bool:
    """Whether a node begins with an instruction that names the lanes it wants."""
    return node.collective is not None and "sync" in node.collective.instruction.opcode


def _member_mask(step: Step) -> Source:
    """The lanes that an instruction names; those of matrix instructions name all."""
    wanted = [role.name for role in step.form.row.roles if not role.written]
    if "mask" in wanted:
        return step.sources[wanted.index("mask")]
    return Source(TYPES["b32"], bits=_FULL)


def _ordered(step: Step) -> bool:
    """Whether the order of CTAs may show in the result."""
    if step.effect != "atomic" or step.places[0].space == "shared":
        return False
    sums = step.form.type.kind in ("float", "packed")
    return sums or bool(step.targets) or step.form["op"] == "exch"
