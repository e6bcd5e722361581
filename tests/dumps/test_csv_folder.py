"""A trace as a folder of CSV files: what is in them, that they read back, and folders made to do harm."""

import csv
import json
import math
import os
import shutil
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import cases

from graphattn import Graph, GraphError, run
from graphattn.core import nested
from graphattn.core.trace import Trace
from graphattn.dumps import csv_folder, write
from graphattn.dumps.csv_folder import read_csv_folder, write_csv_folder
from graphattn.dumps.load import load_graph, load_trace
from graphattn.dumps.trace_text import trace_text

LABELS = {"token": ["=the", "c,at", 'sa"t\n']}


def sample(**options):
    g = Graph("block", "고양이")
    g.output(Y=g.block(g.input("X", (3, 4), ("token", "feature")), heads=2, causal=True, name="block"))
    rows = [[0.1, -0.0, 5e-324, 0.75], [1e300, 0.0, -0.5, -1.0], [-0.75, 1 / 3, 1.0, 0.5]]
    return run(g, {"X": rows}, labels=LABELS, **options)


def refused(function, *args, **options):
    with pytest.raises(GraphError) as told:
        function(*args, **options)
    assert "\n" not in str(told.value)
    return str(told.value)


def same(trace, folder, labelled=False):
    write_csv_folder(folder, trace, labelled)
    back = read_csv_folder(folder)
    assert back == trace and back.warnings == trace.warnings
    for name in trace.names:
        mask = trace.masked(name)
        assert back.masked(name) == (mask if mask is not None and any(nested.flat(mask)) else None)
    assert trace_text(back, "exact") == trace_text(trace, "exact")
    assert str(back) == str(trace)
    return back


def lines(folder, name):
    return (folder / name).read_text(encoding="utf-8").split("\n")


# ---------------------------------------------------------------- what is written


def test_the_files_of_a_trace(tmp_path):
    folder = write_csv_folder(tmp_path / "run", sample())
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["tensors"]["block.attention.head0.weights"] == {
        "file": "block.attention.head0.weights.csv",
        "masked": "block.attention.head0.weights~masked.csv",
        "shape": [3, 3], "axes": ["token", "token"], "kind": "float", "op": "softmax",
    }  # fmt: skip
    assert manifest["labels"] == LABELS and not manifest["labelled"] and manifest["numbers"] == "float"
    assert lines(folder, "X.csv") == [
        "0.1,-0.0,5e-324,0.75", "1e+300,0.0,-0.5,-1.0", "-0.75,0.3333333333333333,1.0,0.5", "",
    ]  # fmt: skip
    assert lines(folder, "block.attention.head0.weights~masked.csv")[0] == "False,True,True"
    assert load_graph(folder / "graph.txt") == sample().graph
    named = {told[key] for told in manifest["tensors"].values() for key in ("file", "masked")} - {None}
    assert named | {"graph.txt", "manifest.json"} == set(os.listdir(folder))
    assert os.listdir(tmp_path) == ["run"]


