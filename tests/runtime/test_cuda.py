"""Launches through a driver that is a Python object with its own memory: copies, aliases, errors, lost contexts."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.runtime import cuda
from tinyton_lab.runtime.cuda import Argument, Program, Session


class Status(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


class FakeDriver:
    """The calls of the driver that a launch makes. `kernel` gets the bytes of each parameter as unsigned integers."""

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=1
    )
    CUfunction_attribute = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="dynamic shared bytes")

    def __init__(
        self, kernel: Callable[..., None], bits: tuple[int, ...], capability: tuple[int, int] = (8, 6)
    ) -> None:
        self.kernel, self.bits, self.capability = kernel, bits, capability
        self.memory: dict[int, Any] = {}
        self.calls: list[tuple[Any, ...]] = []
        self.failing: dict[str, Status] = {}

    def _status(self, name: str) -> Status:
        self.calls.append((name,))
        return self.failing.get(name, Status.CUDA_SUCCESS)

    def cuDeviceGet(self, number: int) -> Any:
        return self._status("cuDeviceGet"), number

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return self._status("cuDevicePrimaryCtxRetain"), "context"

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> Any:
        return Status.CUDA_SUCCESS, self.capability[attribute]

    def cuCtxSetCurrent(self, context: str) -> Any:
        return (self._status("cuCtxSetCurrent"),)

    def cuModuleLoadData(self, image: bytes) -> Any:
        return self._status("cuModuleLoadData"), image

    def cuModuleGetFunction(self, module: bytes, name: bytes) -> Any:
        return self._status("cuModuleGetFunction"), (module, name)

    def cuFuncSetAttribute(self, function: Any, attribute: str, value: int) -> Any:
        self.calls.append(("cuFuncSetAttribute", attribute, value))
        return (Status.CUDA_SUCCESS,)

    def cuMemAlloc(self, size: int) -> Any:
        status = self._status("cuMemAlloc")
        whole = ctypes.create_string_buffer(size + 256)
        address = -(-ctypes.addressof(whole) // 256) * 256
        self.memory[address] = whole
        return status, address

    def cuMemFree(self, address: int) -> Any:
        self.memory.pop(address)
        return (Status.CUDA_SUCCESS,)

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> Any:
        ctypes.memmove(to, source, size)
        return (self._status("cuMemcpyHtoD"),)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> Any:
        ctypes.memmove(to, source, size)
        return (self._status("cuMemcpyDtoH"),)

    def cuCtxSynchronize(self) -> Any:
        return (self._status("cuCtxSynchronize"),)

    def cuGetErrorString(self, status: Status) -> Any:
        return Status.CUDA_SUCCESS, status.name.removeprefix("CUDA_ERROR_").lower().replace("_", " ").encode()

    def cuLaunchKernel(self, function: Any, *rest: Any) -> Any:
        *sizes, parameters, extra = rest
        self.calls.append(("cuLaunchKernel", function[1], *sizes))
        places = (ctypes.c_uint64 * len(self.bits)).from_address(parameters)
        numbers = [
            int.from_bytes(ctypes.string_at(at, n // 8), "little") for at, n in zip(places, self.bits, strict=True)
        ]
        self.kernel(*numbers)
        return (Status.CUDA_SUCCESS,)


def floats(address: int, n: int) -> np.ndarray:
    """The device's memory as an array."""
    return np.frombuffer((ctypes.c_float * n).from_address(address), np.float32)


PROGRAM = Program(b"cubin", "kernel", 128)


def test_arrays_are_copied_there_and_back():
    def add(x: int, y: int, n: int) -> None:
        floats(y, n)[:] += floats(x, n)

    driver = FakeDriver(add, (64, 64, 32))
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    arguments = [Argument("x", x), Argument("y", y), Argument("n", 8, np.dtype(np.int32))]
    Session(driver).launch(PROGRAM, (3, 2), arguments, written={"y"})
    assert y.tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and x.tolist() == list(range(8))
    assert ("cuLaunchKernel", b"kernel", 3, 2, 1, 128, 1, 1, 0, 0) in driver.calls
    assert driver.memory == {} and [name for name, *_ in driver.calls].count("cuMemcpyDtoH") == 1


def test_overlapping_arrays_share_memory_and_keep_their_alignment():
    seen: list[tuple[int, int]] = []

    def shift(x: int, y: int) -> None:
        seen.append((x, y))
        floats(y, 4)[:] = floats(x, 4) * 10

    whole = np.arange(16, dtype=np.float32)
    driver = FakeDriver(shift, (64, 64))
    Session(driver).launch(PROGRAM, (1,), [Argument("x", whole[8:12]), Argument("y", whole[10:14])])
    assert seen[0][1] - seen[0][0] == 8 and seen[0][0] % 256 == whole[8:].ctypes.data % 256
    assert whole[8:14].tolist() == [8, 9, 80, 90, 100, 110]
    assert [name for name, *_ in driver.calls].count("cuMemAlloc") == 1


