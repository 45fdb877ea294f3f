"""Table T4: every fault a person can meet, one file per part of the lab. `FAULTS` maps code to row."""

from __future__ import annotations

from tinyton_lab.base.faults import engine, internal, lab, language, launch, ptx, runtime, sanitizer, types
from tinyton_lab.base.faults.row import Fault

FAULTS: dict[str, Fault] = {
    row.code: row
    for part in (language, types, launch, runtime, engine, ptx, sanitizer, lab, internal)
    for row in part.ROWS
}
__all__ = ["FAULTS", "Fault"]
