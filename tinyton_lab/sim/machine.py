"""Runs a chunk of CTAs block by block: which lanes are where, when they meet again, who waits. Knows no instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tinyton_lab.ptx.types import TYPES
from tinyton_lab.sim import faults
from tinyton_lab.sim.access import Rows
from tinyton_lab.sim.clusters import Meeting
from tinyton_lab.sim.control import Barrier, Branch, Call, ClusterBarrier, Jump, Leave, Switch
from tinyton_lab.sim.lanes import Array, Chunk, bits, blend
from tinyton_lab.sim.memory import FUNCTION_BASE
from tinyton_lab.sim.observers import CLUSTER_BARRIER, run_block
from tinyton_lab.sim.program import CodeBlock, Program
from tinyton_lab.sim.schedule import Place, Schedule
from tinyton_lab.sim.warps import lanes_named

_PATIENCE, _TURNS = 256, 128
# So often may each group ask in vain for what only the others could bring about.
_QUESTIONS = 2000


class Waiting:
    """Mutable: the lanes that wait at one barrier, and those that only arrived."""

    __slots__ = ("arrived", "count", "flags", "lanes", "places", "seen")

    def __init__(self, shape: tuple[int, int]) -> None:
        self.lanes = np.zeros(shape, np.bool_)
        self.arrived = np.zeros(shape[0], np.int64)
        self.count = np.zeros(shape[0], np.int64)
        self.places: list[tuple[Place, Array, Barrier]] = []
        self.flags = np.zeros(shape, np.bool_)


class Machine:
    """Mutable: one chunk on its way through the program."""

    def __init__(self, program: Program, chunk: Chunk, threads: int) -> None:
        self.program, self.chunk, self.code = program, chunk, program.code
        self.groups: dict[Place, tuple[Array | None, int]] = {}
        self.last_run: dict[Place, int] = {}
        self.live: Array | None = None
        self.live_count = chunk.ctas * threads
        self.threads = threads
        if threads != chunk.threads:
            self.live = np.broadcast_to(np.arange(chunk.threads) < threads, chunk.shape).copy()
        self.barriers: dict[int, Waiting] = {}
        self.meeting = Meeting(chunk, chunk.launch.cluster_size)
        self.cluster_waits: list[tuple[Place, Array, ClusterBarrier]] = []
        self.returns: list[Array] = []
        self.kept: list[dict[int, Array]] = []
        self.streak = self.turns = self.dispatches = self.questions = 0
        seed, self.patience = chunk.launch.schedule, _PATIENCE
        self.schedule = None if seed is None else Schedule(program.code, seed, chunk.first, chunk.threads)
        if self.schedule is not None:
            # Each warp takes its own steps.
            self.patience *= chunk.ctas * chunk.threads >> 5
        chunk.local = Rows(chunk.shape, program.local_bytes + program.stack_bytes)

    def run(self) -> None:
        """Run until no lane is left; raises on faults, deadlock and the step limit."""
        self.put((0, self.program.routines[self.program.entry.name].first_block), self.live, self.live_count)
        while self.groups:
            self.dispatch(self.choose())
        if self.cluster_waits or any(waiting.lanes.any() for waiting in self.barriers.values()):
            self.deadlock()

    # Choosing.
    def put(self, place: Place, mask: Array | None, count: int) -> None:
        """Let lanes continue at a place; they join those that are there."""
        found = self.groups.get(place)
        if found is not None and mask is not None and found[0] is not None:
            mask, count = found[0] | mask, found[1] + count
        self.groups[place] = (self.live if count == self.live_count else mask, count)

    def choose(self) -> Place:
        """The place to run next: the first in program order, with turns for the others when it only spins."""
        groups = self.groups
        if len(groups) == 1 and self.schedule is None:
            self.streak = 0
            return next(iter(groups))
        order = sorted(groups)
        if self.chunk.impatient:
            # A lane asked for something that has not happened yet: let the others go on.
            self.chunk.impatient, self.streak = False, self.patience
        if self.turns:
            self.turns -= 1
            order.sort(key=lambda place: (self.last_run.get(place, 0), place))
        elif self.code[order[0][1]].spins:
            self.streak += 1
            if self.streak > self.patience:
                self.streak, self.turns = 0, _TURNS
        if self.schedule is not None and not self.turns:
            drawn = self.schedule.choose(self)
            if drawn is not None:
                return drawn
        for place in order:
            if self.ready(place):
                return place
        # Every group waits for lanes that wait elsewhere: the first one goes on without them.
        return order[0]

    def ready(self, place: Place) -> bool:
        """Whether a group may run: a warp instruction waits for all lanes that it names and that still live."""
        code = self.code[place[1]]
        mask, count = self.groups[place]
        if code.meets is None or count == self.live_count or mask is None:
            return True
        missing = self.missing(code, mask)
        if not missing.any():
            return True
        late = np.repeat(missing.reshape(-1, 32).any(axis=1), 32).reshape(self.chunk.shape)
        mask = np.broadcast_to(mask, self.chunk.shape)
        going = mask & ~late
        number = int(np.count_nonzero(going))
        if not number:
            return False
        # Whole warps go on; the others stay behind at the same place.
        self.groups[place] = (going, number)
        self.held = (place, mask & late)
        return True

    def missing(self, code: CodeBlock, mask: Array) -> Array:
        if code.meets is None:
            raise RuntimeError("sim: this block does not wait for lanes")
        reader, _ = code.meets
        active = np.broadcast_to(mask, self.chunk.shape)
        named = lanes_named(self.chunk, np.where(active, reader(self.chunk.registers), np.uint32(0)))
        live = np.ones(self.chunk.shape, np.bool_) if self.live is None else self.live
        return named & live & ~active

    def absent(self, code: CodeBlock, mask: Array) -> None:
        """Note a warp instruction that names threads which are not there: elsewhere, or gone."""
        if code.meets is None:
            return
        reader, line = code.meets
        active = np.broadcast_to(mask, self.chunk.shape)
        named = lanes_named(self.chunk, np.where(active, reader(self.chunk.registers), np.uint32(0)))
        missing = named & ~active & (np.arange(self.chunk.threads) < self.threads)
        if missing.any():
            self.note_partial(line, missing, code.details[0].instruction.opcode, "all lanes that its mask names")

    def note_partial(self, line: int, missing: Array, opcode: str, wanted: str) -> None:
        lane = int(np.flatnonzero(missing)[0])
        cta, thread = divmod(lane, self.chunk.threads)
        gone = int(np.count_nonzero(missing[cta].reshape(-1, 32)[thread // 32]))
        where = faults.where(self.chunk, cta, thread)
        self.chunk.launch.find(
            "error", "TT6024", line, where, mnemonic=opcode, wanted=wanted, found=f"{32 - gone} lanes of the warp"
        )

    held: tuple[Place, Array] | None = None

    def lanes_at(self, place: Place) -> Array:
        """The lanes of a group as a (ctas, threads) array."""
        mask = self.groups[place][0]
        return np.ones(self.chunk.shape, np.bool_) if mask is None else np.broadcast_to(mask, self.chunk.shape)

    def keep(self, place: Place, chosen: Array) -> None:
        """Let only these lanes of a group go on; the others stay behind at the same place."""
        here, chosen = self.lanes_at(place), chosen.reshape(self.chunk.shape)
        rest = here & ~chosen
        if self.held is not None:
            rest = rest | self.held[1]
        if rest.any():
            going = here & chosen
            self.groups[place], self.held = (going, int(np.count_nonzero(going))), (place, rest)

    def rejoin(self) -> None:
        """Put lanes that stay behind back into their group."""
        if self.held is not None:
            place, lanes = self.held
            self.held = None
            self.put(place, lanes, int(np.count_nonzero(lanes)))

    # Running.
    def dispatch(self, place: Place) -> None:
        """Run one block, and on while all lanes stay together."""
        mask, count = self.groups.pop(place)
        self.rejoin()
        chunk, launch = self.chunk, self.chunk.launch
        while True:
            code = self.code[place[1]]
            self.dispatches += 1
            self.last_run[place] = self.dispatches
            chunk.mask = mask
            chunk.merge = None if count == self.live_count else mask
            launch.count(code, count, mask, chunk)
            if mask is not None:
                self.absent(code, mask)
            if chunk.recording:
                launch.recorder.block(chunk, code)
            elif chunk.observers:
                run_block(chunk, code)
            else:
                for operation in code.operations:
                    operation(chunk)
            self.ask(code)
            following = self.leave(place, code, mask, count)
            if following is None or self.groups or self.schedule is not None:
                if following is not None:
                    self.put(following, mask, count)
                return
            place = following
            if count != self.live_count:
                self.put(place, mask, count)
                return

    def ask(self, code: CodeBlock) -> None:
        """Count how often in a row blocks only asked whether a barrier in memory is complete; raises when all do."""
        if not self.chunk.impatient:
            self.questions = 0 if code.operations else self.questions
            return
        self.questions += 1
        if self.questions > _QUESTIONS * (len(self.groups) + 1):
            line = code.details[-1].line if code.details else 1
            everyone = self.chunk.active().any(axis=1)
            where = self.chunk.launch.cta_index(self.chunk.first + int(np.flatnonzero(everyone)[0]))
            told = [f"in program id {where}, threads ask for a barrier in memory (line {line})"]
            told += [text for text, _ in self.waits()]
            raise faults.fault(self.chunk, "TT6021", line, waits="; ".join(told[:4]))

    def leave(self, place: Place, code: CodeBlock, mask: Array | None, count: int) -> Place | None:
        """Act on a block's terminator: the place where all lanes went, or None when they were put into groups."""
        terminator, depth = code.terminator, place[0]
        if isinstance(terminator, Jump):
            return depth, terminator.target
        if isinstance(terminator, Branch):
            return self.branch(terminator, depth, mask, count)
        guard = terminator.guard
        if guard is not None:
            chosen = self.chunk.registers[guard[0]]
            chosen = ~chosen if guard[1] else chosen
            going, number = self.narrow(chosen, mask)
            if number == 0:
                return depth, terminator.follow
            if number < count:
                self.put((depth, terminator.follow), *self.without(mask, going, count - number))
                onward = self.act(terminator, depth, going, number)
                if onward is not None:
                    self.put(onward, going, number)
                return None
        return self.act(terminator, depth, mask, count)

    def act(
        self, terminator: Barrier | ClusterBarrier | Leave | Switch | Call, depth: int, mask: Array | None, count: int
    ) -> Place | None:
        """`leave` for the lanes that a guard admits."""
        if isinstance(terminator, Barrier):
            return self.barrier(terminator, depth, mask, count)
        if isinstance(terminator, ClusterBarrier):
            return self.cluster_barrier(terminator, depth, mask, count)
        if isinstance(terminator, Leave):
            return self.exit(terminator, depth, mask, count)
        if isinstance(terminator, Switch):
            return self.switch(terminator, depth, mask, count)
        return self.call(terminator, depth, mask, count)

    def narrow(self, chosen: Array, mask: Array | None) -> tuple[Array, int]:
        """The lanes of a group for which a predicate holds, and their number."""
        chosen = np.asarray(chosen)
        if mask is not None:
            chosen = chosen & mask
        return chosen, int(np.count_nonzero(chosen)) * (self.chunk.ctas * self.chunk.threads // chosen.size)

    def without(self, mask: Array | None, going: Array, count: int) -> tuple[Array, int]:
        return (~going if mask is None else mask & ~going), count

    def branch(self, branch: Branch, depth: int, mask: Array | None, count: int) -> Place | None:
        chosen = self.chunk.registers[branch.register]
        going, number = self.narrow(~chosen if branch.negated else chosen, mask)
        if number == 0:
            return depth, branch.follow
        if number == count:
            return depth, branch.taken
        staying, rest = self.without(mask, going, count - number)
        for observer in self.chunk.observers:
            observer.split(np.stack([np.broadcast_to(way, self.chunk.shape) for way in (going, staying)]))
        self.put((depth, branch.follow), staying, rest)
        self.put((depth, branch.taken), going, number)
        return None

    def switch(self, switch: Switch, depth: int, mask: Array | None, count: int) -> Place | None:
        index = np.broadcast_to(switch.index(self.chunk.registers), self.chunk.shape)
        last = len(switch.targets) - 1
        active = self.chunk.active() if mask is None else np.broadcast_to(mask, self.chunk.shape)
        for observer in self.chunk.observers:
            observer.split(np.stack([active & (index == value) for value in np.unique(index[active])]))
        for value in np.unique(index[active]):
            chosen = active & (index == value)
            self.put((depth, switch.targets[min(int(value), last)]), chosen, int(np.count_nonzero(chosen)))
        return None

    def exit(self, leave: Leave, depth: int, mask: Array | None, count: int) -> Place | None:
        if depth and not leave.whole:
            return self.come_back(depth, mask, count)
        if count == self.live_count and not self.barriers and not self.cluster_waits:
            self.live_count = 0
            return None
        everyone = np.ones(self.chunk.shape, np.bool_) if self.live is None else self.live
        self.live = everyone & ~(np.ones(1, np.bool_) if mask is None else mask)
        self.live_count -= count
        for number in list(self.barriers):
            self.release(number)
        self.release_clusters()
        for place, (lanes, number) in list(self.groups.items()):
            if number == self.live_count:
                self.groups[place] = (self.live, number)
            elif lanes is None:
                self.groups[place] = (self.live, number)
        return None

    # Calls.
    def call(self, call: Call, depth: int, mask: Array | None, count: int) -> Place | None:
        level = -depth
        site = self.program.sites[call.site]
        while len(self.returns) <= level:
            self.returns.append(np.asarray(np.int64(-1)))
            self.kept.append({})
        number = np.asarray(np.int64(call.site))
        together = count == self.live_count
        self.returns[level] = number if together else blend(mask, number, self.returns[level])
        registers, kept = self.chunk.registers, self.kept[level]
        for register in site.saved:
            kept[register] = (
                registers[register]
                if together or register not in kept
                else self.merge(mask, registers[register], kept[register], register)
            )
        if call.routine is not None:
            return depth - 1, call.routine.first_block
        return self.call_by_address(call, depth, mask, count)

    def merge(self, mask: Array | None, new: Array, old: Array, register: int) -> Array:
        if mask is None:
            return new
        if register in self.program.byte_sizes:
            return np.where(np.asarray(mask)[..., None], new, old)
        return blend(mask, new, old)

    def call_by_address(self, call: Call, depth: int, mask: Array | None, count: int) -> Place | None:
        if call.address is None:
            raise RuntimeError("sim: this call names its routine")
        addresses = np.broadcast_to(call.address(self.chunk.registers), self.chunk.shape)
        active = self.chunk.active() if mask is None else np.broadcast_to(mask, self.chunk.shape)
        for value in np.unique(addresses[active]):
            index, rest = divmod(int(value) - FUNCTION_BASE, 16)
            known = rest == 0 and 0 <= index < len(self.program.functions)
            routine = self.program.routines.get(self.program.functions[index].name) if known else None
            chosen = active & (addresses == value)
            if routine is None:
                _, cta, thread = faults.place(self.chunk, chosen, None)
                raise faults.fault(
                    self.chunk,
                    "TT6011",
                    call.line,
                    action="call",
                    bytes=16,
                    address=f"{int(value):#x}",
                    where=faults.where(self.chunk, cta, thread),
                )
            self.put((depth - 1, routine.first_block), chosen, int(np.count_nonzero(chosen)))
        return None

    def come_back(self, depth: int, mask: Array | None, count: int) -> Place | None:
        """Return from a function: lanes go to the call sites they came from."""
        level, chunk = -depth - 1, self.chunk
        sites = self.returns[level]
        active = chunk.active() if mask is None else np.broadcast_to(mask, chunk.shape)
        numbers = np.unique(np.broadcast_to(sites, chunk.shape)[active])
        for number in numbers:
            site = self.program.sites[int(number)]
            chosen: Any = active & (sites == number) if len(numbers) > 1 else mask
            size = count if len(numbers) == 1 else int(np.count_nonzero(chosen))
            chunk.mask, chunk.merge = chosen, chosen if size != self.live_count else None
            for register in site.saved:
                chunk.registers[register] = self.merge(
                    chunk.merge, self.kept[level][register], chunk.registers[register], register
                )
            for operation in site.after:
                operation(chunk)
            self.put((depth + 1, site.follow), chosen, size)
        return None

    # Barriers.
    def barrier(self, barrier: Barrier, depth: int, mask: Array | None, count: int) -> Place | None:
        if (
            count == self.live_count
            and barrier.fixed is not None
            and not self.barriers
            and barrier.action == "sync"
            and (barrier.count is None or self.is_whole(barrier))
        ):
            self.tell_meeting(barrier.fixed, self.chunk.active() if mask is None else mask)
            return depth, barrier.follow
        numbers = np.broadcast_to(barrier.number(self.chunk.registers), self.chunk.shape)
        active = self.chunk.active() if mask is None else np.broadcast_to(mask, self.chunk.shape)
        for number in np.unique(numbers[active]):
            self.arrive(barrier, int(number), (depth, barrier.follow), active & (numbers == number))
        return None

    def tell_meeting(self, number: int, lanes: Array) -> None:
        """All lanes meet at a barrier at once."""
        lanes = np.broadcast_to(lanes, self.chunk.shape)
        for observer in self.chunk.observers:
            observer.arrive(self.chunk, number, lanes)
            observer.release(self.chunk, number, lanes)

    def is_whole(self, barrier: Barrier) -> bool:
        """Whether an explicit thread count is the whole CTA's."""
        counts = barrier.count(self.chunk.registers) if barrier.count else np.asarray(0)
        return self.live is None and bool(np.all(counts == self.threads))

    def arrive(self, barrier: Barrier, number: int, place: Place, lanes: Array) -> None:
        if barrier.aligned:
            self.check_aligned(barrier, lanes)
        for observer in self.chunk.observers:
            observer.arrive(self.chunk, number, lanes)
        waiting = self.barriers.setdefault(number, Waiting(self.chunk.shape))
        waiting.arrived += self.in_warps(lanes) if barrier.count is not None else lanes.sum(axis=1)
        if barrier.count is not None:
            counts = np.broadcast_to(barrier.count(self.chunk.registers), self.chunk.shape)
            waiting.count = np.maximum(waiting.count, np.where(lanes, counts, 0).max(axis=1))
        if barrier.predicate is not None:
            waiting.flags |= lanes & np.broadcast_to(barrier.predicate(self.chunk.registers), self.chunk.shape)
        if barrier.action == "arrive":
            self.put(place, lanes, int(np.count_nonzero(lanes)))
        else:
            waiting.lanes |= lanes
            waiting.places.append((place, lanes, barrier))
        self.release(number)

    def check_aligned(self, barrier: Barrier, lanes: Array) -> None:
        """Note a warp of which only some lanes execute an aligned barrier (PTX ISA 9.7.13.1)."""
        live = np.ones(self.chunk.shape, np.bool_) if self.live is None else self.live
        here, missing = lanes.reshape(-1, 32), (live & ~lanes).reshape(-1, 32)
        partial = here.any(axis=1) & missing.any(axis=1)
        if partial.any():
            late = (missing & partial[:, None]).reshape(self.chunk.shape)
            self.note_partial(barrier.line, late, "an aligned barrier", "all lanes of a warp together")

    def in_warps(self, lanes: Array) -> Array:
        """Arrivals at a barrier with a count: a warp all of whose live lanes are there counts 32 (PTX ISA 9.7.13.1)."""
        live = np.ones(self.chunk.shape, np.bool_) if self.live is None else self.live
        here, alive = (x.reshape(self.chunk.ctas, -1, 32).sum(axis=2) for x in (lanes, live))
        return np.where((here == alive) & (here > 0), 32, here).sum(axis=1)

    def release(self, number: int) -> None:
        """Let the CTAs go whose barrier is complete."""
        waiting = self.barriers[number]
        live = np.full(self.chunk.ctas, self.threads) if self.live is None else self.live.sum(axis=1)
        expected = np.where(waiting.count > 0, waiting.count, live)
        done = (waiting.arrived >= expected) & (waiting.arrived > 0)
        if not done.any():
            return
        for observer in self.chunk.observers:
            observer.release(self.chunk, number, waiting.lanes & done[:, None])
        places, waiting.places = waiting.places, []
        for place, lanes, barrier in places:
            going, staying = lanes & done[:, None], lanes & ~done[:, None]
            if staying.any():
                waiting.places.append((place, staying, barrier))
            if going.any():
                self.finish(waiting, barrier, going)
                self.put(place, going, int(np.count_nonzero(going)))
        for array in (waiting.lanes, waiting.flags):
            array[done] = False
        waiting.arrived[done] = waiting.count[done] = 0
        if not waiting.places and not waiting.arrived.any():
            del self.barriers[number]

    def finish(self, waiting: Waiting, barrier: Barrier, going: Array) -> None:
        """Give the lanes of a reduction barrier its result."""
        if barrier.write is None:
            return
        chunk, flags = self.chunk, waiting.flags
        if barrier.op == "popc":
            value = flags.sum(axis=1, dtype=np.uint32)[:, None]
        elif barrier.op == "and":
            value = (flags | ~waiting.lanes).all(axis=1, keepdims=True)
        else:
            value = flags.any(axis=1, keepdims=True)
        chunk.mask = chunk.merge = going
        barrier.write(chunk, value)

    def cluster_barrier(self, barrier: ClusterBarrier, depth: int, mask: Array | None, count: int) -> Place | None:
        lanes = self.chunk.active() if mask is None else np.broadcast_to(mask, self.chunk.shape)
        if barrier.waits:
            self.cluster_waits.append(((depth, barrier.follow), lanes, barrier))
            self.release_clusters()
            return None
        for observer in self.chunk.observers:
            observer.arrive(self.chunk, CLUSTER_BARRIER, lanes)
        self.meeting.arrive(lanes)
        self.release_clusters()
        return depth, barrier.follow

    def release_clusters(self) -> None:
        """Let the lanes go whose cluster's phase is over."""
        self.meeting.settle(np.ones(self.chunk.shape, np.bool_) if self.live is None else self.live)
        passed, waits = self.meeting.passed(), self.cluster_waits
        self.cluster_waits = []
        for place, lanes, barrier in waits:
            going, staying = lanes & passed, lanes & ~passed
            if going.any():
                for observer in self.chunk.observers:
                    observer.release(self.chunk, CLUSTER_BARRIER, going)
                self.put(place, going, int(np.count_nonzero(going)))
            if staying.any():
                self.cluster_waits.append((place, staying, barrier))

    def deadlock(self) -> None:
        waits = list(self.waits())
        raise faults.fault(self.chunk, "TT6021", waits[0][1], waits="; ".join(text for text, _ in waits[:4]))

    def waits(self) -> Iterator[tuple[str, int]]:
        """Who waits where, in words, with the line."""
        for _, lanes, cluster in self.cluster_waits:
            index = self.chunk.launch.cta_index(self.chunk.first + int(np.flatnonzero(lanes.any(axis=1))[0]))
            text = (
                f"in program id {index}, {int(lanes.sum())} threads wait at the cluster's barrier (line {cluster.line})"
            )
            yield text, cluster.line
        for number, waiting in sorted(self.barriers.items()):
            for _, lanes, barrier in waiting.places:
                cta = int(np.flatnonzero(lanes.any(axis=1))[0])
                index = self.chunk.launch.cta_index(self.chunk.first + cta)
                warps = np.flatnonzero(lanes[cta].reshape(-1, 32).any(axis=1)).tolist()
                wanted = int(waiting.count[cta]) or "all"
                yield (
                    f"in program id {index}, {int(lanes[cta].sum())} threads of warps {warps} wait at barrier "
                    f"{number} for "
                    f"{wanted} (line {barrier.line})",
                    barrier.line,
                )


_ZEROS = {type_.name: np.zeros((), type_.raw)[()] for type_ in TYPES.values()}


def start(program: Program, chunk: Chunk, specials: dict[str, Array]) -> None:
    """Fill a chunk's registers with their first values."""
    chunk.registers = [_ZEROS[type_.name] for type_ in program.register_types]
    for register, size in program.byte_sizes.items():
        chunk.registers[register] = np.zeros(size, np.uint8)
    for name, register in program.specials.items():
        if name in specials:
            chunk.registers[register] = bits(np.asarray(specials[name]), program.register_types[register].raw)
    if "%stack" in program.specials:
        chunk.registers[program.specials["%stack"]] = np.uint64((program.local_bytes + 15) & ~15)
