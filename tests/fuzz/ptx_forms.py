"""Which forms of table T7 are PTX: every opcode that instructions without effects can be written as. Runs nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.ptx import table
from tinyton_lab.ptx.isa import Form, Role, Row, resolve
from tinyton_lab.ptx.types import PtxType

Pick = Callable[[PtxType], str]
_FLUSHED = ("f32", "f16", "f16x2")
_SOURCES = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")
_ORDERED = {
    "bits": ("eq", "ne"),
    "signed": ("eq", "ne", "lt", "le", "gt", "ge"),
    "unsigned": ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"),
}
_ONLY_UNSIGNED = ("lo", "ls", "hi", "hs")


def _names(form: Form) -> tuple[str, ...]:
    return tuple(type_.name for type_ in form.types)


def _arithmetic(form: Form) -> bool:
    """add, sub, mul, fma, mad: modifiers by format, and the rounding that fused ones must name."""
    name = form.type.name
    if form.type.kind not in ("float", "packed") or name in ("u16x2", "s16x2"):
        return name == "s32" or not form.has("sat")
    fused = form.row.mnemonic in ("fma", "mad")
    if fused and not form["rounding"]:
        return False
    if name == "f64":
        return not form.has("ftz") and not form.has("sat")
    if name.startswith("bf16"):
        return not form.has("ftz") and (not form.has("sat") or (fused and form["sat"] == "relu"))
    return form["sat"] != "relu" or (fused and name != "f32")


def _extreme(form: Form) -> bool:
    if form.type.kind not in ("float", "packed") or form.type.name in ("u16x2", "s16x2"):
        return True
    if form.has("xorsign") != form.has("abs") or (form.has("ftz") and form.type.name not in _FLUSHED):
        return False
    return form.type.name != "f64" or not (form.has("nan") or form.has("abs"))


def _flushing(form: Form) -> bool:
    return not form.has("ftz") or form.type.name in _FLUSHED


def _compared(form: Form, name: str, kind: str) -> bool:
    if form.has("ftz") and name not in _FLUSHED:
        return False
    if kind in _ORDERED:
        return form["compare"] in _ORDERED[kind]
    return form["compare"] not in _ONLY_UNSIGNED


def _setp(form: Form) -> bool:
    return _compared(form, form.type.name, form.type.kind)


def _set(form: Form) -> bool:
    target, source = _names(form)
    halves = {
        "f16": ("f16", "u16", "s16", "u32", "s32"),
        "bf16": ("bf16", "u16", "s16", "u32", "s32"),
        "f16x2": ("f16x2", "u32"),
        "bf16x2": ("bf16x2", "u32"),
    }
    if target == "bf16" and form.has("ftz"):
        return False
    fits = target in (halves[source] if source in halves else ("u32", "s32", "f32", "f16", "bf16"))
    return fits and _compared(form, source, form.types[1].kind)


def _select(form: Form) -> bool:
    if form.type.name not in _SOURCES:
        return False
    return form.row.mnemonic == "selp" or not form.has("ftz") or form.types[1].name == "f32"


def _range(name: str) -> tuple[int, int]:
    bits = int(name[1:])
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if name[0] == "s" else (0, (1 << bits) - 1)


def _convert(form: Form) -> bool:
    if form.has("pack"):
        return True
    target, source = _names(form)[:2]
    if target.startswith(("e4m3", "e5m2")):
        return form.has("finite")
    if source.startswith(("e4m3", "e5m2")):
        return True
    if target.endswith("x2"):
        return form["rounding"] in ("rn", "rz")
    if target == "tf32":
        return (form["rounding"] in ("rn", "rz") and not form.has("finite")) or (
            form["rounding"] == "rna" and not form.has("relu")
        )
    whole = target[0] in "us", source[0] in "us"
    if all(whole):
        low, high = _range(source)
        least, most = _range(target)
        return not form.has("sat") or not (least <= low and high <= most)
    if any(whole):
        return _between_kinds(form, target, source, whole[0])
    return _between_floats(form, target, source)


def _between_kinds(form: Form, target: str, source: str, to_integer: bool) -> bool:
    floating, integer = (source, target) if to_integer else (target, source)
    if form["rounding"] not in (("rni", "rzi", "rmi", "rpi") if to_integer else ("rn", "rz", "rm", "rp")):
        return False
    if floating == "bf16" and (form.has("sat") or integer.endswith("8")):
        return False
    return floating == "f32" or not form.has("ftz")


def _between_floats(form: Form, target: str, source: str) -> bool:
    rounding, plain = form["rounding"], not form.has("relu") and not form.has("finite")
    if "bf16" in (target, source) and form.has("sat"):
        return False
    if form.has("ftz") and "f32" not in (target, source):
        return False
    if target == source:
        return plain and rounding in ("", "rni", "rzi", "rmi", "rpi")
    if {target, source} in ({"f16", "bf16"}, {"f64", "bf16"}):
        return plain and rounding == "rn"
    if ("f16", "bf16", "f32", "f64").index(target) > ("f16", "bf16", "f32", "f64").index(source):
        return plain and rounding == ""
    if rounding not in ("rn", "rz", "rm", "rp"):
        return False
    simple = source == "f32" and rounding in ("rn", "rz") and not form.has("ftz") and not form.has("sat")
    return plain or simple


def _rounded(form: Form) -> bool:
    """div, rcp, sqrt."""
    return form.type.name != "f64" or form.has("ftz") == (form["approx"] == "approx")


_RULES: dict[str, Callable[[Form], bool]] = {
    **dict.fromkeys(("add", "sub", "mul", "fma", "mad"), _arithmetic),
    **dict.fromkeys(("min", "max"), _extreme),
    **dict.fromkeys(("neg", "abs"), _flushing),
    **dict.fromkeys(("div", "rcp", "sqrt"), _rounded),
    **dict.fromkeys(("selp", "slct"), _select),
    "setp": _setp,
    "set": _set,
    "cvt": _convert,
    "ex2": lambda form: form.type.name == "f32" or form.has("ftz") == form.type.name.startswith("bf16"),
    "tanh": lambda form: not form.has("ftz"),
}


def instruction(form: Form, written: Pick, read: Pick, both: bool = True) -> str:
    """A form with its operands: `written` and `read` name a register for a type; `both` keeps a second destination."""
    operands: list[str] = []
    for role in form.row.roles:
        if role.type == "carry" or (role.optional and not form.has("bool")):
            continue
        if "|" in role.name:
            kinds = role.type.split("|") if "|" in role.type else [role.type] * 2
            names = [written(_type(form, role, kinds[0]))]
            while _second(form, both) and len(names) < 2:
                name = written(_type(form, role, kinds[1]))
                names += [name] * (name not in names)
            operands.append("|".join(names))
        elif role.name == "table":
            operands.append("{table}")
        else:
            operands.append((written if role.written else read)(_type(form, role, role.type)))
    return f"{form.opcode} {', '.join(operands)};"


def _second(form: Form, wanted: bool) -> bool:
    """Comparisons of one 16-bit pair of floats have one result, those of packed ones two."""
    if form.row.mnemonic == "lop3" or form.type.kind == "packed":
        return True
    return wanted and form.type.name not in ("f16", "bf16")


def _type(form: Form, role: Role, kind: str) -> PtxType:
    found = form.type_of(Role(role.name, kind))
    if found is None:
        raise ValueError(f"{form.opcode}: operand {role.name} has no type")
    return found


def pure_rows() -> Iterator[Row]:
    """The rows of table T7 that only compute on registers, in order."""
    for mnemonic in sorted(table.ROWS):
        yield from (row for row in table.ROWS[mnemonic] if not row.effect and row.run and mnemonic != "createpolicy")


@cache
def forms_of(row: Row) -> tuple[Form, ...]:
    """Every form of a row that an assembler takes, by all its types and modifiers."""
    rule = _RULES.get(row.mnemonic, lambda form: True)
    choices = [slot.words if slot.required else ("", *slot.words) for slot in row.slots]
    found: list[Form] = []
    for types in itertools.product(*row.types):
        for words in itertools.product(*choices):
            opcode = ".".join([row.mnemonic, *(word for word in words if word), *types])
            try:
                form = resolve(opcode)
            except TinytonError:
                continue
            if form.row is row and rule(form):
                found.append(form)
    return tuple(found)


def forms() -> Iterator[Form]:
    """Every form of every such row."""
    for row in pure_rows():
        yield from forms_of(row)
