"""One card per specialisation, completed once; helpers of a compiled kernel get none."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.record.fixtures import recording, vadd
from tinyton_lab.base import events
from tinyton_lab.lab.watch import Entry, watching
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation


@dataclass
class Launched:
    compilation: Compilation
    recording: Recording | None = None


def _partial() -> Compilation:
    whole = vadd()
    whole.stages = dict(list(whole.stages.items())[:3])
    return whole


def test_a_compiled_and_launched_kernel_has_one_entry_with_all_stages() -> None:
    compilation = _partial()
    with watching() as watch:
        events.kernel_defined("helper")
        events.kernel_defined("vadd")
        events.kernel_compiled("vadd", compilation)
        events.kernel_launched("vadd", Launched(compilation))
        events.kernel_launched("vadd", Launched(compilation))
    entries = watch.entries(lambda partial: vadd(), lambda kernel: Compilation(kernel, "none"))
    assert entries == [Entry(vadd())]


def test_each_specialisation_has_its_entry_and_the_recording_stays_with_its_own() -> None:
    other = replace(vadd(), constants=(("BLOCK", "64"),))
    with watching() as watch:
        events.kernel_launched("vadd", Launched(vadd(), recording()))
        events.kernel_launched("vadd", Launched(other))
        events.kernel_launched("vadd", Launched(vadd()))
    entries = watch.entries(lambda compilation: compilation, lambda kernel: Compilation(kernel, "none"))
    assert entries == [Entry(vadd(), recording()), Entry(other)]


def test_kernels_that_are_only_defined_are_looked_at() -> None:
    with watching() as watch:
        events.kernel_defined("first")
        events.kernel_defined("second")
    entries = watch.entries(lambda compilation: compilation, lambda kernel: Compilation(kernel, "none"))
    assert [entry.compilation.kernel for entry in entries] == ["first", "second"]


def test_nothing_heard_is_no_card() -> None:
    with watching() as watch:
        pass
    assert watch.entries(lambda compilation: compilation, lambda kernel: Compilation(kernel, "none")) == []
