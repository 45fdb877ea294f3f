"""PTX text from its syntax tree, such that parsing it again gives the same tree. Knows layout of text, not meaning."""

from __future__ import annotations

from collections.abc import Iterator

from tinyton_lab.ptx.parse import parse
from tinyton_lab.ptx.syntax import (
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    Label,
    Location,
    Module,
    Name,
    Negated,
    Operand,
    Pair,
    Raw,
    Scope,
    Statement,
    Table,
    Variable,
    Vector,
)

__all__ = ["locations", "operand_text", "parse", "print_instruction", "print_module"]


def print_module(module: Module) -> str:
    """Print a module as PTX text that the assembler accepts.

    >>> print_module(parse(".version 8.0 .target sm_80 .address_size 64 .global .u32 g;")).splitlines()[-1]
    '.global .u32 g;'
    """
    head = [
        f".version {module.version}",
        f".target {', '.join(module.targets)}",
        f".address_size {module.address_size}",
        "",
    ]
    return "\n".join(head + [line for item in module.items for line in _item(item)]) + "\n"


def _item(item: Variable | Function | Raw) -> Iterator[str]:
    if isinstance(item, Variable):
        yield _variable(item) + ";"
    elif isinstance(item, Raw):
        yield item.text
    else:
        yield from _function(item)


def _function(function: Function) -> Iterator[str]:
    linkage = f".{function.linkage} " if function.linkage else ""
    results = f"({', '.join(map(_variable, function.results))}) " if function.results else ""
    parameters = ",\n\t".join(map(_variable, function.parameters))
    yield f"{linkage}.{function.kind} {results}{function.name}(" + (f"\n\t{parameters}\n)" if parameters else ")")
    for name, values in function.directives:
        yield f".{name} {', '.join(map(str, values))}".rstrip()
    if function.body is None:
        yield ";"
        return
    yield "{"
    yield from _body(function.body, "\t")
    yield "}"


def _body(body: tuple[Statement, ...], indent: str) -> Iterator[str]:
    for statement in body:
        match statement:
            case Label(name=name):
                yield f"{name}:"
            case Scope(body=inner):
                yield indent + "{"
                yield from _body(inner, indent + "\t")
                yield indent + "}"
            case _:
                yield indent + _statement(statement)


def _statement(statement: Statement) -> str:
    match statement:
        case Instruction():
            return print_instruction(statement) + ";"
        case Variable():
            return _variable(statement) + ";"
        case Location():
            rest = f", {statement.rest}" if statement.rest else ""
            return f".loc\t{statement.file} {statement.line} {statement.column}{rest}"
        case Table(directive="callprototype"):
            return f"{statement.label}: .callprototype {statement.text};"
        case Table():
            return f"{statement.label}: .{statement.directive} {', '.join(statement.names)};"
        case Raw():
            return statement.text
        case _:
            raise RuntimeError(f"printing PTX: unexpected {type(statement).__name__}")


def print_instruction(instruction: Instruction) -> str:
    """Print one instruction without its semicolon."""
    guard = f"@{'!' if instruction.negated else ''}{instruction.guard} " if instruction.guard else ""
    operands = list(map(operand_text, instruction.operands))
    return f"{guard}{instruction.opcode}" + (f" \t{', '.join(operands)}" if operands else "")


def operand_text(operand: Operand) -> str:
    """Print one operand."""
    match operand:
        case Name(text=text, offset=offset):
            return f"{text}+{offset}" if offset else text
        case Immediate(text=text):
            return text
        case Negated(name=name):
            return f"!{name}"
        case Pair(first=first, second=second):
            return f"{first}|{second}"
        case Vector(items=items):
            return "{" + ", ".join(map(operand_text, items)) + "}"
        case Group(items=items):
            return "(" + ", ".join(map(operand_text, items)) + ")"
        case Address(base=base, offset=offset, rest=rest):
            inner = operand_text(base) + (f"+{offset}" if offset else "")
            return "[" + ", ".join([inner, *map(operand_text, rest)]) + "]"
    raise RuntimeError(f"printing PTX: unexpected operand {operand!r}")


def _variable(variable: Variable) -> str:
    words = [f".{variable.linkage}"] if variable.linkage else []
    words.append(f".{variable.space}")
    words += [f".align {variable.align}"] if variable.align else []
    words += [f".v{variable.vector}"] if variable.vector else []
    words.append(f".{variable.type}")
    words += [variable.qualifiers] if variable.qualifiers else []
    name = variable.name + (f"<{variable.count}>" if variable.count else "")
    for size in variable.shape or ():
        name += f"[{size or ''}]"
    words.append(name)
    if variable.initial is not None:
        bare = variable.shape is None and len(variable.initial) == 1
        words.append("= " + _initial(variable.initial[0] if bare else variable.initial))
    return " ".join(words)


def _initial(item: object) -> str:
    if isinstance(item, (Name, Immediate)):
        return operand_text(item)
    if isinstance(item, tuple):
        return "{" + ", ".join(map(_initial, item)) + "}"
    return str(item)


def locations(module: Module) -> dict[int, tuple[int, int, int]]:
    """For each PTX line that holds an instruction, the (file, line, column) of the ``.loc`` in force there."""
    found: dict[int, tuple[int, int, int]] = {}
    for function in module.functions.values():
        current = (0, 0, 0)
        for statement in _flat(function.body or ()):
            if isinstance(statement, Location):
                current = (statement.file, statement.line, statement.column)
            elif isinstance(statement, Instruction) and current[0]:
                found[statement.line] = current
    return found


def _flat(body: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in body:
        if isinstance(statement, Scope):
            yield from _flat(statement.body)
        else:
            yield statement
