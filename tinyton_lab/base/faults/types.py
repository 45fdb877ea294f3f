"""Faults TT2xxx: shapes and dtypes."""

from __future__ import annotations

from tinyton_lab.base.faults.row import Fault


def _kernel(body: str) -> str:
    """A specimen: a kernel over a float32 array `x` and an int32 array `k` with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    arrays = "x, k = np.zeros(64, np.float32), np.zeros(64, np.int32)\n"
    return f"@tt.jit\ndef kernel(x, k):\n    i = tl.arange(0, 8)\n{lines}{arrays}kernel[(1,)](x, k)\n"


ROWS: tuple[Fault, ...] = (
    Fault(
        "TT2001",
        "Operands that do not fit an op",
        "{what}",
        "",
        "Every op of the tile IR says which operands it takes; the language checks most of this earlier.",
    ),
    Fault(
        "TT2002",
        "Shapes that do not broadcast",
        "{x} and {y} do not broadcast",
        "insert axes with [:, None], or reshape",
        "Two shapes broadcast when their lengths, aligned at the last axis, are equal or 1.",
        _kernel("j = tl.arange(0, 16)\ntl.store(x + i, tl.load(x + i) + tl.load(x + j))"),
    ),
    Fault(
        "TT2003",
        "No common dtype",
        "{x} and {y} have no common dtype for this operation",
        "cast one of them",
        "A quotient of a signed and an unsigned integer depends on how the sign is read, so it must be said; 8-bit "
        "floats do not mix with integers.",
        _kernel("n = tl.load(k)\ntl.store(k, n // n.to(tl.uint32))"),
    ),
    Fault(
        "TT2004",
        "Number outside its dtype",
        "{value} is no value of {type} ({low} to {high})",
        "cast the other operand to a wider dtype",
        "A number written in a kernel takes on the dtype of what it meets, and has to fit.",
        _kernel("small = tl.load(k).to(tl.int8)\ntl.store(k, small + 1000)"),
    ),
    Fault(
        "TT2005",
        "Argument of the wrong kind",
        "{what}",
        "",
        "Operands are numbers, scalars and tiles; options are of the kind that the function's description says.",
        _kernel('tl.store(x, tl.load(x) + "1")'),
    ),
    Fault(
        "TT2006",
        "Length that is no power of 2",
        "each length of a tile must be a power of 2; the shape {shape} has {length}",
        "take {near} and mask the rest: mask=i < n",
        "Layouts map the bits of an index to registers, lanes and warps, so lengths are powers of 2. Arrays may have "
        "any length.",
        _kernel("j = tl.arange(0, 12)\ntl.store(x + j, 1.0)"),
    ),
    Fault(
        "TT2007",
        "Tile that is too large",
        "a tile of shape {shape} has {elements} elements; the largest has {largest}",
        "loop over smaller tiles, or start more programs",
        "A program keeps its tiles in registers.",
        _kernel("t = tl.zeros((4096, 4096), tl.float32)\ntl.store(x, tl.sum(t))"),
    ),
    Fault(
        "TT2008",
        "No such axis",
        "there is no axis {axis}; the number of axes is {rank}",
        "axes count from 0; negative ones count from the last",
        "A tile has as many axes as its shape has lengths; a grid has three.",
        _kernel("tl.store(x, tl.sum(tl.load(x + i), axis=1))"),
    ),
    Fault(
        "TT2009",
        "Shape of another size",
        "{x} has {elements} elements, which the shape {shape} does not hold",
        "",
        "Reshaping keeps every element.",
        _kernel("t = tl.reshape(tl.load(x + i), (4, 4))\ntl.store(x, tl.sum(t))"),
    ),
    Fault(
        "TT2010",
        "Empty range",
        "arange({start}, {end}) is empty or leaves 32 bits",
        "the end must be greater than the start",
        "A tile has at least one element.",
        _kernel("j = tl.arange(8, 4)\ntl.store(x + j, 1.0)"),
    ),
    Fault(
        "TT2011",
        "Subscript of a tile",
        "{x} is subscripted with None and : only",
        "read elements with tl.load and a pointer, or reduce with a mask",
        "A tile lies spread over the registers of many threads: there is no cheap way to one element.",
        _kernel("t = tl.load(x + i)\ntl.store(x, t[0])"),
    ),
    Fault(
        "TT2012",
        "Operation that pointers do not have",
        "{what}",
        "",
        "A pointer plus an integer is a pointer some elements further. Nothing else is computed with pointers.",
        _kernel("tl.store(x * 2, 1.0)"),
    ),
    Fault(
        "TT2013",
        "Dtype that an operation does not take",
        "{op} does not take {type}; it takes {kinds}",
        "cast it: x.to(tl.float32)",
        "Each operation is defined on some kinds of dtypes.",
        _kernel("tl.store(x + i, tl.sqrt(tl.load(k + i)))"),
    ),
    Fault(
        "TT2014",
        "Power",
        "** takes a whole exponent from 1 to 64 that is known at compile time, not {exponent}",
        "use tl.exp2(y * tl.log2(x))",
        "Small whole powers are products.",
        _kernel("tl.store(x, tl.load(x) ** 0.3)"),
    ),
    Fault(
        "TT2015",
        "Shift beyond the width",
        "a shift by {amount} is outside the {bits} bits of {type}",
        "",
        "Machines disagree on what such a shift gives; here it would give 0 or the sign.",
        _kernel("tl.store(k, tl.load(k) << 32)"),
    ),
    Fault(
        "TT2016",
        "Cast that does not exist",
        "{x} does not cast to {to}",
        "",
        "Numbers cast to dtypes; pointers to int64 and back, and to other pointers.",
        _kernel("tl.store(x, tl.load(x).to(3))"),
    ),
    Fault(
        "TT2017",
        "Bitcast to another width",
        "{x} has {bits} bits and {to} has {to_bits}",
        "cast without bitcast to convert the value",
        "A bitcast reads the same bits as another dtype.",
        _kernel("tl.store(k, tl.load(x).to(tl.int64, bitcast=True))"),
    ),
    Fault(
        "TT2018",
        "Access without a pointer",
        "a pointer is needed, not {what}",
        "arrays are passed as pointers: tl.load(x + offsets)",
        "Memory is read and written through pointers.",
        _kernel("tl.store(i, 1.0)"),
    ),
    Fault(
        "TT2019",
        "Tile through a single pointer",
        "the {role} is {x}, but the pointer is a single one",
        "use a tile of pointers: x + tl.arange(0, N)",
        "One pointer names one element.",
        _kernel("tl.store(x, tl.load(x + i))"),
    ),
    Fault(
        "TT2020",
        "Unknown caching hint",
        "there is no caching hint {word!r}",
        "the hints are {known}",
        "Hints steer caches and never change a result.",
        _kernel('tl.store(x, tl.load(x, cache_modifier=".xy"))'),
    ),
    Fault(
        "TT2021",
        "`other` without a mask",
        "`other` is given but there is no mask",
        "give a mask, or leave `other` out",
        "`other` is what masked-off elements become.",
        _kernel("tl.store(x + i, tl.load(x + i, other=0.0))"),
    ),
    Fault(
        "TT2022",
        "Reduction of something that is no tile",
        "cannot reduce {what}",
        "reduce tiles of one shape",
        "A reduction combines the elements of tiles along an axis.",
        _kernel("tl.store(x, tl.sum(tl.load(x)))"),
    ),
    Fault(
        "TT2023",
        "Combining function of another type",
        "the combining function gives {seen}; it must give {wanted}",
        "",
        "A reduction feeds results of its function back into it, so they have the types of its inputs.",
        """
