"""Strings that try to leave the place where they are shown."""

from __future__ import annotations

from dataclasses import replace

from tests.record.fixtures import recording, vadd
from tinyton_lab.record.events import Access, Finding
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.schema import Graph
from tinyton_lab.record.stage import Compilation, Diagnostic, Miss, SourceRange

STRINGS = (
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1>',
    "' onmouseover='window.pwned=1",
    "javascript:window.pwned=1",
    "<!--",
    "-->",
    "]]>",
    "</style>",
    "</details></div>",
    "&lt;b&gt;",
    "${window.pwned=1}",
    "{{constructor}}",
    "\u202e reversed",
    "\x00\x1b[31mred",
    "\u2028\u2029",
    '\\N\\l"];evil[label=<<b>x</b>>]',
    "__proto__",
    "constructor",
    "\ud800",
)


def compilation(text: str) -> Compilation:
    """A compilation that says `text` wherever it can say something."""
    whole = vadd()
    stages = {
        name: replace(
            stage,
            text=f"{text}\n{stage.text}",
            doc=text,
            label=text,
            lines=((11,), *stage.lines),
            facts=((11, text),),
            misses=(Miss(text, 11, text, (text,)),),
            ranges=(SourceRange(11, text, 2, 0, 2, 5), *stage.ranges),
        )
        for name, stage in whole.stages.items()
    }
    stages[f"tile/09-{text}"] = replace(stages["tile"], name=f"tile/09-{text}")
    stages[text] = replace(stages["ptx"], name=text)
    place = SourceRange(11, text, 1, 0, 1, 3)
    faults = [Diagnostic("remark", text, text, text, place), Diagnostic("error", text, text, text, place)]
    return Compilation(
        text,
        text,
        ((text, text),),
        ((text, text),),
        ((text, text),),
        stages,
        whole.provenance,
        faults,
        {text: text, "registers": 12, "source": text},
    )


def run(text: str) -> Recording:
    """A recording that says `text` wherever it can say something."""
    plain = recording()
    steps = [
        replace(
            step,
            text=text,
            waits=text,
            writes=((text, (text,) * 32),),
            access=Access(text, text, text, 4, tuple(range(32))),
        )
        for step in plain.steps[:8]
    ]
    return Recording(
        text, text, (1, 1, 1), (128, 1, 1), steps, [Finding("error", text, text, text, 1, 11)], {text: 1}, text
    )


def graph(text: str) -> Graph:
    """A picture whose every text is hostile, its SVG included."""
    return Graph(
        "ast", text, text, text, f'<svg xmlns="http://www.w3.org/2000/svg"><script>window.pwned=1</script>{text}</svg>'
    )
