"""The code generation process: PTX for every target, LLVM's fatal errors as exceptions, threads, forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.llvm.worker import Worker

COPY = """\
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @copy(ptr addrspace(1) %x, ptr addrspace(1) %y) "nvvm.reqntid"="32" {
  %v = load float, ptr addrspace(1) %x
  %w = fadd float %v, 1.0
  store float %w, ptr addrspace(1) %y
  ret void
}
"""
UNSELECTABLE = """\
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
define ptx_kernel void @fence() {
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  ret void
}
"""
MISSING_CALL = COPY.replace("fadd float %v, 1.0", "call float @llvm.exp.f32(float %v)") + (
    "declare float @llvm.exp.f32(float)\n"
)


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


def test_every_gpu_target_gets_its_ptx_version(worker: Worker):
    for target in TARGETS.values():
        if target.is_gpu:
            text = worker.ptx(COPY, target)
            version = target.ptx_feature.removeprefix("+ptx")
            assert f".version {version[:-1]}.{version[-1]}\n.target {target.name}\n" in text
            assert "add.rn.f32" in text and ".reqntid 32" in text


@pytest.mark.parametrize(("text", "what"), [(UNSELECTABLE, "Cannot select"), (MISSING_CALL, "libcall|library call")])
def test_a_fatal_error_of_llvm_is_an_exception(worker: Worker, text: str, what: str):
    with pytest.raises(TinytonError, match=what) as caught:
        worker.ptx(text, TARGETS["sm_80"])
    assert caught.value.code == "TT9003"
    assert ".visible .entry copy" in worker.ptx(COPY, TARGETS["sm_80"])


def test_text_that_is_no_module_is_refused_without_a_restart(worker: Worker):
    worker.start()
    process = worker._process  # pyright: ignore[reportPrivateUsage]  # the process must outlive the fault
    with pytest.raises(TinytonError, match="expected") as caught:
        worker.ptx(COPY.replace("fadd", "fzzz"), TARGETS["sm_80"])
    assert caught.value.code == "TT9003"
    worker.ptx(COPY, TARGETS["sm_80"])
    assert worker._process is process  # pyright: ignore[reportPrivateUsage]


def test_threads_share_it(worker: Worker):
    seen: dict[int, str] = {}

    def ask(number: int) -> None:
        seen[number] = worker.ptx(COPY.replace("@copy", f"@copy_{number}"), TARGETS["sm_80"])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f".entry copy_{number}(" in seen[number] for number in range(8))


INTERRUPT = """
import os, signal, threading
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.llvm.worker import WORKER
text = {text!r}
lines = "".join(f"  %a{{n}} = fadd float %v, {{n}}.0\\n" for n in range(60000))
slow = text.replace("  %w =", lines + "  %w =")
WORKER.start()
timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
try:
    timer.start()
    WORKER.ptx(slow, TARGETS["sm_80"])
    timer.join()
    threading.Event().wait(5)
except KeyboardInterrupt:
    print("interrupted")
print(".entry other(" in WORKER.ptx(text.replace("@copy", "@other"), TARGETS["sm_80"]))
"""


def test_an_interrupted_request_leaves_no_reply_behind():
    command = [sys.executable, "-c", INTERRUPT.format(text=COPY)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.stderr) == ("interrupted\nTrue\n", "")


FORK = """
import os
from tinyton_lab.base.targets import TARGETS
from tinyton_lab.llvm.worker import WORKER
text = {text!r}
assert WORKER._process is None, "nothing may start at import"
before = WORKER.ptx(text, TARGETS["sm_80"])
child = os.fork()
if child == 0:
    os._exit(0 if WORKER.ptx(text, TARGETS["sm_80"]) == before else 3)
assert os.waitpid(child, 0)[1] == 0
assert WORKER.ptx(text, TARGETS["sm_80"]) == before
print("process", WORKER._process.pid)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_its_own_and_none_stays_behind():
    ran = subprocess.run([sys.executable, "-c", FORK.format(text=COPY)], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    pid = int(ran.stdout.split()[-1])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
