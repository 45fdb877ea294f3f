"""The `tinyton` command gives the same records as a notebook."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tinyton_lab import catalogue
from tinyton_lab.cli import main
from tinyton_lab.record import schema

VECTOR_ADD = str(catalogue.path("vector_add"))


def test_run_prints_a_card_for_each_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", VECTOR_ADD]) == 0
    out = capsys.readouterr().out
    assert "right" in out and "vector_add" in out and "SASS" in out


def test_stages_are_listed_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stages", VECTOR_ADD, "--target", "sm_90"]) == 0
    names = re.findall(r"^[●○] (\S+)", capsys.readouterr().out, re.MULTILINE)
    main_names = [name for name in names if "/" not in name]
    assert main_names == ["python", "ast", "tile", "layout", "llvm", "ptx", "sass", "cpu_llvm", "cpu_asm"]


def test_one_stage_is_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stages", VECTOR_ADD, "--stage", "ptx", "--target", "sm_75"]) == 0
    out = capsys.readouterr().out
    assert ".target sm_75" in out and out.count(".entry") == 1


def test_unknown_stages_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stages", VECTOR_ADD, "--stage", "ptxx"]) == 1
    assert "TT5002" in capsys.readouterr().err


def test_compile_needs_no_arrays_and_saves_the_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "vector_add.ttcard"
    signature = ["--sig", "*fp32:16, *fp32:16, *fp32:16, i32", "--const", "BLOCK=256", "--save", str(saved)]
    assert main(["compile", f"{VECTOR_ADD}:vector_add", *signature]) == 0
    card = capsys.readouterr().out
    compilation, recording, _ = schema.decode(json.loads(saved.read_text(encoding="utf-8")))
    assert compilation.kernel == "vector_add" and recording is None and "ptx" in compilation.stages
    assert main(["show", str(saved)]) == 0
    assert capsys.readouterr().out == card
    assert main(["show", str(saved), "--stage", "tile"]) == 0
    assert capsys.readouterr().out == compilation.stages["tile"].text


@pytest.mark.parametrize("signature", ["*fp32", "*fp32, *fp32, *fp32, int", "*fp32, *fp32, *fp32, i32:x"])
def test_bad_signatures_are_refused(signature: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", f"{VECTOR_ADD}:vector_add", "--sig", signature, "--const", "BLOCK=256"]) == 1
    assert "TT3016" in capsys.readouterr().err

LOCATED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry load(.param .u64 x)
{
    .reg .b32 %r; .reg .b64 %a;
    .loc 1 6 1
    ld.param.u64 %a, [x];
    .loc 1 7 1
    ld.global.u32 %r, [%a];
    .loc 1 8 1
    ret;
}
.file 1 "load.cu"
"""


def test_explain_tells_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "tt4001"]) == 0
    assert capsys.readouterr().out.startswith("TT4001: Access out of bounds")
    assert main(["explain", "TT0000"]) == 1


def test_sim_runs_ptx_of_any_origin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", f"{VECTOR_ADD}:vector_add", "--sig", "*fp32, *fp32, *fp32, i32", "--const", "BLOCK=128",
                 "--stage", "ptx"]) == 0  # fmt: skip
    file = tmp_path / "add.ptx"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    arguments = ["f32[100]=range", "f32[100]=ones", "f32[100]=zeros", "i32=100"]
    flags = [word for argument in arguments for word in ("--arg", argument)]
    assert main(["sim", str(file), "--grid", "1", "--block", "128", *flags]) == 0
    assert re.search(r"\[\s*1\.\s+2\.\s+3\. \.\.\.\s+98\.\s+99\. 100\.\]", capsys.readouterr().out)


def test_metrics_are_told_for_each_line_of_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "located.ptx"
    file.write_text(LOCATED, encoding="utf-8")
    assert main(["sim", str(file), "--block", "32", "--arg", "f32[32]=range", "--metrics"]) == 0
    told = capsys.readouterr().out
    assert "source line     7 instructions 1, sectors 1 in 1 requests, bank conflicts 0" in told
    assert main(["sim", str(file), "--block", "32", "--arg", "f32[32]=range"]) == 0
    assert "source line" not in capsys.readouterr().out


def test_doctor_tells_each_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert re.search(r"^cpu engine\s+yes$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize("name", catalogue.names())
def test_every_example_runs_right(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", name]) == 0
    out = capsys.readouterr().out
    assert "@tt.jit" in out and "\nright\n" in out


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["run", "{folder}/none.py"], "none.py is no script: No such file or directory"),
        (["run", "{folder}"], "is no script: Is a directory"),
        (["stages", "{folder}/empty"], "is no script of kernels: it launches none"),
        (["stages", VECTOR_ADD, "--kernel", "other"], "is no script of other: it launches others"),
        (["compile", f"{VECTOR_ADD}:other"], "defines none of that name"),
        (["compile", "vector_add"], "is no script"),
        (["sim", "{folder}/none.ptx"], "none.ptx is no PTX: No such file or directory"),
        (["sim", "{folder}/empty"], "is no PTX to run: it has no .entry"),
        (["sim", "{folder}/empty", "--arg", "x32=1"], "'x32' is no dtype"),
        (["show", "{folder}/empty"], "is no record: Expecting value"),
        (["show", "{folder}/other.json"], "is no record: not a "),
        (["show", "{folder}/list.json"], "is no record"),
        (["show", "{folder}/binary"], "is no record: "),
    ],
)
def test_wrong_input_is_told_without_a_traceback(
    command: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"empty": b"", "other.json": b"{}", "list.json": b"[]", "binary": b"\xff\xfe"}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert main([word.format(folder=tmp_path) for word in command]) == 1
    err = capsys.readouterr().err
    assert says in err and "Traceback" not in err


@pytest.mark.parametrize("words", [["--grid", "x"], ["--block", "1,y"], ["--arg", "i32=x"], ["--arg", "f32[z]=ones"]])
def test_misspelt_sizes_and_arguments_are_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["sim", VECTOR_ADD, *words])
    assert left.value.code == 2 and f"argument {words[0]}: invalid" in capsys.readouterr().err
