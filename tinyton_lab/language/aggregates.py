"""Classes that authors write: values with named, typed fields and methods, which never change once they are made."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, GenericAlias
from typing import Any, ClassVar, TypeVar, dataclass_transform

from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language.builtin import (
    ConstexprFunction,
    LibraryFunction,
    builtin,
    is_device_function,
)
from tinyton_lab.language.emission import describe, is_number, static, to_value, unwrap
from tinyton_lab.language.initialisers import initialiser
from tinyton_lab.language.structure import Structure, same_form, spelled
from tinyton_lab.language.value import EMITTER, TileValue, caller, emitter

T = TypeVar("T")
NOTHING: Any = object()
_PYTHONS = frozenset({"__dict__", "__weakref__", "__annotations__", "__init__", "__annotate__", "__annotate_func__"})
REFLECTED = {name: f"__r{name[2:]}" for name in (
    "__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__", "__lshift__", "__rshift__",
    "__and__", "__or__", "__xor__",
)} | {
    "__eq__": "__eq__", "__ne__": "__ne__", "__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__",
    "__ge__": "__le__",
}  # fmt: skip


class Aggregate(Structure):
    """The base of all classes that `aggregate` makes."""

    __fields__: ClassVar[Mapping[str, Any]] = {}
    __defaults__: ClassVar[Mapping[str, Any]] = {}
    __maker__: ClassVar[LibraryFunction | ConstexprFunction | None] = None

    def __new__(cls, *args: Any, **keywords: Any) -> Any:
        made = object.__new__(cls)
        values = {**cls.__defaults__, **given_values(cls, made, args, keywords)}
        vars(made).clear()
        for name, wanted in cls.__fields__.items():
            vars(made)[name] = fitting(cls, name, wanted, values.get(name, NOTHING))
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        if name not in type(self).__fields__:
            raise _fault("TT1013", type=f"a {kind}", name=name, close=_close(type(self)))
        if "__draft__" not in vars(self):
            raise _fault("TT1034", name=kind, field=name)
        vars(self)[name] = value

    def __eq__(self, other: object) -> Any:
        if EMITTER.get() is not None:
            raise _fault("TT1013", type=f"a {type(self).__name__}", name="__eq__", close="a method of that name")
        return self is other

    __hash__ = Structure.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={vars(self)[name]!r}' for name in type(self).__fields__)})"

    @property
    def __parts__(self) -> tuple[Any, ...]:
        return tuple(vars(self)[name] for name in self.__varying__())

    def __varying__(self) -> list[str]:
        """The fields whose values come at run time."""
        fields = type(self).__fields__.items()
        return [name for name, wanted in fields if wanted is not Constexpr and _is_part(vars(self)[name])]

    def __remade__(self, parts: Sequence[Any]) -> Aggregate:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        vars(made).update(zip(self.__varying__(), parts, strict=True))
        return made

    @property
    def __kind__(self) -> str:
        fields = ", ".join(f"{name}: {_spelled(vars(self)[name])}" for name in type(self).__fields__)
        return f"a {type(self).__name__} ({fields})"

    def __alike__(self, other: Structure) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = vars(self), vars(other)
        constant = type(self).__fields__.keys() - self.__varying__()
        return all(
            _same_value(mine[name], theirs[name]) if name in constant else same_form(mine[name], theirs[name])
            for name in mine
        )


class Unfinished:
    """What `self` is in an `__init__` besides its fields: nothing yet."""

    def __init__(self, kind: type[Aggregate]) -> None:
        vars(self)["kind"] = kind

    def __getattr__(self, name: str) -> Any:
        raise _fault("TT1013", type=f"a {vars(self)['kind'].__name__} in its __init__", name=name, close="a field")

    def __setattr__(self, name: str, value: Any) -> None:
        kind: type[Aggregate] = vars(self)["kind"]
        raise _fault("TT1013", type=f"a {kind.__name__}", name=name, close=_close(kind))


def _fault(code: str, **fields: Any) -> TinytonError:
    at_work = EMITTER.get()
    return error(code, caller() if at_work is None else at_work.span, **fields)


def _close(kind: type[Aggregate]) -> str:
    return f"one of its fields ({', '.join(kind.__fields__)})"


def _is_part(value: Any) -> bool:
    return isinstance(value, (TileValue, Structure, tuple))


def _same_value(x: Any, y: Any) -> bool:
    return x is y or (type(x) is type(y) and repr(x) == repr(y))


def _spelled(value: Any) -> str:
    return spelled(value) or describe(value)


def given_values(
    kind: type[Aggregate], made: Aggregate, args: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The values that a call of the class gives its fields. Raises TT1007 for arguments that do not bind."""
    maker, at_work = kind.__maker__, EMITTER.get()
    try:
        signature(kind).bind(*args, **keywords)
    except TypeError as unbound:
        spelled_signature = str(inspect.Signature(_bare(signature(kind))))
        raise _fault("TT1007", name=kind.__name__, why=str(unbound), signature=spelled_signature) from None
    if maker is None:
        return signature(kind).bind(*args, **keywords).arguments
    if isinstance(maker, LibraryFunction) and at_work is not None:
        found = at_work.call(maker, (Unfinished(kind), *args), keywords)
        if not isinstance(found, tuple):
            raise _fault("TT1033", name=kind.__name__, why="its __init__ returns a value")
        return {name: value for name, value in zip(kind.__fields__, found) if value is not ...}
    vars(made)["__draft__"] = True
    try:
        maker(made, *args, **keywords)
    except (ArithmeticError, AttributeError, TypeError, ValueError) as failure:
        raise _fault("TT1018", what=f"{kind.__name__}(...)", why=str(failure)) from None
    return {name: value for name, value in vars(made).items() if name != "__draft__"}


