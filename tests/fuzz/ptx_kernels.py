"""Writes random PTX kernels from a seed: divergence, loops, warps, barriers, atomics, every form of T7. Runs nothing.

Results do not depend on the order of threads: each has bytes of its own in global, shared and local memory, what others
wrote is read after a barrier, and atomics that meet commute.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from tests.fuzz.ptx_forms import forms, forms_of, instruction, pure_rows
from tests.fuzz.scalar_floats import known
from tinyton_lab.ptx.isa import Form
from tinyton_lab.ptx.types import PtxType

ENTRY = "k"
# Registers of each class that hold values: predicates, 16, 32 and 64 bits, and those that only f64 instructions use.
COUNTS = {"p": 6, "h": 6, "r": 12, "d": 6, "e": 5}
_WIDTHS = {"p": 1, "h": 16, "r": 32, "d": 64, "e": 64}
# Bytes that each thread owns in global, shared and local memory.
OWN = 64
# Places that all threads change, each by one operation that commutes.
COUNTERS = (
    ("add.u32", "r"), ("min.u32", "r"), ("max.s32", "r"), ("and.b32", "r"), ("or.b32", "r"), ("xor.b32", "r"),
    ("add.u64", "d"), ("min.s64", "d"), ("max.u64", "d"), ("xor.b64", "d"), ("min.s32", "r"), ("max.u32", "r"),
)  # fmt: skip
_OWN_ATOMICS = (
    "add.u32", "add.s32", "add.u64", "min.u32", "max.u32", "min.s32", "max.s32", "min.u64", "max.u64", "min.s64",
    "max.s64", "and.b32", "or.b32", "xor.b32", "and.b64", "or.b64", "xor.b64", "exch.b32", "exch.b64", "inc.u32",
    "dec.u32",     "cas.b32", "cas.b64", "cas.b16",
)  # fmt: skip
_REDUCED = ("add.u32", "add.s32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32")
_LOADED = ("u8", "s8", "u16", "s16", "b16", "b32", "u32", "s32", "b64", "u64")
_SPECIAL = {
    16: (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x8001, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00,
         0xFE01, 0x0400, 0x03FF, 0x83FF, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7F7F, 0x007F, 0x0080, 0x3555, 0x4248,
         0xB800),
    32: (0, 1, 2, 3, 31, 32, 33, 255, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x10000, 0x3F800000, 0xBF800000,
         0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x00800000, 0x007FFFFF, 0x807FFFFF, 0x7F7FFFFF,
         0x3F000000, 0x3F7FFFFF, 0x4F000000, 0xCF000000, 0x4B000001, 0x33800000, 0x477FE000, 0x43E00000, 0x3C00BC00),
    64: (0, 1, 2, 63, 64, 65, 0x7FFFFFFFFFFFFFFF, 1 << 63, (1 << 64) - 1, 0xFFFFFFFF, 1 << 32, 0x3FF0000000000000,
         0xBFF0000000000000, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x0010000000000000,
         0x000FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x3FE0000000000000, 0x43E0000000000000, 0xC1E0000000000000,
         0x3810000000000000, 0x36A0000000000000, 0x47EFFFFFF0000000, 0x40EFFFE000000000),
}  # fmt: skip


def bits(size: int, chance: random.Random) -> int:
    """One bit pattern: special, small, of middling magnitude as a float, or any."""
    if size == 1:
        return chance.randrange(2)
    kind = chance.random()
    if kind < 0.4:
        return chance.choice(_SPECIAL[size])
    if kind < 0.55:
        return chance.randrange(-40, 41) & (1 << size) - 1
    if kind < 0.8:
        x = chance.uniform(-4, 4) * 2.0 ** chance.randrange(-3, 12)
        return int(np.array(x, f"f{size // 8}").view(f"u{size // 8}"))
    return chance.getrandbits(size)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's text, its launch, and its arguments by name, in the order of its parameters."""

    text: str
    grid: int
    block: int
    arrays: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class Place:
    """What holds where a statement is written: `mask` names the lanes of the warp that are here ("" when nobody
    knows), `block` says whether all threads of the CTA are; `depth` counts what is around."""

    mask: str
    block: bool
    depth: int = 0


