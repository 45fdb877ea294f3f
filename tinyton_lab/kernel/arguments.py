"""What an argument is to the compiler: its type, what is known of its value, and the cache key that says so.

Keys are cheap tuples made at each launch; descriptions are made once per specialisation.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from tinyton_lab.base import dtypes, knobs
from tinyton_lab.base.diagnostics import TinytonError, error
from tinyton_lab.base.dtypes import DType
from tinyton_lab.base.protocol import Constexpr, DeviceFunction
from tinyton_lab.frontend.signature import ArgumentType, Constant, Runtime
from tinyton_lab.ir.types import Pointer, Tile
from tinyton_lab.kernel.bundles import is_bundle
from tinyton_lab.kernel.parameters import KernelParameter
from tinyton_lab.runtime.buffers import element_dtype, is_tensor, numpy_address

ALIGNMENT = 16
_BOOLS = ("False", False), ("True", True)  # as keys: unlike 0 and 1
_checked_by_environment = knobs.CPU_CHECKED.text


def array_key(array: Any) -> Hashable:
    """dtype and alignment of a numpy array."""
    return array.dtype, numpy_address(array) % ALIGNMENT == 0


def tensor_key(tensor: Any) -> Hashable:
    """dtype and alignment of a torch tensor."""
    return str(tensor.dtype), tensor.data_ptr() % ALIGNMENT == 0


def integer_key(value: int) -> Hashable:
    """Width, whether it is 1, whether 16 divides it."""
    return dtypes.of_python_int(value), value == 1, value % ALIGNMENT == 0


def numpy_scalar_key(value: Any) -> Hashable:
    if value.dtype.kind in "iu":
        return value.dtype, integer_key(int(value))
    return value.dtype


RUNTIME_KEYS: dict[type, Callable[[Any], Hashable]] = {
    np.ndarray: array_key,
    int: integer_key,
    float: lambda value: "float",
    bool: lambda value: "bool",
    type(None): lambda value: None,
}


def runtime_key(value: Any) -> Hashable:
    """The key of a run-time argument of any type (`RUNTIME_KEYS` has the common ones)."""
    known = RUNTIME_KEYS.get(type(value))
    if known is not None:
        return known(value)
    if isinstance(value, np.generic):
        return numpy_scalar_key(value)
    if isinstance(value, np.ndarray):
        return array_key(value)
    if is_tensor(value):
        return tensor_key(value)
    return ("constant", constexpr_key(value))


def constexpr_key(value: Any) -> Hashable:
    """A key by type and exact bits: 1, 1.0 and True differ, 0.0 and -0.0 differ, nan equals itself."""
    match value:
        case Constexpr():
            return constexpr_key(value.value)
        case float() | np.floating():
            return type(value), struct.pack("<d", value)
        case tuple():
            return type(value), tuple(constexpr_key(item) for item in value)
        case _:
            hash(value)
            return type(value), value


def launch_key(
    kernel: str, parameters: Sequence[KernelParameter], constexprs: Sequence[bool], values: Sequence[Any], engine: str
) -> tuple[Hashable, list[int]]:
    """The key of a launch, and the addresses of its numpy arrays in order (found on the way).

    The key is None where an argument must be taken apart first.

    Every launch comes by here: the common types are told apart in line, without a call. `constexprs` says which
    parameters are compile-time.
    """
    parts: list[Hashable] = [engine, _checked_by_environment()]
    add = parts.append
    addresses: list[int] = []
    for constexpr, value in zip(constexprs, values):
        kind = type(value)
        if constexpr:
            if kind is int or kind is str:
                add(value)
            elif kind is bool:
                add(_BOOLS[value])
            else:
                break
        elif kind is ndarray:
            address = numpy_address(value)
            addresses.append(address)
            add((value.dtype,) if address % ALIGNMENT else value.dtype)
        elif kind is int and -0x80000000 <= value <= 0x7FFFFFFF:
            add(1 if value == 1 else 2 if value % ALIGNMENT else 0)
        else:
            break
    else:
        return tuple(parts), addresses
    if any(is_bundle(parameter, value) for parameter, value in zip(parameters, values)):
        return None, []
    keys = [argument_key(kernel, parameter, value) for parameter, value in zip(parameters, values)]
    return (*parts[:2], *keys), [numpy_address(value) for value in values if type(value) is ndarray]


def argument_key(kernel: str, parameter: KernelParameter, value: Any) -> Hashable:
    """The key of one bound argument. Raises TT3008 for an unhashable constexpr, TT3005 for any other such value."""
    try:
        return constexpr_key(value) if parameter.constexpr else runtime_key(value)
    except TypeError:
        code = "TT3008" if parameter.constexpr else "TT3005"
        raise error(code, kernel=kernel, name=parameter.name, what=f"a {type(value).__name__}") from None


def describe(kernel: str, parameter: KernelParameter, value: Any) -> ArgumentType:
    """The compiler's view of one bound argument. Raises TT3005 to TT3007 for what has no type."""
    if isinstance(value, Constexpr):
        return Constant(value.value)
    if parameter.constexpr or value is None:
        return Constant(value)
    if isinstance(value, np.ndarray) or is_tensor(value):
        return _describe_array(kernel, parameter, value)
    if isinstance(value, (bool, int, float, np.generic)):
        return _describe_number(kernel, parameter, value)
    if isinstance(value, (DType, DeviceFunction)):
        return Constant(value)
    raise error("TT3005", kernel=kernel, name=parameter.name, what=f"a {type(value).__name__}")


def _describe_array(kernel: str, parameter: KernelParameter, value: Any) -> ArgumentType:
    dtype = element_dtype(value)
    if dtype is None:
        raise error("TT3006", kernel=kernel, name=parameter.name, dtype=value.dtype)
    address = numpy_address(value) if isinstance(value, np.ndarray) else value.data_ptr()
    aligned = parameter.specialise_alignment and parameter.specialise and address % ALIGNMENT == 0
    return Runtime(Tile(Pointer(dtype)), ALIGNMENT if aligned else 1)


def _describe_number(kernel: str, parameter: KernelParameter, value: Any) -> ArgumentType:
    dtype = parameter.dtype or number_dtype(kernel, parameter.name, value)
    if dtype.kind not in ("int", "uint") or not parameter.specialise:
        return Runtime(Tile(dtype))
    if value == 1:
        return Runtime(Tile(dtype), known=1)
    return Runtime(Tile(dtype), ALIGNMENT if parameter.specialise_alignment and value % ALIGNMENT == 0 else 1)


def number_dtype(kernel: str, name: str, value: Any) -> DType:
    """The dtype of a number: numpy scalars keep theirs, bool is i1, float is f32, int by value."""
    if isinstance(value, np.generic):
        found = element_dtype(value)
        if found is None:
            raise error("TT3006", kernel=kernel, name=name, dtype=value.dtype)
        return found
    if isinstance(value, bool):
        return dtypes.int1
    if isinstance(value, float):
        return dtypes.float32
    found = dtypes.of_python_int(value)
    if found is None:
        raise error("TT3007", kernel=kernel, name=name, value=value)
    return found


def check_value(kernel: str, parameter: KernelParameter, value: Any) -> TinytonError | None:
    """The fault of a value that its annotated dtype cannot hold, or None."""
    if parameter.dtype is None or not isinstance(value, int):
        return None
    if parameter.dtype.kind == "float":
        return None
    low, high = dtypes.integer_range(parameter.dtype)
    if low <= value <= high:
        return None
    return error("TT3007", kernel=kernel, name=parameter.name, value=value)
