"""A disk that is full: exit status 2 and one sentence from every command, whatever the buffering."""

import errno
import io
import os
import sys
from contextlib import suppress

import pytest

from graphattn import experiments
from graphattn.builtin import specimen
from graphattn.cli import commands, main

CALLS = {
    "ablate": ["attention", "--patch", "weights=uniform"], "compare": ["attention", "RUN"],
    "diagnose": ["attention", "RUN"],
    "heads": ["toy", "abab"], "next": ["toy", "abab"], "ops": [],
    "trace": ["attention", "--exact"], "why": ["attention", "weights", "0", "0"],
}  # fmt: skip
"""What writes to stdout, with arguments."""
INTO_FILES = {
    "figure": ["attention", "weights"], "view": ["attention"], "workbook": ["attention"],
    "trace": ["attention"], "render": ["attention"], "export": ["attention"],
}  # fmt: skip
ENDINGS = {"view": "html", "workbook": "xlsx", "trace": "txt", "export": "py"}
INTO_FOLDERS = {
    "demo": [], "experiments": [], "golden": ["attention"], "trace": ["attention"], "worksheet": ["attention"],
}  # fmt: skip
NEITHER = ("check",)
"""What grades files in processes of their own."""
ROOM = 200
"""Bytes that a file may have where there is no room for more."""
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")


def ended(arguments, tmp_path, capsys):
    if "RUN" in arguments:
        specimen("attention").run().save(tmp_path / "run.json")
        arguments = [str(tmp_path / "run.json") if part == "RUN" else part for part in arguments]
    with pytest.raises(SystemExit) as left:
        main(arguments)
    told = capsys.readouterr().err
    return left.value.code, [line for line in told.splitlines() if line.startswith("graphattn: ")], told


@full
@pytest.mark.slow
@pytest.mark.parametrize("buffering", ("whole", "lines", "none"))
@pytest.mark.parametrize("name", CALLS)
def test_stdout_is_full(name, buffering, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("graphattn.cli.abandon_stdout", lambda: None)  # the tests' own is not to be closed
    if buffering == "none":
        raw = open("/dev/full", "wb", buffering=0)  # noqa: SIM115  (closed below)
        stream = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    else:
        lines = 1 if buffering == "lines" else -1
        stream = open("/dev/full", "w", encoding="utf-8", buffering=lines)  # noqa: SIM115
    monkeypatch.setattr(sys, "stdout", stream)
    try:
        code, sentences, told = ended([name, *CALLS[name]], tmp_path, capsys)
    finally:
        with suppress(OSError):
            sys.stdout.close()
    assert code == 2 and len(sentences) == 1 and "Traceback" not in told
    assert sentences[0].startswith("graphattn: the output is cut short: ")


@full
@pytest.mark.slow
@pytest.mark.parametrize("name", INTO_FILES)
def test_a_file_is_full(name, tmp_path, capsys):
    path = tmp_path / f"full.{ENDINGS.get(name, 'svg')}"
    path.symlink_to("/dev/full")
    code, sentences, told = ended(
        [name, *INTO_FILES[name], *(() if name == "export" else ("-o",)), str(path)], tmp_path, capsys
    )
    assert code == 2 and len(sentences) == 1 and "Traceback" not in told, told
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit of file sizes there")
@pytest.mark.parametrize("name", (*INTO_FILES, *INTO_FOLDERS))
def test_there_is_no_room_for_a_whole_file(name, tmp_path, monkeypatch, capsys):
    import resource

    for measured in ("scale_measured", "order_measured"):  # they take seconds
        monkeypatch.setattr(experiments, measured, lambda *_: None)
    for text in ("scale_text", "order_text", "notes_text"):
        monkeypatch.setattr(experiments, text, lambda *_: "measured\n" * ROOM)
    if name in INTO_FOLDERS:
        arguments = [*INTO_FOLDERS[name], "-o", str(tmp_path / "folder") + "/"]
    else:
        path = tmp_path / f"cut.{ENDINGS.get(name, 'png')}"
        arguments = [*INTO_FILES[name], *(() if name == "export" else ("-o",)), str(path)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, hard))
    try:
        code, sentences, told = ended([name, *arguments], tmp_path, capsys)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 2 and len(sentences) == 1 and "Traceback" not in told, told
    assert os.strerror(errno.EFBIG) in sentences[0] and "; expected room " in sentences[0]
    assert [file for file in tmp_path.rglob("*") if not file.is_dir()] == []


def test_every_command_is_here():
    assert set(commands.names()) == {*CALLS, *INTO_FILES, *INTO_FOLDERS, *NEITHER}
