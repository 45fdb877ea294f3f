"""Tuning: one trial per config on the launch's own data, heuristics, and how both stack with `jit`."""

from __future__ import annotations

import inspect
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import tinyton_lab as tt
import tinyton_lab.language as tl
from tinyton_lab import tune

SMALL, LARGE = tt.Config({"BLOCK": 4}), tt.Config({"BLOCK": 8})
BLOCKS = [SMALL, LARGE]


def doubled(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def blocks(meta: dict[str, Any]) -> tuple[int]:
    return (tt.cdiv(meta["n"], meta["BLOCK"]),)


def counted(n: int) -> np.ndarray[Any, Any]:
    return np.arange(n, dtype=np.float32)


@pytest.mark.parametrize("engine", ["cpu", "interpreter", "sim"])
@pytest.mark.parametrize("restored", [["x"], []])
def test_a_kernel_that_works_in_place_is_applied_once(engine: str, restored: list[str]):
    kernel = tt.autotune(BLOCKS, key=["n"], restore_value=restored)(tt.jit(doubled))
    x = counted(10)
    for factor in (2, 4, 8):
        kernel[blocks](x, 10, backend=engine)
        assert np.array_equal(x, counted(10) * factor)


def test_each_key_is_timed_once(monkeypatch: pytest.MonkeyPatch):
    trials: list[Any] = []
    times = iter([2.0, 1.0, 1.0, 2.0, 3.0, 1.0])
    monkeypatch.setattr(tune, "milliseconds", lambda trial: (trial(), trials.append(1), next(times))[-1])
    kernel = tt.autotune(BLOCKS, key=["n"])(tt.jit(doubled))
    chosen: list[tt.Config] = []
    for x, n in ((counted(10), 10), (counted(10), 10), (counted(9), 9), (counted(10).astype(np.float16), 10)):
        kernel[blocks](x, n)
        chosen.append(kernel.best_config)
    assert (chosen, len(trials), len(kernel.cache)) == ([LARGE, LARGE, SMALL, LARGE], 6, 3)
    assert kernel.configs_timings == {SMALL: 3.0, LARGE: 1.0}


def test_one_config_is_not_timed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tune, "milliseconds", None)
    kernel = tt.autotune([LARGE], key=["n"])(tt.jit(doubled))
    x = counted(10)
    kernel[blocks](x, 10)
    assert np.array_equal(x, counted(10) * 2)