def test_labels_only_if_asked(tmp_path):
    folder = write_csv_folder(tmp_path / "run", sample(), labels=True)
    with open(folder / "block.attention.head1.weights.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["token", "'=the", "c,at", '"sa\\"t\\n"'] and [row[0] for row in rows] == rows[0]
    assert rows[1][1:] == ["1.0", "0.0", "0.0"]
    assert lines(folder, "X.csv")[0] == "token,0,1,2,3"
    same(sample(), tmp_path / "run", True)


def shaped(shape, axes=None, kind="float", value=None):
    g = Graph("g")
    g.input("x", shape, axes, kind)
    labels = {"head": ["a", "+b"]} if "head" in (axes or ()) else None
    return run(g, {"x": nested.full(shape, 1.5) if value is None else value}, labels=labels)


@pytest.mark.parametrize(
    ("trace", "plain", "labelled"),
    [
        (shaped(()), "1.5", "1.5"),
        (shaped((2,)), "1.5,1.5", "0,1\n1.5,1.5"),
        (shaped((2,), ("head",)), "1.5,1.5", "a,'+b\n1.5,1.5"),
        (shaped((0,)), "", "\n"),
        (shaped((2, 0)), "\n", "axis 0\n0\n1"),
        (shaped((0, 2)), None, "axis 0,0,1"),
        (shaped((1, 0, 2)), None, "axis 0,axis 1,0,1"),
        (shaped((1, 1), None, "bool", [[True]]), "True", "axis 0,0\n0,True"),
        (shaped((1, 1), None, "int", [[10**20]]), str(10**20), f"axis 0,0\n0,{10**20}"),
        (
            shaped((2, 1, 2), ("head", "=x", None), value=[[[1, 2]], [[3, 4]]]),
            "0,1.0,2.0\n1,3.0,4.0",
            "head,'=x,0,1\na,0,1.0,2.0\n'+b,0,3.0,4.0",
        ),
        (
            shaped((1, 2, 2, 1), value=[[[[1], [2]], [[3], [4]]]]),
            "0,0,1.0\n0,0,2.0\n0,1,3.0\n0,1,4.0",
            "axis 0,axis 1,axis 2,0\n0,0,0,1.0\n0,0,1,2.0\n0,1,0,3.0\n0,1,1,4.0",
        ),
    ],
)
def test_every_rank(tmp_path, trace, plain, labelled):
    for text, asked in ((plain, False), (labelled, True)):
        same(trace, tmp_path / "run", asked)
        assert (tmp_path / "run" / "x.csv").read_text(encoding="utf-8") == ("" if text is None else f"{text}\n")


# ---------------------------------------------------------------- names of files


def names_of(*tensors):
    name_of = csv_folder._FileNames()
    return [name_of(tensor) for tensor in tensors]


def test_names_that_are_not_the_same_everywhere():
    assert names_of("K", "k", "head0.weights") == ["K.csv", "k~2.csv", "head0.weights.csv"]
    assert names_of("con", "Nul.x", "COM1", "lpt²", "console", "x.con") == [
        "~con.csv", "~Nul.x.csv", "~COM1.csv", "~lpt².csv", "console.csv", "x.con.csv",
    ]  # fmt: skip
    assert names_of("weights.masked", "점수", "ß", "ss") == [
        "weights.masked.csv",
        "점수.csv",
        "ß.csv",
        "ss~2.csv",
    ]
    assert names_of("a" * 1000, "a" * 999) == [f"{'a' * 100}~.csv", f"{'a' * 100}~~2.csv"]
    assert names_of("점" * 300) == [f"{'점' * 33}~.csv"]


@given(st.lists(st.text("aAbB.ßé점", min_size=1, max_size=5), max_size=8, unique=True))
def test_no_two_files_of_one_name(tensors):
    found = [unicodedata.normalize("NFC", name).casefold() for name in names_of(*tensors)]
    assert len(set(found)) == len(tensors)


def test_names_that_differ_in_case_read_back(tmp_path):
    g = Graph("case")
    for name in ("K", "k", "nul", "점수", "a.b", "b" * 300):
        g.input(name, ())
    feeds = dict(zip(g.inputs, range(6), strict=True))
    same(run(g, feeds), tmp_path / "run")
    assert {"K.csv", "k~2.csv", "~nul.csv", "점수.csv", "a.b.csv"} < set(os.listdir(tmp_path / "run"))


# ---------------------------------------------------------------- round trips


@pytest.mark.slow
@settings(max_examples=12)
@given(cases(), st.booleans(), st.data())
def test_random_traces(tmp_path_factory, case, labelled, data):
    folder = tmp_path_factory.getbasetemp() / "random-run"
    trace = run(case.graph, case.feeds, level="primitive", allow_nonfinite=True)
    same(trace, folder, labelled)
    some = data.draw(st.lists(st.sampled_from(trace.names), max_size=2, unique=True))
    options = {"allow_nonfinite": True, "level": "primitive"}
    same(run(case.graph, case.feeds, keep=some, **options), folder, labelled)
    if some:
        same(run(case.graph, case.feeds, targets=some, patch={some[0]: lambda v: v}, **options), folder)


DOUBLES = st.floats(width=64, allow_nan=True, allow_infinity=True, allow_subnormal=True)


@pytest.mark.slow
@given(st.lists(DOUBLES, min_size=6, max_size=6))
def test_numbers_bit_for_bit(tmp_path_factory, cells):
    folder = tmp_path_factory.getbasetemp() / "numbers-run"
    g = Graph("numbers")
    g.input("x", (1, 3, 2))
    trace = run(g, {"x": [[cells[0:2], cells[2:4], cells[4:6]]]}, allow_nonfinite=True)
    assert list(map(repr, nested.flat(same(trace, folder)["x"]))) == list(map(repr, cells))


@pytest.mark.parametrize("numbers", ["fraction", "mpmath", "bfloat16"])
def test_other_numbers(tmp_path, numbers):
    g = Graph("numbers")
    g.divide(g.input("x", (2,)), g.constant(3))
    same(run(g, {"x": [1, 2]}, numbers=numbers), tmp_path / "run")


def test_patches_labels_and_crlf(tmp_path):
    same(sample(patch={"head0.weights": nested.full((3, 3), math.nan)}), tmp_path / "run")
    for path in (tmp_path / "run").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert load_trace(tmp_path / "run") == sample(patch={"head0.weights": nested.full((3, 3), math.nan)})


@pytest.mark.parametrize("digits", (4299, 5000, 99_999, 150_000))
def test_integers_that_python_does_not_print(tmp_path, digits):
    same(shaped((2,), None, "int", [10**digits - 1, -(10**digits)]), tmp_path / "run")


# ---------------------------------------------------------------- folders that are there already


def test_a_trace_is_replaced_whole(tmp_path):
    write_csv_folder(tmp_path / "run", sample())
    write_csv_folder(str(tmp_path / "run"), shaped(()))
    assert sorted(os.listdir(tmp_path / "run")) == ["graph.txt", "manifest.json", "x.csv"]
    (tmp_path / "empty").mkdir()
    write_csv_folder(tmp_path / "empty", shaped(()))
    assert sorted(os.listdir(tmp_path)) == ["empty", "run"]


@pytest.mark.parametrize("manifest", [None, "{}", "x", '{"format": "graphattn trace folder", "version": 1}'])
def test_a_folder_that_is_not_ours_is_left_alone(tmp_path, manifest):
    folder = tmp_path / "run"
    folder.mkdir()
    if manifest:
        (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    (folder / "thesis.csv").write_text("1", encoding="utf-8")
    before = sorted(os.listdir(folder))
    told = "which was not written with a trace; expected a new folder, or one that such a trace is in"
    assert refused(write_csv_folder, folder, shaped(())) == f"{str(folder)!r} holds {before[0]!r}, {told}"
    assert sorted(os.listdir(folder)) == before and os.listdir(tmp_path) == ["run"]


def test_a_trace_with_something_beside_it_is_left_alone(tmp_path):
    folder = write_csv_folder(tmp_path / "run", shaped(()))
    (folder / "notes").mkdir()
    assert f"{str(folder)!r} holds 'notes', which was not" in refused(write_csv_folder, folder, shaped(()))
    (folder / "notes").rmdir()
    (folder / "x.csv").unlink()
    (folder / "x.csv").mkdir()
    assert f"{str(folder)!r} holds 'x.csv', which was not" in refused(write_csv_folder, folder, shaped(()))


def test_places_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    file, nowhere = str(tmp_path / "file"), str(tmp_path / "no" / "run")
    assert refused(write_csv_folder, file, shaped(())) == f"{file!r} is a file; expected a folder to write into"
    assert refused(write_csv_folder, nowhere, shaped(())) == (
        f"{nowhere!r} was not written: {os.strerror(2)}; expected a folder to write in"
    )
    assert refused(write_csv_folder, 3, shaped(())) == "path is an int; expected a file name"
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name in (".", str(here)):
        told = f"{name!r} is where this runs; expected another folder to write into"
        assert refused(write_csv_folder, name, shaped(())) == told
    assert sorted(os.listdir(tmp_path)) == ["file", "here"]


@pytest.mark.parametrize("failing", [1, 2])
def test_a_failed_write_leaves_the_old_folder(tmp_path, monkeypatch, failing):
    folder = write_csv_folder(tmp_path / "run", sample())
    real, calls = os.replace, []

    def broken(source, target):
        if not str(target).endswith((".csv", ".txt", ".json")):
            calls.append(target)
            if len(calls) == failing:
                raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(write.os, "replace", broken)
    told = refused(write_csv_folder, folder, shaped(()))
    assert told == f"{str(folder)!r} was not written: No space left on device; expected room to write in"
    assert read_csv_folder(folder) == sample() and os.listdir(tmp_path) == ["run"]


@pytest.mark.skipif(sys.platform == "win32", reason="rights and links of POSIX")
def test_rights_and_links_are_kept(tmp_path):
    folder = write_csv_folder(tmp_path / "run", shaped(()))
    assert folder.stat().st_mode & 0o077 == 0o777 & ~_umask() & 0o077
    folder.chmod(0o750)
    (tmp_path / "link").symlink_to(folder)
    write_csv_folder(tmp_path / "link", sample())
    assert folder.stat().st_mode & 0o777 == 0o750 and (tmp_path / "link").is_symlink()
    assert read_csv_folder(folder) == sample()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---------------------------------------------------------------- folders that nobody vouches for


@pytest.fixture
def folder(tmp_path):
    g = Graph("g")
    x = g.input("x", (2, 2), ("token", "token"))
    g.softmax(g.mask(x, g.causal_mask(2)), name="y")
    g.input("cube", (2, 1, 1))
    trace = run(g, {"x": [[1, 2], [3, 4]], "cube": [[[5]], [[6]]]}, labels={"token": ["a", "b"]})
    (tmp_path / "secret.csv").write_text("1.0,2.0\n3.0,4.0\n", encoding="utf-8")
    return write_csv_folder(tmp_path / "run", trace)


def edited(folder, change):
    """The manifest after `change(data)`."""
    path = folder / "manifest.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def told_of(folder):
    return refused(read_csv_folder, folder).removeprefix(f"{str(folder)!r}: ")


NOT_HERE = [
    "../secret.csv", "..\\secret.csv", "/etc/passwd", "C:\\x.csv", "C:x.csv", "x/y.csv", ".", "..", "", "a\0b",
    "\\\\server\\share", "x.csv:stream", "./x.csv", "x.csv/", "a" * 300,
]  # fmt: skip


@pytest.mark.parametrize("key", ["file", "masked"])
@pytest.mark.parametrize("file", NOT_HERE)
def test_ways_out_of_the_folder(folder, file, key):
    edited(folder, lambda data: data["tensors"]["x"].update({key: file}))
    shown = repr(file if len(file) <= 40 else f"{file[:39]}…")
    assert told_of(folder) == f"{shown} is not the name of a file in this folder; expected one"


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
@pytest.mark.parametrize("file", ["x.csv", "manifest.json", "graph.txt"])
@pytest.mark.parametrize("kind", ["link", "loop", "pipe", "folder"])
def test_what_is_no_plain_file(folder, file, kind):
    path = folder / file
    shutil.move(path, folder.parent / "moved")
    if kind == "link":
        path.symlink_to(folder.parent / "moved")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    assert told_of(folder) == f"{file!r} is a link, a folder or a device; expected a plain file"


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_file_that_becomes_a_link_while_it_is_looked_at(folder, monkeypatch):
    real = os.lstat(folder / "x.csv")
    (folder / "x.csv").unlink()
    (folder / "x.csv").symlink_to(folder.parent / "secret.csv")
    monkeypatch.setattr(csv_folder.os, "lstat", lambda path: real)
    assert told_of(folder).startswith("'x.csv' was not read: ")


@pytest.mark.parametrize("file", ["x.csv", "y~masked.csv", "manifest.json", "graph.txt"])
def test_missing_files(folder, file):
    (folder / file).unlink()
    assert told_of(folder) == f"{file!r} was not read: {os.strerror(2)}; expected a file of this trace"


CHANGES = {
    "manifest.json: format is 'x'; expected 'graphattn trace folder'": lambda d: d.update(format="x"),
    "manifest.json: version 2 is not known; expected 1": lambda d: d.update(version=2),
    "manifest.json: graph is '../g.txt'; expected 'graph.txt'": lambda d: d.update(graph="../g.txt"),
    "manifest.json: it has no 'labels'; expected an object": lambda d: d.pop("labels"),
    "manifest.json: labelled is 1; expected true or false": lambda d: d.update(labelled=1),
    "manifest.json: unknown number type 'flot'; expected one of": lambda d: d.update(numbers="flot"),
    "manifest.json: a label of axis 'token' is 3; expected a text": lambda d: d["labels"].update(token=[3]),
    "manifest.json has no 'steps'; expected a list": lambda d: d.pop("steps"),
    "manifest.json has no 'tensors'; expected an object": lambda d: d.pop("tensors"),
    "manifest.json: steps[0]: it is 3; expected an object": lambda d: d["steps"].insert(0, 3),
    "manifest.json: steps[1]: step 'x' comes twice or too late; expected": lambda d: d["steps"].insert(
        0, d["steps"][0]
    ),
    "manifest.json: steps[0]: 'z' is not a step of the graph": lambda d: d["steps"][0].update(name="z"),
    "manifest.json: steps[0]: a warning is 1; expected a text": lambda d: d["steps"][0].update(warnings=[1]),
    "manifest.json: graph 'g' has no tensor 'q'": lambda d: d["steps"][0].update(patched=["q"]),
    "manifest.json: tensor 'x': it is 3; expected an object": lambda d: d["tensors"].update(x=3),
    "manifest.json: tensor 'z': no step of the trace gives it": lambda d: d["tensors"].update(
        z=d["tensors"]["x"]
    ),
    "manifest.json: tensor 'x': no step of the trace gives it": lambda d: d["steps"].pop(0),
    "manifest.json: tensor 'x': it is '2 × 3 of float'; the graph gives token 2 × token 2": lambda d: d[
        "tensors"
    ]["x"].update(shape=[2, 3]),
    "manifest.json: tensor 'x': it is '2 × 2 of int'; the graph gives": lambda d: d["tensors"]["x"].update(
        kind="int"
    ),
    "manifest.json: tensor 'x': file is 3; expected a text": lambda d: d["tensors"]["x"].update(file=3),
    "manifest.json: tensor 'y': 'x.csv' is another tensor's file too": lambda d: d["tensors"]["y"].update(
        file="x.csv"
    ),
    "manifest.json: tensor 'y': 'y.csv' is another tensor's file too": lambda d: d["tensors"]["y"].update(
        masked="y.csv"
    ),
}


@pytest.mark.parametrize("told", CHANGES)
def test_manifests(folder, told):
    edited(folder, CHANGES[told])
    assert told_of(folder).startswith(told)


FILES = {
    ("x.csv", ""): "'x.csv': it has 0 rows; expected 2 for token 2 × token 2",
    ("x.csv", "1.0,2.0\n"): "'x.csv': it has 1 rows; expected 2 for token 2 × token 2",
    ("x.csv", "1.0,2.0\n3.0\n"): "'x.csv', line 2: it has 1 cells; expected 2",
    ("x.csv", "1.0,2.0\n3.0,4.0,5.0\n"): "'x.csv', line 2: it has 3 cells; expected 2",
    ("x.csv", "1,2\n3,4\n" * 9): "'x.csv', line 3: it is one row too many; expected 2 for token 2 × token 2",
    ("x.csv", "1.0,two\n3.0,4.0\n"): "'x.csv', line 1: found 'two'; expected a number",
    ("x.csv", "1.0,\n3.0,4.0\n"): "'x.csv', line 1: found ''; expected a number",
    (
        "x.csv",
        "1.0,1e999\n3.0,4.0\n",
    ): "'x.csv', line 1: '1e999' is too large; expected a number that a double can hold",
    ("x.csv", '1.0,"2.0\n3.0,4.0\n'): "'x.csv', line 2: unexpected end of data",
    ("x.csv", '1.0,"' + "9" * 200_000): "'x.csv', line 1: field larger than field limit (131072)",
    ("y~masked.csv", "0,1\n0,0\n"): "'y~masked.csv', line 1: found '0'; expected True or False",
    ("cube.csv", "0,5.0\n0,6.0\n"): "'cube.csv', line 2: the row begins '0'; expected '1'",
    ("cube.csv", "5.0\n6.0\n"): "'cube.csv', line 1: it has 1 cells; expected 2",
    (
        "graph.txt",
        "graphattn graph 1\ngraph g\n",
    ): "graph.txt: graph text, line 3: the text stops without 'end'",
    ("manifest.json", "{"): "manifest.json, line 1, column 2: Expecting property name",
    ("manifest.json", "[" * 100_000): "manifest.json is nested too deep",
    ("manifest.json", "[]"): "manifest.json is a list; expected an object",
}


@pytest.mark.parametrize("case", FILES, ids=lambda case: f"{case[0]}-{case[1][:12]!r}")
def test_files(folder, case):
    (folder / case[0]).write_text(case[1], encoding="utf-8", newline="\n")
    assert told_of(folder).startswith(FILES[case])


def test_bytes_that_are_no_text(folder):
    (folder / "x.csv").write_bytes(b"1.0,\xff")
    assert told_of(folder) == "'x.csv' is not UTF-8 (byte 4); expected text"


def test_more_bytes_than_are_read(folder):
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert read_csv_folder(folder, limit=size)
    told = f"{str(folder)!r}: its files hold more than {size - 1} bytes; expected fewer"
    assert refused(read_csv_folder, folder, size - 1) == told


@pytest.mark.parametrize("shape", [(10**12, 2), (10**12, 0), (10**6, 10**6, 0), (10**12, 0, 3), (2, 10**12, 3)])
def test_shapes_that_would_fill_the_memory(tmp_path, shape):
    folder = write_csv_folder(tmp_path / "run", shaped((0,)))
    graph = (folder / "graph.txt").read_text(encoding="utf-8").replace("shape=(0,)", f"shape={shape}")
    (folder / "graph.txt").write_text(graph, encoding="utf-8")
    edited(folder, lambda data: data["tensors"]["x"].update(shape=list(shape)))
    (folder / "x.csv").write_text("", encoding="utf-8")
    told = told_of(folder)
    assert told.startswith("'x.csv': ") and ("rows of nothing; expected" in told or "it has 0 rows" in told)


def test_what_is_no_folder(tmp_path):
    missing = str(tmp_path / "no")
    assert refused(read_csv_folder, missing) == (
        f"{missing!r}: 'manifest.json' was not read: {os.strerror(2)}; expected a file of this trace"
    )
    assert refused(read_csv_folder, None) == "path is None; expected a folder"
    assert refused(load_trace, str(tmp_path)) == f"{str(tmp_path)!r} is a folder; expected a file"
    assert isinstance(load_trace(write_csv_folder(tmp_path / "run", sample())), Trace)
    assert Path(tmp_path / "run").is_dir()
