"""Threads that wait in machine code for launches, and take programs off them without the interpreter's lock.

A launch leaves the address of its job in the mailbox of each thread that it wants and starts to work itself. Who has
not come by the time that no program is left is uninvited; those who came are awaited. A thread without work looks at
its mailbox for some microseconds, then sleeps. Knows the frame, not what a job computes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from typing import Any

from tinyton_lab.llvm import native
from tinyton_lab.runtime import frame

_LOOKS = 4000  # times a thread looks for work, or for the end of work, before it sleeps: about 0.1 ms
_ALIGNMENT = 64
_SERVICES = (
    "PyThread_acquire_lock_timed",  # the interpreter's own locks: they need no lock of the interpreter's
    "PyThread_release_lock",
    "PyMem_RawMalloc",
    "PyMem_RawFree",
)
_LOOK_AGAIN = {"x86_64": "pause", "amd64": "pause", "aarch64": "yield", "arm64": "yield"}


class Threads:
    """Threads of this process, started when first needed; they live as long as it does."""

    def __init__(self) -> None:
        self._share: Any = None
        self._serve: Any = None
        self.forget()

    def forget(self) -> None:
        """Start with no thread: in a forked child none but the forking one is left."""
        self._lock = threading.Lock()
        self._workers: list[Any] = []
        self._tables: list[Any] = []  # all that ever were: a launch may still read an older one

    def share(self, address: int, helpers: int) -> int:
        """Run the job of the frame at an address in this thread and up to `helpers` others; gives how it ended here.

        All others are done with it on return. Raises what a signal's handler raises.
        """
        if len(self._workers) < helpers:
            self._start(helpers)
        return self._share(address, ctypes.addressof(self._tables[-1]), helpers)

    def _start(self, helpers: int) -> None:
        with self._lock:
            if self._share is None:
                self._link()
            added: list[Any] = []
            while len(self._workers) + len(added) < helpers:
                worker = (ctypes.c_int64 * frame.THREAD_SLOTS)()
                worker[frame.LOCK] = _new_lock()
                added.append(worker)
            workers = self._workers + added
            services = [_address(name) for name in _SERVICES] + [_new_lock()]
            content = services + [ctypes.addressof(worker) for worker in workers]
            self._tables.append((ctypes.c_int64 * len(content))(*content))
            for worker in added:
                at = ctypes.addressof(worker), ctypes.addressof(self._tables[-1])
                threading.Thread(target=self._serve, args=at, name="tinyton-cpu", daemon=True).start()
            self._workers = workers

    def _link(self) -> None:
        self._module = native.session(native.host()).link(_text(), ("share", "serve"))
        at = self._module.addresses
        self._serve = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(at["serve"])
        self._share = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(at["share"])


def _address(name: str) -> int:
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def _new_lock() -> int:
    """A lock that is held: who acquires it sleeps until somebody releases it."""
    allocate = ctypes.PYFUNCTYPE(ctypes.c_void_p)(_address("PyThread_allocate_lock"))
    lock: int = allocate()
    ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(_address("PyThread_acquire_lock"))(lock, 1)
    return lock


def _text() -> str:
    """The module: ``share(frame, table, helpers)`` and ``serve(worker, table)``, which does not return."""
    hint = _LOOK_AGAIN.get(platform.machine().lower())
    slots = {name.lower(): 8 * getattr(frame, name) for name in _SLOTS}
    return _MODULE.format(
        pause=f'call void asm sideeffect "{hint}", ""()' if hint else "fence seq_cst",
        job_at=8 * frame.THREAD_SLOTS,
        looks=_LOOKS,
        workers=8 * (len(_SERVICES) + 1),
        alignment=_ALIGNMENT,
        faulted=frame.FAULT,
        **slots,
    )


_SLOTS = (
    *("SCRATCH", "STATE", "SAVE_THREAD", "RESTORE_THREAD", "CHECK_SIGNALS"),
    *("FAULT_OP", "FAULT_PROGRAM", "MAIL", "ASLEEP", "LOCK", "MEMORY", "MEMORY_BYTES"),
    *("STOP", "RUN", "SCRATCH_BYTES", "ACTIVE", "RECORDING", "FIRST_FAULT"),
)

# Mail is 0 (nothing to do), 1 (at work) or the address of a job. In the table: acquire, release, allocate, free, a lock
# that nobody releases, and the workers.
_MODULE = """\
define i32 @share(ptr %frame, ptr %table, i64 %helpers) nounwind {{
entry:
  %job = getelementptr i8, ptr %frame, i64 {job_at}
  %job.address = ptrtoint ptr %job to i64
  %active.at = getelementptr i8, ptr %job, i64 {active}
  %stop.at = getelementptr i8, ptr %job, i64 {stop}
  %run.at = getelementptr i8, ptr %job, i64 {run}
  %state.at = getelementptr i8, ptr %frame, i64 {state}
  %save.at = getelementptr i8, ptr %frame, i64 {save_thread}
  %restore.at = getelementptr i8, ptr %frame, i64 {restore_thread}
  %check.at = getelementptr i8, ptr %frame, i64 {check_signals}
  %release.at = getelementptr i8, ptr %table, i64 8
  %never.at = getelementptr i8, ptr %table, i64 32
  %workers = getelementptr i8, ptr %table, i64 {workers}
  %run = load ptr, ptr %run.at
  %save = load ptr, ptr %save.at
  %restore = load ptr, ptr %restore.at
  %check = load ptr, ptr %check.at
  %acquire = load ptr, ptr %table
  %release = load ptr, ptr %release.at
  %never = load ptr, ptr %never.at
  %state = call ptr %save()
  store ptr %state, ptr %state.at
  br label %invite
invite:
  %number = phi i64 [ 0, %entry ], [ %number.next, %invited ]
  %more = icmp slt i64 %number, %helpers
  br i1 %more, label %offer, label %work
offer:
  %worker.at = getelementptr i64, ptr %workers, i64 %number
  %worker = load ptr, ptr %worker.at
  %mail.at = getelementptr i8, ptr %worker, i64 {mail}
  %expected = atomicrmw add ptr %active.at, i64 1 seq_cst
  %given = cmpxchg ptr %mail.at, i64 0, i64 %job.address seq_cst seq_cst
  %was.free = extractvalue {{ i64, i1 }} %given, 1
  br i1 %was.free, label %wake, label %busy
busy:
  %unexpected = atomicrmw sub ptr %active.at, i64 1 seq_cst
  br label %invited
wake:
  %asleep.at = getelementptr i8, ptr %worker, i64 {asleep}
  %asleep = atomicrmw xchg ptr %asleep.at, i64 0 seq_cst
  %sleeps = icmp ne i64 %asleep, 0
  br i1 %sleeps, label %rouse, label %invited
rouse:
  %lock.at = getelementptr i8, ptr %worker, i64 {lock}
  %lock = load ptr, ptr %lock.at
  call void %release(ptr %lock)
  br label %invited
invited:
  %number.next = add i64 %number, 1
  br label %invite
work:
  %code = call i32 %run(ptr %job, ptr %frame)
  br label %uninvite
uninvite:
  %late = phi i64 [ 0, %work ], [ %late.next, %told ]
  %any = icmp slt i64 %late, %helpers
  br i1 %any, label %tell, label %await
tell:
  %late.worker.at = getelementptr i64, ptr %workers, i64 %late
  %late.worker = load ptr, ptr %late.worker.at
  %late.mail.at = getelementptr i8, ptr %late.worker, i64 {mail}
  %taken.back = cmpxchg ptr %late.mail.at, i64 %job.address, i64 0 seq_cst seq_cst
  %never.came = extractvalue {{ i64, i1 }} %taken.back, 1
  br i1 %never.came, label %one.less, label %told
one.less:
  %without = atomicrmw sub ptr %active.at, i64 1 seq_cst
  br label %told
told:
  %late.next = add i64 %late, 1
  br label %uninvite
await:
  %looks = phi i64 [ 0, %uninvite ], [ %looks.next, %look.again ]
  %working = load atomic i64, ptr %active.at acquire, align 8
  %done = icmp eq i64 %working, 0
  br i1 %done, label %finished, label %look.again
look.again:
  {pause}
  %looks.next = add i64 %looks, 1
  %patient = icmp slt i64 %looks.next, {looks}
  br i1 %patient, label %await, label %doze
doze:
  %time = phi i64 [ 50, %look.again ], [ %time.next, %dozed ]
  %lapsed = call i32 %acquire(ptr %never, i64 %time, i32 0)
  %still = load atomic i64, ptr %active.at acquire, align 8
  %all.done = icmp eq i64 %still, 0
  br i1 %all.done, label %finished, label %longer
longer:
  %quarter = lshr i64 %time, 2
  %grown = add i64 %time, %quarter
  %short = icmp slt i64 %grown, 10000
  %time.next = select i1 %short, i64 %grown, i64 10000
  %stop = load atomic i64, ptr %stop.at monotonic, align 8
  %stopped = icmp ne i64 %stop, 0
  %brief = icmp slt i64 %time, 5000
  %no.look = or i1 %stopped, %brief
  br i1 %no.look, label %dozed, label %signals
signals:
  %waiting = load ptr, ptr %state.at
  call void %restore(ptr %waiting)
  %raised = call i32 %check()
  %saved = call ptr %save()
  store ptr %saved, ptr %state.at
  %interrupted = icmp ne i32 %raised, 0
  br i1 %interrupted, label %stop.all, label %dozed
stop.all:
  store atomic i64 1, ptr %stop.at monotonic, align 8
  br label %dozed
dozed:
  br label %doze
finished:
  %held = load ptr, ptr %state.at
  call void %restore(ptr %held)
  ret i32 %code
}}

