"""``python -m tests.triton_differences``: compare all cases; ``--write`` stores Triton's answers and writes the page.

Without Triton, or with ``--stored``, this side is held against the stored answers.
"""

from __future__ import annotations

import argparse
import sys

from tests.triton_differences import page, peer, sides, table


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.triton_differences", description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the answers and write the page")
    parser.add_argument("--stored", action="store_true", help="do not ask Triton")
    parser.add_argument("--engine", default="interpreter", help="the engine of this side (interpreter, cpu, eager)")
    options = parser.parse_args(words)
    mine = {key: sides.ours(case, dtype, options.engine) for key, case, dtype in table.keys()}
    if options.write or (peer.installed() and not options.stored):
        theirs, made_with = peer.answers()
        entries = {key: table.compared(case, dtype, mine[key], theirs[key]) for key, case, dtype in table.keys()}
        if options.write:
            table.save(entries, made_with)
            page.PATH.write_text(page.text(), encoding="utf-8", newline="\n")
        print(f"with {', '.join(f'{name} {made_with[name]}' for name in ('triton', 'torch', 'numpy'))}")
    else:
        entries, made_with = table.load()
        print("against the stored answers")
    wrong = [*table.complaints(entries, made_with), *_changed(entries), *table.strayed(mine)]
    print("\n".join([*wrong, f"{len(entries)} kernels: {len(wrong)} wrong"]))
    return min(len(wrong), 1)


def _changed(entries: dict[str, table.Entry]) -> list[str]:
    """Where Triton answers something else than what is stored."""
    stored, _ = table.load()
    pairs = ((key, stored[key].triton, entry.triton) for key, entry in entries.items() if key in stored)
    return [f"{key}: stored {before}, now {now}" for key, before, now in pairs if before != now]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
