"""The tab key completes sources, levels, ops and tensor names, in each shell that click knows."""

import os
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
