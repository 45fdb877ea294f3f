"""``python -m tests.fuzz --programs N --seed S``: random kernels on several engines; those that differ, made small."""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz import engines
from tests.fuzz.programs import program
from tests.fuzz.reduce import reduced


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=2000, help="how many kernels")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--engine", action="append", help="engines to compare (interpreter, eager, cpu)")
    parser.add_argument("--keep", action="store_true", help="print kernels that differ as they are, not made small")
    parser.add_argument("--show", action="store_true", help="only print the kernel of the seed")
    given = parser.parse_args(words)
    if given.show:
        print(program(given.seed))
        return 0
    wanted, differing, start = tuple(given.engine or engines.ENGINES), 0, time.time()
    for seed in range(given.seed, given.seed + given.programs):
        text = program(seed)
        found = engines.disagreement(text, seed, wanted)
        if found:
            differing += 1
            short = (
                text if given.keep else reduced(text, lambda t, seed=seed: engines.disagreement(t, seed, wanted) != "")
            )
            print(f"seed {seed}: {engines.disagreement(short, seed, wanted) or found}\n{short}\n", flush=True)
    seconds = time.time() - start
    print(f"{given.programs} kernels on {', '.join(wanted)}: {differing} differ ({seconds:.0f} s)")
    return min(differing, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