define void @serve(ptr %worker, ptr %table) nounwind {{
entry:
  %mail.at = getelementptr i8, ptr %worker, i64 {mail}
  %asleep.at = getelementptr i8, ptr %worker, i64 {asleep}
  %lock.at = getelementptr i8, ptr %worker, i64 {lock}
  %scratch.at = getelementptr i8, ptr %worker, i64 {scratch}
  %memory.at = getelementptr i8, ptr %worker, i64 {memory}
  %bytes.at = getelementptr i8, ptr %worker, i64 {memory_bytes}
  %program.at = getelementptr i8, ptr %worker, i64 {fault_program}
  %fault.at = getelementptr i8, ptr %worker, i64 {fault_op}
  %allocate.at = getelementptr i8, ptr %table, i64 16
  %free.at = getelementptr i8, ptr %table, i64 24
  %lock = load ptr, ptr %lock.at
  %acquire = load ptr, ptr %table
  %allocate = load ptr, ptr %allocate.at
  %free = load ptr, ptr %free.at
  br label %idle
idle:
  br label %look
look:
  %looks = phi i64 [ 0, %idle ], [ %looks.next, %look.again ]
  %mail = load atomic i64, ptr %mail.at acquire, align 8
  %some = icmp ne i64 %mail, 0
  br i1 %some, label %take, label %look.again
look.again:
  {pause}
  %looks.next = add i64 %looks, 1
  %patient = icmp slt i64 %looks.next, {looks}
  br i1 %patient, label %look, label %tire
tire:
  store atomic i64 1, ptr %asleep.at seq_cst, align 8
  %last = load atomic i64, ptr %mail.at seq_cst, align 8
  %nothing = icmp eq i64 %last, 0
  br i1 %nothing, label %sleep, label %rise
rise:
  %asleep = atomicrmw xchg ptr %asleep.at, i64 0 seq_cst
  %roused = icmp eq i64 %asleep, 0
  br i1 %roused, label %sleep, label %idle
sleep:
  %woken = call i32 %acquire(ptr %lock, i64 -1, i32 0)
  br label %idle
take:
  %taken = cmpxchg ptr %mail.at, i64 %mail, i64 1 seq_cst seq_cst
  %mine = extractvalue {{ i64, i1 }} %taken, 1
  br i1 %mine, label %prepare, label %idle
prepare:
  %job = inttoptr i64 %mail to ptr
  %active.at = getelementptr i8, ptr %job, i64 {active}
  %need.at = getelementptr i8, ptr %job, i64 {scratch_bytes}
  %need = load i64, ptr %need.at
  %have = load i64, ptr %bytes.at
  %enough = icmp ule i64 %need, %have
  br i1 %enough, label %run, label %grow
grow:
  %old = load ptr, ptr %memory.at
  call void %free(ptr %old)
  %bytes = add i64 %need, {alignment}
  %memory = call ptr %allocate(i64 %bytes)
  store ptr %memory, ptr %memory.at
  store i64 0, ptr %bytes.at
  %exhausted = icmp eq ptr %memory, null
  br i1 %exhausted, label %leave, label %align
align:
  %start = ptrtoint ptr %memory to i64
  %beyond = add i64 %start, {alignment}
  %aligned = and i64 %beyond, -{alignment}
  store i64 %aligned, ptr %scratch.at
  store i64 %need, ptr %bytes.at
  br label %run
run:
  %run.at = getelementptr i8, ptr %job, i64 {run}
  %entry.run = load ptr, ptr %run.at
  %code = call i32 %entry.run(ptr %job, ptr %worker)
  %faulted = icmp eq i32 %code, {faulted}
  br i1 %faulted, label %record, label %leave
record:
  %recording.at = getelementptr i8, ptr %job, i64 {recording}
  %recording = atomicrmw xchg ptr %recording.at, i64 1 acquire
  %others = icmp ne i64 %recording, 0
  br i1 %others, label %record, label %compare
compare:
  %first.at = getelementptr i8, ptr %job, i64 {first_fault}
  %first.program.at = getelementptr i8, ptr %first.at, i64 24
  %first.op = load i64, ptr %first.at
  %first.program = load i64, ptr %first.program.at
  %program = load i64, ptr %program.at
  %none = icmp eq i64 %first.op, 0
  %earlier = icmp slt i64 %program, %first.program
  %better = or i1 %none, %earlier
  br i1 %better, label %write, label %recorded
write:
  %fault = load <4 x i64>, ptr %fault.at, align 8
  store <4 x i64> %fault, ptr %first.at, align 8
  br label %recorded
recorded:
  store atomic i64 0, ptr %recording.at release, align 8
  br label %leave
leave:
  store atomic i64 0, ptr %mail.at release, align 8
  %left = atomicrmw sub ptr %active.at, i64 1 release
  br label %idle
}}
"""

THREADS = Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=THREADS.forget)
