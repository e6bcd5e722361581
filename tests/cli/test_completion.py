"""The tab key completes sources, levels, ops and tensor names, in each shell that click knows."""

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from graphattn.cli import main


def offered(words, incomplete=""):
    completer = ShellComplete(main, {}, "graphattn", "_GRAPHATTN_COMPLETE")
    return [item.value for item in completer.get_completions(words, incomplete)]


def test_commands_sources_levels_ops_and_tensors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    assert offered([], "tr") == ["trace"]
    assert offered(["trace"], "b") == ["block"] and "run.json" in offered(["trace"])
    assert offered(["trace", "block", "--level"], "p") == ["primitive"]
    assert offered(["ops"], "softm") == ["softmax"]
    assert offered(["why", "block"], "attention.head0.w") == ["attention.head0.weights"]
    assert offered(["why", "block"], "head0.w") == ["head0.weights"] and offered(["why", "block"], "wei") == []
    assert offered(["trace", "block", "--tensor"], "resid") == ["residual"]


@pytest.mark.parametrize("source", ["nothing.json", "mine.py", "run.json"])
def test_what_does_not_load_offers_nothing(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("raise SystemExit", encoding="utf-8")
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    assert offered(["why", source]) == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_each_shell_gets_its_script(shell):
    told = subprocess.run(
        [sys.executable, "-c", "from graphattn.cli import main; main(prog_name='graphattn')"],
        env={**os.environ, "_GRAPHATTN_COMPLETE": f"{shell}_source"},
        capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip
    assert "graphattn" in told.stdout and told.returncode == 0, told.stderr


BASH = shutil.which("bash")


@pytest.mark.slow
@pytest.mark.skipif(BASH is None or os.name != "posix", reason="bash is not here")
@pytest.mark.parametrize(("words", "found"), [(["trace", "bl"], "block"), (["ops", "softm"], "softmax")])
def test_bash_completes(words, found, tmp_path):
    program = tmp_path / "graphattn"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m graphattn "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    asked = (
        'eval "$(_GRAPHATTN_COMPLETE=bash_source graphattn)";'
        f" COMP_WORDS=(graphattn {' '.join(words)}); COMP_CWORD={len(words)};"
        ' _graphattn_completion graphattn; echo "${COMPREPLY[@]}"'
    )
    told = subprocess.run(
        [str(BASH), "--norc", "-c", asked],
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert told.stdout.split()[-1:] == [found], told.stderr
