# Generated from tinyton_lab/language/ by `make regen`.
"""The kernel language: everything a kernel may name as ``tl.something``."""

import builtins
from collections.abc import Iterator
from typing import Any

from tinyton_lab.base.dtypes import DType
from tinyton_lab.language import core as core, extra as extra, target_info as target_info
from tinyton_lab.language import core as standard
from tinyton_lab.language.aggregates import aggregate as aggregate
from tinyton_lab.language.core import PropagateNan as PropagateNan
from tinyton_lab.language.types import block_type as block_type, const as const, pointer_type as pointer_type
from tinyton_lab.language.types import void as void
from tinyton_lab.language.value import TileValue

# A constexpr is what it holds, an int, a dtype or a function, and can be called: only what is unknown may be all that.
from tinyton_lab.language.anything import (  # pyright: ignore[reportMissingImports, reportUnknownVariableType]
    constexpr as constexpr,
    constexpr as constexpr_type,
)
dtype = DType
slice = builtins.slice
tuple = builtins.tuple
CONSTEXPR_0: Any
TRITON_MAX_TENSOR_NUMEL: int
_aggregate = aggregate
pi32_t: pointer_type
bfloat16: DType
float16: DType
float32: DType
float64: DType
float8e4b15: DType
float8e4b8: DType
float8e4nv: DType
float8e5: DType
float8e5b16: DType
int1: DType
int16: DType
int32: DType
int64: DType
int8: DType
uint16: DType
uint32: DType
uint64: DType
uint8: DType

__all__ = ['CONSTEXPR_0', 'PropagateNan', 'TRITON_MAX_TENSOR_NUMEL', '_log2', '_unwrap_if_constexpr', 'abs', 'add', 'advance', 'aggregate', 'aggregate_replace', 'arange', 'argmax', 'argmin', 'associative_scan', 'assume', 'atomic_add', 'atomic_and', 'atomic_cas', 'atomic_load', 'atomic_max', 'atomic_min', 'atomic_or', 'atomic_poll', 'atomic_store', 'atomic_xchg', 'atomic_xor', 'bfloat16', 'bitonic_merge', 'block_type', 'broadcast', 'broadcast_to', 'cast', 'cat', 'cdiv', 'ceil', 'clamp', 'condition', 'const', 'constexpr', 'constexpr_type', 'core', 'cos', 'cumprod', 'cumsum', 'debug_barrier', 'device_assert', 'device_print', 'div_rn', 'dot', 'dot_scaled', 'dtype', 'erf', 'exp', 'exp2', 'expand_dims', 'expect_zero', 'extra', 'fdiv', 'flip', 'float16', 'float32', 'float64', 'float8e4b15', 'float8e4b8', 'float8e4nv', 'float8e5', 'float8e5b16', 'floor', 'fma', 'full', 'gather', 'get_int_dtype', 'histogram', 'inline_asm_elementwise', 'int1', 'int16', 'int32', 'int64', 'int8', 'interleave', 'join', 'load', 'load_tensor_descriptor', 'log', 'log2', 'logical_and', 'logical_or', 'make_block_ptr', 'make_tensor_descriptor', 'map_elementwise', 'math', 'max', 'max_constancy', 'max_contiguous', 'maximum', 'min', 'minimum', 'mul', 'multiple_of', 'num_programs', 'pair_uniform_to_normal', 'permute', 'philox', 'philox_impl', 'pi32_t', 'pointer_type', 'program_id', 'rand', 'rand4x', 'randint', 'randint4x', 'randn', 'randn4x', 'range', 'ravel', 'reduce', 'reduce_or', 'reshape', 'rsqrt', 'sigmoid', 'sin', 'slice', 'softmax', 'sort', 'split', 'sqrt', 'sqrt_rn', 'squeeze', 'standard', 'static_assert', 'static_print', 'static_range', 'store', 'store_tensor_descriptor', 'sub', 'sum', 'swizzle2d', 'tanh', 'target_info', 'tensor', 'tensor_descriptor', 'to_tensor', 'topk', 'trans', 'tuple', 'uint16', 'uint32', 'uint64', 'uint8', 'uint_to_uniform_float', 'umulhi', 'unsqueeze', 'view', 'void', 'where', 'xor_sum', 'zeros', 'zeros_like']