@cache
def choices(exact: bool) -> tuple[tuple[str, tuple[tuple[Form, ...], ...]], ...]:
    """The forms to draw from: by mnemonic, then by row, so that small rows come as often as large ones."""
    found: dict[str, list[tuple[Form, ...]]] = {}
    for row in pure_rows():
        fitting = tuple(form for form in forms_of(row) if not exact or known(form.opcode))
        if fitting:
            found.setdefault(row.mnemonic, []).append(fitting)
    return tuple((mnemonic, tuple(rows)) for mnemonic, rows in found.items())


class Writer:
    """Mutable: writes one kernel. `exact` leaves approximations out."""

    def __init__(self, seed: int, exact: bool = True) -> None:
        self.chance = random.Random(seed)
        self.exact = exact
        self.lines: list[str] = []
        self.count = 0
        self.masks = self.loops = 0
        self.block = self.chance.choice((32, 32, 64, 64, 96, 48, 33, 1))
        self.grid = self.chance.choice((1, 1, 2, 3))

    # Small parts.
    def emit(self, *lines: str) -> None:
        self.lines.extend(lines)

    def label(self) -> str:
        self.count += 1
        return f"L{self.count}"

    def register(self, kind: str) -> str:
        return f"%{kind}{self.chance.randrange(COUNTS[kind])}"

    def fresh(self, kind: str) -> str:
        """A register that nothing else writes: a mask or a counter."""
        if kind == "m":
            self.masks += 1
            return f"%m{self.masks}"
        self.loops += 1
        return f"%{kind}{self.loops}"

    def of_type(self, type_: PtxType) -> str:
        if type_.name == "f64":
            return self.register("e")
        return self.register({1: "p", 8: "h", 16: "h", 32: "r", 64: "d"}[type_.bits])

    def read(self, type_: PtxType) -> str:
        """A register, or a literal where the type is an integer."""
        if type_.kind in ("signed", "unsigned", "bits") and type_.bits >= 16 and self.chance.random() < 0.15:
            found = bits(type_.bits, self.chance)
            # A literal of a signed type stays below its sign.
            return str(found & (1 << type_.bits - 1) - 1)
        if type_.bits == 1 and self.chance.random() < 0.2:
            return "!" + self.register("p")
        return self.of_type(type_)

    def byte(self, type_: PtxType) -> str:
        """A register, or a literal of one byte."""
        found = self.read(type_)
        return str(int(found) & 255) if found.isdigit() else found

    def form(self) -> Form:
        _, rows = self.chance.choice(choices(self.exact))
        return self.chance.choice(self.chance.choice(rows))

    def computation(self, form: Form) -> list[str]:
        """One form as lines; one that uses a carry comes after one that sets it."""
        registers_only = form.row.mnemonic in ("and", "or", "xor", "not", "vabsdiff4")
        read = self.of_type if registers_only else self.read
        if form.row.mnemonic in ("bfe", "bfi"):
            # An assembler takes literal places and lengths of one byte.
            read = self.byte
        if form.row.mnemonic == "copysign":
            # The sign of an f64 NaN is nobody's promise.
            read = lambda type_: self.register("d" if type_.bits == 64 else "r")  # noqa: E731
        if form.row.mnemonic in ("selp", "slct") and form.type.bits == 64:
            pick: Callable[[PtxType], str] = lambda t: self.register("d") if t.bits == 64 else self.of_type(t)  # noqa: E731
            return [instruction(form, pick, pick, self.chance.random() < 0.5)]
        text = instruction(form, self.of_type, read, self.chance.random() < 0.5)
        text = text.replace("{table}", hex(self.chance.randrange(256)))
        if form.row.mnemonic in ("addc", "subc", "madc"):
            kind = "d" if form.type.bits == 64 else "r"
            wide = form.type.bits
            first = f"add.cc.u{wide} {self.register(kind)}, {self.register(kind)}, {self.register(kind)};"
            return [first, text]
        return [text]

    def predicate(self, uniform: bool) -> str:
        """A predicate, computed here: the same for all threads, or not."""
        p = self.register("p")
        if uniform:
            what = self.chance.choice(("%ctaid.x", "%nctaid.x", "%ntid.x"))
            number = self.chance.choice((0, 1, 2, 32))
            self.emit(f"mov.u32 %r0, {what};", f"setp.{self.chance.choice(('eq', 'lt', 'ge'))}.u32 {p}, %r0, {number};")
        elif self.chance.random() < 0.5:
            self.emit(
                f"and.b32 %r1, {self.register('r')}, {self.chance.choice((1, 2, 3, 16))};", f"setp.eq.u32 {p}, %r1, 0;"
            )
        else:
            self.emit(
                f"setp.{self.chance.choice(('lt', 'gt', 'ne'))}.s32 {p}, {self.register('r')}, {self.register('r')};"
            )
        return p

    # Statements.
    def statements(self, count: int, place: Place) -> None:
        for _ in range(count):
            self.statement(place)

    def statement(self, place: Place) -> None:
        kinds: list[tuple[int, Callable[[Place], None]]] = [
            (40, self.compute),
            (6, self.own_memory),
            (3, self.own_atomic),
        ]
        kinds += [(3, self.counter), (3, self.moved), (2, self.specials)]
        if place.depth < 3:
            kinds += [(6, self.branch), (4, self.loop), (2, self.switch)]
        if place.mask:
            kinds += [(8, self.warp)]
        if place.block:
            kinds += [(5, self.exchange), (2, self.vote_of_all)]
        (chosen,) = self.chance.choices([k for _, k in kinds], [w for w, _ in kinds])
        chosen(place)

    def compute(self, place: Place) -> None:
        lines = self.computation(self.form())
        if self.chance.random() < 0.15 and len(lines) == 1:
            lines = [f"@{self.chance.choice(('', '!'))}{self.register('p')} {lines[0]}"]
        self.emit(*lines)

    def address(self, space: str, size: int) -> str:
        """An address inside the thread's own bytes, aligned to `size`; sometimes computed."""
        offset = self.chance.randrange(OWN // size) * size
        base = {"global": "%a2", "shared": "%c0", "local": "%c1"}[space]
        if self.chance.random() < 0.7:
            return f"[{base}+{offset}]"
        self.emit(f"and.b32 %c2, {self.register('r')}, {(OWN - 1) & -size};")
        if space == "global":
            self.emit("cvt.u64.u32 %a4, %c2;", f"add.u64 %a4, %a4, {base};")
            return "[%a4]"
        self.emit(f"add.u32 %c2, %c2, {base};")
        return "[%c2]"

    def own_memory(self, place: Place) -> None:
        type_, space = self.chance.choice(_LOADED), self.chance.choice(("global", "shared", "local"))
        size = int(type_[1:]) // 8
        vector = self.chance.choice([n for n in (1, 1, 2, 4) if n * size <= 16])
        kind = {1: "h", 2: "h", 4: "r", 8: "d"}[size]
        if size < 4 and vector == 1 and type_[0] != "b" and self.chance.random() < 0.5:
            kind = "r"
        if size == 8 and type_ == "b64" and self.chance.random() < 0.3:
            kind = "e"
        address = self.address(space, size * vector)
        names = self.chance.sample([f"%{kind}{n}" for n in range(COUNTS[kind])], vector)
        listed = "{" + ", ".join(names) + "}" if vector > 1 else names[0]
        modifier = f".v{vector}" if vector > 1 else ""
        # An f64 NaN must not be seen as bits: what was stored from there is loaded to there.
        if kind == "e":
            self.emit(f"st.{space}.b64 {address}, {names[0]};", f"ld.{space}.b64 {self.register('e')}, {address};")
            self.emit(f"st.{space}.b64 {address}, {self.register('d')};")
        elif self.chance.random() < 0.5:
            self.emit(f"st.{space}{modifier}.{type_} {address}, {listed};")
        else:
            self.emit(f"ld.{space}{modifier}.{type_} {listed}, {address};")

    def own_atomic(self, place: Place) -> None:
        op, space = self.chance.choice(_OWN_ATOMICS), self.chance.choice(("global", "shared"))
        if self.chance.random() < 0.15:
            op, space = "add.f32", "shared"
        size = int(op[-2:]) // 8
        kind = {2: "h", 4: "r", 8: "d"}[size]
        operands = [self.register(kind) for _ in range(2 if op.startswith("cas") else 1)]
        self.emit(f"atom.{space}.{op} {self.register(kind)}, {self.address(space, size)}, {', '.join(operands)};")

    def counter(self, place: Place) -> None:
        number = self.chance.randrange(len(COUNTERS))
        op, kind = COUNTERS[number]
        if self.chance.random() < 0.5:
            self.emit(f"red.global.{op} [%a3+{8 * number}], {self.register(kind)};")
        elif self.block > 1:
            self.emit(f"red.shared.{op} [%c3+{8 * number}], {self.register(kind)};")

    def moved(self, place: Place) -> None:
        kind = self.chance.randrange(4)
        if kind == 0:
            self.emit(f"mov.b64 {{{self.register('r')}, {self.register('r')}}}, {self.register('d')};")
        elif kind == 1:
            self.emit(f"mov.b64 {self.register('d')}, {{{self.register('r')}, {self.register('r')}}};")
        elif kind == 2:
            self.emit(f"mov.b32 {{{self.register('h')}, {self.register('h')}}}, {self.register('r')};")
        else:
            self.emit(f"mov.b32 {self.register('r')}, {{{self.register('h')}, {self.register('h')}}};")

    def specials(self, place: Place) -> None:
        name = self.chance.choice(("%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%laneid"))
        self.emit(f"mov.u32 {self.register('r')}, {name};")

    # Control.
    def inside(self, place: Place, mask: str, block: bool) -> Place:
        return replace(place, mask=mask, block=block, depth=place.depth + 1)

    def branch(self, place: Place) -> None:
        uniform = self.chance.random() < 0.25
        p, otherwise, end = self.predicate(uniform), self.label(), self.label()
        both = self.chance.random() < 0.6
        mask, rest = (place.mask, place.mask) if uniform else ("", "")
        if place.mask and not uniform:
            mask, rest = self.fresh("m"), self.fresh("m")
            self.emit(f"vote.sync.ballot.b32 {mask}, {p}, {place.mask};", f"xor.b32 {rest}, {mask}, {place.mask};")
        block = place.block and uniform
        self.emit(f"@!{p} bra {otherwise};")
        self.statements(self.chance.randrange(1, 5), self.inside(place, mask, block))
        if both:
            self.emit(f"bra {end};")
        self.emit(f"{otherwise}:")
        if both:
            self.statements(self.chance.randrange(1, 4), self.inside(place, rest, block))
            self.emit(f"{end}:")

    def loop(self, place: Place) -> None:
        uniform = self.chance.random() < 0.3
        counter, q = self.fresh("n"), self.fresh("q")
        head, end = self.label(), self.label()
        if uniform:
            self.emit(f"mov.u32 {counter}, {self.chance.randrange(1, 4)};")
        else:
            self.emit(f"and.b32 {counter}, {self.register('r')}, {self.chance.choice((1, 3, 3, 7))};")
        leaves = not uniform and self.chance.random() < 0.3
        mask = place.mask if uniform else "" if leaves or not place.mask else self.fresh("m")
        if mask and not uniform:
            self.emit(f"mov.u32 {mask}, {place.mask};")
        self.emit(f"{head}:", f"setp.ne.u32 {q}, {counter}, 0;")
        if mask and not uniform:
            self.emit(f"vote.sync.ballot.b32 {mask}, {q}, {mask};")
        self.emit(f"@!{q} bra {end};", f"sub.u32 {counter}, {counter}, 1;")
        inner = self.inside(place, mask, place.block and uniform)
        self.statements(self.chance.randrange(1, 4), inner)
        if leaves:
            self.emit(f"@{self.predicate(False)} bra {self.chance.choice((end, head))};")
            self.statements(self.chance.randrange(1, 3), inner)
        self.emit(f"bra {head};", f"{end}:")

    def switch(self, place: Place) -> None:
        ways = [self.label() for _ in range(4)]
        table, end = self.label(), self.label()
        self.emit(f"and.b32 %c2, {self.register('r')}, 3;", f"{table}: .branchtargets {', '.join(ways)};")
        self.emit(f"brx.idx %c2, {table};")
        for way in ways:
            self.emit(f"{way}:")
            self.statements(self.chance.randrange(1, 3), self.inside(place, "", False))
            if self.chance.random() < 0.8:
                self.emit(f"bra {end};")
        self.emit(f"{end}:")

    # Warps.
    def warp(self, place: Place) -> None:
        kind, mask = self.chance.randrange(6), place.mask
        r, p = self.register("r"), self.register("p")
        if kind == 0:
            self.shuffle(place)
        elif kind == 1:
            mode = self.chance.choice(("ballot.b32", "any.pred", "all.pred", "uni.pred"))
            source = self.chance.choice(("", "!")) + self.register("p")
            self.emit(f"vote.sync.{mode} {r if mode.endswith('32') else p}, {source}, {mask};")
        elif kind == 2:
            size, mode = self.chance.choice((("b32", "r"), ("b64", "d"))), self.chance.choice(("any", "all"))
            target = f"{r}|{p}" if mode == "all" else r
            self.emit(f"match.{mode}.sync.{size[0]} {target}, {self.register(size[1])}, {mask};")
        elif kind == 3:
            op = self.chance.choice(_REDUCED)
            self.emit(f"redux.sync.{op} {r}, {self.register('r')}, {mask};")
        elif kind == 4:
            self.emit(f"elect.sync {r}|{p}, {mask};")
        else:
            self.shuffle(place)

    def shuffle(self, place: Place) -> None:
        """Any shuffle where all lanes of the warp are; else from a lane that is there."""
        target = self.register("r") + self.chance.choice(("", f"|{self.register('p')}"))
        if place.mask == "%m0" and self.block % 32 == 0:
            mode = self.chance.choice(("up", "down", "bfly", "idx"))
            segment = self.chance.choice((0, 0, 16, 24, 28, 30))
            control = segment << 8 | (0 if mode == "up" else 31)
            distance = self.chance.choice((str(self.chance.randrange(32)), self.register("r")))
            self.emit(f"shfl.sync.{mode}.b32 {target}, {self.register('r')}, {distance}, {control}, {place.mask};")
            return
        lane = "%c2"
        if self.chance.random() < 0.5:
            self.emit(f"bfind.u32 {lane}, {place.mask};")
        else:
            self.emit(f"brev.b32 {lane}, {place.mask};", f"clz.b32 {lane}, {lane};")
        self.emit(f"shfl.sync.idx.b32 {target}, {self.register('r')}, {lane}, 31, {place.mask};")

    # The whole CTA.
    def exchange(self, place: Place) -> None:
        """Each thread writes a word and reads another's."""
        k = self.chance.randrange(1, max(self.block, 2))
        self.emit(f"st.shared.b32 [%c4], {self.register('r')};", "bar.sync 0;")
        self.emit("mov.u32 %c2, %tid.x;", f"add.u32 %c2, %c2, {k};", f"rem.u32 %c2, %c2, {self.block};")
        self.emit("shl.b32 %c2, %c2, 2;", "add.u32 %c2, %c2, %c8;")
        self.emit(f"ld.shared.b32 {self.register('r')}, [%c2];", "bar.sync 0;")

    def vote_of_all(self, place: Place) -> None:
        op = self.chance.choice(("popc.u32", "and.pred", "or.pred"))
        target = self.register("r" if op.endswith("32") else "p")
        self.emit(f"bar.red.{op} {target}, 0, {self.register('p')};")

    def words_at(self) -> int:
        return self.block * OWN

    # The whole kernel.
    def head(self) -> list[str]:
        """What every kernel begins with: addresses, the mask of the warp's lanes, first values of all registers."""
        lines = [f"ld.param.u64 %a{n}, [p{n}];" for n in range(4)]
        lines += ["mov.u32 %c5, %ctaid.x;", "mov.u32 %c6, %ntid.x;", "mov.u32 %c7, %tid.x;"]
        lines += ["mad.lo.u32 %c5, %c5, %c6, %c7;"]
        lines += [f"mad.wide.u32 %a0, %c5, {STRIDE}, %a0;", f"mad.wide.u32 %a1, %c5, {STRIDE}, %a1;"]
        lines += [f"mad.wide.u32 %a2, %c5, {OWN}, %a2;", "mov.u32 %c3, shared_bytes;"]
        lines += [f"mad.lo.u32 %c0, %c7, {OWN}, %c3;", "mov.u32 %c1, local_bytes;"]
        lines += [f"add.u32 %c8, %c3, {self.words_at()};", "mad.lo.u32 %c4, %c7, 4, %c8;"]
        lines += [f"add.u32 %c3, %c3, {self.words_at() + 4 * self.block + (-4 * self.block & 7)};"]
        # The lanes of this warp: 32, or what is left.
        lines += ["and.b32 %m0, %c7, 31;", "sub.u32 %m0, %c7, %m0;", "sub.u32 %m0, %c6, %m0;", "min.u32 %m0, %m0, 32;"]
        lines += ["mov.u32 %c2, 1;", "shl.b32 %m0, %c2, %m0;", "sub.u32 %m0, %m0, 1;"]
        for offset in range(0, OWN, 8):
            lines += [f"ld.global.b64 %d0, [%a0+{offset}];", f"st.shared.b64 [%c0+{offset}], %d0;"]
            lines += [f"st.local.b64 [%c1+{offset}], %d0;"]
        lines += ["setp.eq.u32 %p0, %c7, 0;", "mov.u64 %d0, 0;"]
        lines += [f"@%p0 st.shared.b64 [%c3+{8 * n}], %d0;" for n in range(len(COUNTERS))]
        offset = OWN
        for kind in "derh":
            size = _WIDTHS[kind] // 8
            for n in range(COUNTS[kind]):
                lines += [f"ld.global.b{8 * size} %{kind}{n}, [%a0+{offset}];"]
                offset += size
        for n in range(COUNTS["p"]):
            lines += [f"and.b32 %c2, %r{n}, {1 << n};", f"setp.ne.u32 %p{n}, %c2, 0;"]
        return [*lines, "bar.sync 0;"]

    def tail(self) -> list[str]:
        """Each thread writes out all that it has."""
        lines, offset = [], 0
        for n in range(COUNTS["e"]):
            lines += [f"testp.notanumber.f64 %q0, %e{n};", f"@%q0 mov.b64 %e{n}, 9221120237041090560;"]
        for kind in "derh":
            size = _WIDTHS[kind] // 8
            for n in range(COUNTS[kind]):
                lines += [f"st.global.b{8 * size} [%a1+{offset}], %{kind}{n};"]
                offset += size
        lines += ["mov.u32 %c2, 0;"]
        for n in range(COUNTS["p"]):
            lines += [f"@%p{n} or.b32 %c2, %c2, {1 << n};"]
        lines += [f"st.global.b32 [%a1+{offset + (-offset & 3)}], %c2;"]
        for at in range(0, OWN, 8):
            lines += [f"ld.shared.b64 %d0, [%c0+{at}];", f"st.global.b64 [%a1+{OUT + at}], %d0;"]
            lines += [f"ld.local.b64 %d0, [%c1+{at}];", f"st.global.b64 [%a1+{OUT + OWN + at}], %d0;"]
        return [*lines, "ret;"]

    def counters_out(self) -> list[str]:
        """After a barrier, the first threads write the shared counters."""
        lines = ["bar.sync 0;", "setp.ne.u32 %q0, %c7, 0;", "@%q0 bra COUNTED;"]
        for n in range(len(COUNTERS)):
            lines += [f"ld.shared.b64 %a4, [%c3+{8 * n}];", f"st.global.b64 [%a1+{OUT + 2 * OWN + 8 * n}], %a4;"]
        return [*lines, "COUNTED:"]

    def kernel(self) -> str:
        start = len(self.lines)
        self.emit(*self.head())
        self.statements(self.chance.randrange(6, 22), Place("%m0", True))
        self.emit(*self.counters_out())
        late = Place("", False)
        if self.chance.random() < 0.4:
            self.emit(f"@{self.predicate(False)} {self.chance.choice(('ret', 'exit'))};")
            self.private(self.chance.randrange(1, 6), late)
        self.emit(*self.tail())
        return self.text(self.lines[start:])

    def private(self, count: int, place: Place) -> None:
        """Statements that touch nothing shared by threads: the counters have been read."""
        for _ in range(count):
            self.chance.choice((self.compute, self.compute, self.own_memory, self.own_atomic, self.moved))(place)

    def text(self, body: list[str]) -> str:
        declared = [f"    .reg .pred %p<{COUNTS['p']}>; .reg .b16 %h<{COUNTS['h']}>; .reg .b32 %r<{COUNTS['r']}>;"]
        declared += [f"    .reg .b64 %d<{COUNTS['d']}>; .reg .b64 %e<{COUNTS['e']}>; .reg .b64 %a<5>; .reg .b32 %c<9>;"]
        declared += [
            f"    .reg .b32 %m<{self.masks + 1}>; .reg .b32 %n<{self.loops + 1}>; .reg .pred %q<{self.loops + 1}>;"
        ]
        size = self.words_at() + 4 * self.block + 8 + 8 * len(COUNTERS)
        declared += [
            f"    .shared .align 16 .b8 shared_bytes[{size}];",
            f"    .local .align 16 .b8 local_bytes[{OWN}];",
        ]
        parameters = ", ".join(f".param .u64 p{n}" for n in range(4))
        lines = [line if line.endswith(":") else "    " + line for line in body]
        head = f".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry {ENTRY}({parameters})\n{{\n"
        return head + "\n".join([*declared, *lines]) + "\n}\n"


# Bytes that each thread reads and writes: its registers, then its shared and local bytes, then the counters.
REGISTER_BYTES = sum(_WIDTHS[kind] // 8 * COUNTS[kind] for kind in "derh")
OUT = (REGISTER_BYTES + 4 + 15) & ~15
STRIDE = OUT + 2 * OWN + 8 * len(COUNTERS) + (-8 * len(COUNTERS) & 15)


def arguments(writer: Writer, chance: random.Random) -> dict[str, bytes]:
    """Values for every thread's registers and memory, zeros for results and counters."""
    threads = writer.block * writer.grid
    rows = bytearray()
    for _ in range(threads):
        row = bytearray(b"".join(bits(64, chance).to_bytes(8, "little") for _ in range(OWN // 8)))
        for kind in "derh":
            size = _WIDTHS[kind]
            row += b"".join(bits(size, chance).to_bytes(size // 8, "little") for _ in range(COUNTS[kind]))
        rows += row + bytes(STRIDE - len(row))
    own = b"".join(bits(64, chance).to_bytes(8, "little") for _ in range(threads * OWN // 8))
    return {"x": bytes(rows), "out": bytes(threads * STRIDE), "own": own, "counters": bytes(8 * len(COUNTERS))}


def kernel(seed: int, exact: bool = True) -> Kernel:
    """The kernel of a seed."""
    writer = Writer(seed, exact)
    text = writer.kernel()
    return Kernel(text, writer.grid, writer.block, arguments(writer, random.Random(~seed)))


SWEPT = 32


def sweeps() -> int:
    """How many kernels it takes to run every form that has an exact meaning."""
    return -(-len(_exact_forms()) // SWEPT)


@cache
def _exact_forms() -> tuple[Form, ...]:
    return tuple(form for form in forms() if known(form.opcode))


def sweep(number: int) -> Kernel:
    """A straight kernel that runs some forms, each on values of its own."""
    writer = Writer(number)
    writer.block, writer.grid = 32, 1
    writer.emit(*writer.head())
    for form in _exact_forms()[SWEPT * number : SWEPT * (number + 1)]:
        writer.emit(*writer.computation(form))
    writer.emit(*writer.tail())
    return Kernel(writer.text(writer.lines), 1, 32, arguments(writer, random.Random(~number)))
