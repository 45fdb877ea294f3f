"""Who came from whom: edges between op numbers, recorded by every rewrite. Knows numbers only, never live IR."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

KINDS = ("same", "derived", "split", "fused", "folded", "dropped", "hoisted", "made")


@dataclass(slots=True)
class Provenance:
    """Edges ``(child, parent, kind)``; it grows while a kernel is compiled and is read-only afterwards.

    `dropped` edges have child 0: the parent ended there. `made` edges have parent 0: the compiler invented the child.
    """

    edges: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])

    def add(self, child: int, parent: int, kind: str) -> None:
        if child != parent:
            self.edges.append((child, parent, kind))

    def ancestors(self, uids: Iterable[int]) -> set[int]:
        """All ops that `uids` came from, themselves included."""
        parents: dict[int, list[int]] = {}
        for child, parent, _ in self.edges:
            parents.setdefault(child, []).append(parent)
        return _closure(uids, parents)

    def descendants(self, uids: Iterable[int]) -> set[int]:
        """All ops that `uids` became, themselves included."""
        children: dict[int, list[int]] = {}
        for child, parent, _ in self.edges:
            children.setdefault(parent, []).append(child)
        return _closure(uids, children)

    def kin(self, uids: Iterable[int]) -> set[int]:
        """Ancestors and descendants: what lights up when one of `uids` is selected."""
        chosen = set(uids)
        return self.ancestors(chosen) | self.descendants(chosen)


def _closure(start: Iterable[int], step: dict[int, list[int]]) -> set[int]:
    seen: set[int] = set()
    queue = [uid for uid in start if uid]
    while queue:
        uid = queue.pop()
        if uid not in seen:
            seen.add(uid)
            queue += [next_uid for next_uid in step.get(uid, ()) if next_uid]
    return seen
