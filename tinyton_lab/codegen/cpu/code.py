"""The LLVM function being written: variables, loops, values of its entry, lines per op. Knows the frame, not tiles."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager

from tinyton_lab.llvm.native import Machine
from tinyton_lab.llvm.text import Builder, Register, vector
from tinyton_lab.runtime import frame

ALIGNMENT = 64


class Code(Builder):
    """A builder with mutable variables (LLVM turns them into registers) and structured loops.

    `lines` grow in the block at hand; `hoisted()` writes into the function's entry instead, where values of the
    arguments live. Control flow ends in the labels ``fault`` and ``stopped``, which `module.py` writes.
    """

    def __init__(self, machine: Machine, fusion: bool = False) -> None:
        super().__init__("cpu")
        self.machine, self.fusion = machine, fusion
        self.variables: list[str] = []
        self.entry: list[str] = []
        self.scratch_bytes = ALIGNMENT  # its first bytes are where masked-off lanes go
        self.wide: dict[str, Register] = {}
        self.known: set[Hashable] = set()  # checks that were made on the way to this place
        self.spread: dict[tuple[str, int], Register] = {}  # scalars that lie in every lane of a register already
        self._loaded: dict[int, Register] = {}

    # -- entry --------------------------------------------------------------------------------------------------------
    @contextmanager
    def hoisted(self) -> Iterator[None]:
        """Write into the entry block."""
        lines, label, uid = self.lines, self._label, self.uid
        self.lines, self.uid = self.entry, 0
        try:
            yield
        finally:
            self.lines, self._label, self.uid = lines, label, uid

    def job_slot(self, slot: int, type: str = "i64") -> Register:
        """A value of the job or of the arguments, loaded once."""
        if slot not in self._loaded:
            with self.hoisted():
                self._loaded[slot] = self.load(type, self.offset(Register("%job", "ptr"), slot * frame.SLOT_BYTES))
        return self._loaded[slot]

    def scratch(self, at: int) -> Register:
        """A pointer to byte `at` of the thread's scratch memory."""
        if -1 not in self._loaded:
            with self.hoisted():
                slot = self.offset(Register("%thread", "ptr"), frame.SCRATCH * frame.SLOT_BYTES)
                self._loaded[-1] = self.load("ptr", slot)
        return self.offset(self._loaded[-1], at)

    def allocate(self, size: int) -> int:
        """Reserve scratch bytes; gives their offset."""
        at = self.scratch_bytes
        self.scratch_bytes += -(-size // ALIGNMENT) * ALIGNMENT
        return at

    def binary(self, op: str, x: Register, y: Register) -> Register:
        """An instruction of two operands; with `fusion` a product may be fused with the sum it goes into."""
        fuses = self.fusion and op in ("fadd", "fsub", "fmul")
        return super().binary(f"{op} contract" if fuses else op, x, y)

    def intrinsic(
        self, name: str, *args: Register, type: str | None = None, overloads: Sequence[str] | None = None
    ) -> Register:
        """Call an LLVM intrinsic.

        Extremes of scalars do not learn what their operands are: with AVX-512, LLVM 22 gives NaN where it knows of one
        operand only that it is none.
        """
        if name in ("llvm.minimumnum", "llvm.maximumnum") and not args[0].lanes:
            args = tuple(super(Code, self).intrinsic("llvm.arithmetic.fence", x) for x in args)
        return super().intrinsic(name, *args, type=type, overloads=overloads)

    # -- memory -------------------------------------------------------------------------------------------------------
    def offset(self, pointer: Register, distance: int | Register, element: str = "i8") -> Register:
        """Pointer plus a number of elements."""
        text = distance.text if isinstance(distance, Register) else str(distance)
        return pointer if text == "0" else self.emit(f"getelementptr {element}, {pointer}, i64 {text}", "ptr")

    def load(self, type: str, pointer: Register, align: int = 8) -> Register:
        return self.emit(f"load {type}, {pointer}, align {align}", type)

    def store(self, value: Register, pointer: Register, align: int = 8) -> None:
        self.effect(f"store {value}, {pointer}, align {align}")

    def pointer(self, address: Register) -> Register:
        return self.emit(f"inttoptr {address} to ptr", "ptr")

    # -- variables ----------------------------------------------------------------------------------------------------
    def variable(self, value: Register) -> Register:
        """A new variable that holds `value`."""
        self._count += 1
        name = Register(f"%cell{self._count}", "ptr")
        self.variables.append(f"  {name.text} = alloca {value.type}")
        self.set(name, value)
        return name

    def set(self, variable: Register, value: Register) -> None:
        self.effect(f"store {value}, {variable}")

    def get(self, variable: Register, type: str) -> Register:
        return self.emit(f"load {type}, {variable}", type)

    # -- integers -----------------------------------------------------------------------------------------------------
    def i64(self, value: int) -> Register:
        return Register(str(value), "i64")

    def add(self, x: Register, y: Register) -> Register:
        if y.text == "0":
            return x
        return y if x.text == "0" else self.binary("add", x, y)

    def smaller(self, x: Register, y: Register) -> Register:
        return self.intrinsic("llvm.smin", x, y)

    def widen(self, x: Register, signed: bool) -> Register:
        """An integer (or a vector of them) as i64."""
        if x.element == "i64":
            return x
        if not x.text.startswith("%") and not x.lanes:
            return Register(x.text, "i64")
        return self.convert("sext" if signed and x.element != "i1" else "zext", x, "i64")

    def lanes_of(self, x: Register, lanes: int) -> Register:
        """Splat a scalar over lanes; a vector stays."""
        return x if x.lanes else self.spread.get((x.text, lanes)) or self.splat(x, lanes)

    def iota(self, element: str, lanes: int, start: int = 0) -> Register:
        """The constant ``start, start + 1, ...``."""
        numbers = ", ".join(f"{element} {start + lane}" for lane in range(lanes))
        return Register(f"<{numbers}>", vector(element, lanes))

    def shuffle(self, x: Register, lanes: Sequence[int], y: Register | None = None) -> Register:
        """Lanes of a vector by number; those of a second one come after those of the first."""
        numbers = ", ".join(f"i32 {lane}" for lane in lanes)
        second = y or Register("poison", x.type)
        return self.emit(
            f"shufflevector {x}, {second}, <{len(lanes)} x i32> <{numbers}>", vector(x.element, len(lanes))
        )

    # -- control ------------------------------------------------------------------------------------------------------
    @contextmanager
    def scope(self) -> Iterator[None]:
        """A region whose cached conversions, and the checks made there, do not count beyond it."""
        kept = dict(self.wide), set(self.known)
        try:
            yield
        finally:
            self.wide, self.known = kept

    @contextmanager
    def loop(self, start: Register, end: Register, step: int, whole: bool = False) -> Iterator[Register]:
        """Count up from `start` while less than `end`; with `whole`, while a whole step still fits."""
        index = self.variable(start)
        head, body, done = self.label("loop"), self.label("body"), self.label("done")
        last = end
        if whole:
            last = self.i64(int(end.text) - step + 1) if _literal(end) else self.add(end, self.i64(1 - step))
        self.branch(head)
        self.place(head)
        at = self.get(index, "i64")
        self.branch_if(self.compare("icmp slt", at, last), body, done)
        self.place(body)
        with self.scope():
            yield at
        self.set(index, self.binary("add", self.get(index, "i64"), self.i64(step)))
        self.branch(head)
        self.place(done)
        self.ended_at = index

    @contextmanager
    def when(self, condition: Register) -> Iterator[None]:
        """A region that runs only where the condition holds."""
        then, done = self.label("then"), self.label("done")
        self.branch_if(condition, then, done)
        self.place(then)
        with self.scope():
            yield
        self.branch(done)
        self.place(done)


def _literal(register: Register) -> bool:
    return not register.text.startswith("%")