@tt.jit
def pair(a, b):
    return a > b
"""
        + _kernel("tl.store(x, tl.reduce(tl.load(x + i), 0, pair))"),
    ),
    Fault(
        "TT2024",
        "Type that changes in a loop",
        "{name!r} is {before} before the loop and {after} after a turn",
        "give it that type before the loop",
        "A loop carries its variables from turn to turn in registers of one type.",
        _kernel("total = 0\nfor n in range(4):\n    total = total + tl.load(x + n)\ntl.store(x, total)"),
    ),
    Fault(
        "TT2025",
        "Tile as a condition",
        "a condition must be a scalar, not {type}",
        "choose elements with tl.where, or reduce the tile to one value",
        "A program takes one branch as a whole.",
        _kernel("t = tl.load(x + i)\nif t > 0:\n    tl.store(x + i, t)"),
    ),
    Fault(
        "TT2026",
        "Branches that do not agree",
        "{what} would be {first} on one branch and {second} on the other",
        "give both branches the same type",
        "After a branch, a name has one type whichever arm ran.",
        _kernel("if tl.load(k) > 0:\n    t = tl.load(x)\nelse:\n    t = tl.load(k)\ntl.store(x, t)"),
    ),
    Fault(
        "TT2027",
        "Bound that is no integer scalar",
        "the bounds of a range must be integers, not {type}",
        "",
        "A loop counts from one integer to another; all programs of a warp count together.",
        _kernel("for n in range(tl.load(x)):\n    tl.store(x, n)"),
    ),
    Fault(
        "TT2031",
        "Two lengths of lanes",
        "this arange has {other} lanes, {before}",
        "use one length for all ranges of a kernel",
        "In tiny-ton's dialect arange numbers the lanes of a program, of which there are as many everywhere.",
        """
