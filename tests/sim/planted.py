"""Kernels with one planted fault each, and their clean twins: is every fault found on its line, and nothing else?

``python -m tests.sim.planted [pairs] [seed]`` prints the share of faults found and the false alarms.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.sim import kit
from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.sim import load


class Planted(NamedTuple):
    """A kernel, how it is launched, and the codes that may be told of the lines marked with HERE (none: clean)."""

    text: str
    grid: int
    block: int
    arrays: tuple[np.ndarray, ...]
    codes: frozenset[str]

    @property
    def lines(self) -> set[int]:
        return {n for n, line in enumerate(self.text.split("\n"), 1) if "HERE" in line}


def _noise(rng: random.Random) -> str:
    """Arithmetic on registers that nothing else uses."""
    words = ("add.s32", "xor.b32", "mul.lo.s32", "max.u32", "shl.b32")
    return "\n".join(
        f"{rng.choice(words)} %r{rng.randrange(30, 36)}, %r0, {rng.randrange(1, 31)};" for _ in range(rng.randrange(5))
    )


Part = tuple[str, str, frozenset[str]]


def _out_of_bounds(rng: random.Random, plant: bool, block: int) -> Part:
    """Threads touch their element of an argument; the fault shifts them past its end."""
    size = rng.choice((1, 2, 4, 8))
    shift = size * rng.choice((1, block, 3 * block)) if plant else 0
    load_it = f"ld.global.b{8 * size} {'%d20' if size == 8 else '%r20'}, [%d10+{shift}]; // HERE"
    store_it = f"st.global.b{8 * size} [%d10+{shift}], {'%d21' if size == 8 else '%r0'}; // HERE"
    if size == 1:
        load_it, store_it = load_it.replace("%r20", "%h1"), store_it.replace("%r0;", "%h2;")
    if size == 2:
        load_it, store_it = load_it.replace("%r20", "%h1"), store_it.replace("%r0;", "%h2;")
    body = f"""mov.u64 %d21, 7; cvt.u16.u32 %h2, %r0;
mul.wide.u32 %d10, %r0, {size}; add.u64 %d10, %d10, %d0;
{rng.choice((load_it, store_it))}"""
    return body, "", frozenset({"TT6010"})


def _shared_bounds(rng: random.Random, plant: bool, block: int) -> Part:
    past = 4 * rng.choice((1, block)) if plant else 0
    before = f".shared .align 16 .b8 tile[{4 * block}];"
    body = f"mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 4, %r1;\nst.shared.b32 [%r1+{past}], %r0; // HERE"
    return body, before, frozenset({"TT6013"})


def _missing_barrier(rng: random.Random, plant: bool, block: int) -> Part:
    """Threads read what the thread at the other end of the block stored, or overwrite what it still reads."""
    before = f".shared .align 16 .b8 tile[{4 * block}];"
    meet = "" if plant else rng.choice(("bar.sync 0;", "barrier.sync 0;", f"bar.sync 1, {block};"))
    body = (
        f"mov.u32 %r1, tile; mad.lo.u32 %r2, %r0, 4, %r1; sub.u32 %r3, {block - 1}, %r0; mad.lo.u32 %r4, %r3, 4, %r1;\n"
    )
    if rng.random() < 0.5:
        body += f"st.shared.b32 [%r2], %r0; // HERE\n{meet}\nld.shared.b32 %r5, [%r4]; // HERE"
    else:
        body += f"""st.shared.b32 [%r2], %r0;
bar.sync 0;
ld.shared.b32 %r5, [%r4]; // HERE
{meet}
st.shared.b32 [%r2], %r5; // HERE"""
    return body, before, frozenset({"TT6040"})


def _global_race(rng: random.Random, plant: bool, block: int) -> Part:
    """All CTAs write one row of an argument, each its own values; clean ones add atomically or write their own row."""
    clean = rng.choice(("red.global.add.u32 [%d10], %r5;", "atom.global.max.u32 %r6, [%d10], %r5;"))
    own = "add.u32 %r7, %r7, %r0;" if rng.random() < 0.5 and not plant else "mov.u32 %r7, %r0;"
    store = "st.global.b32 [%d10], %r5; // HERE" if plant or own.startswith("add") else clean
    body = f"""mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mul.lo.u32 %r7, %r3, %r4; {own}
mul.wide.u32 %d10, %r7, 4; add.u64 %d10, %d10, %d1;
add.u32 %r5, %r3, 1;
{store}"""
    return body, "", frozenset({"TT6040"})


