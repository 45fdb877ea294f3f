"""The stored results of the simulator's tests fit the instruction table, and the page says what they say."""

from __future__ import annotations

from tests.sim.conformance import ROOT, collect, spelled
from tinyton_lab.ptx.isa import resolve
from tinyton_lab.ptx.table import ROWS
from tinyton_lab.reference import conformance

# So many rows of the table may be without a stored result: hints, and forms of which only the text is looked at.
MOST_UNTESTED = 21


def test_stored_forms_are_forms_of_the_table_under_one_name():
    stored = conformance.stored()
    assert len(stored) > 1500 and list(stored) == sorted(stored)
    assert [form for form in stored if spelled(form) != form] == []


def test_modifiers_in_any_order_are_one_form():
    words = "atom.global.gpu.acq_rel.add.u32", "atom.acq_rel.gpu.global.add.u32"
    assert len({spelled(word) for word in words}) == 1
    assert spelled("fma.ftz.rn.f32") == spelled("fma.rn.ftz.f32")


def test_results_name_files_that_exist_and_passed():
    files = {path.stem for folder in ("tests/sim", "tests/ptx") for path in (ROOT / folder).glob("test_*.py")}
    stored = conformance.stored()
    assert {name for of_form in stored.values() for name in of_form} <= files
    assert [form for form, of_form in stored.items() if conformance.result(of_form) != "passed"] == []


def test_rows_that_nothing_executed_are_few_and_listed():
    run = {id(resolve(form).row) for form in conformance.stored()}
    missing = [row.syntax for rows in ROWS.values() for row in rows if id(row) not in run]
    assert len(missing) <= MOST_UNTESTED
    assert conformance.ptx().count("\n| `") == len(conformance.stored()) + len(missing)


def test_a_run_notes_what_was_executed():
    found = collect([str(ROOT / "tests" / "sim" / "test_rare_forms.py") + "::test_lanes_that_exit_do_nothing_more"])
    assert found["exit"] == {"test_rare_forms": [1, 0]} and "st.global.b32" in found
