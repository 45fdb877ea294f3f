"""A program that knows torch and Triton: an autograd function around two kernels, and tensors of several dtypes."""

from __future__ import annotations

import sys

import torch
import triton
import triton.language as tl

assert not torch.cuda.is_available() or triton.runtime.driver.active is not None
DEVICE = triton.runtime.driver.active.get_active_torch_device()
CORES = triton.runtime.driver.active.utils.get_device_properties(DEVICE.index)["multiprocessor_count"]


@triton.jit
def silu_forward(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for start in tl.range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK, num_stages=2):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x * tl.sigmoid(x)).to(y_ptr.dtype.element_ty), mask=at < n)


@triton.jit
def silu_backward(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    s = tl.sigmoid(x)
    dy = tl.load(dy_ptr + at, mask=at < n, other=0.0)
    tl.store(dx_ptr + at, (dy * s * (1 + x * (1 - s))).to(dx_ptr.dtype.element_ty), mask=at < n)


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        ctx.save_for_backward(x)
        launch = silu_forward[(min(CORES, triton.cdiv(x.numel(), 64)),)](x, y, x.numel(), BLOCK=64, num_warps=8)
        assert launch.metadata["name"] == "silu_forward"
        return y

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        dx = torch.empty_like(x)
        silu_backward[(triton.cdiv(x.numel(), 64),)](x, dy.contiguous(), dx, x.numel(), 64)
        return dx


for dtype, tolerance in ((torch.float32, 1e-6), (torch.bfloat16, 1e-2), (torch.float16, 2e-3)):
    x = torch.linspace(-4, 4, 300, device=DEVICE).to(dtype).requires_grad_()
    reference = x.detach().clone().requires_grad_()
    y, wanted = Silu.apply(x), torch.nn.functional.silu(reference)
    dy = torch.linspace(1, 2, 300).to(dtype)
    y.backward(dy)
    wanted.backward(dy)
    triton.testing.assert_close(y.detach(), wanted.detach(), atol=tolerance, rtol=tolerance)
    triton.testing.assert_close(x.grad, reference.grad, atol=tolerance, rtol=tolerance)
print("done", sys.argv[1:])