def test_strided_reversed_empty_and_read_only_arrays():
    def fill(x: int, nothing: int, empty: int, flag: int, ratio: int) -> None:
        assert (nothing, empty, flag, np.uint32(ratio).view(np.float32)) == (0, 0, 1, 0.5)
        floats(x - 8, 3)[:] = -1

    backwards, constant = np.arange(6, dtype=np.float32)[4::-1][:3], np.ones(2, np.float32)
    constant.flags.writeable = False
    driver = FakeDriver(fill, (64, 64, 64, 8, 32))
    arguments = [
        Argument("x", backwards), Argument("nothing", None), Argument("empty", np.zeros(0, np.float32)),
        Argument("flag", True, np.dtype(np.bool_)), Argument("ratio", 0.5, np.dtype(np.float32)),
    ]  # fmt: skip
    Session(driver).launch(PROGRAM, (1,), arguments)
    assert backwards.tolist() == [-1, -1, -1]


def test_device_tensors_go_by_pointer_on_the_current_stream(monkeypatch: pytest.MonkeyPatch):
    streams = SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=77))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=streams))
    tensor = SimpleNamespace(data_ptr=lambda: 4096, dtype="float32", is_cuda=True, device="cuda:0")
    got: list[int] = []
    driver = FakeDriver(got.append, (64,))
    Session(driver).launch(PROGRAM, (1,), [Argument("x", tensor)])
    assert got == [4096] and ("cuLaunchKernel", b"kernel", 1, 1, 1, 128, 1, 1, 0, 77) in driver.calls
    assert not any(name.startswith("cuMem") for name, *_ in driver.calls)


def test_modules_are_loaded_once_and_get_their_shared_memory():
    driver = FakeDriver(lambda: None, ())
    session = Session(driver)
    for _ in range(3):
        session.launch(Program(b"cubin", "kernel", 64, 65536), (1,), [])
    assert driver.calls.count(("cuModuleLoadData",)) == 1
    assert driver.calls.count(("cuFuncSetAttribute", "dynamic shared bytes", 65536)) == 1
    session.launch(PROGRAM, (4, 0), [])
    assert sum(call[0] == "cuLaunchKernel" for call in driver.calls) == 3


def test_failures_name_the_call_and_leave_nothing_behind():
    driver = FakeDriver(lambda x: None, (64,))
    driver.failing["cuCtxSynchronize"] = Status.CUDA_ERROR_OUT_OF_MEMORY
    session = Session(driver)
    x = np.ones(4, np.float32)
    with pytest.raises(TinytonError, match="cuCtxSynchronize failed: out of memory") as caught:
        session.launch(PROGRAM, (1,), [Argument("x", x)])
    assert caught.value.code == "TT5015" and driver.memory == {}
    driver.failing.clear()
    session.launch(PROGRAM, (1,), [Argument("x", x)])
    with pytest.raises(TinytonError, match="axis 1 of the grid is 65536, the limit is 65535"):
        session.launch(PROGRAM, (1, 65536), [])


def test_a_lost_context_is_told_at_once():
    driver = FakeDriver(lambda x: None, (64,))
    driver.failing["cuCtxSynchronize"] = Status.CUDA_ERROR_ILLEGAL_ADDRESS
    session = Session(driver)
    with pytest.raises(TinytonError, match="illegal address"):
        session.launch(PROGRAM, (1,), [Argument("x", np.ones(4, np.float32))])
    before = len(driver.calls)
    with pytest.raises(TinytonError, match=r"an earlier launch \(kernel\) ended the CUDA context") as caught:
        session.launch(PROGRAM, (1,), [])
    assert caught.value.code == "TT5016" and len(driver.calls) == before


def test_a_forked_child_is_told(monkeypatch: pytest.MonkeyPatch):
    session = Session(FakeDriver(lambda: None, ()))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(TinytonError, match="fork") as caught:
        session.launch(PROGRAM, (1,), [])
    assert caught.value.code == "TT5014"


@pytest.mark.parametrize(
    ("capability", "name"),
    [((7, 5), "sm_75"), ((8, 0), "sm_80"), ((8, 7), "sm_86"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((12, 1), None)],
)
def test_the_target_of_a_device(capability: tuple[int, int], name: str | None):
    found = Session(FakeDriver(lambda: None, (), capability)).target
    assert (found.name if found else None) == name


def test_without_a_device_nothing_raises():
    if cuda.device_count():
        pytest.skip("there is a CUDA device")
    with pytest.raises(TinytonError, match="there is no CUDA device") as caught:
        cuda.session()
    assert caught.value.code == "TT5014"
