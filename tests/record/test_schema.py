"""A record survives JSON, keeps to its schema, is deterministic and small."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.record.fixtures import failed, recording, vadd
from tinyton_lab.record import delta, generate, schema, steps
from tinyton_lab.record.events import Access, Step
from tinyton_lab.record.recording import Recording
from tinyton_lab.record.stage import Compilation

GRAPH = schema.Graph("ast", "AST", "A tree of 3 nodes.", "digraph {}", "<svg/>")


def _through_json(record: schema.RecordJson) -> schema.RecordJson:
    return json.loads(json.dumps(record, allow_nan=False))


@pytest.mark.parametrize(
    "compilation", [vadd(), failed(), Compilation("empty", "cpu")], ids=["vadd", "failed", "empty"]
)
def test_a_compilation_comes_back_equal(compilation: Compilation) -> None:
    again, _, graphs = schema.decode(_through_json(schema.encode(compilation)))
    assert again == replace(compilation, stages={n: replace(s, seconds=0.0) for n, s in compilation.stages.items()})
    assert graphs == ()


def test_pictures_and_the_recording_come_back_equal() -> None:
    again = schema.decode(_through_json(schema.encode(vadd(), recording(), [GRAPH])))
    assert again[1] == recording() and again[2] == (GRAPH,)


def test_the_record_keeps_to_the_json_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(json.loads(generate.SCHEMA_FILE.read_text()))
    record = _through_json(schema.encode(vadd(), recording(), [GRAPH]))
    assert [error.message for error in validator.iter_errors(record)] == []
    record["kernel"]["colour"] = "red"  # type: ignore[typeddict-unknown-key]
    assert list(validator.iter_errors(record))


def test_another_version_is_refused() -> None:
    record = schema.encode(vadd())
    record["schema"] = "tinyton.record/2"  # type: ignore[typeddict-item]
    with pytest.raises(ValueError, match=r"tinyton\.record/2"):
        schema.decode(record)


def test_passes_are_written_as_edits_and_the_whole_is_small() -> None:
    record = schema.encode(vadd(), recording())
    by_name = {stage["name"]: stage for stage in record["stages"]}
    assert "text" not in by_name["tile/01-fold"] and by_name["tile/02-cse"].get("edits") == []
    assert len(schema.dumps(record)) < 24_000


def test_nothing_volatile_is_written() -> None:
    slow = vadd()
    slow.stages["tile"] = replace(slow.stages["tile"], seconds=1.25)
    slow.artifacts["binary"] = object()
    text = schema.dumps(schema.encode(slow))
    assert text == schema.dumps(schema.encode(vadd()))
    assert not re.search(r"0x[0-9a-f]{8,}|seconds|artifacts", text)


def test_json_text_may_stand_inside_a_script_element() -> None:
    hostile = vadd()
    hostile.stages["python"] = replace(hostile.stages["python"], text="</script><!--\u2028")
    text = schema.dumps(schema.encode(hostile))
    assert not re.search("[<>&\u2028]", text)
    assert schema.decode(json.loads(text))[0].stages["python"].text == "</script><!--\u2028"


LINES = st.lists(st.tuples(st.sampled_from("abcd"), st.lists(st.integers(1, 9), max_size=2).map(tuple)), max_size=12)


@given(LINES, LINES)
def test_edits_rebuild_any_text(before: list[delta.Line], after: list[delta.Line]) -> None:
    assert delta.apply(before, delta.edits(before, after)) == after


VALUES = st.one_of(
    st.booleans(), st.integers(-(2**64), 2**64), st.floats(allow_nan=False), st.sampled_from(["1e10 text", "x"])
)


@given(
    st.one_of(
        st.lists(VALUES, min_size=32, max_size=32),
        VALUES.map(lambda value: [value] * 32),
        st.tuples(st.integers(-99, 99), st.integers(-9, 9)).map(lambda t: [t[0] + t[1] * i for i in range(32)]),
    )
)
def test_lane_values_come_back_with_their_types(values: list[object]) -> None:
    again = steps.read_lanes(json.loads(json.dumps(steps.pack_lanes(values))))
    assert [(type(a), a) for a in again] == [(type(v), v) for v in values]


def test_a_limit_cuts_the_steps_and_says_how_many_there_were() -> None:
    shape = steps.encode(recording(), limit=10)
    assert (len(shape["cta"]), shape["total"]) == (10, len(recording().steps))
    assert steps.decode(shape).steps == recording().steps[:10]


def test_a_recording_without_a_compilation_keeps_its_ptx_and_its_own_numbering() -> None:
    alone = Recording("k", "ret;", (1, 1, 1), (32, 1, 1), [Step(7, (0, 0, 0), 0, 1, 0, "ret;", 1)])
    assert steps.decode(steps.encode(alone)) == alone


def test_stages_without_any_op_are_written_the_same_again() -> None:
    python = replace(vadd().stages["python"], lines=((), ()), text="@tt.jit\ndef kernel(x): missing\n")
    record = schema.encode(Compilation("kernel", "cpu", stages={"python": python}))
    assert schema.encode(schema.decode(_through_json(record))[0]) == record


def test_every_access_of_a_step_comes_back() -> None:
    load = Access("global", "load", "x", 4, tuple(range(0, 128, 4)))
    store = Access("shared", "store", "shared", 4, (-1, *range(0, 124, 4)))
    made = [
        Step(0, (0, 0, 0), 0, 3, 1, "cp.async", 0xFFFFFFFF, (), store, more=(load,)),
        Step(1, (0, 0, 0), 0, 4, 1, "ret", 0xFFFFFFFF),
    ]
    record = steps.encode(Recording("k", "ret;", (1, 1, 1), (32, 1, 1), made))
    assert [(access["at"], access["kind"]) for access in record["accesses"]] == [(0, "load"), (0, "store")]
    assert steps.decode(record).steps == made
