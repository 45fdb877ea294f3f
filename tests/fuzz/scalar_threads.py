"""Runs a generated PTX kernel one thread at a time, each up to where it must wait for others: deliberately simple.

It reads text as `tests.fuzz.ptx_kernels` writes it, one instruction a line, and shares nothing with the simulator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from tests.fuzz.scalar_floats import meaning

_LINE = re.compile(r"(?:@(!?)(%\w+) )?([a-z][\w.:]*)(?: (.*))?;")
_WIDTHS = {"p": 1, "q": 1, "h": 16, "r": 32, "m": 32, "c": 32, "n": 32, "d": 64, "e": 64, "a": 64}
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8}
_FIRST = 1 << 40
# How many instructions a thread may execute.
LIMIT = 20_000
Act = Callable[["Thread"], Any]


class Stuck(RuntimeError):
    """The threads wait for each other: the kernel is no valid test."""


@dataclass(frozen=True, slots=True)
class Meet:
    """Wait for the lanes `mask` of the warp (None: for the whole CTA), then `settle` the threads that came."""

    mask: int | None
    settle: Callable[[list[Thread]], None]


class Thread:
    """Mutable: one thread's registers and where it is."""

    __slots__ = ("carry", "lane", "local", "place", "registers", "waits")

    def __init__(self, lane: int, registers: dict[str, int]) -> None:
        self.lane, self.registers, self.place = lane, registers, 0
        self.local = bytearray(256)
        self.waits: Meet | None = None
        self.carry = 0


@dataclass(slots=True)
class Memory:
    """Mutable: the bytes of each argument, and the shared bytes of the CTA that runs."""

    arrays: list[bytearray]
    shared: bytearray = field(default_factory=bytearray)

    def find(self, space: str, address: int, size: int, thread: Thread) -> tuple[bytearray, int]:
        if space == "global":
            number, offset = divmod(address, _FIRST)
            data = self.arrays[number - 1]
        else:
            data, offset = (self.shared if space == "shared" else thread.local), address
        if offset % size or not 0 <= offset <= len(data) - size:
            raise IndexError(f"{space} {offset} of {len(data)}")
        return data, offset


def width_of(register: str) -> int:
    return _WIDTHS[register[1]]


