"""The classes of the kernel language as a reference shows them: what is public of each, and an example that runs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tinyton_lab import language as tl
from tinyton_lab.base.protocol import Constexpr
from tinyton_lab.language.blocks import block_pointer
from tinyton_lab.language.builtin import Builtin


@dataclass(frozen=True, slots=True)
class Class:
    """One class: its name, the class, what it is, an example, and what of it kernels have no use for."""

    name: str
    type: type
    doc: str
    example: str
    hidden: str = ""


_OWN_OF_BLOCKS = "along block inside loaded places stored"
CLASSES: tuple[Class, ...] = (
    Class(
        "tl.tensor",
        tl.tensor,
        "A tile, or a scalar: what loads, operators and functions give. Operators work element by element.",
        """
@tt.jit
def kernel(x):
    at = x + tl.arange(0, 8).reshape(2, 4)
    tile = tl.load(at)
    at.store(tile.to(tl.float32).T.trans() * 2 - tile.max(1)[:, None])


x = np.arange(8, dtype=np.float32)
kernel[(1,)](x)
assert x.tolist() == [-3, -1, 1, 3, 1, 3, 5, 7]
""",
        "element handle known made_as tile",
    ),
    Class(
        "tl.dtype",
        tl.dtype,
        "An element type, such as `tl.float32`: what `x.dtype` of a value gives. All are in [dtypes.md](dtypes.md).",
        """
assert tl.float16.primitive_bitwidth == 16 and tl.float16.is_floating()
assert tl.uint8.is_int_unsigned() and not tl.uint8.is_fp8()
""",
        "exponent_bits is_integer kind llvm mantissa_bits name numpy numpy_name ptx public short storage_only",
    ),
    Class(
        "tl.pointer_type",
        tl.pointer_type,
        "The type of pointers to elements of type `element_ty`: what `x.dtype` of an array argument gives.",
        """
@tt.jit
def kernel(x):
    tl.store(x, tl.load(x).to(tl.float32).to(x.dtype.element_ty))


kernel[(1,)](np.zeros(1, np.float16))
assert tl.pointer_type(tl.float16).element_ty is tl.float16
""",
        "kind name",
    ),
    Class(
        "tl.block_type",
        tl.block_type,
        "The type of a tile, with its `element_ty` and `shape`: what `x.type` of one gives.",
        """
kind = tl.block_type(tl.float32, (4, 8))
assert kind.numel == 32 and kind.scalar is tl.float32 and kind.is_block()
""",
    ),
    Class(
        "tl.constexpr",
        Constexpr,
        "A `value` known at compile time. It marks parameters and fields, and makes globals readable in kernels.",
        """
LIMIT = tl.constexpr(4)


@tt.jit
def kernel(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), tl.minimum(tl.arange(0, N), LIMIT))


x = np.zeros(8, np.int32)
kernel[(1,)](x, N=8)
assert x.tolist() == [0, 1, 2, 3, 4, 4, 4, 4]
""",
    ),
    Class(
        "tl.tuple",
        tl.tuple,
        "Python's tuple: of values of the kernel, of known ones, or of both; named tuples keep their fields.",
        """
@tt.jit
def kernel(sizes, x):
    first, *others = sizes
    tl.store(x, first + others[0] * len(others))


x = np.zeros(1, np.int32)
kernel[(1,)]((3, 4, 5), x)
assert x[0] == 11
""",
        "count index",
    ),
    Class(
        "block pointers",
        block_pointer,
        "A block of a tensor in memory, at certain offsets; `tl.make_block_ptr` makes one.",
        """
@tt.jit
def kernel(x, rows, columns):
    block = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (2, 4), (1, 0))
    block = block.advance((1, 0))
    tl.store(block, tl.load(block, boundary_check=(0, 1)) + 1, boundary_check=(0, 1))


x = np.zeros((2, 3), np.float32)
kernel[(1,)](x, 2, 3)
assert x.tolist() == [[0, 0, 0], [1, 1, 1]]
""",
        _OWN_OF_BLOCKS,
    ),
    Class(
        "tl.tensor_descriptor",
        tl.tensor_descriptor,
        "A tensor in memory that is read and written in blocks; `tl.make_tensor_descriptor` or a launch makes one.",
        """
@tt.jit
def kernel(x, rows, columns):
    whole = tl.make_tensor_descriptor(x, (rows, columns), (columns, 1), (2, 4))
    whole.store((1, 0), whole.load((1, 0)) + 1)


x = np.zeros((2, 4), np.float32)
kernel[(1,)](x, 2, 4)
assert x.tolist() == [[0, 0, 0, 0], [1, 1, 1, 1]]
""",
        _OWN_OF_BLOCKS,
    ),
)


def members(row: Class) -> Iterator[tuple[str, str]]:
    """The public members of a class: how each is written, and the first line of its documentation."""
    hidden = row.hidden.split()
    for name in sorted(dir(row.type)):
        if name.startswith("_") or name in hidden:
            continue
        found: Any = inspect.getattr_static(row.type, name)
        if isinstance(found, property):
            yield name, _first_line(found.fget)
        elif callable(found) or hasattr(found, "__wrapped__"):
            yield name + _signature(found), _first_line(found)


def _signature(function: Any) -> str:
    """The parameters of a method but for the first, which is the value."""
    spelled = Builtin("", "", getattr(function, "__wrapped__", function)).spelled
    _, _, rest = spelled.partition(", ")
    return f"({rest}" if rest else "()"


def _first_line(function: Any) -> str:
    return (function.__doc__ or "").strip().split("\n")[0]
