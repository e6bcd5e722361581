"""What compare reads, and what it refuses, word for word."""

import io
import json
import struct
import zipfile

import pytest
import recorded

from graphattn import Graph, GraphError, run
from graphattn.dumps.trace_json import trace_json
from graphattn.dumps.trace_text import trace_text
from graphattn.insight.compare import compare
from graphattn.insight.compare.plain_text import read_plain_text
from graphattn.insight.compare.reading import read

A = [[0.5, -1.25], [2.0, 0.75]]
B = [[1.5, 3.0, -0.25]]


class Array:
    """As tensors of frameworks are: a shape of its own, and `.tolist()`."""

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def npy(rows, stated=None):
    shape = stated or (len(rows), len(rows[0]))
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    cells = struct.pack(f"<{len(rows) * len(rows[0])}d", *(x for row in rows for x in row))
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + cells


def safetensors(rows, offset=0):
    size = 8 * len(rows) * len(rows[0])
    header = {"a": {"dtype": "F64", "shape": [len(rows), len(rows[0])], "data_offsets": [0, size + offset]}}
    text = json.dumps(header).encode()
    return (
        struct.pack("<Q", len(text)) + text + struct.pack(f"<{size // 8}d", *(x for row in rows for x in row))
    )


def forms(folder):
    """The same two tensors in every form (or one, where the form holds one)."""
    yield {"a": A, "b": B}, 2
    yield {"a": Array(A), "b": Array(B)}, 2
    yield write(folder / "t.json", json.dumps({"a": A, "b": B})), 2
    yield write(folder / "t.txt", f"a = {A}\nb = {B}\n"), 2
    (folder / "t.npz").write_bytes(b"")
    with zipfile.ZipFile(folder / "t.npz", "w") as archive:
        archive.writestr("a.npy", npy(A))
        archive.writestr("b.npy", npy(B))
    yield folder / "t.npz", 2
    (folder / "a.npy").write_bytes(npy(A))
    yield folder / "a.npy", 1
    (folder / "t.safetensors").write_bytes(safetensors(A))
    yield folder / "t.safetensors", 1
    tables = folder / "tables"
    tables.mkdir()
    write(tables / "a.csv", "0.5,-1.25\n2.0,0.75\n")
    write(tables / "b.csv", "1.5,3,-0.25\n")
    yield tables, 2
    yield tables / "a.csv", 1


def test_every_form_is_read(tmp_path):
    for source, count in forms(tmp_path):
        recording = read(source)
        assert [t.nested() for t in recording.tensors.values()] == [A, B][:count], source
        assert compare({"a": A, "b": B}, source).agrees


def test_saved_traces_are_read(tmp_path):
    trace, _ = recorded.traced(recorded.PATHS[0])
    for path in (
        write(tmp_path / "t.txt", trace_text(trace, "exact")),
        write(tmp_path / "t.json", trace_json(trace)),
    ):
        recording = read(path)
        assert recording.trace == trace and compare(trace, path).agrees


def test_plain_text_as_people_print_it():
    text = """
    loading model ...
    a = [[0.5, -1.25],
         [2.0, 0.75]]
    debug: b = [[1.5 3 -0.25]]
    scores (2, 2) = tensor([[nan, -inf], [1e-3, 2]])
    ggml_debug:                 kq-0 = (f32)    MUL_MAT(k{4, 3}, q{4, 3}}) = {2, 1, 1, 1}
                                [
                                 [ 0.0018,  0.0071, ],
                                ]
                                sum = 0.0089
    """
    found = read_plain_text(text, "log")
    assert found["a"] == A and found["b"] == B
    assert str(found["scores (2, 2)"]) == "[[nan, -inf], [0.001, 2.0]]"
    assert found["kq-0"] == [[0.0018, 0.0071]]
    assert list(found) == ["a", "b", "scores (2, 2)", "kq-0"]
    text = """
    attention weights: tensor([[0.5000, nan]])
    epoch: [1/10] loss: 0.5 x.shape torch.Size([3, 4])
    a
    array([[ 0.5 , -1.25],
           [ 2.  ,  0.75]])
    out tensor([0.2500], device='cuda:0', dtype=torch.float16, grad_fn=<AddBackward0>)
    b: [[1.5 3. -0.25]]
    """
    found = read_plain_text(text, "log")
    assert list(found) == ["attention weights", "a", "out", "b"] and found["a"] == A and found["b"] == B


