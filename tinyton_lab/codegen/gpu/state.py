"""What the lowering of one kernel carries along: the LLVM builder, the thread's own number, the registers of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinyton_lab.base.targets import Target
from tinyton_lab.ir.core import Block, Op, Value
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.layout.linear import Layout
from tinyton_lab.llvm.text import Builder, Register

GLOBAL_POINTER = "ptr addrspace(1)"
SHARED_POINTER = "ptr addrspace(3)"
FUSED = ("fadd", "fsub", "fmul")


class GpuBuilder(Builder):
    """LLVM text with inline PTX. `fused` lets multiplications and additions contract."""

    def __init__(self, fast: bool, fused: bool) -> None:
        super().__init__("gpu", fast)
        self.fused = fused

    def binary(self, op: str, x: Register, y: Register) -> Register:
        return super().binary(f"{op} contract" if self.fused and op in FUSED else op, x, y)

    def ptx(self, template: str, constraints: str, args: Sequence[Register], results: Sequence[str]) -> list[Register]:
        """Inline PTX with effects; gives one register per type in `results`."""
        type = results[0] if len(results) == 1 else f"{{ {', '.join(results)} }}" if results else "void"
        call = f'call {type} asm sideeffect "{template}", "{constraints}"({", ".join(map(str, args))})'
        if not results:
            self.effect(call)
            return []
        returned = self.emit(call, type)
        if len(results) == 1:
            return [returned]
        return [self.emit(f"extractvalue {returned}, {i}", part) for i, part in enumerate(results)]

    def pure_ptx(self, template: str, constraints: str, args: Sequence[Register], result: str) -> Register:
        """One PTX instruction without effects."""
        return self.emit(f'call {result} asm "{template}", "{constraints}"({", ".join(map(str, args))})', result)

    def recast(self, x: Register, type: str) -> Register:
        """The same bits as another type."""
        return x if x.type == type else self.emit(f"bitcast {x} to {type}", type)

    def pack(self, parts: Sequence[Register]) -> Register:
        """Scalars of one type to a vector."""
        whole = Register("poison", f"<{len(parts)} x {parts[0].type}>")
        for index, part in enumerate(parts):
            whole = self.emit(f"insertelement {whole}, {part}, i32 {index}", whole.type)
        return whole

    def unpack(self, whole: Register) -> list[Register]:
        """The elements of a vector."""
        return [self.emit(f"extractelement {whole}, i32 {index}", whole.element) for index in range(whole.lanes)]


class State:
    """The lowering of one kernel in progress. `values` maps a value to its registers, in the order of its layout."""

    def __init__(self, builder: GpuBuilder, target: Target, warps: int, lower: Callable[[State, Op], None]) -> None:
        self.builder, self.target, self.warps = builder, target, warps
        self.values: dict[Value, list[Register]] = {}
        self.offsets: dict[Value, int] = {}
        self._lower = lower
        self.thread = builder.intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", type="i32", overloads=())
        lane_bits = target.warp_lanes - 1
        self.lane = builder.emit(f"and i32 {self.thread.text}, {lane_bits}", "i32")
        self.warp = builder.emit(f"lshr i32 {self.thread.text}, {lane_bits.bit_length()}", "i32")

    def get(self, value: Value | None) -> list[Register]:
        """The registers of an operand that is present."""
        if value is None:
            raise RuntimeError("llvm: an operand is absent")
        return self.values[value]

    def scalar(self, value: Value | None) -> Register:
        return self.get(value)[0]

    def run(self, block: Block) -> list[Register]:
        """Lower a block; the registers of what its terminator passes, value after value."""
        for op in block.ops:
            if op.row.terminator:
                return [register for value in op.inputs for register in self.get(value)]
            self.lower(op)
        return []

    def lower(self, op: Op) -> None:
        self.builder.uid = op.uid
        self._lower(self, op)

    def thread_image(self, images: Sequence[int]) -> Register:
        """The exclusive-or of the `images` chosen by the bits of the thread's number (lane bits, then warp bits)."""
        shifts: dict[int, int] = {}
        for position, image in enumerate(images):
            for bit in range(image.bit_length()):
                if image >> bit & 1:
                    shifts[bit - position] = shifts.get(bit - position, 0) | 1 << position
        everything = (1 << len(images)) - 1
        disjoint = sum(images) == _union(images)
        whole: Register | None = None
        for shift, mask in sorted(shifts.items()):
            term = self.thread if mask == everything else self._integer("and", self.thread, mask)
            term = self._integer("shl" if shift > 0 else "lshr", term, abs(shift)) if shift else term
            whole = term if whole is None else self.builder.binary("or disjoint" if disjoint else "xor", whole, term)
        return Register("0", "i32") if whole is None else whole

    def places(self, layout: Layout, registers: Sequence[int]) -> list[Register]:
        """Output indices of `layout` held by some registers of this thread."""
        images = (*layout.bases["lane"], *layout.bases["warp"])
        base, moving = self.thread_image(images), _union(images)
        return [self.displaced(base, layout.apply(register=register), moving) for register in registers]

    def displaced(self, base: Register, constant: int, moving: int) -> Register:
        """``base ^ constant``, where the bits of `moving` may be set in `base`."""
        if constant == 0:
            return base
        if base.text == "0":
            return Register(str(constant), "i32")
        return self._integer("xor" if constant & moving else "or disjoint", base, constant)

    def _integer(self, op: str, x: Register, constant: int) -> Register:
        return self.builder.emit(f"{op} i32 {x.text}, {constant}", "i32")

    def represents(self, layout: Layout | None) -> Register | None:
        """True in one of the threads that hold a copy of the same elements; None where there are no copies."""
        lanes, warps = self.target.warp_lanes.bit_length() - 1, self.warps.bit_length() - 1
        free = (1 << lanes + warps) - 1
        if layout is not None:
            free = layout.free("lane") | layout.free("warp") << lanes
        if not free:
            return None
        copy = self.thread if free == (1 << lanes + warps) - 1 else self._integer("and", self.thread, free)
        return self.builder.compare("icmp eq", copy, Register("0", "i32"))


def _union(images: Sequence[int]) -> int:
    union = 0
    for image in images:
        union |= image
    return union


def llvm_type(tile: Tile) -> str:
    """The LLVM type of one element in a register."""
    return GLOBAL_POINTER if isinstance(tile.element, Pointer) else tile.element.llvm


def memory_type(tile: Tile) -> str:
    """The LLVM type of one element in memory: i1 takes a byte, an address 8."""
    if isinstance(tile.element, Pointer):
        return "i64"
    return "i8" if tile.element.bits == 1 else tile.element.llvm


def layout_of(tile: Tile) -> Layout:
    """The layout of a tile in layout IR."""
    if not isinstance(tile.layout, Layout):
        raise RuntimeError(f"llvm: {tile} has no layout")
    return tile.layout


def register_count(tile: Tile) -> int:
    """Registers of a value: one for a scalar."""
    return layout_of(tile).registers if tile.shape else 1
