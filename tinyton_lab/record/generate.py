"""Makes the JSON Schema and the TypeScript types of a record from `shape.py`. Knows types, no values."""

from __future__ import annotations

import json
import types
import typing
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from tinyton_lab.record import shape

ALIASES = {"Uids": shape.Uids, "Lanes": shape.Lanes, "Value": shape.Value}
SCALARS: dict[Any, tuple[str, str]] = {
    int: ("integer", "number"),
    float: ("number", "number"),
    bool: ("boolean", "boolean"),
    str: ("string", "string"),
}
SCHEMA_FILE = Path(__file__).with_name("record.schema.json")


def shapes() -> list[type]:
    """The record's object types in the order of the file."""
    return [value for value in vars(shape).values() if is_typeddict(value)]


def fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """The fields of an object type: name to (type, required)."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: (get_args(hint)[0], False) if get_origin(hint) is NotRequired else (hint, True)
        for name, hint in hints.items()
    }


def json_schema() -> str:
    """The JSON Schema (draft 2020-12) of a record as text."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": shape.SCHEMA,
        "$ref": "#/$defs/RecordJson",
        "$defs": {kind.__name__: _object_schema(kind) for kind in shapes()},
    }
    return json.dumps(document, indent=1) + "\n"


def typescript() -> str:
    """The TypeScript types of a record as text."""
    head = [
        "// Generated from tinyton_lab/record/shape.py by `make regen`. Do not edit.",
        f'export const SCHEMA = "{shape.SCHEMA}";',
        f'export const MIME = "{shape.MIME}";',
    ]
    aliases = [f"export type {name} = {_typescript_type(hint, top=True)};" for name, hint in ALIASES.items()]
    return "\n".join(head + aliases + [_interface(kind) for kind in shapes()]) + "\n"


def _object_schema(kind: type) -> dict[str, Any]:
    return {
        "description": " ".join((kind.__doc__ or "").split()),
        "type": "object",
        "properties": {name: _schema(hint) for name, (hint, _) in fields(kind).items()},
        "required": [name for name, (_, required) in fields(kind).items() if required],
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in SCALARS:
        return {"type": SCALARS[hint][0]}
    if is_typeddict(hint):
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin is Literal:
        return {"const": arguments[0]}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [_schema(a) for a in arguments],
            "items": False,
            "minItems": len(arguments),
        }
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(argument) for argument in arguments]}
    raise RuntimeError(f"record shape: no JSON Schema for {hint!r}")


def _interface(kind: type) -> str:
    lines = [
        f"  {name}{'' if required else '?'}: {_typescript_type(hint)};"
        for name, (hint, required) in fields(kind).items()
    ]
    doc = " ".join((kind.__doc__ or "").split())
    return "\n".join(["", f"/** {doc} */", f"export interface {kind.__name__} {{", *lines, "}"])


def _typescript_type(hint: Any, top: bool = False) -> str:
    for name, alias in ALIASES.items():
        if not top and hint == alias:
            return name
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in SCALARS:
        return SCALARS[hint][1]
    if is_typeddict(hint):
        return hint.__name__
    if origin is Literal:
        return json.dumps(arguments[0])
    if origin is list:
        item = _typescript_type(arguments[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is tuple:
        return f"[{', '.join(_typescript_type(argument) for argument in arguments)}]"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(_typescript_type(argument) for argument in arguments))
    raise RuntimeError(f"record shape: no TypeScript type for {hint!r}")