REFUSED = [
    ("", "holds nothing; expected lines like `name = [[0.5, 1.0], [2.0, 3.0]]`"),
    ("no tensors here", "holds 'no tensors here'; expected lines like"),
    ("a = [[1, 2], [3", "line 1: a ends before its last bracket is closed; expected the whole tensor"),
    ("\na = [1, ..., 4]", "line 2: a leaves cells out (...); expected every cell to be printed"),
    ("a = [1, two]", "line 1: a holds 'two'; expected numbers"),
    ("a = [1]\na = [2]", "line 2: a comes twice; expected each name once"),
    ("a = [[1, 2], [3]]", "a[1] has 1 cells; expected 2, as in its neighbours"),
    ("a = " + "[" * 40 + "]" * 40, "line 1: a is nested deeper than 32 lists"),
    ("graphattn trace 1 exact\n\ngraph", "expected"),
]


@pytest.mark.parametrize("text, words", REFUSED)
def test_a_text_is_refused(tmp_path, text, words):
    refused({"a": A}, write(tmp_path / "t.txt", text), words)


def refused(reference, yours, words, **options):
    with pytest.raises(GraphError) as told:
        compare(reference, yours, **options)
    assert words in str(told.value) and "\n" not in str(told.value), str(told.value)


@pytest.mark.parametrize("name, content, words", [
    ("t.json", b"{}", "holds no tensors; expected at least one"),
    ("t.json", b'{"a": [[1, 2], [3', "is not JSON"),
    ("t.json", b'{"a": [[1, "x"]]}', "a[0][1] is 'x'; expected a number"),
    ("t.npz", b"PK\x03\x04 and no more", "is not a whole .npz file"),
    ("t.npy", b"\x93NUMPY\x01\x00", "is not an .npy file"),
    ("t.npy", npy(A)[:-8], "holds 24 bytes of cells; expected 32 ([2, 2], 8 bytes each)"),
    ("t.safetensors", safetensors(A, offset=2**30), "is not a whole .safetensors file"),
    ("t.safetensors", b"\xff\xff\xff\x7f\x00\x00\x00\x00{}", "is not a whole .safetensors file"),
    ("t.npy", npy(A, (9000, 90000)), "has shape [9000, 90000]; expected at most"),
    ("t.csv", b"1,2\n3\n", "row 1 has 1 cells; expected 2"),
    ("t.txt", b"\xff\xfe\x00", "is not UTF-8"),
])  # fmt: skip
def test_a_file_is_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    refused({"a": A}, tmp_path / name, words)


def test_an_npz_that_claims_a_gigabyte_is_refused(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(A))
    data = packed.getvalue()
    size = struct.pack("<I", len(npy(A)))
    (tmp_path / "t.npz").write_bytes(data.replace(size, struct.pack("<I", 2**30)))
    refused({"a": A}, tmp_path / "t.npz", "unpacks to 1,073,741,824 bytes; expected at most")


