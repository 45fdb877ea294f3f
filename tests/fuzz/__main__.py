"""``python -m tests.fuzz``: random kernels (``--programs N``) on several engines, those that differ made small.

``--ptx N`` hands damaged PTX to the parser, ``--ptx-kernels N`` compares the simulator's engines on random PTX kernels.
Each starts at ``--seed S``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable

from tests.fuzz import engines, ptx_engines, ptx_parsing
from tests.fuzz.programs import program
from tests.fuzz.ptx_kernels import kernel
from tests.fuzz.ptx_reduce import reduced as reduced_kernel
from tests.fuzz.reduce import reduced


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=2000, help="how many kernels")
    parser.add_argument("--ptx", type=int, metavar="N", help="how many damaged PTX texts, instead of kernels")
    parser.add_argument("--ptx-kernels", type=int, metavar="N", help="how many random PTX kernels, instead")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--engine", action="append", help="engines to compare, the first with the others")
    parser.add_argument("--keep", action="store_true", help="print kernels that differ as they are, not made small")
    parser.add_argument("--show", action="store_true", help="only print the kernel of the seed")
    given = parser.parse_args(words)
    if given.ptx is not None:
        return told(given.seed, given.ptx, ptx_parsing.complaint, "damaged PTX texts")
    if given.ptx_kernels is not None:
        return ptx_kernels(given)
    if given.show:
        print(program(given.seed))
        return 0
    wanted = tuple(given.engine or engines.ENGINES)

    def complaint(seed: int) -> str:
        text = program(seed)
        found = engines.disagreement(text, seed, wanted)
        if not found:
            return ""
        short = text if given.keep else reduced(text, lambda t: engines.disagreement(t, seed, wanted) != "")
        return f"seed {seed}: {engines.disagreement(short, seed, wanted) or found}\n{short}\n"

    return told(given.seed, given.programs, complaint, f"kernels on {', '.join(wanted)}")


def ptx_kernels(given: argparse.Namespace) -> int:
    """Random PTX kernels on the simulator's engines; tells how many each engine ran."""
    if given.show:
        print(kernel(given.seed).text)
        return 0
    wanted, ran = tuple(given.engine or ptx_engines.ENGINES), Counter[str]()

    def complaint(seed: int) -> str:
        found = ptx_engines.disagreement(kernel(seed), seed, wanted, ran)
        if not found:
            return ""
        pair = (wanted[0], found.split(" ", 1)[0])
        if given.keep or pair[1] not in wanted:
            return f"seed {seed}: {found}\n{kernel(seed).text}"
        short = reduced_kernel(kernel(seed), lambda k: ptx_engines.computes_another(k, seed, pair))
        return f"seed {seed}: {ptx_engines.disagreement(short, seed, pair) or found}\n{short.text}"

    result = told(given.seed, given.ptx_kernels, complaint, f"PTX kernels on {', '.join(wanted)}")
    print("compared: " + ", ".join(f"{engine} {ran[engine]}" for engine in wanted[1:]))
    return result


def told(first: int, count: int, complaint: Callable[[int], str], what: str) -> int:
    """Print what is wrong with each of `count` seeds; returns 1 if anything is."""
    wrong, start = 0, time.time()
    for words in map(complaint, range(first, first + count)):
        if words:
            wrong += 1
            print(words, flush=True)
    print(f"{count} {what}: {wrong} wrong ({time.time() - start:.0f} s)")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