def signature(kind: type[Aggregate]) -> inspect.Signature:
    """How a class is called: like its `__init__`, or with its fields in their order."""
    if kind.__maker__ is not None:
        found = inspect.signature(kind.__maker__.__wrapped__)
        return found.replace(parameters=list(found.parameters.values())[1:])
    defaults = dict.fromkeys(kind.__fields__, inspect.Parameter.empty)
    for name in kind.__fields__:
        if name in kind.__defaults__:
            later = list(kind.__fields__)[list(kind.__fields__).index(name) :]
            defaults |= dict.fromkeys(later, NOTHING) | {name: kind.__defaults__[name]}
    keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, keyword, default=value) for name, value in defaults.items()])


def _bare(found: inspect.Signature) -> list[inspect.Parameter]:
    return [parameter.replace(annotation=inspect.Parameter.empty) for parameter in found.parameters.values()]


def fitting(kind: type[Aggregate], name: str, wanted: Any, value: Any) -> Any:
    """A value as a field holds it. Raises TT1033 where there is none, TT1035 where it does not fit."""
    value = unwrap(value)
    if value is NOTHING:
        raise _fault("TT1033", name=kind.__name__, why=f"its __init__ gives the field {name!r} no value")
    if wanted is Constexpr:
        return static(value, f"the field {name} of a {kind.__name__}")
    if issubclass(wanted, TileValue) and is_number(value):
        return to_value(value)
    if not isinstance(value, wanted):
        raise _fault(
            "TT1035", name=kind.__name__, field=name, wanted=getattr(wanted, "__name__", wanted), seen=_spelled(value)
        )
    return value


# Making a class
@dataclass_transform(eq_default=False)
def aggregate(cls: type[T]) -> type[T]:
    """Make a class one of the kernel language: annotations are its fields, functions are written in the language.

    A field is `tl.constexpr` (known at compile time), `tl.tensor` (a scalar or a tile), `tl.tuple` or another
    aggregate. Without an `__init__`, the fields are the parameters. Aggregates do not change: `aggregate_replace` makes
    another one. They pass through loops, branches and helpers like any value. Raises TT1033 for a class that is none.

    >>> import numpy as np, tinyton_lab as tt, tinyton_lab.language as tl
    >>> @tt.aggregate
    ... class Run:
    ...     total: tl.tensor
    ...     STEP: tl.constexpr
    ...     def step(self, x):
    ...         return Run(self.total + x * self.STEP, self.STEP)
    >>> @tt.jit
    ... def kernel(out):
    ...     run = Run(0, 2)
    ...     for i in range(5):
    ...         run = run.step(i)
    ...     tl.store(out, run.total)
    >>> out = np.zeros(1, np.int32)
    >>> _ = kernel[(1,)](out)
    >>> out
    array([20], dtype=int32)
    """
    bases = tuple(base for base in cls.__bases__ if base is not object)
    for base in bases:
        if not issubclass(base, Aggregate):
            raise _fault("TT1033", name=cls.__name__, why=f"its base {base.__name__} is none")
    space = dict(vars(cls))
    own = _annotations(cls, sys._getframe(1).f_locals)  # pyright: ignore[reportPrivateUsage]
    defaults = {name: space.pop(name) for name in own if name in space}
    fields = {name: wanted for base in reversed(bases) for name, wanted in base.__fields__.items()} | own
    members = {name: member(value) for name, value in space.items() if name not in _PYTHONS}
    inherited = {name: value for base in reversed(bases) for name, value in base.__defaults__.items()}
    members |= {"__fields__": fields, "__defaults__": inherited | defaults, "__qualname__": cls.__qualname__}
    made: Any = type(cls.__name__, bases or (Aggregate,), members)
    init = space.get("__init__") or next((base.__maker__ for base in bases if base.__maker__ is not None), None)
    made.__maker__ = maker(init, fields)
    return made


