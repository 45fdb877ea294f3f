"""Table T1: the element types and how two of them promote. Knows nothing of tiles, memory or engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2}  # integers of either sign are one kind to a Python scalar


@dataclass(frozen=True, slots=True)
class DType:
    """One element type: its spelling in every text form of the lab.

    `name` is the tile IR's word (``f32``), `public` the language's (``float32``), `short` Triton's print (``fp32``).
    `storage_only` types can be loaded, stored and cast, never computed with.

    >>> float32.bits, float32.kind, str(float32)
    (32, 'float', 'f32')
    """

    name: str
    public: str
    short: str
    kind: str
    bits: int
    llvm: str
    ptx: str
    numpy_name: str
    exponent_bits: int = 0
    mantissa_bits: int = 0
    storage_only: bool = False

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"tl.{self.public}"

    @property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype that holds this type's values (ml_dtypes' for bf16 and fp8)."""
        import numpy

        if self.numpy_name.startswith("ml_dtypes."):
            import ml_dtypes

            return numpy.dtype(getattr(ml_dtypes, self.numpy_name.removeprefix("ml_dtypes.")))
        return numpy.dtype(self.numpy_name)

    @property
    def bytes(self) -> int:
        """The bytes of an element in memory."""
        return max(self.bits // 8, 1)

    @property
    def is_integer(self) -> bool:
        """True for bool, signed and unsigned integers."""
        return self.kind != "float"

    @property
    def signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.kind == "int"

    # Triton's spelling of the same facts, for host code and constexpr conditions in kernels.
    @property
    def primitive_bitwidth(self) -> int:
        """The bits of an element."""
        return self.bits

    @property
    def itemsize(self) -> int:
        """The bytes of an element in memory."""
        return self.bytes

    @property
    def int_bitwidth(self) -> int:
        """The bits of an element."""
        return self.bits

    @property
    def fp_mantissa_width(self) -> int:
        """The bits of a float's mantissa that are stored."""
        return self.mantissa_bits

    @property
    def exponent_bias(self) -> int:
        """What is added to the exponent of a float where it is stored; 0 for integers."""
        special = {"f8e4b8": 8, "f8e5b16": 16, "f8e4b15": 11}
        return special.get(self.name, (1 << self.exponent_bits - 1) - 1 if self.exponent_bits else 0)

    @property
    def scalar(self) -> DType:
        """The dtype itself: it is that of its scalars."""
        return self

    def is_floating(self) -> bool:
        """Whether it is a float."""
        return self.kind == "float"

    def is_int(self) -> bool:
        """Whether it is an integer or `int1`."""
        return self.kind != "float"

    def is_int_signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.kind == "int"

    def is_int_unsigned(self) -> bool:
        """Whether it is an unsigned integer or `int1`."""
        return self.kind in ("uint", "bool")

    def is_bool(self) -> bool:
        """Whether it is `int1`."""
        return self.kind == "bool"

    def is_ptr(self) -> bool:
        """Whether it is a pointer: never."""
        return False

    def is_block(self) -> bool:
        """Whether it is a tile's type: never."""
        return False

    def is_fp8(self) -> bool:
        """Whether it is a float of 8 bits."""
        return self.kind == "float" and self.bits == 8

    def is_standard_floating(self) -> bool:
        """Whether it is a float of more than 8 bits."""
        return self.kind == "float" and self.bits > 8

    def is_dtype(self) -> bool:
        """Whether it is a dtype: always."""
        return True

    def is_const(self) -> bool:
        """Whether what it points to is only read: never."""
        return False

    def __getattr__(self, attribute: str) -> Callable[[], bool]:
        # is_fp32(), is_bf16(), is_int64(), is_uint8(), is_fp8e4nv(): "is this exactly that type?"
        if attribute.startswith("is_") and attribute[3:] in _BY_SHORT:
            answer = self.short == attribute[3:]
            return lambda: answer
        raise AttributeError(f"a dtype has no attribute {attribute!r}")


_ROWS = (
    #      name      public         short     kind    bits llvm      ptx     numpy
    DType("i1", "int1", "int1", "bool", 1, "i1", "pred", "bool"),
    DType("i8", "int8", "int8", "int", 8, "i8", "s8", "int8"),
    DType("i16", "int16", "int16", "int", 16, "i16", "s16", "int16"),
    DType("i32", "int32", "int32", "int", 32, "i32", "s32", "int32"),
    DType("i64", "int64", "int64", "int", 64, "i64", "s64", "int64"),
    DType("u8", "uint8", "uint8", "uint", 8, "i8", "u8", "uint8"),
    DType("u16", "uint16", "uint16", "uint", 16, "i16", "u16", "uint16"),
    DType("u32", "uint32", "uint32", "uint", 32, "i32", "u32", "uint32"),
    DType("u64", "uint64", "uint64", "uint", 64, "i64", "u64", "uint64"),
    DType("f8e4nv", "float8e4nv", "fp8e4nv", "float", 8, "i8", "e4m3", "ml_dtypes.float8_e4m3fn", 4, 3, True),
    DType("f8e5", "float8e5", "fp8e5", "float", 8, "i8", "e5m2", "ml_dtypes.float8_e5m2", 5, 2, True),
    DType("f8e4b8", "float8e4b8", "fp8e4b8", "float", 8, "i8", "", "ml_dtypes.float8_e4m3fnuz", 4, 3, True),
    DType("f8e5b16", "float8e5b16", "fp8e5b16", "float", 8, "i8", "", "ml_dtypes.float8_e5m2fnuz", 5, 2, True),
    DType("f8e4b15", "float8e4b15", "fp8e4b15", "float", 8, "i8", "", "ml_dtypes.float8_e4m3b11fnuz", 4, 3, True),
    DType("f16", "float16", "fp16", "float", 16, "half", "f16", "float16", 5, 10),
    DType("bf16", "bfloat16", "bf16", "float", 16, "bfloat", "bf16", "ml_dtypes.bfloat16", 8, 7),
    DType("f32", "float32", "fp32", "float", 32, "float", "f32", "float32", 8, 23),
    DType("f64", "float64", "fp64", "float", 64, "double", "f64", "float64", 11, 52),
)
DTYPES: dict[str, DType] = {row.name: row for row in _ROWS}
_BY_SHORT = {row.short: row for row in _ROWS}
_BY_NUMPY = {row.numpy_name.removeprefix("ml_dtypes."): row for row in _ROWS}

int1, int8, int16, int32, int64 = (DTYPES[n] for n in ("i1", "i8", "i16", "i32", "i64"))
uint8, uint16, uint32, uint64 = (DTYPES[n] for n in ("u8", "u16", "u32", "u64"))
float8e4nv, float8e5, float8e4b8, float8e5b16, float8e4b15 = (
    DTYPES[n] for n in ("f8e4nv", "f8e5", "f8e4b8", "f8e5b16", "f8e4b15")
)
float16, bfloat16, float32, float64 = (DTYPES[n] for n in ("f16", "bf16", "f32", "f64"))


def of_numpy(name: str) -> DType | None:
    """Find the dtype of a numpy or torch dtype name (``"float32"``, ``"torch.bfloat16"``), or None."""
    return _BY_NUMPY.get(name.removeprefix("torch."))


def of_short(name: str) -> DType | None:
    """Find a dtype by any of its spellings: ``fp32``, ``f32``, ``float32``, ``i32``, ``int32``."""
    return _BY_SHORT.get(name) or DTYPES.get(name) or next((row for row in _ROWS if row.public == name), None)


def of_python_int(value: int) -> DType | None:
    """Type a Python integer by value: the first of i32, u32, i64, u64 that holds it; None beyond 64 bits."""
    for dtype in (int32, uint32, int64, uint64):
        low, high = integer_range(dtype)
        if low <= value <= high:
            return dtype
    return None


def integer_range(dtype: DType) -> tuple[int, int]:
    """Least and greatest value of an integer dtype."""
    if dtype.kind == "int":
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def promote(a: DType, b: DType, *, division: bool = False) -> DType | None:
    """The common type of two tensors' dtypes, by Triton 3.9's rules; None where there is none.

    `division` is True for ``/ // %``: narrow floats then compute in f32, and mixed signedness has no common type.
    Python scalars are weaker than tensors: see `promote_scalar`.

    >>> promote(float16, int64), promote(int32, uint32), promote(bfloat16, int8)
    (tl.float16, tl.uint32, tl.float32)
    """
    pair = (a, b)
    floating = a.kind == "float" or b.kind == "float"
    if float64 in pair:
        return float64
    if float32 in pair or (division and floating):
        return float32
    if float16 in pair:
        return float16
    if bfloat16 in pair:
        return bfloat16 if a is b else float32
    if floating:  # fp8, which has no common type with integers
        return a if a is b else float16 if a.kind == b.kind else None
    return _promote_integers(a, b, division)


def _promote_integers(a: DType, b: DType, division: bool) -> DType | None:
    if a is b:
        return a
    if division and a.signed != b.signed:
        return None
    if a.signed == b.signed:
        return a if a.bits > b.bits else b
    unsigned, signed = (b, a) if a.signed else (a, b)
    return unsigned if unsigned.bits >= signed.bits else signed


def promote_scalar(tensor: DType, scalar: DType, *, division: bool = False) -> DType | None:
    """The common type of a tensor and a Python scalar: the tensor's, unless the scalar's kind is higher.

    >>> promote_scalar(float16, float32), promote_scalar(int8, int32), promote_scalar(int32, float32)
    (tl.float16, tl.int8, tl.float32)
    """
    if _RANK[scalar.kind] <= _RANK[tensor.kind]:
        scalar = tensor
    return promote(tensor, scalar, division=division)
