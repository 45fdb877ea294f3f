"""PTX from LLVM text, made in a process of its own that is started at first use and kept. Knows no tile IR."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from tinyton_lab.base.diagnostics import error
from tinyton_lab.base.targets import Target

PROGRAM = Path(__file__).with_name("codegen_process.py")
SECONDS_TO_LIVE = 120.0


class Worker:
    """One code generation process, restarted after it dies. Any thread may ask; one request runs at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._messages: IO[bytes] | None = None

    def ptx(self, text: str, target: Target, level: int = 1) -> str:
        """The PTX of an LLVM module for `target`.

        Raises TT9003 with LLVM's own words when the module is wrong, when LLVM ends its process, or when it takes more
        than two minutes. Ctrl-C ends the process too; the next request starts a new one.
        """
        features = {"cpu": target.name, "features": target.ptx_feature, "level": level}
        request = json.dumps({"text": text} | features)
        with self._lock:
            reply = self._exchange(request)
        if "error" in reply:
            raise error("TT9003", what=reply["error"].strip())
        return reply["ptx"]

    def start(self) -> None:
        """Start the process now, so that a first request need not wait for it."""
        with self._lock:
            self._running()

    def stop(self) -> None:
        """End the process; a later request starts a new one."""
        process, self._process = self._process, None
        messages, self._messages = self._messages, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    _close(stream)
        if messages is not None:
            messages.close()

    def _exchange(self, request: str) -> dict[str, Any]:
        process = self._running()
        alarm = threading.Timer(SECONDS_TO_LIVE, process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            reply = self._ask(process, request)
        except BaseException:  # Ctrl-C included: an unread reply would answer the next request
            self.stop()
            raise
        finally:
            alarm.cancel()
        return json.loads(reply) if reply else self._obituary(process)

    @staticmethod
    def _ask(process: subprocess.Popen[str], request: str) -> str:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("llvm: the code generation process has no pipes")
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return ""
        return process.stdout.readline()

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self.stop()
            self._messages = tempfile.TemporaryFile()
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C in a terminal reaches every process of the session
            )
        return self._process

    def _obituary(self, process: subprocess.Popen[str]) -> dict[str, str]:
        """What LLVM printed before it ended the process."""
        status = process.wait()
        last = ""
        if self._messages is not None:
            self._messages.seek(0)
            last = self._messages.read().decode(errors="replace")
        self.stop()
        ending = f"signal {-status}" if status < 0 else f"exit status {status}"
        told = [line for line in last.splitlines() if line.strip() and not line.startswith((" #", "Stack dump"))]
        return {"error": "\n".join([*told[:4], f"(LLVM ended its process: {ending})"])}

    def forget(self) -> None:
        """In a forked child: leave the parent's process to the parent and close this side of its pipes."""
        process, self._process = self._process, None
        self._messages = None
        self._lock = threading.Lock()
        if process is not None:
            process.returncode = 0  # it is no child of this process: nobody here waits for it
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    _close(stream)


def _close(stream: IO[str]) -> None:
    try:
        stream.close()
    except OSError:  # a pipe whose other end is gone
        pass


WORKER = Worker()
atexit.register(WORKER.stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKER.forget)
