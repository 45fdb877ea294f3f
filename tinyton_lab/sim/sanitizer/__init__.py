"""The sanitizer: finds races, uninitialised reads and misused asynchronous copies while a launch runs."""

from __future__ import annotations

from tinyton_lab.sim.sanitizer.sanitizer import Sanitizer

__all__ = ["Sanitizer"]
