"""LLVM text of the order of execution: CTA after CTA, their warps in turns between barriers. Knows no instruction."""

from __future__ import annotations

from tinyton_lab.sim.fast.context import (
    FINISHED,
    FRAME_BARRIER,
    FRAME_LIVE,
    FRAME_STATE,
    FRAME_STATUS,
    RUNNING,
    WAITING,
    Fault,
    Slot,
)
from tinyton_lab.sim.fast.memory import NOTE, slot


def _field(name: str, offset: int) -> str:
    return f"{name} = getelementptr i8, ptr %frame, i64 {offset}"


RUN = f"""{NOTE}
define internal void @clear(i64 %address, i64 %bytes) {{
entry:
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %more ]
  %done = icmp uge i64 %i, %bytes
  br i1 %done, label %end, label %more
more:
  %at = add i64 %address, %i
  %p = inttoptr i64 %at to ptr
  store <16 x i64> zeroinitializer, ptr %p, align 8
  %j = add i64 %i, 128
  br label %next
end:
  ret void
}}

define internal void @prepare(ptr %ctx) {{
entry:
  {slot(Slot.FRAMES, "%frames")}
  {slot(Slot.FRAME_BYTES, "%bytes")}
  {slot(Slot.WARPS, "%warps")}
  {slot(Slot.THREADS, "%threads")}
  %b0 = getelementptr i64, ptr %ctx, i64 {Slot.ARRIVED}
  store <32 x i64> zeroinitializer, ptr %b0, align 8
  %b1 = getelementptr i64, ptr %ctx, i64 {Slot.HOLDS}
  store <16 x i64> zeroinitializer, ptr %b1, align 8
  br label %next
next:
  %w = phi i64 [ 0, %entry ], [ %w.next, %next ]
  %offset = mul i64 %w, %bytes
  %address = add i64 %frames, %offset
  %frame = inttoptr i64 %address to ptr
  {_field("%state.p", FRAME_STATE)}
  store i32 0, ptr %state.p
  {_field("%status.p", FRAME_STATUS)}
  store i32 {RUNNING}, ptr %status.p
  %before = mul i64 %w, 32
  %rest = sub i64 %threads, %before
  %full = icmp uge i64 %rest, 32
  %ones = shl i64 1, %rest
  %part = sub i64 %ones, 1
  %live = select i1 %full, i64 -1, i64 %part
  %live32 = trunc i64 %live to i32
  {_field("%live.p", FRAME_LIVE)}
  store i32 %live32, ptr %live.p
  %w.next = add i64 %w, 1
  %end = icmp eq i64 %w.next, %warps
  br i1 %end, label %done, label %next
done:
  ret void
}}

define internal i32 @cta(ptr %ctx) {{
entry:
  call void @prepare(ptr %ctx)
  {slot(Slot.FRAMES, "%frames")}
  {slot(Slot.FRAME_BYTES, "%bytes")}
  {slot(Slot.WARPS, "%warps")}
  br label %round
round:
  br label %warp
warp:
  %w = phi i64 [ 0, %round ], [ %w.next, %after ]
  %living = phi i64 [ 0, %round ], [ %living.next, %after ]
  %offset = mul i64 %w, %bytes
  %address = add i64 %frames, %offset
  %frame = inttoptr i64 %address to ptr
  {_field("%status.p", FRAME_STATUS)}
  %status = load i32, ptr %status.p
  %runs = icmp eq i32 %status, {RUNNING}
  br i1 %runs, label %call, label %after
call:
  %w32 = trunc i64 %w to i32
  {slot(Slot.WARP, "%entry.of.warp", "ptr")}
  %result = call i32 %entry.of.warp(ptr %ctx, ptr %frame, i32 %w32)
  %failed = icmp ne i32 %result, 0
  br i1 %failed, label %stop, label %after
stop:
  ret i32 1
after:
  %now = load i32, ptr %status.p
  %finished = icmp eq i32 %now, {FINISHED}
  %one = select i1 %finished, i64 0, i64 32
  %living.next = add i64 %living, %one
  %w.next = add i64 %w, 1
  %end = icmp eq i64 %w.next, %warps
  br i1 %end, label %meet, label %warp
meet:
  %nobody = icmp eq i64 %living.next, 0
  br i1 %nobody, label %good, label %barrier
good:
  ret i32 0
barrier:
  %n = phi i64 [ 0, %meet ], [ %n.next, %closed ]
  %opened = phi i1 [ false, %meet ], [ %opened.next, %closed ]
  %arrived.i = add i64 %n, {Slot.ARRIVED}
  %arrived.p = getelementptr i64, ptr %ctx, i64 %arrived.i
  %arrived = load i64, ptr %arrived.p
  %expected.i = add i64 %n, {Slot.EXPECTED}
  %expected.p = getelementptr i64, ptr %ctx, i64 %expected.i
  %expected = load i64, ptr %expected.p
  %every = icmp eq i64 %expected, 0
  %wanted = select i1 %every, i64 %living.next, i64 %expected
  %some = icmp ne i64 %arrived, 0
  %enough = icmp uge i64 %arrived, %wanted
  %open = and i1 %some, %enough
  br i1 %open, label %release, label %closed
release:
  %holds.i = add i64 %n, {Slot.HOLDS}
  %holds.p = getelementptr i64, ptr %ctx, i64 %holds.i
  %holds = load i64, ptr %holds.p
  %told.i = add i64 %n, {Slot.TOLD}
  %told.p = getelementptr i64, ptr %ctx, i64 %told.i
  store i64 %holds, ptr %told.p
  store i64 0, ptr %holds.p
  store i64 0, ptr %arrived.p
  store i64 0, ptr %expected.p
  br label %wake
wake:
  %k = phi i64 [ 0, %release ], [ %k.next, %woken ]
  %offset.k = mul i64 %k, %bytes
  %address.k = add i64 %frames, %offset.k
  %frame.k = inttoptr i64 %address.k to ptr
  %status.k.p = getelementptr i8, ptr %frame.k, i64 {FRAME_STATUS}
  %status.k = load i32, ptr %status.k.p
  %barrier.k.p = getelementptr i8, ptr %frame.k, i64 {FRAME_BARRIER}
  %barrier.k = load i32, ptr %barrier.k.p
  %n32 = trunc i64 %n to i32
  %waits = icmp eq i32 %status.k, {WAITING}
  %here = icmp eq i32 %barrier.k, %n32
  %both = and i1 %waits, %here
  %new = select i1 %both, i32 {RUNNING}, i32 %status.k
  store i32 %new, ptr %status.k.p
  br label %woken
woken:
  %k.next = add i64 %k, 1
  %k.end = icmp eq i64 %k.next, %warps
  br i1 %k.end, label %closed, label %wake
closed:
  %opened.next = phi i1 [ %opened, %barrier ], [ true, %woken ]
  %n.next = add i64 %n, 1
  %n.end = icmp eq i64 %n.next, 16
  br i1 %n.end, label %decide, label %barrier
decide:
  br i1 %opened.next, label %round, label %deadlock
deadlock:
  call void @note(ptr %ctx, i64 {Fault.DEADLOCK}, i32 0, i32 0, i64 0)
  ret i32 1
}}

define i32 @run(ptr %ctx) {{
entry:
  {slot(Slot.NEXT_CTA, "%counter", "ptr")}
  {slot(Slot.CTAS, "%count")}
  {slot(Slot.GRID, "%gx")}
  {slot(Slot.GRID + 1, "%gy")}
  {slot(Slot.SHARED + 2, "%shared")}
  {slot(Slot.SHARED_CLEAR, "%shared.bytes")}
  {slot(Slot.LOCAL + 2, "%local")}
  {slot(Slot.LOCAL_CLEAR, "%local.bytes")}
  {slot(Slot.STOP, "%stop", "ptr")}
  br label %next
next:
  %n = atomicrmw add ptr %counter, i64 1 seq_cst
  %over = icmp uge i64 %n, %count
  %halt = load volatile i32, ptr %stop
  %halted = icmp ne i32 %halt, 0
  %leave = or i1 %over, %halted
  br i1 %leave, label %done, label %one
done:
  ret i32 0
one:
  %cta.p = getelementptr i64, ptr %ctx, i64 {Slot.CTA}
  store i64 %n, ptr %cta.p
  %x = urem i64 %n, %gx
  %rest = udiv i64 %n, %gx
  %y = urem i64 %rest, %gy
  %z = udiv i64 %rest, %gy
  %x.p = getelementptr i64, ptr %ctx, i64 {Slot.PLACE}
  store i64 %x, ptr %x.p
  %y.p = getelementptr i64, ptr %ctx, i64 {Slot.PLACE + 1}
  store i64 %y, ptr %y.p
  %z.p = getelementptr i64, ptr %ctx, i64 {Slot.PLACE + 2}
  store i64 %z, ptr %z.p
  {slot(Slot.FULL, "%full")}
  %fuel.p = getelementptr i64, ptr %ctx, i64 {Slot.FUEL}
  store i64 %full, ptr %fuel.p
  call void @clear(i64 %shared, i64 %shared.bytes)
  call void @clear(i64 %local, i64 %local.bytes)
  %result = call i32 @cta(ptr %ctx)
  %failed = icmp ne i32 %result, 0
  br i1 %failed, label %bad, label %next
bad:
  store volatile i32 1, ptr %stop
  ret i32 1
}}
"""
