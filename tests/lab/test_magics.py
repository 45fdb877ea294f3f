"""The magics in a shell: cells run as written, each kernel has its card, wrong input is told."""

from __future__ import annotations

import json
import linecache
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

from tinyton_lab.base.diagnostics import TinytonError
from tinyton_lab.lab import card
from tinyton_lab.lab.extension import load_ipython_extension
from tinyton_lab.lab.magics import reasons
from tinyton_lab.record import schema
from tinyton_lab.record.shape import MIME
from tinyton_lab.record.stage import Compilation

IMPORTS = "import numpy as np\nimport tinyton_lab as tt, tinyton_lab.language as tl\n"
KERNEL = """
@tt.jit
def vadd(x, y, o, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(o + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)
"""
LAUNCH = """
x = np.arange(100, dtype=np.float32)
o = np.empty_like(x)
vadd[(1,)](x, x, o, 100, BLOCK=128);
"""


class Shell:
    """An IPython shell whose outputs are kept: `cards` are those that hold a record."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.shell.display_pub = CapturingDisplayPublisher(parent=shell)
        load_ipython_extension(shell)
        self.run(IMPORTS)

    def run(self, text: str) -> Any:
        """Run a cell; an error that it ends with is raised."""
        result = self.shell.run_cell(text)
        result.raise_error()
        return result.result

    @property
    def outputs(self) -> list[dict[str, Any]]:
        return self.shell.display_pub.outputs

    @property
    def cards(self) -> list[Compilation]:
        return [schema.decode(o["metadata"][MIME]["record"])[0] for o in self.outputs if MIME in o["data"]]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    with warnings.catch_warnings():
        interactive = InteractiveShell()
        yield Shell(interactive)
        interactive.history_manager.end_session()
    for label in [label for label in linecache.cache if label.startswith(("cell", "<ipython"))]:
        del linecache.cache[label]


def test_loading_prints_exactly_one_line(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert printed.startswith("tinyton_lab 0.1 · engine ") and " · SASS " in printed and " · GPU " in printed


def test_a_cell_that_launches_shows_one_card_with_all_stages(shell: Shell) -> None:
    shell.run("%%ttkernel vadd\n" + KERNEL + LAUNCH)
    assert shell.shell.user_ns["o"][99] == 198
    (compilation,) = shell.cards
    families = {name.split("/")[0] for name in compilation.stages}
    assert families >= {"python", "ast", "tile", "layout", "llvm", "ptx"}
    assert compilation.stages["python"].label == "cell:vadd"
    assert list(shell.outputs[0]["data"]) == [MIME, "text/html", "text/plain"]


def test_two_specialisations_have_two_cards(shell: Shell) -> None:
    shell.run(
        "%%ttkernel vadd\n"
        + KERNEL
        + LAUNCH
        + "vadd[(2,)](x, x, o, 100, BLOCK=64);\nvadd[(2,)](x, x, o, 100, BLOCK=64);"
    )
    assert [dict(compilation.constants)["BLOCK"] for compilation in shell.cards] == ["128", "64"]


def test_a_later_cell_that_only_launches_has_a_card_too(shell: Shell) -> None:
    shell.run("%%ttkernel vadd\n" + KERNEL)
    shell.run("%%ttkernel launch\n" + LAUNCH)
    assert [set(c.stages) >= {"ptx"} for c in shell.cards] == [False, True]
    assert shell.cards[1].stages["python"].label == "cell:vadd"


def test_without_a_launch_the_types_come_from_the_line(shell: Shell) -> None:
    shell.run('%%ttkernel vadd --sig="*fp32:16, *fp32:16, *fp32:16, i32" --const BLOCK=256\n' + KERNEL)
    (compilation,) = shell.cards
    assert "ptx" in compilation.stages and ("BLOCK", "256") in compilation.constants


def test_a_helper_has_no_card_of_its_own(shell: Shell) -> None:
    helper = "\n@tt.jit\ndef twice(v):\n    return v + v\n"
    user = KERNEL.replace("tl.load(x + offs, mask=mask) +", "twice(tl.load(x + offs, mask=mask)) +")
    shell.run("%%ttkernel vadd\n" + helper + user + LAUNCH)
    assert [compilation.kernel for compilation in shell.cards] == ["vadd"]


def test_a_trace_made_in_the_cell_is_on_the_card(shell: Shell) -> None:
    shell.run(
        "%%ttkernel vadd\n"
        + KERNEL
        + "x = np.ones(100, np.float32)\nr = tt.trace(vadd, x, x, x.copy(), 100, grid=(1,), BLOCK=128);"
    )
    record = shell.outputs[0]["metadata"][MIME]["record"]
    assert record["recording"]["total"] > 20


def test_trace_records_the_launches_of_the_cell(shell: Shell) -> None:
    shell.run("%%ttkernel vadd --trace warp\n" + KERNEL + LAUNCH)
    assert shell.shell.user_ns["o"][99] == 198
    record = shell.outputs[0]["metadata"][MIME]["record"]
    assert record["recording"]["level"] == "warp" and record["recording"]["total"] > 20


def test_the_cell_is_named_after_its_kernel(shell: Shell) -> None:
    shell.run("%%ttkernel\n" + KERNEL)
    assert shell.cards[0].stages["python"].label == "cell:vadd"


def test_quiet_and_static(shell: Shell) -> None:
    shell.run("%%ttkernel vadd --quiet\n" + KERNEL + LAUNCH)
    assert shell.outputs == []
    shell.run("%%ttkernel vadd --static\n" + KERNEL)
    assert [list(output["data"]) for output in shell.outputs] == [["text/html", "text/plain"]]


def test_save_writes_the_record(shell: Shell, tmp_path: Path) -> None:
    shell.run(f"%%ttkernel vadd --quiet --save {tmp_path / 'vadd.ttcard'}\n" + KERNEL + LAUNCH)
    assert "ptx" in card.load(str(tmp_path / "vadd.ttcard"))[0].stages


def test_a_fault_is_raised_and_its_card_shows_the_stages_before_it(shell: Shell) -> None:
    wrong = KERNEL.replace("offs < n", "offs < lenght")
    with pytest.raises(TinytonError) as caught:
        shell.run("%%ttkernel vadd\n" + wrong + LAUNCH)
    (compilation,) = shell.cards
    assert not compilation.ok and compilation.diagnostics[0].code == caught.value.code
    assert "python" in compilation.stages and "cell:vadd" in str(caught.value)


def test_an_expected_fault_is_shown_and_not_raised(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = KERNEL.replace("offs < n", "offs < lenght")
    shell.run("%%ttkernel vadd --raises TT1001\n" + wrong + LAUNCH)
    assert "TT1001" in capsys.readouterr().out and not shell.cards[0].ok
    with pytest.raises(TinytonError, match="nothing was raised"):
        shell.run("%%ttkernel vadd --raises TT1001 --quiet\n" + KERNEL + LAUNCH)
    with pytest.raises(TinytonError, match="it raised TT1001"):
        shell.run("%%ttkernel vadd --raises TT2001 --quiet\n" + wrong + LAUNCH)


@pytest.mark.parametrize("options", ["--view=tarce", "--const BLOCK"])
def test_a_wrong_option_is_told_before_the_cell_runs(shell: Shell, options: str) -> None:
    with pytest.raises(TinytonError, match="TT8001"):
        shell.run(f"%%ttkernel vadd {options}\nran = True")
    assert "ran" not in shell.shell.user_ns


def test_on_chooses_the_engine_for_the_cell(shell: Shell) -> None:
    shell.run(
        "%%ttkernel vadd --on interpreter --quiet\n"
        + KERNEL
        + LAUNCH.replace(";", "").replace("vadd[", "launch = vadd[")
    )
    assert shell.shell.user_ns["launch"].engine == "interpreter"


def test_the_cards_are_the_same_every_time(shell: Shell) -> None:
    for _ in range(2):
        shell.run("%%ttkernel vadd\n" + KERNEL + LAUNCH)
    first, second = (json.dumps([output["data"], output["metadata"]]) for output in shell.outputs)
    assert first == second


def test_the_line_magics(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run("%%ttkernel vadd --quiet\n" + KERNEL + LAUNCH)
    shell.run("%ttview vadd passes")
    assert shell.outputs[0]["metadata"][MIME]["view"] == "passes"
    capsys.readouterr()
    shell.run("%ttdoctor")
    assert "cpu engine     yes" in capsys.readouterr().out
    shell.run("%ttexample")
    assert "vector_add" in capsys.readouterr().out.split()
    with pytest.raises(TinytonError, match="did you mean 'vadd'"):
        shell.run("%ttview vad")


def test_an_example_fills_the_next_cell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    filled: list[str] = []
    monkeypatch.setattr(shell.shell, "set_next_input", filled.append)
    shell.run("%ttexample vector_add")
    assert filled[0].startswith("%%ttkernel vector_add\n") and "@tt.jit" in filled[0]
    shell.run(filled[0])
    assert shell.cards[-1].kernel == "vector_add"


def test_a_compilation_as_a_value_is_shown_as_a_card(shell: Shell) -> None:
    shell.run("%%ttkernel vadd --quiet\n" + KERNEL + LAUNCH)
    formatted, metadata = shell.shell.display_formatter.format(shell.run("tt.inspect(vadd)"))
    assert MIME in formatted and "text/html" in formatted and metadata[MIME]["record"]["stages"]


def test_reasons_tell_what_was_declined_and_why() -> None:
    from tests.record.fixtures import vadd

    told = reasons(vadd())
    assert told[0].startswith("line 6: vectorise (tile/04-axis-info): the load stays 32 bits")
    assert told[1:] == [
        "    because contiguity of the pointer is 128",
        "    because alignment of the mask is 1",
        "    because n has no known divisor",
    ]
    assert reasons(vadd(), 7) == ["nothing was declined at line 7"]


def test_the_extension_is_loaded_by_the_name_of_the_package() -> None:
    import tinyton_lab

    assert tinyton_lab.load_ipython_extension is load_ipython_extension
    (place,) = tinyton_lab._jupyter_labextension_paths()
    assert place == {"src": "labextension", "dest": "jupyterlab-tinyton"}
