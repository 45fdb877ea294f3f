"""Where a piece of a kernel was written: a source text and a span in it. Knows nothing of what the text means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """One source text under a stable label (``softmax.py``, ``cell:vadd``).

    `first_line` is the 1-based line of the label's file at which `text` starts.
    """

    label: str
    text: str
    first_line: int = 1

    def line(self, number: int) -> str:
        """The text of line `number` (counted as in the file), or "" outside."""
        lines = self.text.splitlines()
        index = number - self.first_line
        return lines[index] if 0 <= index < len(lines) else ""


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source: lines are 1-based file lines, columns 0-based characters, the end exclusive.

    `inlined_at` is the call site when the code was inlined from a helper.
    """

    source: Source
    line: int
    column: int
    end_line: int
    end_column: int
    inlined_at: Span | None = None

    def __str__(self) -> str:
        return f"{self.source.label}:{self.line}:{self.column + 1}"

    def __repr__(self) -> str:
        return f"<Span {self}>"

    @property
    def text(self) -> str:
        """The source text covered (first line only when it spans several)."""
        line = self.source.line(self.line)
        return line[self.column : self.end_column] if self.end_line == self.line else line[self.column :]

    def frames(self) -> Iterator[Span]:
        """This span and its call sites, innermost first."""
        span: Span | None = self
        while span is not None:
            yield span
            span = span.inlined_at

    def at(self, call_site: Span | None) -> Span:
        """The same range, seen as inlined at `call_site`."""
        return Span(self.source, self.line, self.column, self.end_line, self.end_column, call_site)


_WIDEST = 240


def carets(span: Span) -> str:
    """Draw a span: its first source line with carets under the covered range; of a very long line the part around it.

    >>> print(carets(Span(Source("k.py", "x = a + b"), 1, 4, 1, 9)))
      k.py:1
        x = a + b
            ^^^^^
    """
    line = span.source.line(span.line)
    end = span.end_column if span.end_line == span.line else len(line)
    first = max(0, min(span.column - _WIDEST // 4, len(line) - _WIDEST)) if len(line) > _WIDEST else 0
    last = min(first + _WIDEST, len(line))
    before, after = "..." if first else "", "..." if last < len(line) else ""
    pad = " " * len(before) + "".join("\t" if c == "\t" else " " for c in line[first : span.column])
    marks = "^" * max(min(end, last) - span.column, 1)
    return f"  {span.source.label}:{span.line}\n    {before}{line[first:last]}{after}\n    {pad}{marks}"
