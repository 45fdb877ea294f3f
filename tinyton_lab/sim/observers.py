"""What may watch a launch: the moments that observers are told of. Observes nothing itself."""

from __future__ import annotations

from typing import Any

from tinyton_lab.sim.lanes import Array, Chunk
from tinyton_lab.sim.program import CodeBlock, Details

CLUSTER_BARRIER = -1


class Observer:
    """Mutable: told what a chunk does while it runs; every method may be left as it is."""

    def enter(self, chunk: Chunk) -> None:
        """A chunk of CTAs is about to run."""

    def leave(self, chunk: Chunk) -> None:
        """All lanes of a chunk have exited."""

    def begin(self, chunk: Chunk, what: Details) -> None:
        """An instruction is about to run in the lanes of ``chunk.mask``, narrowed by its guard."""

    def settle(self, chunk: Chunk, what: Details) -> None:
        """An instruction has run."""

    def end(self, chunk: Chunk, code: CodeBlock) -> None:
        """A block's operations have run; its last instruction decides where its lanes go."""

    def split(self, directions: Array) -> None:
        """The last instruction sent lanes different ways: (direction, ctas, threads) flags."""

    def touch(
        self, chunk: Chunk, site: Any, space: str, kind: str, address: Array, mask: Array | None, value: Array | None
    ) -> None:
        """Lanes are about to access memory: `kind` is load, store or atomic; `value` is what a store writes."""

    def copy(self, chunk: Chunk, site: Any, cta: Any, kind: str, address: Array, barrier: int | None = None) -> None:
        """Elements of shared memory of `cta` (or CTAs, broadcasting) are accessed by a copy engine or matrix unit.

        `barrier` is the shared address of the barrier that the copy reports to.
        """

    def arrive(self, chunk: Chunk, barrier: Any, lanes: Array) -> None:
        """Lanes (ctas, threads) arrive at barrier number `barrier`, or at the cluster's (`CLUSTER_BARRIER`)."""

    def release(self, chunk: Chunk, barrier: Any, lanes: Array) -> None:
        """Lanes (ctas, threads) go on from a barrier that is complete."""

    def signal(self, chunk: Chunk, action: str, site: Any, cells: Array, lanes: Array, states: Any) -> None:
        """Lanes act on barrier objects in shared memory; `states` are their words before, `cells` their addresses."""


def run_block(chunk: Chunk, code: CodeBlock) -> None:
    """Run a block's operations one by one, telling the observers of each."""
    observers = chunk.observers
    for operation, what in zip(code.operations, code.notes):
        if what is None:
            operation(chunk)
            continue
        for observer in observers:
            observer.begin(chunk, what)
        operation(chunk)
        for observer in observers:
            observer.settle(chunk, what)
    for observer in observers:
        observer.end(chunk, code)
