"""Faults TT6xxx: PTX text and the simulator."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = ()