@dataclass(slots=True)
class Machine:
    """Mutable: a kernel's text as functions, and its memory."""

    text: str
    memory: Memory
    acts: list[tuple[str, bool, Act]] = field(default_factory=list[tuple[str, bool, Act]])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    tables: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def __post_init__(self) -> None:
        body = self.text[self.text.index("{") + 1 : self.text.rindex("}")]
        for line in map(str.strip, body.split("\n")):
            if not line or line.startswith("."):
                continue
            if ".branchtargets" in line:
                name, _, rest = line.partition(":")
                self.tables[name] = rest.split(".branchtargets")[1].strip(" ;").split(", ")
            elif line.endswith(":"):
                self.labels[line[:-1]] = len(self.acts)
            else:
                found = _LINE.fullmatch(line)
                if found is None:
                    raise ValueError(line)
                self.acts.append((found[2] or "", bool(found[1]), self.act(found[3], _operands(found[4] or ""))))

    # Instructions.
    def act(self, opcode: str, operands: list[str]) -> Act:
        mnemonic, *words = opcode.split(".")
        special = getattr(self, f"_{mnemonic}", None)
        if special is not None:
            return special(words, operands)
        return _pure(opcode, operands)

    def _bra(self, words: list[str], operands: list[str]) -> Act:
        return lambda thread: ("go", operands[0])

    def _brx(self, words: list[str], operands: list[str]) -> Act:
        read = _reader(operands[0])
        return lambda thread: ("go", self.tables[operands[1]][read(thread)])

    def _ret(self, words: list[str], operands: list[str]) -> Act:
        return lambda thread: ("end", "")

    _exit = _ret

    def _mov(self, words: list[str], operands: list[str]) -> Act:
        target, source = operands
        if target.startswith("{"):
            names, read = _operands(target.strip("{} ")), _reader(source)

            def unpack(thread: Thread) -> None:
                bits = read(thread)
                for name in names:
                    thread.registers[name] = bits & (1 << width_of(name)) - 1
                    bits >>= width_of(name)

            return unpack
        if source.startswith("{"):
            names = _operands(source.strip("{} "))

            def pack(thread: Thread) -> None:
                bits = 0
                for name in reversed(names):
                    bits = bits << width_of(name) | thread.registers[name]
                thread.registers[target] = bits

            return pack
        return _pure(".".join(["mov", *words]), operands)

    def _ld(self, words: list[str], operands: list[str]) -> Act:
        if "param" in words:
            number = int(operands[1].strip("[]p"))
            return lambda thread: thread.registers.__setitem__(operands[0], (number + 1) * _FIRST)
        type_, space = words[-1], words[0]
        size, targets, address = _SIZES[type_[1:]], _vector(operands[0]), _address(operands[1])

        def run(thread: Thread) -> None:
            first = address(thread)
            found: list[int] = []
            for number in range(len(targets)):
                data, offset = self.memory.find(space, first + number * size, size, thread)
                found.append(int.from_bytes(data[offset : offset + size], "little", signed=type_[0] == "s"))
            for name, bits in zip(targets, found):
                thread.registers[name] = bits & (1 << width_of(name)) - 1

        return run

    def _st(self, words: list[str], operands: list[str]) -> Act:
        space, size = words[0], _SIZES[words[-1][1:]]
        address, sources = _address(operands[0]), [_reader(name) for name in _vector(operands[1])]

        def run(thread: Thread) -> None:
            first = address(thread)
            for number, read in enumerate(sources):
                data, offset = self.memory.find(space, first + number * size, size, thread)
                data[offset : offset + size] = (read(thread) & (1 << 8 * size) - 1).to_bytes(size, "little")

        return run

    def _atom(self, words: list[str], operands: list[str]) -> Act:
        space, op, type_ = words[0], words[-2], words[-1]
        size, change = _SIZES[type_.lstrip("busf")], _changed(op, type_)
        address, reads = _address(operands[1]), [_reader(name) for name in operands[2:]]

        def run(thread: Thread) -> None:
            data, offset = self.memory.find(space, address(thread), size, thread)
            old = int.from_bytes(data[offset : offset + size], "little")
            new = change(old, *(read(thread) for read in reads))
            data[offset : offset + size] = (new & (1 << 8 * size) - 1).to_bytes(size, "little")
            if operands[0] != "_":
                thread.registers[operands[0]] = old & (1 << width_of(operands[0])) - 1

        return run

    def _red(self, words: list[str], operands: list[str]) -> Act:
        return self._atom(words, ["_", *operands])

    # What threads do together.
    def _bar(self, words: list[str], operands: list[str]) -> Act:
        if words[0] == "sync":
            return lambda thread: Meet(None, lambda threads: None)
        op, target, flag = words[1], operands[0], _reader(operands[2])

        def settle(threads: list[Thread]) -> None:
            flags = [bool(flag(thread)) for thread in threads]
            total = sum(flags) if op == "popc" else int(all(flags) if op == "and" else any(flags))
            for thread in threads:
                thread.registers[target] = total

        return lambda thread: Meet(None, settle)

    def _together(self, mask: str, settle: Callable[[list[Thread]], None]) -> Act:
        read = _reader(mask)
        return lambda thread: Meet(read(thread), settle)

    def _shfl(self, words: list[str], operands: list[str]) -> Act:
        mode, targets = words[1], operands[0].split("|")
        read, distance, control = (_reader(name) for name in operands[1:4])

        def settle(threads: list[Thread]) -> None:
            values = {thread.lane: read(thread) for thread in threads}
            found = [_shuffled(mode, thread.lane, distance(thread), control(thread)) for thread in threads]
            for thread, (source, valid) in zip(threads, found):
                thread.registers[targets[0]] = values[source]
                if len(targets) > 1:
                    thread.registers[targets[1]] = int(valid)

        return self._together(operands[4], settle)

    def _vote(self, words: list[str], operands: list[str]) -> Act:
        mode, read = words[1], _reader(operands[1])

        def settle(threads: list[Thread]) -> None:
            flags = {thread.lane: bool(read(thread)) for thread in threads}
            result = {
                "ballot": sum(1 << lane for lane, flag in flags.items() if flag),
                "any": any(flags.values()),
                "all": all(flags.values()),
                "uni": len(set(flags.values())) == 1,
            }[mode]
            for thread in threads:
                thread.registers[operands[0]] = int(result)

        return self._together(operands[2], settle)

    def _match(self, words: list[str], operands: list[str]) -> Act:
        mode, targets, read = words[0], operands[0].split("|"), _reader(operands[1])

        def settle(threads: list[Thread]) -> None:
            values = {thread.lane: read(thread) for thread in threads}
            every = sum(1 << lane for lane in values)
            for thread in threads:
                same = sum(1 << lane for lane, bits in values.items() if bits == values[thread.lane])
                agreed = same == every
                thread.registers[targets[0]] = same if mode == "any" or agreed else 0
                if len(targets) > 1:
                    thread.registers[targets[1]] = int(agreed)

        return self._together(operands[2], settle)

    def _redux(self, words: list[str], operands: list[str]) -> Act:
        op, type_, read = words[1], words[-1], _reader(operands[1])
        function = meaning(f"{op}.{type_}")

        def settle(threads: list[Thread]) -> None:
            values = [read(thread) for thread in threads]
            total = values[0]
            for bits in values[1:]:
                total = function(total, bits) & 0xFFFFFFFF
            for thread in threads:
                thread.registers[operands[0]] = total

        return self._together(operands[2], settle)

    def _elect(self, words: list[str], operands: list[str]) -> Act:
        targets = operands[0].split("|")

        def settle(threads: list[Thread]) -> None:
            leader = min(thread.lane for thread in threads)
            for thread in threads:
                thread.registers[targets[0]], thread.registers[targets[1]] = leader, int(thread.lane == leader)

        return self._together(operands[1], settle)

    # Running.
    def run(self, grid: int, block: int) -> None:
        """Run all CTAs, one after another."""
        for cta in range(grid):
            self.memory.shared = bytearray(8192)
            threads = [
                Thread(n & 31, {"%tid.x": n, "%ntid.x": block, "%ctaid.x": cta, "%nctaid.x": grid, "%laneid": n & 31})
                for n in range(block)
            ]
            self.run_cta(threads)

    def run_cta(self, threads: list[Thread]) -> None:
        live = list(threads)
        while live:
            for thread in live:
                if thread.waits is None:
                    self.advance(thread)
            live = [thread for thread in live if thread.place >= 0]
            if not any([*self.warps_met(threads)]) and not self.all_met(live):
                raise Stuck(", ".join(str(thread.place) for thread in live[:8]))

    def advance(self, thread: Thread) -> None:
        """Run one thread until it waits or ends."""
        acts, registers = self.acts, thread.registers
        for _ in range(LIMIT):
            if thread.place >= len(acts):
                thread.place = -1
                return
            flag, negated, act = acts[thread.place]
            thread.place += 1
            if flag and bool(registers[flag]) == negated:
                continue
            result = act(thread)
            if result is None:
                continue
            if isinstance(result, Meet):
                thread.waits = result
                return
            kind, where = result
            if kind == "end":
                thread.place = -1
                return
            thread.place = self.labels[where]
        raise Stuck("a thread does not end")

    def warps_met(self, threads: list[Thread]) -> Iterator[bool]:
        """Let the lanes go that all wait at one instruction with one mask that names just them."""
        for first in range(0, len(threads), 32):
            places: dict[tuple[int, int], list[Thread]] = {}
            for thread in threads[first : first + 32]:
                if thread.waits is not None and thread.waits.mask is not None:
                    places.setdefault((thread.place, thread.waits.mask), []).append(thread)
            for (_, mask), group in places.items():
                if sum(1 << thread.lane for thread in group) == mask:
                    _settle(group)
                    yield True

    def all_met(self, live: list[Thread]) -> bool:
        """Let the CTA go when all its threads wait at one barrier."""
        if not live:
            return True
        if any(thread.waits is None or thread.waits.mask is not None for thread in live):
            return False
        if len({thread.place for thread in live}) > 1:
            return False
        _settle(live)
        return True


