"""The options that steer the compiler. Facts of one compilation; how a launch gives them is the kernel's business."""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.base.targets import CPU, Target


@dataclass(frozen=True, slots=True)
class Options:
    """What the compiler is asked for.

    `num_warps` (None: as the dialect has it) and `num_stages` shape GPU code; `math` is ``full`` (accurate, the same
    bits on every engine) or ``approx`` (a GPU's fast instructions); `fp_fusion` allows a * b + c to be fused; `checked`
    adds bounds checks to CPU code; `sanitize_overflow` checks that sums, differences and products of signed integers
    fit; `target` is the machine.
    """

    num_warps: int | None = None
    num_stages: int = 3
    math: str = "full"
    fp_fusion: bool = False
    checked: bool = True
    sanitize_overflow: bool = False
    target: Target = CPU

    def shown(self) -> tuple[tuple[str, str], ...]:
        """The options as text pairs, for the record."""
        names = ("num_warps", "num_stages", "math", "fp_fusion") if self.target.is_gpu else ("math", "checked")
        names += ("sanitize_overflow",) * self.sanitize_overflow
        return tuple((name, str(getattr(self, name))) for name in names if getattr(self, name) is not None)
