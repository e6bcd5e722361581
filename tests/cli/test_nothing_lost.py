"""An output that is cut short is an error; nothing is overwritten unasked; --with on every command."""

import os
import subprocess
import sys

import pytest

from graphattn.cli import commands, main
from graphattn.core.op import OPS


def call(*args, **options):
    environment = {**os.environ, "NO_COLOR": "1", **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "graphattn", *args],
        stderr=subprocess.PIPE,
        env=environment,
        timeout=120,
        **options,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes there")
@pytest.mark.parametrize("unbuffered", ("", "1"))
@pytest.mark.parametrize(
    "args", (("trace", "block", "--n", "12", "--exact"), ("trace", "block", "--n", "12", "--json"))
)
def test_a_short_write_has_exit_status_2(tmp_path, args, unbuffered):
    import resource

    with open(tmp_path / "cut.txt", "w", encoding="utf-8") as file:
        done = call(
            *args, stdout=file, env={"PYTHONUNBUFFERED": unbuffered},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.decode().startswith("graphattn: the output is cut short: ")
    assert b"Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
@pytest.mark.parametrize("args", (("--version",), ("--help",), ("ops", "softmax")))
def test_a_full_disk_has_exit_status_2(args):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = call(*args, stdout=full)
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_experiments_overwrite_nothing_unasked(tmp_path, monkeypatch):
    from graphattn import GraphError, experiments

    monkeypatch.setattr(experiments, "scale_measured", lambda d, seed: None)
    monkeypatch.setattr(experiments, "order_measured", lambda *_: None)
    for name in ("scale_text", "order_text", "notes_text"):
        monkeypatch.setattr(experiments, name, lambda *_: "measured\n")
    (tmp_path / "05-perm.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(GraphError, match=r"05-perm\.txt' is there already and holds something else"):
        experiments.write_experiments(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["05-perm.txt"]
    assert (tmp_path / "05-perm.txt").read_text(encoding="utf-8") == "mine"
    for _ in range(2):  # the second time what is there is what would be written
        experiments.write_experiments(tmp_path, force=_ == 0)
    assert (tmp_path / "05-perm.txt").read_text(encoding="utf-8") == "measured\n"


@pytest.mark.slow
def test_the_demo_overwrites_nothing_unasked(tmp_path):
    for text in ("abab", "cdcd"):
        assert call("demo", text, "-o", str(tmp_path), stdout=subprocess.DEVNULL).returncode == 0
    (tmp_path / "trace.txt").write_text("mine", encoding="utf-8")
    done = call("demo", "-o", str(tmp_path), stdout=subprocess.DEVNULL)
    assert done.returncode == 2 and b"--force to write over it" in done.stderr
    assert (tmp_path / "trace.txt").read_text(encoding="utf-8") == "mine"
    assert call("demo", "-o", str(tmp_path), "--force", stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("name", commands.names())
def test_every_command_takes_a_file_to_execute_first(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("graphattn.core.op.OPS", OPS)
    file = tmp_path / "first.py"
    file.write_text("print('executed')\nraise SystemError('that is enough')\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main([name, "--with", str(file)])
    told = capsys.readouterr()
    assert ended.value.code == 2
    assert told.out == "" and "executed" in told.err and "that is enough" in told.err
