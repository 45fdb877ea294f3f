"""Runs a compiled kernel's PTX in the simulator. Knows how a launch is handed over, nothing of PTX itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinyton_lab.base.source import Span
from tinyton_lab.sim import Launch, load


def run(
    ptx_text: str,
    entry: str,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Sequence[Any],
    names: Sequence[str] | None = None,
    shared_bytes: int = 0,
    record: str | None = None,
    source_map: Mapping[int, tuple[int, Span | None]] | None = None,
    recorded_ctas: int = 4,
    metrics: bool = False,
    sanitize: bool = False,
    engine: str = "trace",
    model: str | None = None,
    reachable: Sequence[Any] = (),
) -> Launch:
    """Launch `entry` of a PTX text and return what happened; arrays among `arguments` are changed in place.

    `arguments` are in PTX parameter order and `names` name them in messages. `source_map` gives for a PTX line the op
    number and the source span behind it. `record` is ``"warp"`` or None, `metrics` asks for the memory metrics,
    `sanitize` for races, uninitialised reads and data used too early among the findings; `engine` ``"fast"`` for
    machine code instead of interpretation; `model` is the target whose model of cycles is asked; `reachable` are arrays
    to place at their own addresses. Raises TinytonError for every fault.
    """
    module = load(ptx_text, entry)
    return module.launch(
        entry,
        tuple(grid),
        tuple(block),
        arguments,
        shared=shared_bytes,
        record=record,
        names=names,
        source_map=source_map,
        recorded_ctas=recorded_ctas,
        metrics=metrics,
        sanitize=sanitize,
        engine=engine,
        model=model,
        reachable=reachable,
    )
