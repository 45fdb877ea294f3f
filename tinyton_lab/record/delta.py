"""Text of a stage as edits of an earlier stage's text, where that is shorter. Knows lines and op numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from tinyton_lab.record.shape import EditJson, Uids

Line = tuple[str, tuple[int, ...]]


def lines_of(text: str, uids: Sequence[tuple[int, ...]]) -> list[Line]:
    """Pair each line of `text` with its op numbers; lines beyond `uids` have none.

    >>> lines_of("a\\nb", [(1,)])
    [('a', (1,)), ('b', ())]
    """
    return [(line, uids[i] if i < len(uids) else ()) for i, line in enumerate(text.split("\n"))]


def pack(uids: tuple[int, ...]) -> Uids:
    """Write the op numbers of one line: 0 for none, the number for one, a list for more."""
    return list(uids) if len(uids) > 1 else uids[0] if uids else 0


def unpack(uids: Uids) -> tuple[int, ...]:
    return tuple(uids) if isinstance(uids, list) else (uids,) if uids else ()


def edits(before: Sequence[Line], after: Sequence[Line]) -> list[EditJson]:
    """Find the edits that turn `before` into `after`, in order of their place in `before`."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        {"at": i, "drop": j - i, "text": [t for t, _ in after[k:m]], "uids": [pack(u) for _, u in after[k:m]]}
        for tag, i, j, k, m in matcher.get_opcodes()
        if tag != "equal"
    ]


def apply(before: Sequence[Line], changes: Sequence[EditJson]) -> list[Line]:
    """Undo `edits`: the lines after the changes."""
    after: list[Line] = []
    place = 0
    for change in changes:
        after += before[place : change["at"]]
        after += [(t, unpack(u)) for t, u in zip(change["text"], change["uids"], strict=True)]
        place = change["at"] + change["drop"]
    return after + list(before[place:])


def saves(before: Sequence[Line], changes: Sequence[EditJson]) -> bool:
    """Whether the edits are worth it: they rewrite less than half of the base."""
    return 2 * sum(len(change["text"]) + 1 for change in changes) < len(before)
