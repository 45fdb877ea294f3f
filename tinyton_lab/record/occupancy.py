"""How many CTAs of a kernel a multiprocessor holds at once, and what limits them. Arithmetic on table T2's facts."""

from __future__ import annotations

from dataclasses import dataclass

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.targets import Target, target

# Registers are given to a warp in portions, from its quarter of the multiprocessor; shared memory in portions of bytes.
_REGISTER_PORTION, _PER_THREAD, _QUARTERS = 256, 8, 4
_SHARED_PORTION = {False: 256, True: 128}
# From compute capability 8.0 on the system keeps some shared memory of each CTA for itself.
_RESERVED_BYTES = {False: 0, True: 1024}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """CTAs and warps that a multiprocessor holds at once.

    `limits` says how many CTAs each resource would allow; `limiter` names the scarcest; `fraction` is the share of the
    warps that the multiprocessor could hold.
    """

    ctas: int
    warps: int
    fraction: float
    limiter: str
    limits: dict[str, int]

    def nsight(self) -> dict[str, float]:
        """The same under the names that Nsight Compute uses.

        >>> occupancy("sm_80", 256, 32).nsight()["launch__occupancy_limit_registers"]
        8
        """
        named = {f"launch__occupancy_limit_{name}": count for name, count in self.limits.items()}
        return {**named, "sm__maximum_warps_per_active_cycle_pct": 100 * self.fraction}


def occupancy(on: str | Target, threads: int, registers: int, shared_bytes: int = 0) -> Occupancy:
    """The occupancy of a kernel: `threads` per CTA, `registers` per thread, `shared_bytes` per CTA.

    Registers come from the assembler (the card shows them). Raises TT5001 for an unknown target, TT6050 for a CTA that
    does not fit at all.

    >>> found = occupancy("sm_80", 256, 64, 16384)
    >>> found.ctas, found.warps, found.fraction, found.limiter
    (4, 32, 0.5, 'registers')
    """
    machine = target(on)
    modern = machine.capability >= 80
    warps = -(-threads // machine.warp_lanes)
    if not machine.is_gpu or not 1 <= threads <= machine.max_threads_per_cta:
        raise error("TT6050", None, threads=threads, target=machine.name, most=machine.max_threads_per_cta)
    per_thread = -(-max(registers, 1) // _PER_THREAD) * _PER_THREAD
    per_warp = -(-per_thread * machine.warp_lanes // _REGISTER_PORTION) * _REGISTER_PORTION
    fitting = machine.registers_per_sm // _QUARTERS // per_warp * _QUARTERS
    portion = _SHARED_PORTION[modern]
    shared = -(-(shared_bytes + _RESERVED_BYTES[modern]) // portion) * portion
    limits = {
        "blocks": machine.max_ctas_per_sm,
        "registers": fitting // warps,
        "shared_mem": machine.shared_bytes_per_sm // shared if shared else machine.max_ctas_per_sm,
        "warps": machine.max_warps_per_sm // warps,
    }
    limiter = min(limits, key=lambda name: limits[name])
    ctas = limits[limiter]
    return Occupancy(ctas, ctas * warps, ctas * warps / machine.max_warps_per_sm, limiter, limits)