class range:
    """A loop like Python's `range`, with options for the compiler (``num_stages``, ``loop_unroll_factor`` ...)."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ..., **options: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...

class static_range:
    """A loop that is unrolled: ``for i in tl.static_range(4)``; `i` is known at compile time."""
    def __init__(self, arg1: Any, arg2: Any = ..., step: Any = ...) -> None: ...
    def __iter__(self) -> Iterator[int]: ...

class tensor(TileValue):
    """A tile of a kernel, or a scalar: `dtype`, `shape` and `type` are known at compile time, the elements are not."""
    @property
    def T(self) -> tensor:
        """The two last axes swapped."""
    def abs(self) -> tensor:
        """Absolute value; the least integer is its own."""
    def argmax(self, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
        """Index of the greatest element along an axis, of the first one among equals."""
    def argmin(self, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
        """Index of the least element along an axis, of the first one among equals."""
    def associative_scan(self, axis: Any, combine_fn: Any, reverse: Any = ...) -> Any:
        """Combine each element with all before it along an axis (all after it, with `reverse`)."""
    def atomic_add(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Add to elements of memory and give what they were; masked-off ones are left alone and give 0."""
    def atomic_and(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Take the bitwise and with elements of memory and give what they were."""
    def atomic_cas(self, cmp: Any, val: Any, sem: Any = ..., scope: Any = ...) -> tensor:
        """Replace elements of memory that equal `cmp` bit for bit, and give what they were."""
    def atomic_load(self, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Read elements of memory, each undivided; masked-off ones are left alone and give 0."""
    def atomic_max(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Raise elements of memory to a value and give what they were; masked-off ones are left alone and give 0."""
    def atomic_min(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Lower elements of memory to a value and give what they were; masked-off ones are left alone and give 0."""
    def atomic_or(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Take the bitwise or with elements of memory and give what they were."""
    def atomic_poll(self, expected_value: Any, sem: Any = ..., scope: Any = ..., timeout_ns: Any = ...) -> Any:
        """Wait until elements of memory equal a value; gives whether they do."""
    def atomic_store(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> None:
        """Write elements of memory, each undivided; masked-off ones are left alone."""
    def atomic_xchg(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Replace elements of memory and give what they were; masked-off ones are left alone and give 0."""
    def atomic_xor(self, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
        """Take the exclusive or with elements of memory and give what they were."""
    def broadcast_to(self, *shape: Any) -> tensor:
        """Repeat along the axes of length 1 (and new leading axes) to get a shape."""
    def cast(self, dtype: Any, fp_downcast_rounding: Any = ..., bitcast: Any = ...) -> tensor:
        """Convert to a dtype: floats round to nearest even (or ``"rtz"``), float to integer truncates and saturates."""
    def cdiv(self, div: Any) -> Any:
        """Integer quotient rounded up, of positive numbers; outside a kernel it computes at once."""
    def ceil(self) -> tensor:
        """Round toward plus infinity."""
    def cos(self) -> tensor:
        """Cosine of an angle in radians."""
    def cumprod(self, axis: Any = ..., reverse: Any = ..., dtype: Any = ...) -> tensor:
        """Products of each element and all before it, kept in `dtype`; integers are kept in at least 32 bits."""
    def cumsum(self, axis: Any = ..., reverse: Any = ..., dtype: Any = ...) -> tensor:
        """Sums of each element and all before it, kept in `dtype`; integers are kept in at least 32 bits."""
    @property
    def dtype(self) -> Any:
        """The element type."""
    @property
    def element(self) -> DType:
        """The dtype of a value that is no pointer. Raises TT2012 for one."""
    def erf(self) -> tensor:
        """Error function of a float."""
    def exp(self) -> tensor:
        """e to the power of a float."""
    def exp2(self) -> tensor:
        """2 to the power of a float."""
    def expand_dims(self, axis: Any) -> tensor:
        """Insert axes of length 1; `axis` is one position or several, in the result."""
    def flip(self, dim: Any = ...) -> tensor:
        """The elements in opposite order along an axis (the last one by default)."""
    def floor(self) -> tensor:
        """Round toward minus infinity."""
    def gather(self, index: Any, axis: Any) -> tensor:
        """The elements of `src` at the indices along an axis; other axes must agree. Indices wrap at the axis' length."""
    @property
    def handle(self) -> Any:
        """The emitter's handle; a known number is emitted as a constant here."""
    def histogram(self, num_bins: Any, mask: Any = ...) -> tensor:
        """How often each of ``0 ... num_bins - 1`` is among integers, as i32; others and masked-off ones do not count."""
    def item(self) -> tensor:
        """The only element of a tile, as a scalar. Raises TT2001 where there are more."""
    def log(self) -> tensor:
        """Natural logarithm of a float; NaN below 0, -inf at 0."""
    def log2(self) -> tensor:
        """Logarithm to base 2 of a float; NaN below 0, -inf at 0."""
    def logical_and(self, y: Any) -> tensor:
        """Whether both differ from zero, elementwise."""
    def logical_or(self, y: Any) -> tensor:
        """Whether one of both differs from zero, elementwise."""
    def max(self, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
        """Greatest element along an axis (None: of all elements), with its index if asked; NaN loses against numbers."""
    def min(self, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
        """Least element along an axis (None: of all elements), with its index if asked; NaN loses against numbers."""
    @property
    def ndim(self) -> int:
        """The number of axes."""
    @property
    def numel(self) -> int:
        """The number of elements."""
    def permute(self, *dims: Any) -> tensor:
        """Permute the axes: axis ``dims[i]`` becomes axis i."""
    def ravel(self, can_reorder: Any = ...) -> tensor:
        """The elements in row-major order along one axis."""
    def reduce(self, axis: Any, combine_fn: Any, keep_dims: Any = ...) -> Any:
        """Combine all elements along an axis (None: of all axes) with a function of two sets of scalars."""
    def reduce_or(self, axis: Any, keep_dims: Any = ...) -> tensor:
        """Bitwise or of all integers along an axis."""
    def reshape(self, *shape: Any, can_reorder: Any = ...) -> tensor:
        """The same elements in row-major order under another shape."""
    def rsqrt(self) -> tensor:
        """Inverse of the square root of a float."""
    @property
    def shape(self) -> builtins.tuple[int, ...]:
        """The lengths of the axes, all known at compile time."""
    def sigmoid(self) -> Any:
        """``1 / (1 + exp(-x))``."""
    def sin(self) -> tensor:
        """Sine of an angle in radians."""
    def softmax(self, dim: Any = ..., *, keep_dims: Any = ..., ieee_rounding: Any = ...) -> Any:
        """Exponentials along an axis (the first one by default), divided by their sum; the shape stays."""
    def sort(self, dim: Any = ..., descending: Any = ...) -> Any:
        """The elements in order along an axis, the last one by default. NaN counts as the greatest number."""
    def split(self) -> Any:
        """The two halves of a tile along its last axis, which has length 2."""
    def sqrt(self) -> tensor:
        """Square root; within 1 ulp where fast instructions are in use."""
    def sqrt_rn(self) -> tensor:
        """Square root, correctly rounded."""
    def store(self, value: Any, mask: Any = ..., boundary_check: Any = ..., cache_modifier: Any = ..., eviction_policy: Any = ...) -> None:
        """Write memory at a pointer or a tile of pointers; elements whose `mask` is False are not written."""
    def sum(self, axis: Any = ..., keep_dims: Any = ..., dtype: Any = ...) -> tensor:
        """Sum along an axis (None: of all elements) as `dtype`: by default the tile's, of integers at least 32 bits."""
    def to(self, dtype: Any, fp_downcast_rounding: Any = ..., bitcast: Any = ...) -> tensor:
        """Convert to a dtype: floats round to nearest even (or ``"rtz"``), float to integer truncates and saturates."""
    def trans(self, *dims: Any) -> tensor:
        """Swap the two last axes, or permute all of them."""
    @property
    def type(self) -> Any:
        """The type: an element type for a scalar, else a block type."""
    def view(self, *shape: Any) -> tensor:
        """The same as `reshape`."""
    def xor_sum(self, axis: Any = ..., keep_dims: Any = ...) -> tensor:
        """Exclusive or of all integers along an axis."""
    def __add__(self, other: Any) -> tensor: ...
    def __radd__(self, other: Any) -> tensor: ...
    def __sub__(self, other: Any) -> tensor: ...
    def __rsub__(self, other: Any) -> tensor: ...
    def __mul__(self, other: Any) -> tensor: ...
    def __rmul__(self, other: Any) -> tensor: ...
    def __truediv__(self, other: Any) -> tensor: ...
    def __rtruediv__(self, other: Any) -> tensor: ...
    def __floordiv__(self, other: Any) -> tensor: ...
    def __rfloordiv__(self, other: Any) -> tensor: ...
    def __mod__(self, other: Any) -> tensor: ...
    def __rmod__(self, other: Any) -> tensor: ...
    def __pow__(self, other: Any) -> tensor: ...
    def __rpow__(self, other: Any) -> tensor: ...
    def __lshift__(self, other: Any) -> tensor: ...
    def __rlshift__(self, other: Any) -> tensor: ...
    def __rshift__(self, other: Any) -> tensor: ...
    def __rrshift__(self, other: Any) -> tensor: ...
    def __and__(self, other: Any) -> tensor: ...
    def __rand__(self, other: Any) -> tensor: ...
    def __or__(self, other: Any) -> tensor: ...
    def __ror__(self, other: Any) -> tensor: ...
    def __xor__(self, other: Any) -> tensor: ...
    def __rxor__(self, other: Any) -> tensor: ...
    def __eq__(self, other: Any) -> Any: ...
    def __ne__(self, other: Any) -> Any: ...
    def __lt__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __le__(self, other: Any) -> Any: ...
    def __ge__(self, other: Any) -> Any: ...
    def __neg__(self) -> tensor: ...
    def __pos__(self) -> tensor: ...
    def __invert__(self) -> tensor: ...
    def __getitem__(self, key: Any) -> tensor: ...
    def __bool__(self) -> builtins.bool: ...
    def __index__(self) -> builtins.int: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...

class block_pointer:
    """What `make_block_ptr` gives: a block of a tensor at certain offsets, for `load`, `store` and `advance`."""
    def advance(self, offsets: Any) -> block_pointer:
        """The block that lies further on by an offset per axis."""
    @property
    def dtype(self) -> DType:
        """The dtype of the tensor's elements."""
    @property
    def shape(self) -> Any:
        """The extents of the tensor."""

class tensor_descriptor:
    """What `make_tensor_descriptor` gives: a tensor that is read and written in blocks, within its bounds."""
    def atomic_add(self, offsets: Any, value: Any) -> tensor:
        """Add to the elements of the block at some offsets, each undivided."""
    def atomic_and(self, offsets: Any, value: Any) -> tensor:
        """Take the bitwise and with the elements of the block at some offsets, each undivided."""
    def atomic_max(self, offsets: Any, value: Any) -> tensor:
        """Raise the elements of the block at some offsets, each undivided."""
    def atomic_min(self, offsets: Any, value: Any) -> tensor:
        """Lower the elements of the block at some offsets, each undivided."""
    def atomic_or(self, offsets: Any, value: Any) -> tensor:
        """Take the bitwise or with the elements of the block at some offsets, each undivided."""
    def atomic_xor(self, offsets: Any, value: Any) -> tensor:
        """Take the exclusive or with the elements of the block at some offsets, each undivided."""
    @property
    def dtype(self) -> DType:
        """The dtype of the tensor's elements."""
    def gather(self, x_offsets: Any, y_offset: Any) -> tensor:
        """Read the rows that a tile of indices names, from column `y_offset` on; the block has one row."""
    def load(self, offsets: Any) -> tensor:
        """Read the block at an offset per axis; elements outside the tensor are 0, or NaN where it was made so."""
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Write the rows that a tile of indices names, from column `y_offset` on; the block has one row."""
    @property
    def shape(self) -> Any:
        """The extents of the tensor."""
    def store(self, offsets: Any, value: Any) -> None:
        """Write the block at an offset per axis; elements outside the tensor are not written."""

def _log2(i: Any) -> Any:
    """The exponent of a power of two."""

def _unwrap_if_constexpr(x: Any) -> Any:
    """The value that a constexpr holds; anything else as it is."""

def abs(x: Any) -> tensor:
    """Absolute value; the least integer is its own."""

def add(x: Any, y: Any, sanitize_overflow: Any = ...) -> tensor:
    """``x + y``."""

def advance(base: Any, offsets: Any) -> block_pointer:
    """The block that lies further on by an offset per axis."""

def aggregate_replace(instance: Any, **changes: Any) -> Any:
    """An aggregate like another one, with some fields changed."""

def arange(start: Any, end: Any) -> tensor:
    """The integers ``start, ..., end - 1`` as i32; both known at compile time, their distance a power of two."""

def argmax(input: Any, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
    """Index of the greatest element along an axis, of the first one among equals."""

def argmin(input: Any, axis: Any, tie_break_left: Any = ..., keep_dims: Any = ...) -> tensor:
    """Index of the least element along an axis, of the first one among equals."""

def associative_scan(input: Any, axis: Any, combine_fn: Any, reverse: Any = ...) -> Any:
    """Combine each element with all before it along an axis (all after it, with `reverse`)."""

def assume(cond: Any) -> None:
    """Promise that a scalar condition holds."""

def atomic_add(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Add to elements of memory and give what they were; masked-off ones are left alone and give 0."""

def atomic_and(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Take the bitwise and with elements of memory and give what they were."""

def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = ..., scope: Any = ...) -> tensor:
    """Replace elements of memory that equal `cmp` bit for bit, and give what they were."""

def atomic_load(pointer: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Read elements of memory, each undivided; masked-off ones are left alone and give 0."""

def atomic_max(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Raise elements of memory to a value and give what they were; masked-off ones are left alone and give 0."""

def atomic_min(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Lower elements of memory to a value and give what they were; masked-off ones are left alone and give 0."""

def atomic_or(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Take the bitwise or with elements of memory and give what they were."""

def atomic_poll(pointer: Any, expected_value: Any, sem: Any = ..., scope: Any = ..., timeout_ns: Any = ...) -> Any:
    """Wait until elements of memory equal a value; gives whether they do."""

def atomic_store(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> None:
    """Write elements of memory, each undivided; masked-off ones are left alone."""

def atomic_xchg(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Replace elements of memory and give what they were; masked-off ones are left alone and give 0."""

def atomic_xor(pointer: Any, val: Any, mask: Any = ..., sem: Any = ..., scope: Any = ...) -> tensor:
    """Take the exclusive or with elements of memory and give what they were."""

def bitonic_merge(x: Any, dim: Any = ..., descending: Any = ...) -> Any:
    """Sort a bitonic sequence, one that rises and then falls, along an axis (the last one by default)."""

def broadcast(input: Any, other: Any) -> Any:
    """Both operands in their common shape."""

def broadcast_to(input: Any, *shape: Any) -> tensor:
    """Repeat along the axes of length 1 (and new leading axes) to get a shape."""

def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = ..., bitcast: Any = ...) -> tensor:
    """Convert to a dtype: floats round to nearest even (or ``"rtz"``), float to integer truncates and saturates."""

def cat(input: Any, other: Any, can_reorder: Any = ..., dim: Any = ...) -> tensor:
    """Two tiles of one shape, one after the other along an axis; `can_reorder` has no effect."""

def cdiv(x: Any, div: Any) -> Any:
    """Integer quotient rounded up, of positive numbers; outside a kernel it computes at once."""

def ceil(x: Any) -> tensor:
    """Round toward plus infinity."""

def clamp(x: Any, min: Any, max: Any, propagate_nan: Any = ...) -> tensor:
    """Elements of `x` limited to ``min ... max``."""

def condition(arg1: Any, **options: Any) -> Any:
    """The condition of a `while` loop with options for the compiler; the options have no effect."""

def cos(x: Any) -> tensor:
    """Cosine of an angle in radians."""

def cumprod(input: Any, axis: Any = ..., reverse: Any = ..., dtype: Any = ...) -> tensor:
    """Products of each element and all before it, kept in `dtype`; integers are kept in at least 32 bits."""

def cumsum(input: Any, axis: Any = ..., reverse: Any = ..., dtype: Any = ...) -> tensor:
    """Sums of each element and all before it, kept in `dtype`; integers are kept in at least 32 bits."""

def debug_barrier() -> None:
    """Nothing: the ops of a tile program are ordered as they are written."""

def device_assert(cond: Any, msg: Any = ..., mask: Any = ...) -> None:
    """Check a condition at run time, in every element that `mask` leaves on: a failure ends the launch with TT4011."""

def device_print(prefix: Any, *args: Any, hex: Any = ...) -> None:
    """Print values at run time, a line per element; `hex` prints their bits."""

def div_rn(x: Any, y: Any) -> tensor:
    """Quotient of floats, correctly rounded."""

def dot(input: Any, other: Any, acc: Any = ..., input_precision: Any = ..., allow_tf32: Any = ..., max_num_imprecise_acc: Any = ..., out_dtype: Any = ...) -> tensor:
    """Product of two matrices, or of two batches of them, added to `acc`."""

def dot_scaled(lhs: Any, lhs_scale: Any, lhs_format: Any, rhs: Any, rhs_scale: Any, rhs_format: Any, acc: Any = ..., fast_math: Any = ..., lhs_k_pack: Any = ..., rhs_k_pack: Any = ..., out_dtype: Any = ...) -> Any:
    """Product of matrices in small floats, each group of 32 elements along K times a power of two."""

def erf(x: Any) -> tensor:
    """Error function of a float."""

def exp(x: Any) -> tensor:
    """e to the power of a float."""

def exp2(x: Any) -> tensor:
    """2 to the power of a float."""

def expand_dims(input: Any, axis: Any) -> tensor:
    """Insert axes of length 1; `axis` is one position or several, in the result."""

def expect_zero(x: Any, mask: Any) -> Any:
    """The same as `x`; says that its elements are zero where the mask holds."""

def fdiv(x: Any, y: Any, ieee_rounding: Any = ...) -> tensor:
    """Quotient of floats; correctly rounded with `ieee_rounding`."""

def flip(x: Any, dim: Any = ...) -> tensor:
    """The elements in opposite order along an axis (the last one by default)."""

def floor(x: Any) -> tensor:
    """Round toward minus infinity."""

def fma(x: Any, y: Any, z: Any) -> tensor:
    """``x * y + z`` of floats, rounded once."""

def full(shape: Any, value: Any, dtype: Any) -> tensor:
    """A tile of a shape with `value` in every element; `value` is a number or a scalar."""

def gather(src: Any, index: Any, axis: Any) -> tensor:
    """The elements of `src` at the indices along an axis; other axes must agree. Indices wrap at the axis' length."""

def get_int_dtype(bitwidth: Any, signed: Any) -> Any:
    """The integer dtype of so many bits: 1, 8, 16, 32 or 64."""

def histogram(input: Any, num_bins: Any, mask: Any = ...) -> tensor:
    """How often each of ``0 ... num_bins - 1`` is among integers, as i32; others and masked-off ones do not count."""

def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> Any:
    """Run PTX on `pack` elements of each operand at a time, on GPUs and in the simulator."""

def interleave(a: Any, b: Any) -> tensor:
    """The elements of two tiles in turns along the last axis."""

def join(a: Any, b: Any) -> tensor:
    """Two tiles side by side along a new last axis of length 2."""

def load(pointer: Any, mask: Any = ..., other: Any = ..., boundary_check: Any = ..., padding_option: Any = ..., cache_modifier: Any = ..., eviction_policy: Any = ..., volatile: Any = ...) -> tensor:
    """Read memory at a pointer or a tile of pointers."""

def load_tensor_descriptor(desc: Any, offsets: Any) -> tensor:
    """The same as ``desc.load(offsets)``."""

def log(x: Any) -> tensor:
    """Natural logarithm of a float; NaN below 0, -inf at 0."""

def log2(x: Any) -> tensor:
    """Logarithm to base 2 of a float; NaN below 0, -inf at 0."""

def logical_and(x: Any, y: Any) -> tensor:
    """Whether both differ from zero, elementwise."""

def logical_or(x: Any, y: Any) -> tensor:
    """Whether one of both differs from zero, elementwise."""

def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any = ...) -> block_pointer:
    """A block of a tensor in memory: `base` points to its first element, `offsets` to the block's."""

def make_tensor_descriptor(base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = ...) -> tensor_descriptor:
    """A tensor in memory that is read and written in blocks of `block_shape`, within its bounds."""

def map_elementwise(scalar_fn: Any, *args: Any, pack: Any = ...) -> Any:
    """Call a function of scalars for each element; it may branch on them, where a tile cannot."""

def max(input: Any, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
    """Greatest element along an axis (None: of all elements), with its index if asked; NaN loses against numbers."""

def max_constancy(input: Any, values: Any) -> Any:
    """Promise that aligned runs of so many elements along an axis are equal; computes nothing."""

def max_contiguous(input: Any, values: Any) -> Any:
    """Promise that aligned runs of so many elements along an axis count up by one; computes nothing."""

def maximum(x: Any, y: Any, propagate_nan: Any = ...) -> tensor:
    """The greater of two elements; a NaN gives the other one unless `propagate_nan` is ``PropagateNan.ALL``."""

def min(input: Any, axis: Any = ..., return_indices: Any = ..., return_indices_tie_break_left: Any = ..., keep_dims: Any = ...) -> Any:
    """Least element along an axis (None: of all elements), with its index if asked; NaN loses against numbers."""

def minimum(x: Any, y: Any, propagate_nan: Any = ...) -> tensor:
    """The lesser of two elements; a NaN gives the other one unless `propagate_nan` is ``PropagateNan.ALL``."""

def mul(x: Any, y: Any, sanitize_overflow: Any = ...) -> tensor:
    """``x * y``."""

def multiple_of(input: Any, values: Any) -> Any:
    """Promise that a scalar, or the first element of each run along an axis, is a multiple; computes nothing."""

def num_programs(axis: Any) -> tensor:
    """Number of programs along axis 0, 1 or 2 of the grid, as i32."""

def pair_uniform_to_normal(u1: Any, u2: Any) -> Any:
    """Two tiles of uniform numbers as two of normally distributed ones (Box and Muller)."""

def permute(input: Any, *dims: Any) -> tensor:
    """Permute the axes: axis ``dims[i]`` becomes axis i."""

def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = ...) -> Any:
    """Four words of random bits per element, from a seed and four counters of 32 or 64 bits."""

def philox_impl(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = ...) -> Any:
    """Mix four counters (uint32 or uint64) with a key of two words, in `n_rounds` rounds."""

def program_id(axis: Any) -> tensor:
    """Index of this program along axis 0, 1 or 2 of the grid, as i32."""

def rand(seed: Any, offset: Any, n_rounds: Any = ...) -> Any:
    """Random f32, uniform in ``0 <= u < 1``."""

def rand4x(seed: Any, offsets: Any, n_rounds: Any = ...) -> Any:
    """Four tiles of random f32, uniform in ``0 <= u < 1``."""

def randint(seed: Any, offset: Any, n_rounds: Any = ...) -> Any:
    """A tile of random uint32, from a seed and a tile of offsets."""

def randint4x(seed: Any, offset: Any, n_rounds: Any = ...) -> Any:
    """Four tiles of random uint32, from a seed and a tile of offsets."""

def randn(seed: Any, offset: Any, n_rounds: Any = ...) -> Any:
    """Random f32, normally distributed with mean 0 and deviation 1."""

def randn4x(seed: Any, offset: Any, n_rounds: Any = ...) -> Any:
    """Four tiles of random f32, normally distributed with mean 0 and deviation 1."""

def ravel(x: Any, can_reorder: Any = ...) -> tensor:
    """The elements in row-major order along one axis."""

def reduce(input: Any, axis: Any, combine_fn: Any, keep_dims: Any = ...) -> Any:
    """Combine all elements along an axis (None: of all axes) with a function of two sets of scalars."""

def reduce_or(input: Any, axis: Any, keep_dims: Any = ...) -> tensor:
    """Bitwise or of all integers along an axis."""

def reshape(input: Any, *shape: Any, can_reorder: Any = ...) -> tensor:
    """The same elements in row-major order under another shape."""

def rsqrt(x: Any) -> tensor:
    """Inverse of the square root of a float."""

def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""

def sin(x: Any) -> tensor:
    """Sine of an angle in radians."""

def softmax(x: Any, dim: Any = ..., *, keep_dims: Any = ..., ieee_rounding: Any = ...) -> Any:
    """Exponentials along an axis (the first one by default), divided by their sum; the shape stays."""

def sort(x: Any, dim: Any = ..., descending: Any = ...) -> Any:
    """The elements in order along an axis, the last one by default. NaN counts as the greatest number."""

def split(a: Any) -> Any:
    """The two halves of a tile along its last axis, which has length 2."""

def sqrt(x: Any) -> tensor:
    """Square root; within 1 ulp where fast instructions are in use."""

def sqrt_rn(x: Any) -> tensor:
    """Square root, correctly rounded."""

def squeeze(x: Any, dim: Any) -> tensor:
    """Drop an axis of length 1."""

def static_assert(cond: Any, msg: Any = ...) -> None:
    """Check a condition at compile time. Raises TT1012 with the message."""

def static_print(*values: Any, sep: Any = ..., end: Any = ..., file: Any = ..., flush: Any = ...) -> None:
    """Print at compile time; values of the kernel print as their types."""

def store(pointer: Any, value: Any, mask: Any = ..., boundary_check: Any = ..., cache_modifier: Any = ..., eviction_policy: Any = ...) -> None:
    """Write memory at a pointer or a tile of pointers; elements whose `mask` is False are not written."""

def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """The same as ``desc.store(offsets, value)``."""

def sub(x: Any, y: Any, sanitize_overflow: Any = ...) -> tensor:
    """``x - y``."""

def sum(input: Any, axis: Any = ..., keep_dims: Any = ..., dtype: Any = ...) -> tensor:
    """Sum along an axis (None: of all elements) as `dtype`: by default the tile's, of integers at least 32 bits."""

def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> Any:
    """Renumber the tiles of a `size_i` by `size_j` grid in groups of `size_g` rows, column by column in each group."""

def tanh(x: Any) -> tensor:
    """Hyperbolic tangent of a float."""

def to_tensor(x: Any) -> tensor:
    """A number as a scalar of the kernel: int by value, float as f32."""

def topk(x: Any, k: Any, dim: Any = ..., descending: Any = ...) -> Any:
    """The `k` greatest elements along an axis, the greatest first; the least ones, in order, unless `descending`."""

def trans(input: Any, *dims: Any) -> tensor:
    """Swap the two last axes, or permute all of them."""

def uint_to_uniform_float(x: Any) -> Any:
    """Integers of 32 or 64 random bits as f32 in ``0 <= u < 1``."""

def umulhi(x: Any, y: Any) -> tensor:
    """Upper half of the double-width product of integers, which count as unsigned."""

def unsqueeze(x: Any, dim: Any) -> tensor:
    """Insert an axis of length 1; `dim` is its place in the result."""

def view(input: Any, *shape: Any) -> tensor:
    """The same as `reshape`."""

def where(condition: Any, x: Any, y: Any) -> tensor:
    """Elements of `x` where the condition holds, else of `y`; both are evaluated."""

def xor_sum(input: Any, axis: Any = ..., keep_dims: Any = ...) -> tensor:
    """Exclusive or of all integers along an axis."""

def zeros(shape: Any, dtype: Any) -> tensor:
    """A tile of zeros."""

def zeros_like(input: Any) -> tensor:
    """A tile of zeros of the shape and dtype of another."""

class math:
    @staticmethod
    def abs(x: Any) -> tensor:
        """Absolute value; the least integer is its own."""
    @staticmethod
    def ceil(x: Any) -> tensor:
        """Round toward plus infinity."""
    @staticmethod
    def cos(x: Any) -> tensor:
        """Cosine of an angle in radians."""
    @staticmethod
    def div_rn(x: Any, y: Any) -> tensor:
        """Quotient of floats, correctly rounded."""
    @staticmethod
    def erf(x: Any) -> tensor:
        """Error function of a float."""
    @staticmethod
    def exp(x: Any) -> tensor:
        """e to the power of a float."""
    @staticmethod
    def exp2(x: Any) -> tensor:
        """2 to the power of a float."""
    @staticmethod
    def fdiv(x: Any, y: Any, ieee_rounding: Any = ...) -> tensor:
        """Quotient of floats; correctly rounded with `ieee_rounding`."""
    @staticmethod
    def floor(x: Any) -> tensor:
        """Round toward minus infinity."""
    @staticmethod
    def fma(x: Any, y: Any, z: Any) -> tensor:
        """``x * y + z`` of floats, rounded once."""
    @staticmethod
    def log(x: Any) -> tensor:
        """Natural logarithm of a float; NaN below 0, -inf at 0."""
    @staticmethod
    def log2(x: Any) -> tensor:
        """Logarithm to base 2 of a float; NaN below 0, -inf at 0."""
    @staticmethod
    def rsqrt(x: Any) -> tensor:
        """Inverse of the square root of a float."""
    @staticmethod
    def sin(x: Any) -> tensor:
        """Sine of an angle in radians."""
    @staticmethod
    def sqrt(x: Any) -> tensor:
        """Square root; within 1 ulp where fast instructions are in use."""
    @staticmethod
    def sqrt_rn(x: Any) -> tensor:
        """Square root, correctly rounded."""
    @staticmethod
    def tanh(x: Any) -> tensor:
        """Hyperbolic tangent of a float."""
    @staticmethod
    def umulhi(x: Any, y: Any) -> tensor:
        """Upper half of the double-width product of integers, which count as unsigned."""
