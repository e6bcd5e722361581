"""The command line as a real process: pipes, terminals, encodings, exit status."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

COLOUR = re.compile(rb"\x1b\[[0-9;]*3[0-9]m")


def start(*args: str, **environment: str) -> subprocess.Popen:
    settings = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return subprocess.Popen(
        [sys.executable, "-m", "graphattn", *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**settings, "PYTHONIOENCODING": "utf-8", **environment},
    )


def call(*args: str, **environment: str) -> tuple[int, bytes, bytes]:
    process = start(*args, **environment)
    out, err = process.communicate(timeout=120)
    return process.returncode, out.replace(b"\r\n", b"\n"), err.replace(b"\r\n", b"\n")


def test_status_and_streams():
    status, out, err = call("ops", "softmax")
    assert (status, err) == (0, b"") and out.startswith(b"softmax")
    status, out, err = call("ops", "sofmax")
    assert (status, out) == (2, b"")
    assert err == b"graphattn: unknown op 'sofmax'; did you mean 'softmax'?\n"


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("args", [["--help"], ["ops"], ["demo", "abab", "-o"]], ids=lambda args: args[0])
def test_a_reader_who_is_not_there(args, unbuffered, tmp_path):
    args = [*args, str(tmp_path / "there")] if args[-1] == "-o" else args
    process = start(*args, PYTHONUNBUFFERED=unbuffered)
    assert process.stdout and process.stderr
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=120) == 0


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_has_seen_enough(unbuffered):
    process = start("trace", "block", "--n", "16", "--d", "32", "--exact", PYTHONUNBUFFERED=unbuffered)
    assert process.stdout and process.stderr
    assert process.stdout.readline().startswith(b"graphattn trace 1 exact")
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=120) == 0


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp437"])
def test_streams_that_cannot_show_everything(encoding):
    status, out, err = call("ops", PYTHONIOENCODING=encoding)
    assert (status, err) == (0, b"") and b"softmax" in out
    status, out, err = call("trace", "지도", PYTHONIOENCODING=encoding)
    assert status == 2 and err.startswith(b"graphattn: '\\uc9c0\\ub3c4' is neither a file nor")


@pytest.mark.slow
def test_a_file_is_graded_in_a_locale_of_ascii(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def softmax(xs):\n    return xs  # Σ\n", encoding="utf-8")
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    status, out, err = call("check", str(path), **locale)
    assert (status, err) == (1, b"") and b"wrong  softmax" in out


@pytest.mark.slow
def test_demo_in_ascii(tmp_path):
    status, out, err = call("demo", "abab", "-o", str(tmp_path / "there"), PYTHONIOENCODING="ascii")
    assert (status, err) == (0, b"") and "/ sqrt16" in out.decode("ascii") and b"\x1b" not in out


@pytest.mark.slow
def test_ascii_spelling():
    out = call("trace", "block", "--n", "2", "--d", "4", "--causal", PYTHONIOENCODING="ascii")[1].decode(
        "ascii"
    )
    assert "token 2 x token 2" in out and ". = masked" in out and "x Wᵀ".replace("ᵀ", "^T") in out


@pytest.mark.slow
def test_what_programs_read_is_utf_8_in_any_locale():
    args = ("trace", "block", "--n", "2", "--d", "4", "--labels", "고양이,개", "--exact")
    assert call(*args, PYTHONIOENCODING="ascii")[1] == call(*args)[1]
    assert "고양이" in call(*args)[1].decode("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_colour_on_a_terminal_unless_NO_COLOR(tmp_path):
    import pty

    def seen(**environment: str) -> bytes:
        settings = {
            name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")
        }
        settings |= {"TERM": "xterm", "PYTHONIOENCODING": "utf-8", **environment}
        main, follower = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "graphattn", "demo", "abab", "-o", str(tmp_path / "there")],
            stdin=follower, stdout=follower, stderr=follower, env=settings,
        )  # fmt: skip
        os.close(follower)
        pieces = []
        try:
            while piece := os.read(main, 65536):
                pieces.append(piece)
        except OSError:  # how Linux says that the other end is closed
            pass
        os.close(main)
        assert process.wait(timeout=120) == 0
        return b"".join(pieces)

    assert COLOUR.search(seen())
    plain = seen(NO_COLOR="1")
    assert b"The guesses".lower() in plain.lower() and not COLOUR.search(plain)


def test_importing_the_command_line_is_light():
    code = "import graphattn.cli, sys; print('networkx' in sys.modules, 'rich' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.split() == ["False", "False"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a shell that closes a stream")
@pytest.mark.parametrize("closed", ["1", "2"], ids=["stdout", "stderr"])
@pytest.mark.parametrize("args, status", [("ops", 0), ("trace block -o", 0), ("trace nothing", 2)])
def test_a_stream_that_is_closed(closed, args, status, tmp_path):
    """What would go there is gone, nothing takes its place, and the status is the same."""
    args = f"{args} {tmp_path / 'block.txt'}" if args.endswith("-o") else args
    command = [sys.executable, "-m", "graphattn", *args.split()]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}>&-', "sh", *command], capture_output=True, timeout=120
    )
    assert done.returncode == status
    told = {"ops": ("stdout", b"      op"), "trace nothing": ("stderr", b"graphattn: 'nothing' is neither")}
    stream, words = told.get(args, ("stderr", b"wrote "))
    for name, said in (("stdout", done.stdout), ("stderr", done.stderr)):
        heard = name == stream and name != {"1": "stdout", "2": "stderr"}[closed]
        assert said.startswith(words) if heard else not said
