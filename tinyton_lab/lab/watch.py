"""Notes which kernels a piece of Python defines, compiles and launches; makes one entry per specialisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tinyton_lab.base import events
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation


@dataclass(frozen=True, slots=True)
class Entry:
    """One card: a compilation, and the recording of a launch of it if one was made."""

    compilation: Compilation
    recording: Recording | None = None


@dataclass(slots=True)
class Watch:
    """What was heard so far, in order."""

    heard: list[events.Event] = field(default_factory=list)

    def kernels(self) -> list[Any]:
        """The kernels that were defined, compiled or launched, each once."""
        return list({id(event.kernel): event.kernel for event in self.heard}.values())

    def entries(
        self, complete: Callable[[Compilation], Compilation], unlaunched: Callable[[Any], Compilation]
    ) -> list[Entry]:
        """One entry per specialisation that was compiled or launched.

        `complete` adds the stages that a launch did not need. Where nothing was compiled, each defined kernel is looked
        at with `unlaunched`; else a kernel without a compilation of its own is a helper of another, and has none.
        """
        found: dict[object, Entry] = {}
        for event in self.heard:
            compilation, recording = _result(event)
            if compilation is None:
                continue
            whole = complete(compilation)
            key = (whole.kernel, whole.target, whole.signature, whole.constants, whole.options, _source(whole))
            known = found.get(key)
            found[key] = Entry(whole, recording or (known.recording if known else None))
        return list(found.values()) or [Entry(unlaunched(kernel)) for kernel in self.kernels()]


@contextmanager
def watching() -> Iterator[Watch]:
    """Listen to kernels while the block runs."""
    watch = Watch()
    with events.listening(watch.heard.append):
        yield watch


def _result(event: events.Event) -> tuple[Compilation | None, Recording | None]:
    if event.kind == "compiled":
        return event.result, None
    if event.kind == "launched":
        return event.result.compilation, event.result.recording
    return None, None


def _source(compilation: Compilation) -> str:
    python = compilation.stages.get("python")
    return python.text if python else ""