def _uninitialised(rng: random.Random, plant: bool, block: int) -> Part:
    before = f".shared .align 16 .b8 tile[{4 * block}];"
    first = "mov.u32 %r1, tile; mad.lo.u32 %r1, %r0, 4, %r1;\n"
    if rng.random() < 0.5:
        guard = f"setp.lt.u32 %p1, %r0, {rng.randrange(1, block)};\n@%p1 " if plant else ""
        body = f"{first}{guard}st.shared.b32 [%r1], %r0;\nbar.sync 0;\nld.shared.b32 %r2, [%r1]; // HERE"
        return body, before, frozenset({"TT6042"})
    guard = f"setp.lt.u32 %p1, %r0, {rng.randrange(1, block)};\n@%p1 " if plant else ""
    return f"{guard}mov.u32 %r2, 5;\nadd.u32 %r3, %r2, 1; // HERE", "", frozenset({"TT6043"})


def _divergent_barrier(rng: random.Random, plant: bool, block: int) -> Part:
    limit = rng.randrange(1, block)
    limit = limit + 1 if limit % 32 == 0 else limit
    condition = f"setp.ge.u32 %p1, %r0, {limit};\n@%p1 bra past;\n" if plant else ""
    return f"{condition}bar.sync 0; // HERE\npast:", "", frozenset({"TT6024", "TT6021"})


_KINDS: tuple[Callable[[random.Random, bool, int], Part], ...] = (
    _out_of_bounds,
    _shared_bounds,
    _missing_barrier,
    _global_race,
    _uninitialised,
    _divergent_barrier,
)


def planted(seed: int, plant: bool) -> Planted:
    """The kernel of a seed with its fault, or its clean twin."""
    rng = random.Random(seed)
    kind, block = _KINDS[seed % len(_KINDS)], rng.choice((64, 96, 128, 256))
    start, end = _noise(rng), _noise(rng)
    body, before, codes = kind(rng, plant, block)
    grid = rng.choice((2, 3, 5))
    arrays = (np.zeros(8 * block if kind is not _out_of_bounds else 0, np.uint8), np.zeros(grid * block, np.uint32))
    if kind is _out_of_bounds:
        size = int(body.split("mul.wide.u32 %d10, %r0, ")[1].split(";")[0])
        arrays = (np.zeros(block * size, np.uint8), arrays[1])
    text = kit.kernel(f"{start}\n{body}\n{end}", 2, before)
    return Planted(text, grid, block, arrays, codes if plant else frozenset())


def judge(case: Planted) -> str:
    """What is wrong with the sanitizer's answer, in words; nothing if it is right."""
    try:
        launch = load(case.text).launch("k", case.grid, case.block, list(case.arrays), sanitize=True)
        told = [(finding.code, finding.line) for finding in launch.findings if finding.severity == "error"]
    except TinytonError as fault:
        told = [(fault.code, fault.span.line if fault.span else 0)]
    if not case.codes:
        return f"a false alarm: {told}" if told else ""
    if not told:
        return f"{sorted(case.codes)} was not found"
    wrong = [(code, line) for code, line in told if code not in case.codes or line not in case.lines]
    return f"{wrong} instead of {sorted(case.codes)} in {sorted(case.lines)}" if wrong else ""


def main(pairs: int, seed: int) -> None:
    missed = false = 0
    for number in range(seed, seed + pairs):
        for plant in (True, False):
            problem = judge(planted(number, plant))
            missed, false = missed + (plant and bool(problem)), false + (not plant and bool(problem))
            if problem:
                print(f"seed {number} {'planted' if plant else 'clean'}: {problem}", flush=True)
    print(f"{pairs} faults, {pairs - missed} found on their line; {pairs} clean twins, {false} false alarms")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    main(*(numbers + [500, 0][len(numbers) :]))
