"""Files are written whole or not at all, and read back whichever form they have."""

import os
import sys

import pytest

from graphattn import Graph, GraphError, run
from graphattn.dumps.graph_json import graph_json
from graphattn.dumps.graph_text import graph_text
from graphattn.dumps.load import load_graph, load_trace
from graphattn.dumps.trace_json import trace_json
from graphattn.dumps.trace_text import trace_text
from graphattn.dumps.write import write_bytes, write_text


@pytest.fixture
def trace():
    g = Graph("file", "고양이")
    g.output(y=g.relu(g.input("x", (2,))))
    return run(g, {"x": [-1, 2]})


def refused(function, *args):
    with pytest.raises(GraphError) as told:
        function(*args)
    return str(told.value)


def test_both_forms_are_recognised(tmp_path, trace):
    for i, text in enumerate((graph_text(trace.graph), graph_json(trace.graph))):
        assert load_graph(write_text(tmp_path / f"graph{i}", text)) == trace.graph
        assert load_graph(write_text(tmp_path / f"bom{i}", "\ufeff" + text)) == trace.graph
    for i, text in enumerate((trace_text(trace, precision="exact"), trace_json(trace))):
        assert load_trace(write_text(tmp_path / f"trace{i}", text)) == trace
        assert load_trace(str(write_text(tmp_path / f"crlf{i}", text.replace("\n", "\r\n")))) == trace


def test_bytes_are_those_of_the_text(tmp_path, trace):
    text = trace_text(trace, precision="exact")
    assert write_text(tmp_path / "t", text).read_bytes() == text.encode("utf-8")
    assert write_bytes(tmp_path / "b", b"\r\n\0").read_bytes() == b"\r\n\0"


def test_the_wrong_kind_of_file(tmp_path, trace):
    for write, load, told in (
        (graph_text(trace.graph), load_trace, "it holds a graph; expected a trace (load_graph reads it)"),
        (graph_json(trace.graph), load_trace, "it holds a graph; expected a trace (load_graph reads it)"),
        (trace_json(trace), load_graph, "it holds a trace; expected a graph (load_trace reads it)"),
        (str(trace), load_trace, "trace text, line 1: this dump is pretty: its digits are rounded; expected"
         " precision='exact'"),
        ("", load_graph, "it begins with ''; expected a graph as text or JSON of graphattn"),
        ("PK\x03", load_trace, "it begins with 'PK\\x03'; expected a trace as text or JSON of graphattn"),
        ("{]", load_graph, "JSON, line 1, column 2: Expecting property name enclosed in double quotes"),
        ('{"format": 3}', load_graph, "JSON: format is 3; expected 'graphattn graph'"),
    ):  # fmt: skip
        path = str(write_text(tmp_path / "file", write))
        assert refused(load, path).removesuffix("; the text ends too early") == f"{path!r}: {told}"


def test_files_that_are_not_there_or_not_text(tmp_path):
    missing = str(tmp_path / "missing")
    assert refused(load_graph, missing) == f"{missing!r} was not read: {os.strerror(2)}; expected a file"
    assert refused(load_graph, str(tmp_path)) == f"{str(tmp_path)!r} is a folder; expected a file"
    assert refused(load_graph, None) == "path is None; expected a file name"
    assert "null" in refused(load_graph, "a\0b")
    path = str(write_bytes(tmp_path / "binary", b"graph\xff"))
    assert refused(load_trace, path) == f"{path!r} is not UTF-8 (byte 5); expected a text file"


def test_a_file_that_is_too_large(tmp_path):
    path = str(write_text(tmp_path / "large", "x" * 101))
    assert refused(load_graph, path, 100) == (
        f"{path!r} is larger than 100 bytes; expected a smaller file"
        " (GRAPHATTN_MAX_CELLS in the environment sets another limit)"
    )


def test_writing_replaces_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old")
    write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "new" and os.listdir(tmp_path) == ["file"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_text(path, "old")

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    told = "was not written: No space left on device; expected room to write in"
    assert refused(write_text, str(path), "new") == f"{str(path)!r} {told}"
    assert path.read_text(encoding="utf-8") == "old" and os.listdir(tmp_path) == ["file"]


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_text(path, "old")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old" and os.listdir(tmp_path) == ["file"]


def test_places_that_cannot_be_written(tmp_path):
    nowhere = str(tmp_path / "no" / "file")
    assert refused(write_text, nowhere, "") == (
        f"{nowhere!r} was not written: {os.strerror(2)}; expected a folder to write in"
    )
    assert (
        refused(write_text, str(tmp_path), "")
        == f"{str(tmp_path)!r} is a folder; expected a file name to write to"
    )
    assert refused(write_text, 3, "") == "path is an int; expected a file name"
    assert refused(write_text, "", "") == "path is ''; expected a file name"
    half = str(tmp_path / "half")
    assert refused(write_text, half, "\ud800") == (
        f"{half!r} was not written: its text holds '\\ud800', which is half of a character; expected whole ones"
    )
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="rights and links of POSIX")
def test_rights_and_links_are_kept(tmp_path):
    path = tmp_path / "file"
    write_text(path, "old")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to(path)
    write_text(tmp_path / "link", "new")
    assert path.read_text(encoding="utf-8") == "new" and path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").is_symlink()
