"""Arguments made of arguments: tuples and tensor descriptors, which a launch takes apart and the front end rebuilds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tinyton_lab.base.diagnostics import error
from tinyton_lab.frontend.signature import Bundle
from tinyton_lab.kernel.parameters import KernelParameter
from tinyton_lab.language import blocks
from tinyton_lab.language.structure import remade
from tinyton_lab.runtime.buffers import element_dtype, is_tensor, numpy_address

ALIGNMENT = 16


class Described(Protocol):
    """What looks like a tensor descriptor: this package's class, or Triton's."""

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str


@dataclass
class TensorDescriptor:
    """A tensor that kernels read and write in blocks of `block_shape`, within its bounds; an argument of a launch.

    `base` is an array or tensor, `strides` are in elements and the last is 1; elements outside are read as 0, or as
    NaN with ``padding="nan"``. Raises TT3020 for a tensor that has no descriptor.

    >>> TensorDescriptor.from_tensor(np.zeros((4, 8), np.float32), [2, 4]).strides
    [8, 1]
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem:
            raise error("TT3020", why=problem)

    @staticmethod
    def from_tensor(
        tensor: Any, block_shape: Sequence[int], padding: str = "zero", round_f32_to_tf32: bool = False
    ) -> TensorDescriptor:
        """The descriptor of a whole array or tensor."""
        if isinstance(tensor, np.ndarray):
            strides = [stride // tensor.itemsize for stride in tensor.strides]
        else:
            strides = list(tensor.stride())
        return TensorDescriptor(tensor, list(tensor.shape), strides, list(block_shape), padding, round_f32_to_tf32)


def _problem(descriptor: TensorDescriptor) -> str:
    """Why a tensor has no descriptor, in words; nothing if it has one."""
    base, rank = descriptor.base, len(descriptor.shape)
    if not isinstance(base, np.ndarray) and not is_tensor(base):
        return f"its base is a {type(base).__name__}, not an array or a tensor"
    dtype = element_dtype(base)
    if dtype is None:
        return f"the dtype {base.dtype} has no counterpart in the kernel language"
    if not 1 <= rank <= blocks.HIGHEST_RANK or rank != len(descriptor.strides) or rank != len(descriptor.block_shape):
        return f"it needs 1 to {blocks.HIGHEST_RANK} extents, and as many strides and block lengths"
    address = numpy_address(base) if isinstance(base, np.ndarray) else base.data_ptr()
    if address % ALIGNMENT:
        return f"its base is not aligned to {ALIGNMENT} bytes"
    if descriptor.strides[-1] != 1:
        return "its last axis is not contiguous"
    if any(stride * dtype.bytes % ALIGNMENT for stride in descriptor.strides[:-1]):
        return f"its strides are not multiples of {ALIGNMENT} bytes"
    if any(extent <= 0 for extent in descriptor.shape):
        return "an extent is not positive"
    if any(length < 1 or length & (length - 1) for length in descriptor.block_shape):
        return "a block length is not a power of two"
    if descriptor.padding not in ("zero", "nan"):
        return f"its padding {descriptor.padding!r} is neither 'zero' nor 'nan'"
    return "only floats can be padded with NaN" if descriptor.padding == "nan" and dtype.kind != "float" else ""


def is_descriptor(value: Any) -> bool:
    """Whether an argument is a tensor descriptor, this package's or Triton's."""
    return isinstance(value, TensorDescriptor) or type(value).__name__ == "TensorDescriptor"


def is_bundle(parameter: KernelParameter, value: Any) -> bool:
    """Whether an argument must be taken apart."""
    return not parameter.constexpr and (isinstance(value, tuple) or is_descriptor(value))


@dataclass(frozen=True, slots=True)
class Plan:
    """How an argument comes apart: `parameters` of its leaves, `bundles` by name, and a `key` of its form."""

    parameters: tuple[KernelParameter, ...]
    bundles: tuple[tuple[str, Bundle], ...]
    key: Hashable


def plan(name: str, value: Any) -> Plan:
    """The plan of an argument; names of leaves are those of the argument with a dot and a number."""
    if isinstance(value, tuple):
        parts = [(f"{name}.{index}", part) for index, part in enumerate(value)]
        return _joined(name, parts, lambda values: remade(value, values), type(value))
    if not is_descriptor(value):
        return Plan((KernelParameter(name, False),), (), None)
    padding = float("nan") if value.padding == "nan" else None
    block_shape = tuple(int(length) for length in value.block_shape)

    def build(values: Sequence[Any]) -> Any:
        base, shape, strides = values
        rank = len(block_shape)
        return blocks.tensor_descriptor(
            base, blocks.integers(shape, "an extent", rank), blocks.strides_of(strides, rank), block_shape, padding
        )

    return _joined(name, list(zip((f"{name}.base", f"{name}.shape", f"{name}.strides"), leaves(value))), build,
                   ("descriptor", block_shape, value.padding))  # fmt: skip


def _joined(name: str, parts: list[tuple[str, Any]], build: Callable[[Sequence[Any]], Any], form: Hashable) -> Plan:
    plans = [plan(part, value) for part, value in parts]
    bundle = name, Bundle(tuple(part for part, _ in parts), build)
    return Plan(
        tuple(parameter for each in plans for parameter in each.parameters),
        (*(inner for each in plans for inner in each.bundles), bundle),
        (form, tuple(each.key for each in plans)),
    )


def leaves(value: Any) -> tuple[Any, ...]:
    """The parts of an argument that is taken apart."""
    if isinstance(value, tuple):
        return tuple(value)
    return value.base, tuple(int(n) for n in value.shape), tuple(int(n) for n in value.strides)


def flattened(value: Any) -> list[Any]:
    """The leaves of an argument, all the way down."""
    if isinstance(value, tuple) or is_descriptor(value):
        return [leaf for part in leaves(value) for leaf in flattened(part)]
    return [value]
