"""How the lab reports a fault: one exception family, located, with a code of table T4. Knows no fault by name."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from tinyton_lab.base.faults import FAULTS
from tinyton_lab.base.source import Span, carets

_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Note:
    """A second place that explains a fault (``"defined here"``)."""

    message: str
    span: Span | None = None


class TinytonError(Exception):
    """Any fault of the user's input. Its text shows what was seen, where, what was wanted and what to try.

    `code` is ``TTnnnn``; `span` where it happened (None for launch faults); `notes` further places; `hint` the cure.

    >>> raise_at = error("TT1001", name="lenght", hint="did you mean 'length'?")
    >>> raise_at.code
    'TT1001'
    """

    def __init__(self, code: str, message: str, span: Span | None, notes: tuple[Note, ...], hint: str) -> None:
        self.code, self.message, self.span, self.notes, self.hint = code, message, span, notes, hint
        super().__init__(message)

    def __str__(self) -> str:
        parts = [f"{self.code}: {self.message}"]
        if self.span is not None:
            parts.append(carets(self.span))
            parts += [f"  inlined at\n{carets(frame)}" for frame in list(self.span.frames())[1:]]
        for note in self.notes:
            parts.append(f"  note: {note.message}" + (f"\n{carets(note.span)}" if note.span else ""))
        if self.hint:
            parts.append(f"  help: {self.hint}")
        return "\n".join(parts)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.code, self.message, self.span, self.notes, self.hint))

    def _render_traceback_(self) -> list[str]:
        """What a notebook prints instead of a Python traceback: at most 12 lines."""
        return str(self).splitlines()[:12]


def error(code: str, span: Span | None = None, notes: tuple[Note, ...] = (), **fields: object) -> TinytonError:
    """Make the located exception of fault `code`; `fields` fill its message and cure."""
    fault = FAULTS[code]
    fields = {name: _short(value) for name, value in fields.items()}
    return TinytonError(code, fault.message.format(**fields), span, notes, fault.cure.format(**fields))


def _short(value: object) -> object:
    """Names and texts of any length are the user's: a message shows where a very long one begins."""
    return f"{value[:_LONGEST]}..." if isinstance(value, str) and len(value) > _LONGEST else value


@contextmanager
def depth_limited(span: Span, name: str) -> Generator[None]:
    """Tell code that is nested deeper than Python recurses as TT1030 at `span`, the place of function `name`."""
    try:
        yield
    except RecursionError:
        raise error("TT1030", span, name=name) from None