def maker(init: Any, fields: Mapping[str, Any]) -> LibraryFunction | ConstexprFunction | None:
    """The `__init__` of a class with these fields: a function of the language, or one of Python's."""
    if init is None or isinstance(init, ConstexprFunction):
        return init
    dialect = init.dialect if is_device_function(init) else "both"
    function = init.function if is_device_function(init) else init
    return LibraryFunction(initialiser(function, {name: w is Constexpr for name, w in fields.items()}), dialect)


def member(value: Any) -> Any:
    """A member of a class; functions become functions of the language, which bind to their first argument."""
    if isinstance(value, staticmethod):
        static_function: Callable[..., Any] = value.__func__  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return staticmethod(member(static_function))
    if isinstance(value, FunctionType):
        return LibraryFunction(value, "both")
    return LibraryFunction(value.function, value.dialect) if is_device_function(value) else value


def _annotations(cls: type, names: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a class declares itself. Raises TT1033 for an annotation that is no class."""
    try:
        found = typing.get_type_hints(cls, localns={**names, cls.__name__: cls})
    except (NameError, TypeError, SyntaxError) as failure:
        raise _fault("TT1033", name=cls.__name__, why=str(failure)) from None
    fields: dict[str, Any] = {}
    for name in inspect.get_annotations(cls):
        wanted = typing.get_origin(found[name]) or found[name]
        if not isinstance(wanted, type) or isinstance(wanted, GenericAlias):
            why = f"the field {name!r} is declared as {describe(found[name])}, which is no class"
            raise _fault("TT1033", name=cls.__name__, why=why)
        fields[name] = wanted
    return fields


@builtin
def aggregate_replace(instance: Any, **changes: Any) -> Any:
    """An aggregate like another one, with some fields changed."""
    emitter()
    if not isinstance(instance, Aggregate):
        raise _fault("TT2005", what=f"{_spelled(unwrap(instance))} is no aggregate")
    kind = type(instance)
    for name in changes:
        if name not in kind.__fields__:
            raise _fault("TT1013", type=f"a {kind.__name__}", name=name, close=_close(kind))
    values = {**vars(instance), **changes}
    parameters = signature(kind).parameters
    if parameters.keys() == values.keys():
        return kind(**values)
    made = object.__new__(kind)
    vars(made).update({name: fitting(kind, name, wanted, values[name]) for name, wanted in kind.__fields__.items()})
    return made


def defines(owner: Aggregate, method: str) -> bool:
    """Whether the class of an aggregate defines a method in the kernel language."""
    return isinstance(getattr(type(owner), method, None), LibraryFunction)


def operator_method(name: str, x: Any, y: Any = NOTHING) -> Callable[[], Any] | None:
    """What carries out an operator that an aggregate defines; None where neither operand is an aggregate.

    Raises TT1013 where neither defines it.
    """
    if not isinstance(x, Aggregate) and not isinstance(y, Aggregate):
        return None
    for owner, method, other in ((x, name, y), (y, REFLECTED.get(name, name), x)):
        if isinstance(owner, Aggregate):
            if defines(owner, method):
                return lambda: getattr(owner, method)(*(() if other is NOTHING else (other,)))
    owner = x if isinstance(x, Aggregate) else y
    raise _fault("TT1013", type=f"a {type(owner).__name__}", name=name, close="a method of that name")