@tt.jit
def add_up(x, total, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(total, tl.load(total) + tl.sum(tl.load(x + i, mask=i < n, other=0.0)))


def test_what_is_reset_is_zero_before_the_launch():
    kernel = tt.autotune([tt.Config({"BLOCK": 16}), tt.Config({"BLOCK": 32})], key=[], reset_to_zero=["total"])(add_up)
    total = np.full(1, 100.0, np.float32)
    kernel[1](counted(4), total, 4)
    assert total == 6
    kernel[1](counted(4), total, 4)  # no trials, no reset
    assert total == 12


def test_a_config_that_does_not_compile_is_skipped_and_said():
    kernel = tt.autotune([tt.Config({"BLOCK": 12}), LARGE], key=[])(tt.jit(doubled))
    x = counted(8)
    with pytest.warns(RuntimeWarning, match=r"autotune of doubled skips Config\(BLOCK=12, .*TT2"):
        kernel[blocks](x, 8)
    assert np.array_equal(x, counted(8) * 2) and kernel.best_config is LARGE
    assert [config.kwargs for config in kernel.skipped] == [{"BLOCK": 12}]


def test_where_no_config_compiles_the_fault_is_raised():
    kernel = tt.autotune([tt.Config({"BLOCK": 12}), tt.Config({"BLOCK": 5})], key=[])(tt.jit(doubled))
    with warnings.catch_warnings(action="error"), pytest.raises(tt.TinytonError, match="12") as caught:
        kernel[blocks](counted(8), 8)
    assert caught.value.code.startswith("TT2") and caught.value.span is not None


def test_a_fault_of_a_trial_leaves_the_arrays_alone():
    @tt.autotune(BLOCKS, key=[])
    @tt.jit
    def careless(x, y, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(x + i, 1.0)
        tl.store(y + i, 1.0)

    x, y = counted(8), counted(4)
    with pytest.raises(tt.TinytonError) as caught:
        careless[1](x, y)
    assert caught.value.code == "TT4001"
    assert np.array_equal(x, counted(8)) and np.array_equal(y, counted(4))


def test_on_a_cpu_gpu_options_make_no_difference():
    warps = [tt.Config({"BLOCK": 8}, num_warps=n) for n in (1, 2, 4)]
    kernel = tt.autotune([*warps, SMALL], key=[])(tt.jit(doubled))
    kernel[blocks](counted(8), 8, backend="cpu")
    assert list(kernel.configs_timings) == [warps[0], SMALL]
    kernel[blocks](counted(8), 8, backend="sim")
    assert list(kernel.configs_timings) == [*warps, SMALL]


def test_hooks_see_the_arguments():
    seen: list[Any] = []
    configs = [
        tt.Config({"BLOCK": size}, pre_hook=lambda given: seen.append((given["BLOCK"], given["n"]))) for size in (4, 8)
    ]
    kernel = tt.autotune(
        configs,
        key=[],
        pre_hook=lambda given, reset_only: seen.append(reset_only),
        post_hook=lambda given, exception: seen.append("after"),
        do_bench=lambda trial, quantiles: (trial(), [0.5, 0.4, 0.6])[1],
    )(tt.jit(doubled))
    kernel[blocks](counted(8), 8)
    assert seen == [(4, 8), False, "after", (8, 8), False, "after", True, (4, 8)]
    seen.clear()
    kernel[blocks](counted(8), n=8)
    assert seen == [(4, 8)]


def test_configs_are_pruned():
    sizes = [tt.Config({"BLOCK": 2**k}) for k in range(2, 7)]
    by = {
        "early_config_prune": lambda configs, given, **keywords: [c for c in configs if c.kwargs["BLOCK"] > given["n"]],
        "perf_model": lambda n, BLOCK, num_warps, **others: -BLOCK,
        "top_k": 2,
    }
    kernel = tt.autotune(sizes, key=["n"], prune_configs_by=by)(tt.jit(doubled))
    kernel[blocks](counted(8), 8)
    assert sorted(config.kwargs["BLOCK"] for config in kernel.configs_timings) == [32, 64]


STACKS = {
    "jit below": lambda tuned, computed: tuned(computed(tt.jit(scaled))),
    "heuristics on top": lambda tuned, computed: computed(tuned(tt.jit(scaled))),
    "jit on top": lambda tuned, computed: tt.jit(tuned(computed(scaled))),
    "jit between": lambda tuned, computed: computed(tt.jit(tuned(scaled))),
}


def scaled(x, n, key, EVEN: tl.constexpr, BLOCK: tl.constexpr, grid=3):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x + i, tl.load(x + i) * key + grid)
    else:
        tl.store(x + i, tl.load(x + i, mask=i < n) * key + grid, mask=i < n)


@pytest.mark.parametrize("stack", STACKS)
def test_layers_stack_in_any_order(stack: str):
    tuned = tt.autotune(BLOCKS, key=["key"])
    computed = tt.heuristics({"EVEN": lambda given: given["n"] % given.get("BLOCK", 8) == 0 and given["grid"] == 3})
    kernel = STACKS[stack](tuned, computed)
    for n in (16, 13):
        x = counted(n)
        kernel[blocks](x, n, 2)
        assert np.array_equal(x, counted(n) * 2 + 3)
        kernel[blocks](n=n, x=x, key=1, grid=0)
        assert np.array_equal(x, counted(n) * 2 + 3)
        kernel.run(x, n, 3, grid=blocks)
        assert np.array_equal(x, counted(n) * 6 + 12)


def test_warmup_compiles_every_config_and_runs_none():
    kernel = tt.autotune(BLOCKS, key=[])(tt.jit(doubled))
    x = counted(8)
    records = kernel.warmup(x, 8, grid=(2,))
    assert [dict(record.constants)["BLOCK"] for record in records] == ["4", "8"]
    assert np.array_equal(x, counted(8)) and kernel.run(x, 8, grid=(2,), warmup=True)[0] is records[0]


def test_a_tuned_kernel_is_inspected_like_any_other():
    kernel = tt.autotune(BLOCKS, key=[])(tt.jit(doubled))
    assert (kernel.name, kernel.arg_names, kernel.__name__) == ("doubled", ["x", "n", "BLOCK"], "doubled")
    record = tt.inspect(kernel, counted(8), 8)
    assert dict(record.constants)["BLOCK"] == "4" and "ptx" in record.stages
    computed = tt.heuristics({"BLOCK": lambda given: 16})(tt.jit(doubled))
    assert dict(tt.inspect(computed, counted(8), 8).constants)["BLOCK"] == "16"


def test_what_a_config_gives_a_launch_may_not():
    kernel = tt.autotune(BLOCKS, key=[])(tt.jit(doubled))
    with pytest.raises(tt.TinytonError, match="BLOCK from the launch and a config") as caught:
        kernel[blocks](counted(8), 8, BLOCK=8)
    assert caught.value.code == "TT3003"


@pytest.mark.parametrize("names", [{"reset_to_zero": ["y"]}, {"restore_value": ["y"]}])
def test_names_of_arrays_are_checked(names: dict[str, list[str]]):
    with pytest.raises(tt.TinytonError, match="'y'") as caught:
        tt.autotune(BLOCKS, key=[], **names)(tt.jit(doubled))
    assert caught.value.code == "TT3018"


def test_threads_tune_once():
    kernel = tt.autotune(BLOCKS, key=["n"])(tt.jit(doubled))
    arrays = [counted(64) for _ in range(6)]
    threads = [threading.Thread(target=lambda x=x: kernel[blocks](x, 64)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(x, counted(64) * 2) for x in arrays) and len(kernel.cache) == 1


def test_torch_tensors_are_restored():
    torch = pytest.importorskip("torch")
    kernel = tt.autotune(BLOCKS, key=[], restore_value=["x"])(tt.jit(doubled))
    x = torch.arange(8.0, requires_grad=True)
    kernel[blocks](x.detach(), 8)
    assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_a_config_is_what_host_code_expects():
    config = tt.Config({"BLOCK": 64}, 8, 2, maxnreg=64)
    options = {"BLOCK": 64, "num_warps": 8, "num_ctas": 1, "num_stages": 2, "maxnreg": 64}
    assert config.all_kwargs() == options
    assert config == tt.Config({"BLOCK": 64}, num_warps=8, num_stages=2, maxnreg=64) != tt.Config({"BLOCK": 64})
    names = "configs key prune_configs_by reset_to_zero restore_value pre_hook post_hook warmup rep use_cuda_graph"
    assert list(inspect.signature(tt.autotune).parameters) == [*names.split(), "do_bench", "cache_results"]


def test_a_subclass_runs_its_own_way():
    class Noting(tune.Autotuner):
        seen = 0

        def run(self, *args: Any, **kwargs: Any) -> Any:
            self.seen += 1
            assert kwargs["grid"] == (2,) and not kwargs["warmup"]
            return super().run(*args, **kwargs)

    kernel = tt.jit(doubled)
    tuned = Noting(kernel, kernel.arg_names, BLOCKS, ["n"], None, ["x"], prune_configs_by=None, cache_results=False)
    x = counted(8)
    tuned[(2,)](x, 8)
    assert np.array_equal(x, counted(8) * 2) and tuned.seen == 1
    assert list(tuned.cache) == [(8, "float32")] and tuned.keys == ["n"] and not tuned.user_defined_pre_hook


def test_host_functions_count():
    assert (tt.cdiv(10, 4), tt.cdiv(8, 4), tt.cdiv(np.int64(9), 8)) == (3, 2, 2)
    assert [tt.next_power_of_2(n) for n in (1, 2, 3, 1000, 2**40 + 1)] == [1, 2, 4, 1024, 2**41]
    with pytest.raises(tt.TinytonError):
        tl.sigmoid(1.0)


@tt.jit
def host_functions(out, n, SIZE: tl.constexpr):
    tl.store(out, tt.cdiv(n, 4))
    tl.store(out + 1, tt.next_power_of_2(SIZE) + tl.arange(0, tt.next_power_of_2(SIZE)).shape[0])
    tl.store(out + 2, tt.next_power_of_2(n))


def test_host_functions_serve_in_kernels():
    out = np.zeros(3, np.int32)
    host_functions[1](out, 9, 5)
    assert out.tolist() == [3, 16, 16]


def test_do_bench_measures():
    calls: list[int] = []
    times = tune.do_bench(lambda: calls.append(1), warmup=0, rep=0.01, return_mode="all")
    assert len(times) >= 1 and len(calls) == len(times) + 1
    low, middle, high = tune.do_bench(lambda: None, warmup=0, rep=0.1, quantiles=(0.2, 0.5, 0.8))
    assert 0 <= low <= middle <= high
    assert tune.do_bench(lambda: None, warmup=0, rep=0, quantiles=[0.5]) >= 0
    with pytest.raises(tt.TinytonError, match="median"):
        tune.do_bench(lambda: None, warmup=0, rep=0, return_mode="typical")
