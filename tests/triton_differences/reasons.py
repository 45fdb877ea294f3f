"""Why this package and Triton's interpreter differ, by what was compared: the first row that fits gives the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A difference: its title, what stands behind it, and the keys it explains."""

    title: str
    text: str
    pattern: str

    def fits(self, key: str) -> bool:
        return re.search(self.pattern, key) is not None


CLOSE = 4  # units in the last place that need no reason: both sides' functions are approximations

REASONS = (
    Reason(
        "float8e4b15",
        "The one difference in which Triton is right: there the exponent has the bias 15 and no pattern is NaN, "
        "here the bias is 11 and 0x80 is NaN. Do not exchange such bytes with Triton.",
        r"^float8e4b15",
    ),
    Reason(
        "bfloat16 as bits",
        "Triton's interpreter keeps bfloat16 in unsigned 16-bit integers: sums, products, comparisons and "
        "extremes are those of the bit patterns, integers become patterns, and float32 loses its lower half "
        "without rounding. Compiled kernels do none of this. Here bfloat16 is computed in float32 and rounded to "
        "nearest even.",
        r"bfloat16",
    ),
    Reason(
        "Division by zero",
        "Open in Triton; its interpreter shows what numpy returns. Here every engine gives what a GPU does: all "
        "ones, and the dividend as the remainder.",
        r"^operators: (x (//|%) y|7 // x) \[u?int",
    ),
    Reason(
        "Remainders of floats",
        "Triton's interpreter calls `fmod`. Compiled kernels compute x - trunc(x / y) * y, and so does every "
        "engine here: NaN where the divisor or the quotient is infinite.",
        r"^operators: x % y \[float",
    ),
    Reason(
        "Floats become integers",
        "Where the integer has no room, Triton leaves the result open; its interpreter shows what the processor's "
        "conversion and a truncation give. Here every engine saturates, and NaN becomes 0, as a GPU does.",
        r"^(u?int\d+: x\.to|cast: tl\.cast\(x, tl\.int32|operators: x \+ y\.to\(u?int)",
    ),
    Reason(
        "Floats of 8 bits",
        "Triton's interpreter adds the bit it cuts off without carrying it into the exponent, does not round what "
        "falls below the normal numbers, turns infinities and large numbers into some finite one, and reads NaN "
        "as a number. Here conversions round to nearest even, and what has no room becomes what the format has "
        "for it.",
        r"^float8e",
    ),
    Reason(
        "Order of sums",
        "Sums of floats are rounded after each addition, so the order shows. numpy and its matrix products add in "
        "blocks; here the order is written down (reductions fold halves, products take k = 0, 1, 2, ... by fused "
        "multiply-adds) and the same on every engine. A sum of nothing but -0 is -0.",
        r"^(sum: of floats|dot: ieee)",
    ),
    Reason(
        "NaN in atomic extremes",
        "Triton compares the bits of floats as integers, so a NaN wins or loses by its sign. Here atomics have "
        "the rule of `tl.maximum` and `tl.minimum`: NaN loses against every number.",
        r"^atomic_(max|min): .*\[float",
    ),
    Reason(
        "The index of equals",
        "Without `tie_break_left` Triton promises none; here it is that of the last one.",
        r"^argmax: ties",
    ),
    Reason(
        "Sums of approximations",
        "Logarithm, root, sine and cosine are each within two units in the last place on both sides; a sum or a "
        "quotient of several shows more of them.",
        r"^(pair_uniform_to_normal|(tensor\.)?softmax|randn4?x?): ",
    ),
)


def reason(key: str) -> Reason | None:
    """The row that explains a difference."""
    return next((row for row in REASONS if row.fits(key)), None)


# Public names of triton.language that name no operation, and what they are.
NOT_COMPARED = {
    "semantic": "a module of the compiler",
    "str_to_ty": "the compiler's reader of type names",
    "tensor_descriptor_type": "the compiler's type of a descriptor",
    "tuple_type": "the compiler's type of a tuple",
}
