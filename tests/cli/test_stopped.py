"""Ctrl-C: one sentence, exit status 130, and nothing half-written, whatever was being written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from graphattn.cli import commands, main

WRITING = (
    "trace block -o run.txt", "trace block -o run.json", "trace block -o run.npz", "trace block -o run.xlsx",
    "trace block --csv run", "render block -o block.svg", "view block -o block.html",
    "figure block head0.weights -o weights.png", "export block block.c", "export block block.onnx",
    "golden block -o golden", "workbook attention -o book.xlsx", "worksheet attention -o sheets",
    "experiments -o lab", "demo abab", "why block Y 0 0 -o why.txt", "ops -o ops.md", "heads toy -o heads.txt",
    "next toy abab -o next.txt", "ablate toy --patch layer0.head0.out=zero -o changed.txt",
)  # fmt: skip
ELSEWHERE = ("check", "compare", "diagnose")
"""Commands that write in the same way, and want files to read first."""


def test_each_command_that_writes_is_stopped():
    assert {line.split()[0] for line in WRITING}.union(ELSEWHERE) == set(commands.names())


@pytest.mark.slow
@pytest.mark.parametrize("line", WRITING)
def test_stopped_while_writing(line, tmp_path, monkeypatch):
    """Stopped at the last moment before a file takes its place, and with a file of old there."""
    monkeypatch.chdir(tmp_path)
    target = tmp_path / line.split()[-1]
    is_file = target.suffix in (".txt", ".json", ".npz", ".xlsx", ".svg", ".html", ".png", ".c", ".onnx", ".md")
    if is_file:
        target.write_text("old", encoding="utf-8")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    done = CliRunner().invoke(main, line.split())
    assert (done.exit_code, done.stderr.strip()) == (130, "graphattn: stopped")
    assert not [found for found in tmp_path.rglob("*") if found.is_file() and found != target]
    assert not list(tmp_path.rglob("*.part")) + list(tmp_path.rglob("*.old"))
    if is_file:
        assert target.read_text(encoding="utf-8") == "old"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a signal is sent")
def test_stopped_while_computing(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "graphattn", "trace", "block", "--n", "700", "--d", "512", "-o", "run.txt"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests may run where it is ignored
    )  # fmt: skip
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)  # 130 to a shell, both
    assert (out, err.strip()) == (b"", b"graphattn: stopped") and os.listdir(tmp_path) == []


def test_stopped_while_it_starts(monkeypatch, capsys):
    from graphattn.__main__ import main as started

    class Stopped:
        def find_spec(self, name, path=None, target=None):
            if name == "graphattn.cli":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "graphattn.cli")
    monkeypatch.setattr(sys, "meta_path", [Stopped(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        started()
    assert ended.value.code == 130 and capsys.readouterr().err == "\ngraphattn: stopped\n"