def test_other_sources_are_refused(tmp_path):
    refused({"a": A}, 7, "yours is an int; expected a trace, a dict of tensors, or the path of a file")
    refused({"a": A}, A, "or the path of a file; a tensor goes under its name: {'out': …}")
    refused({"a": A}, {}, "yours holds no tensors; expected at least one")
    refused({"a": A}, {"a": "text"}, "yours: a holds 'text'; expected numbers")
    refused({"a": A}, {"a": None}, "yours: a holds None; expected numbers")
    refused({"a": A}, {"a": [[1.0], [2.0, 3.0]]}, "yours: a[1] has 2 cells; expected 1, as in its neighbours")
    refused({"a": A}, {3: A}, "yours has the name 3; expected text")
    refused({"a": A}, {"a": [10**400]}, "expected numbers that a double can hold")
    ids = Graph("ids")
    ids.output(y=ids.embedding(ids.parameter("table", (3, 2)), ids.input("x", (2,), kind="int"), name="y"))
    one, other = (run(ids, {"x": [cell, 2], "table": [[1.0, 2.0]] * 3}, targets=["x"]) for cell in (1, 10**400))
    refused(one, other, "yours: x holds 1000000000000000000000000000000000000...; expected")
    refused({"a": A}, tmp_path, "holds no tensor files; expected .safetensors, .json, .csv, .npy, .npz")
    nested = A
    for _ in range(2000):
        nested = [nested]
    refused({"a": A}, {"a": nested}, "is nested deeper than 32 lists")
    with pytest.raises(OSError):
        compare({"a": A}, tmp_path / "absent.npz")


def graph():
    g = Graph("g")
    x = g.input("x", (2, 2))
    g.output(w=g.softmax(x, name="weights"))
    return g


def test_what_matches_nothing_is_refused():
    trace = run(graph(), {"x": A})
    refused(
        trace,
        {"elsewhere": [[7.0, 8.5, 9.25]]},
        "no tensor of yours (elsewhere) is one of the reference (x, weights)",
    )
    refused(
        trace,
        {"x": [A, A]},
        "x is 2 × 2 × 2 in yours and 2 × 2 in the reference; expected two recordings of the same sizes",
    )
    refused(trace, {"x": A}, "the reference has no tensor 'weight'; expected one of x, weights; did you mean",
            names={"weight": "x"})  # fmt: skip
    refused(trace, {"x": A}, "yours has no tensor 'q'; expected one of x", names={"x": "q"})
    refused(trace, {"x": A}, "names: 'x[5]' is no part of 2 × 2", names={"x": "x[5]"})
    refused(trace, {"x": B}, "names: x is 2 × 2 and x is 1 × 3; expected as many cells", names={"x": "x"})
    refused(trace, {"x": A}, "names is a list; expected a dict of names", names=["x"])
    refused(
        graph(), {"y": A}, "yours did not record x, which graph 'g' is fed; expected feeds, or these tensors"
    )
    refused(graph(), {"x": B}, "x", by="name")


@pytest.mark.parametrize("options, words", [
    ({"precision": "float23"}, "unknown precision 'float23'; expected one of float64, float32, float16,"),
    ({"rtol": -1}, "rtol is -1; expected a number of 0 or more"),
    ({"atol": "x"}, "atol is 'x'; expected a number of 0 or more"),
    ({"empty": "none"}, "empty is 'none'; expected one of zero, nan, uniform, any"),
    ({"by": "shape"}, "by is 'shape'; expected 'name' or 'value'"),
])  # fmt: skip
def test_an_option_is_refused(options, words):
    refused({"a": A}, {"a": A}, words, **options)


def test_lines_of_a_log_are_passed_over(tmp_path):
    """What follows a colon is a tensor, unless it comes again, or is none."""
    lines = (
        "loss: [0.5]",
        "loss: [0.25]",
        "times: [0.1, 0.2, ...]",
        "INFO: [2.5 s] started",
        "a = [[0.5, 1.0]]",
    )
    found = read(write(tmp_path / "run.txt", "\n".join(lines))).tensors
    assert found["a"].rows == [[0.5, 1.0]] and set(found) == {"a", "loss"}
    refused({"a": A}, write(tmp_path / "t.txt", "a: tensor([[0.5, ..., 1.0]])"), "leaves cells out")


def test_empty_tensors_are_compared(tmp_path):
    graph = Graph("empty")
    graph.output(y=graph.exp(graph.input("x", (3, 0)), name="y"))
    reference = run(graph, {"x": [[], [], []]})
    assert compare(reference, {"other": [], "y": [[], [], []]}).tensors
