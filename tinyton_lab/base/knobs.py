"""Table T3: the environment variables the lab reads, each once, each here. Values are read at every use."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# Each launch asks whether a variable is set. The table behind `os.environ` answers that ten times faster than
# `os.environ` itself, which raises and catches an exception for a variable that is not.
_ENVIRONMENT: Mapping[Any, Any] = getattr(os.environ, "_data", os.environ)
_encode: Callable[[str], Any] = getattr(os.environ, "encodekey", str)


@dataclass(frozen=True, slots=True)
class Knob:
    """One switch. `kind` is ``flag`` (0/1), ``int`` or ``text``."""

    variable: str
    kind: str
    default: str
    doc: str
    key: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", _encode(self.variable))

    def text(self) -> str:
        return self.default if _ENVIRONMENT.get(self.key) is None else os.environ[self.variable]

    def flag(self) -> bool:
        return self.text().strip().lower() in ("1", "true", "yes", "on")

    def integer(self) -> int:
        return int(self.text() or "0")


BACKEND = Knob("TINYTON_BACKEND", "text", "", "Engine: cpu, cuda, sim or interpreter; empty: cuda if any, else cpu.")
CPU_CHECKED = Knob("TINYTON_CPU_CHECKED", "flag", "1", "Check each access of the cpu engine against its array.")
CPU_THREADS = Knob("TINYTON_CPU_THREADS", "int", "0", "Threads of the cpu engine; 0: one per core, 1: in order.")
VERIFY = Knob("TINYTON_VERIFY", "flag", "0", "Run the IR verifier after every pass.")
STEP_LIMIT = Knob("TINYTON_STEP_LIMIT", "int", "50000000", "Steps after which the simulator reports an endless loop.")
AS_TRITON = Knob("TINYTON_AS_TRITON", "flag", "0", "Let `import triton` resolve to this package.")

KNOBS: dict[str, Knob] = {
    knob.variable: knob for knob in (BACKEND, CPU_CHECKED, CPU_THREADS, VERIFY, STEP_LIMIT, AS_TRITON)
}