from tinyton_lab import tiny_ton
@tiny_ton.jit
def kernel(x):
    i, j = tiny_ton.arange(0, 16), tiny_ton.arange(0, 32)
    tiny_ton.store(x + i, j)
kernel[(1,)](np.zeros(32, np.float32))
""",
    ),
    Fault(
        "TT2032",
        "Value that no slot holds",
        "a slot of shared memory has 32 bits and cannot hold {type}",
        "cast it to float32 or int32",
        "Slots of shared memory have 4 bytes. Narrower floats are kept as float32, narrower integers as 32 bits.",
        """
from tinyton_lab import tiny_ton
@tiny_ton.jit
def kernel(x):
    i = tiny_ton.arange(0, 16)
    tiny_ton.shared_store(i, tiny_ton.load(x + i))
kernel[(1,)](np.zeros(16, np.float64))
""",
    ),
    Fault(
        "TT2033",
        "Shared memory of several dtypes",
        "this kernel keeps {types} in shared memory, so a load must say which it reads",
        "give the dtype: shared_load(index, dtype=tl.int32)",
        "A slot is 32 bits. A load without a dtype reads what the stores of the kernel keep there, if that is one "
        "dtype: float32 or a 32-bit integer.",
        """
from tinyton_lab import tiny_ton
@tiny_ton.jit
def kernel(x):
    i = tiny_ton.arange(0, 16)
    tiny_ton.shared_store(i, i)
    tiny_ton.shared_store(i + 16, 0.5, buffer_size=32)
    tiny_ton.store(x + i, tiny_ton.shared_load(i))
kernel[(1,)](np.zeros(16, np.float32))
""",
    ),
    Fault(
        "TT2050",
        "No such block",
        "a block of a tensor cannot be made or used with {what}",
        "give integers, one per axis, and a value of the block's shape",
        "Block pointers and tensor descriptors have an extent, a stride, an offset and a block length for each axis.",
        _kernel("b = tl.make_block_ptr(x, (8, 8), (8,), (0, 0), (4, 4), (1, 0))\ntl.store(b, 1.0)"),
    ),
    Fault(
        "TT2040",
        "Matrices without a product",
        "{x} and {y} have no matrix product",
        "the shapes must be [m, k] and [k, n], or [batch, m, k] and [batch, k, n]",
        "Rows of the first matrix meet columns of the second, element by element, so they have one length.",
        _kernel(
            "t = tl.load(x + i[:, None] * 8 + i[None, :])\nj = tl.arange(0, 4)[:, None]\n"
            "tl.store(x, tl.sum(tl.dot(t, tl.load(x + j * 8 + i[None, :]))))"
        ),
    ),
    Fault(
        "TT2041",
        "Accumulator of another type",
        "the accumulator is {acc}; the product of {x} and {y} is {wanted}",
        "make it with tl.zeros of that shape and dtype, or choose the dtype with out_dtype",
        "A product is added to its accumulator in place.",
        _kernel(
            "t = tl.load(x + i[:, None] * 8 + i[None, :])\n"
            "acc = tl.zeros((8, 4), tl.float32)\ntl.store(x, tl.sum(tl.dot(t, t, acc)))"
        ),
    ),
)
