"""Native sessions run what is whole and refuse, by name, what would call outside."""

from __future__ import annotations

import ctypes

import pytest

from tinyton_lab.llvm import native

SUCCESSOR = "define i32 @f(i32 %x) { %y = add i32 %x, 1\n ret i32 %y }"


def test_a_module_runs_and_shows_its_assembly() -> None:
    session = native.session(native.host())
    first, second = (session.link(SUCCESSOR.replace("1", step), ["f"]) for step in ("1", "2"))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    assert (call(first.addresses["f"])(41), call(second.addresses["f"])(41)) == (42, 43)
    assert "ret" in session.assembly(SUCCESSOR)


@pytest.mark.parametrize(
    ("body", "symbol"),
    [
        ("%y = call float @llvm.exp.f32(float %x)", "expf"),
        ("%y = frem float %x, 3.0", "fmodf"),
        ("call void @missing()\n %y = fneg float %x", "missing"),
    ],
)
def test_calls_of_other_code_are_refused(body: str, symbol: str) -> None:
    declarations = "declare float @llvm.exp.f32(float)\ndeclare void @missing()\n"
    text = f"{declarations}define float @f(float %x) {{ {body}\n ret float %y }}"
    with pytest.raises(native.NativeError, match=f"needs {symbol}, "):
        native.session(native.host()).link(text, ["f"])


def test_text_that_is_no_module_is_refused() -> None:
    with pytest.raises(native.NativeError, match="undefined value '%z'"):
        native.session(native.host()).link(SUCCESSOR.replace("%x, 1", "%z, 1"), ["f"])


def test_vector_width_follows_the_features() -> None:
    if native.host().vector_bits == 128:
        pytest.skip("this processor has one vector width")
    assert native.machine("x86-64-v3", "+avx2,+fma,+f16c").vector_bits == 256
    assert native.machine("x86-64", "+sse2").vector_bits == 128