def _settle(group: list[Thread]) -> None:
    meet = group[0].waits
    if meet is not None:
        meet.settle(group)
    for thread in group:
        thread.waits = None


def _shuffled(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The source lane of a shuffle and whether it is in range (PTX ISA 9.7.9.6)."""
    bval, clamp, segment = b & 31, c & 31, c >> 8 & 31
    most = lane & segment | clamp & ~segment & 31
    least = lane & segment
    source = {"up": lane - bval, "down": lane + bval, "bfly": lane ^ bval, "idx": least | bval & ~segment & 31}[mode]
    valid = source >= most if mode == "up" else source <= most
    return (source if valid else lane), valid


def _changed(op: str, type_: str) -> Callable[..., int]:
    """old, operands -> new."""
    if op == "exch":
        return lambda old, b: b
    if op == "cas":
        return lambda old, b, c: c if old == b else old
    if op == "inc":
        return lambda old, b: 0 if old >= b else old + 1
    if op == "dec":
        return lambda old, b: b if old == 0 or old > b else old - 1
    rounded = ".rn" if type_[0] == "f" else ""
    return meaning(f"{op}{rounded}.{type_}")


@cache
def _operands(text: str) -> list[str]:
    return re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^\s,]+", text)


def _vector(text: str) -> list[str]:
    return _operands(text.strip("{}")) if text.startswith("{") else [text]


@cache
def _number(text: str) -> int:
    return int(text, 0)


def _reader(text: str) -> Callable[[Thread], int]:
    if text.startswith("%"):
        return lambda thread: thread.registers[text]
    if text.startswith("!"):
        return lambda thread: 1 - thread.registers[text[1:]]
    constant = 0 if text in ("shared_bytes", "local_bytes") else _number(text)
    return lambda thread: constant


def _address(text: str) -> Callable[[Thread], int]:
    base, _, offset = text.strip("[]").partition("+")
    read, more = _reader(base), int(offset or 0)
    return lambda thread: read(thread) + more


def _pure(opcode: str, operands: list[str]) -> Act:
    """An instruction that only computes: its first operand is written, or two joined by a bar."""
    targets = operands[0].split("|")
    function = meaning(opcode)
    mnemonic, *words = opcode.split(".")
    takes, gives = mnemonic in ("addc", "subc", "madc"), "cc" in words
    reads = [_reader(name) for name in operands[1:]]
    masks = [(name, (1 << width_of(name)) - 1) for name in targets]

    def run(thread: Thread) -> None:
        values = [read(thread) for read in reads]
        if takes:
            values.append(thread.carry)
        result = function(*values)
        if gives:
            result, thread.carry = result
        for (name, mask), bits in zip(masks, result if isinstance(result, tuple) else (result,)):
            thread.registers[name] = int(bits) & mask

    return run


def run(text: str, arrays: Mapping[str, bytes], grid: int, block: int) -> dict[str, bytes]:
    """What a kernel leaves in its arguments, which are arrays in the order of its parameters."""
    memory = Memory([bytearray(data) for data in arrays.values()])
    Machine(text, memory).run(grid, block)
    return {name: bytes(data) for name, data in zip(arrays, memory.arrays)}
