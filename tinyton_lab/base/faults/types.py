"""Faults TT2xxx: shapes and dtypes."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault

ROWS: tuple[Fault, ...] = ()
