"""Files that were cut off, edited by hand or made to do harm: one clear sentence each, word for word."""

import copy
import json

import pytest

from graphattn import Graph, GraphError, run
from graphattn.core.limits import ANOTHER
from graphattn.core.words import typed
from graphattn.dumps.graph_json import graph_json, read_graph_json
from graphattn.dumps.graph_text import parse_graph
from graphattn.dumps.trace_json import read_trace_json, trace_json
from graphattn.dumps.trace_text import read_trace, trace_text

HEAD = "graphattn graph 1\ngraph g\n\nx = input(shape=(2, 3))\n"


def refused(read, text):
    with pytest.raises(GraphError) as told:
        read(text)
    assert "\n" not in str(told.value)
    return str(told.value)


# ---------------------------------------------------------------- graphs as text

WHOLE = {
    "": "line 1: the first line is ''; expected 'graphattn graph 1'",
    "hello\n": "line 1: the first line is 'hello'; expected 'graphattn graph 1'",
    "graphattn graph 2\n": "line 1: graphattn graph version '2' is not known; expected version 1",
    "graphattn graph 1\nx = input(shape=(2,))\nend\n": "line 2: the graph has no name; expected a line like"
    " 'graph block'",
    "graphattn graph 1\ngraph a b\nend\n": "line 2: found 'b'; expected the end of the line",
    "graphattn graph 1\ngraph a\ngraph b\nend\n": "line 3: the graph is named twice; expected one name",
    "graphattn graph 1\ngraph a\ntitle b\nend\n": "line 3: found 'b'; expected a text in double quotes",
    HEAD: "line 5: the text stops without 'end'; expected a whole graph",
    HEAD + "end\nmore\n": "line 6: something follows 'end'; expected nothing",
}
LINES = {
    "y = softmax(x": "line 5: the line ends too early; expected ')'",
    "y = softmax(x) x": "line 5: found 'x'; expected the end of the line",
    "y = 3": "line 5: unknown op '3'",
    "y = sofmax(x)": "line 5: unknown op 'sofmax'; did you mean 'softmax'?",
    'y = relu(__import__("os"))': "line 5: found '('; expected ')'",
    "!!!": "line 5: '!!!' is not a line of a graph; expected name = op(operands), scope, again, return, alias,"
    " output or end",
    "x = input(shape=(2,))": "line 5: node 'x': the name is taken; expected a new one",
    "class = relu(x)": "line 5: 'class' is not a name; expected identifiers joined by dots, like head0.weights"
    " (free text goes into titles)",
    "x\0 = relu(x)": r"line 5: 'x\x00' is not a name; expected identifiers joined by dots, like head0.weights"
    " (free text goes into titles); did you mean 'x'?",
    "a" * 1001 + " = relu(x)": f"line 5: {'a' * 40!r}… is too long for a name; expected at most 1000 letters"
    " and 64 parts",
    "a." * 64 + "a = relu(x)": f"line 5: {'a.' * 20!r}… is too long for a name; expected at most 1000 letters"
    " and 64 parts",
    "y = relu(z)": "line 5: relu 'y' refers to 'z'; expected an input or the result of an earlier line",
    "a = add(x, b)\nb = add(x, a)": "line 5: add 'a' refers to 'b'; expected an input or the result of an"
    " earlier line",
    "y = split(x, parts=3)\nz = relu(y)": "line 6: relu 'z' refers to 'y', which has several outputs; expected"
    " one of y.part0, y.part1, y.part2",
    "y.part0 = relu(x)\ny = split(x, parts=3)": "line 6: node 'y': its output 'y.part0' has the name of"
    " another tensor",
    "y = matmul(x, x)": "line 5: matmul 'y': a has 3 columns and b has 2 rows;"
    " expected as many; b.T would fit (a and b are x, 2 × 3)",
    "y = add(x)": "line 5: add 'y' needs operand 'b' (slot 1)",
    "y = add(x, None)": "line 5: add 'y' needs operand 'b' (slot 1)",
    "y = relu(x, x)": "line 5: relu 'y' takes 1 operands, got 2",
    "y = linear(x, x, w=x)": "line 5: operand 'w' is given twice",
    "y = concat(x, None, x)": "line 5: concat 'y' has a hole among its operands; expected a tensor"
    " in each slot",
    "y = softmax(axis=1, x)": "line 5: operand 'x' stands behind attributes; expected it before",
    "y = softmax(x, axes=1)": "line 5: softmax 'y' takes no attribute 'axes'; did you mean 'axis'?",
    "y = softmax(x, axis=1, axis=0)": "line 5: 'axis' is given twice",
    'y = softmax(x, axis="1")': "line 5: softmax 'y': axis must be an int, got '1' (x is 2 × 3)",
    "y = input()": "line 5: input 'y' needs attribute 'shape'",
    'y = input(shape="ab")': "line 5: input 'y': shape is 'ab'; expected a tuple of sizes",
    "y = input(shape=(-1,))": "line 5: input 'y': size 0 of the shape must be an int of 0 or more, got -1",
    f"y = input(shape=({'1, ' * 33}))": "line 5: input 'y' has rank 33; expected at most 32",
    f"y = constant(value={'(' * 9000}1{')' * 9000})": "line 5: a value is nested deeper than 32 tuples",
    f"y = constant(value={'-' * 9000}1)": "line 5: '---------------------------------------…' is not a value;"
    " expected a number, text or a tuple",
    f"y = constant(value={'9' * 200000})": "line 5: '999999999999999999999999999999999999999…' has 200000"
    " digits; expected at most 100,000, or 0x…",
    "y = constant(value=1e999)": "line 5: '1e999' is too large; expected a number that a double can hold,"
    " or inf",
    "y = split(x, parts=1000000000)": "line 5: split 'y': parts is 1000000000; expected at most"
    " 65536 (x is 2 × 3)",
    'y = relu(x, title="abc)': "line 5: a text is not closed in 'y = relu(x, title=\"abc)'; expected another"
    " double quote",
    'y = relu(x, title="\\x41")': "line 5: '\"\\\\x41\"' is not a text; expected a JSON string in double"
    " quotes",
    "   y = relu(x)": "line 5: the line is indented by 3; expected a multiple of 4, at most 0",
    "scope s\n\ty = relu(x)": "line 6: the line is indented by a tab; expected spaces",
    "scope s\nscope s": "line 6: scope 's': the name is taken; expected a new one",
    "scope s\n    end": "line 6: 'end' stands inside scope 's'; expected it at the margin",
    "scope s(name=1)": "line 5: scope 's' is a plain group; expected nothing but a title",
    "again s": "line 5: 'again' goes on with 's'; expected a scope that was begun at this place",
    "return x": "line 5: 'return' stands outside of a composite; expected it indented in one",
    "scope s\n    return x": "line 6: 'return' stands outside of a composite; expected it indented in one",
    "scope s = softmax(x)\n    y = relu(x)\n    return y\n    return y": "line 8: scope 's' returns twice;"
    " expected one line with its outputs",
    "scope s = softmax(x)\n    y = relu(x)": "line 5: scope 's' returns 0 tensors; softmax gives 1",
    "scope s = softmax(x)\n    y = transpose(x)\n    return y": "line 5: scope 's' returns 's.y', which is"
    " 3 × 2; softmax gives 2 × 3",
    "scope s = softmax(q)\n    y = relu(x)\n    return y": "line 5: scope 's' refers to 'q'; expected a tensor"
    " of the graph",
    "output y = z": "line 5: output 'y' refers to 'z'; expected a tensor of the graph",
    "y = relu(x)\noutput y = x": "line 6: output 'y' names another tensor already; expected a new name",
    "output y = x\noutput y = x": "line 6: output 'y' is declared already; expected a new name",
    "y = relu(x)\nalias y = x": "line 6: alias 'y' names another tensor already; expected a new name",
}


@pytest.mark.parametrize(("text", "told"), WHOLE.items(), ids=range(len(WHOLE)))
def test_graph_text(text, told):
    assert refused(parse_graph, text) == f"graph text, {told}"


@pytest.mark.parametrize(("lines", "told"), LINES.items(), ids=range(len(LINES)))
def test_line_of_a_graph_text(lines, told):
    assert refused(parse_graph, f"{HEAD}{lines}\nend\n") == f"graph text, {told}"


@pytest.mark.parametrize("read", [parse_graph, read_graph_json, read_trace, read_trace_json])
@pytest.mark.parametrize("thing", [None, 3, b"graphattn graph 1", ["x"]])
def test_not_text(read, thing):
    assert refused(read, thing).endswith(f" is {typed(thing)}; expected text")


# ---------------------------------------------------------------- JSON


@pytest.fixture(scope="module")
def trace():
    g = Graph("g")
    x = g.input("x", (2, 2), ("token", "token"))
    with g.scope("s"):
        y = g.softmax(x, name="y")
    g.output(z=g.add(x, y, name="w"))
    return run(g, {"x": [[1, 2], [3, 4.5]]}, labels={"token": ["a", "b"]})


GONE = object()
EDGE = {"source": "w", "target": "s.y", "key": 0, "slot": 0, "port": 0}
NO_NAME = (
    "'a b' is not a name; expected identifiers joined by dots, like head0.weights (free text goes into titles)"
    "; did you mean 'a_b'?"
)
NO_ATTRIBUTE = 'attribute \'axis\' is an object; expected a value, {"float": "inf"} or {"int": "0x…"}'
RAW = [
    ("", ", line 1, column 1: Expecting value; the text ends too early"),
    ("{", ", line 1, column 2: Expecting property name enclosed in double quotes; the text ends too early"),
    ('{"a": 1', ", line 1, column 8: Expecting ',' delimiter; the text ends too early"),
    ("[]", " is a list; expected an object"),
    ("null", " is null; expected an object"),
    ("1", " is 1; expected an object"),
    ('{"a": NaN}', ": NaN is not JSON; expected a number or a text"),
    ('{"a": -Infinity}', ": -Infinity is not JSON; expected a number or a text"),
    ('{"a": 1, "a": 2}', ": key 'a' is there twice in one object; expected it once"),
    ("[" * 100_000, " is nested too deep; expected at most some 32 levels"),
    ('{"a":' * 100_000, " is nested too deep; expected at most some 32 levels"),
    ("9" * 200_000, " holds an integer of more than 100,000 digits; expected fewer"),
    ("{}", ": format is null; expected 'graphattn graph'"),
]
GRAPHS = [
    (("format", "x"), ": format is 'x'; expected 'graphattn graph'"),
    (("version", 2), ": version 2 is not known; expected 1"),
    (("version", True), ": version true is not known; expected 1"),
    (("directed", False), ": directed and multigraph must be true; expected a node-link form of a DAG"),
    (("graph", 3), ": graph is 3; expected an object"),
    (("graph", "name", GONE), ": graph has no 'name'; expected a text"),
    (("graph", "name", 3), ": graph: name is 3; expected a text"),
    (("graph", "name", "a b"), f": {NO_NAME}"),
    (("graph", "title", None), ": graph: title is null; expected a text"),
    (("graph", "scopes", {}), ": scopes is an object; expected a list"),
    (("graph", "scopes", [1]), ": scopes[0] is 1; expected an object"),
    (
        ("graph", "scopes", [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]),
        ": scopes[0]: scope 'a' is in scope 'b'; expected a scope that is declared before it",
    ),
    (("graph", "outputs", {"z": "q"}), ": output 'z' refers to 'q'; expected a tensor of the graph"),
    (("graph", "outputs", {"z": []}), ": output 'z': a tensor is a list; expected a text"),
    (("graph", "outputs", {"a b": "w"}), f": {NO_NAME}"),
    (
        ("graph", "aliases", {"a b" * 400: "w"}),
        f": '{('a b' * 14)[:40]}'… is too long for a name; expected at most 1000 letters and 64 parts",
    ),
    (("graph", "aliases", {"x": "w"}), ": alias 'x' names another tensor already; expected a new name"),
    (("nodes", GONE), " has no 'nodes'; expected a list"),
    (("nodes", 0, 3), ": nodes[0] is 3; expected an object"),
    (("nodes", 0, "id", GONE), ": nodes[0] has no 'id'; expected a text"),
    (("nodes", 1, "id", "x"), ": nodes[1]: node 'x' is there already; expected a new name"),
    (("nodes", 1, "op", "sofmax"), ": node 's.y': unknown op 'sofmax'; did you mean 'softmax'?"),
    (("nodes", 1, "op", GONE), ": node 's.y': it has no 'op'; expected a text"),
    (
        ("nodes", 1, "attributes", {"axs": 1}),
        ": node 's.y': softmax 's.y' takes no attribute 'axs'; did you mean 'axis'?",
    ),
    (("nodes", 1, "attributes", {"axis": {"float": "1"}}), f": node 's.y': {NO_ATTRIBUTE}"),
    (("nodes", 1, "attributes", {"axis": {"int": "z"}}), f": node 's.y': {NO_ATTRIBUTE}"),
    (("nodes", 1, "attributes", []), ": node 's.y': attributes is a list; expected an object"),
    (
        ("nodes", 1, "outputs", 0, "shape", [2, 3]),
        ": node 's.y': an output is 2 × 3 of 'float'; softmax gives token 2 × token 2",
    ),
    (("nodes", 1, "outputs", []), ": node 's.y': it has 0 outputs; softmax gives 1"),
    (
        ("nodes", 1, "scope", "q"),
        ": node 's.y': node 's.y' is in scope 'q'; expected a scope that is declared before it",
    ),
    (("nodes", 1, "title", 3), ": node 's.y': title is 3; expected a text"),
    (("edges", GONE), " has no 'edges'; expected a list"),
    (("edges", 0, "source", "q"), ": edges[0]: source 'q' is not among the nodes; expected one of them"),
    (("edges", 0, "port", 1), ": node 's.y': operand 'x' has no output 1"),
    (("edges", 0, "port", -1), ": edges[0]: slot 0 and port -1 must be 0 or more"),
    (("edges", 0, "slot", True), ": edges[0]: slot is true; expected an integer"),
    (("edges", 0, "slot", 10**12), ": node 's.y' has an operand in slot 1000000000000 and holes before it"),
    (("edges", 1, EDGE), ": edges[1]: slot 0 of 's.y' has an edge already; expected one"),
    (("edges", 0, EDGE), ": s.y → w → s.y is a cycle; expected a graph without one"),
    (("edges", 0, "source", "s.y"), ": s.y → s.y is a cycle; expected a graph without one"),
    (("edges", []), ": node 's.y': softmax 's.y' needs operand 'x' (slot 0)"),
]
VALUE = ("steps", 0, "outputs", 0, "value")
MASK = ("steps", 0, "outputs", 0, "masked")
TRACES = [
    (("graph", GONE), " has no 'graph'; expected an object"),
    (("graph", "nodes", 0, "op", 3), ": graph: node 'x': op is 3; expected a text"),
    (("labels", []), ": labels is a list; expected an object"),
    (("labels", "token", "ab"), ": labels is 'ab'; expected a list"),
    (("labels", "token", [1]), ": a label of axis 'token' is 1; expected a text"),
    (("steps", {}), ": steps is an object; expected a list"),
    (("steps", 0, 3), ": steps[0]: it is 3; expected an object"),
    (("steps", 0, "name", "q"), ": steps[0]: 'q' is not a step of the graph"),
    (
        ("steps", 1, "name", "x"),
        ": steps[1]: step 'x' comes twice or too late; expected the order of the graph",
    ),
    (("steps", 0, "outputs", []), ": steps[0]: it has 0 outputs; input gives 1"),
    (("steps", 0, "outputs", 0, "name", "q"), ": steps[0]: output 0 is 'q'; expected 'x'"),
    ((*VALUE, [[1, 2]]), ": x has 1 rows; expected 2 (x is token 2 × token 2)"),
    ((*VALUE, [[1, 2], [3]]), ": x[1] has 1 cells; expected 2 (x is token 2 × token 2)"),
    ((*VALUE, [[1, 2], [3, "1"]]), ": steps[0]: x holds '1'; expected a number, 'inf', '-inf' or 'nan'"),
    ((*VALUE, [[1, 2], [3, None]]), ": x[1][1] is None; expected a number"),
    ((*VALUE, 3), ": x is 3; expected a list of 2 (x is token 2 × token 2)"),
    ((*VALUE, [[1, [2]], [3, 4]]), ": x[0][1] is a list; expected a number"),
    ((*MASK, [[True]]), ": the mask of x has 1 rows; expected 2 (the mask of x is 2 × 2 of bool)"),
    ((*MASK, [[1, 0], [0, 0]]), ": the mask of x[0][0] is 1; expected True or False"),
    (("steps", 0, "warnings", [1]), ": steps[0]: a warning is 1; expected a text"),
    (("steps", 0, "patched", ["q"]), ": graph 'g' has no tensor 'q'"),
]


def changed(text, path):
    data = whole = copy.deepcopy(json.loads(text))
    *way, key, value = path
    for part in way:
        data = data[part]
    if value is GONE:
        del data[key]
    else:
        data[key] = value
    return json.dumps(whole)


@pytest.mark.parametrize(("text", "told"), RAW, ids=range(len(RAW)))
def test_json(text, told):
    assert refused(read_graph_json, text) == f"graph JSON{told}"


@pytest.mark.parametrize(("path", "told"), GRAPHS, ids=lambda value: value if isinstance(value, str) else "")
def test_graph_json(trace, path, told):
    assert refused(read_graph_json, changed(graph_json(trace.graph), path)) == f"graph JSON{told}"


@pytest.mark.parametrize(("path", "told"), TRACES, ids=lambda value: value if isinstance(value, str) else "")
def test_trace_json(trace, path, told):
    assert refused(read_trace_json, changed(trace_json(trace), path)) == f"trace JSON{told}"


def test_number_beyond_a_double(trace):
    text = trace_json(trace).replace("4.5", "1e999")
    told = "x holds a number that is too large; expected one that a double can hold"
    assert refused(read_trace_json, text) == f"trace JSON: steps[0]: {told}"


def test_scopes_that_are_nested_too_deep(trace):
    scopes = [{"name": f"s{i}", "parent": f"s{i - 1}" if i else None} for i in range(1000)]
    text = changed(graph_json(trace.graph), ("graph", "scopes", scopes))
    told = "graph JSON: scopes[64]: scope 's64' is nested 65 deep; expected at most 64"
    assert refused(read_graph_json, text) == told


def test_a_long_cycle_is_named_in_short():
    g = Graph("ring")
    y = g.input("x", (1,))
    for i in range(20):
        y = g.add(y, y, name=f"n{i}")
    data = json.loads(graph_json(g))
    data["edges"][0]["source"] = "n19"
    assert refused(read_graph_json, json.dumps(data)) == (
        "graph JSON: n0 → n1 → n2 → n3 → n4 → n5 → n6 → (13 more) → n0 is a cycle; expected a graph without one"
    )


# ---------------------------------------------------------------- traces as text

EDITS = [
    (
        "graphattn trace 1 exact",
        "graphattn trace 9 exact",
        ", line 1: graphattn trace version '9' is not known; expected version 1",
    ),
    ('("a", "b")', "(1, 2)", ", line 5: the labels of axis 'token' are not a tuple of texts"),
    ('("a", "b")', "", ", line 5: the line ends too early; expected a value"),
    ("labels", "patched q\nlabels", ": graph 'g' has no tensor 'q'"),
    (
        "graphattn graph 1",
        "graphattn graph 2",
        ", line 7: graphattn graph version '2' is not known; expected version 1",
    ),
    ("y = softmax(x)  ", "y = sofmax(x)  ", ", line 12: unknown op 'sofmax'; did you mean 'softmax'?"),
    (
        "        x      ",
        "        q      ",
        ", line 17: 'q' is not a step of the graph",
    ),
    (
        "\ns.y = softmax",
        "\nx = softmax",
        ", line 22: step 'x' comes twice or too late; expected the order of the graph",
    ),
    ("  3.0  4.5", "  3.0", ", line 20: the row has 1 cells; expected 2"),
    ("  3.0  4.5", "  3.0 4 5", ", line 20: the row has 3 cells; expected 2"),
    ("  3.0  4.5", "  3.0  4,5", ", line 20: found '4,5'; expected a number"),
    (
        "  3.0  4.5",
        "  3.0  1e999",
        ", line 20: '1e999' is too large; expected a number that a double can hold",
    ),
    ("        b  3.0", "        c  3.0", ", line 20: found 'c  3.0  4.5'; expected row b"),
    (
        "        b  3.0",
        "   b  3.0",
        ", line 20: found '   b  3.0  4.5'; expected a line of numbers, indented by 8",
    ),
]


@pytest.mark.parametrize(("old", "new", "told"), EDITS, ids=range(len(EDITS)))
def test_trace_text(trace, old, new, told):
    text = trace_text(trace, precision="exact")
    assert old in text
    assert refused(read_trace, text.replace(old, new, 1)) == f"trace text{told}"


@pytest.mark.slow
def test_a_trace_that_was_cut_off_anywhere(trace):
    for text, read in (
        (trace_text(trace, precision="exact"), read_trace),
        (trace_json(trace), read_trace_json),
        (str(trace.graph), parse_graph),
        (graph_json(trace.graph), read_graph_json),
    ):
        for end in range(len(text) - 2):
            assert refused(read, text[:end])


def test_tensors_of_the_graph_that_would_fill_the_memory():
    g = Graph("big")
    g.causal_mask(10**6)
    told = f"causal_mask 'causal_mask' has 1000000000000 cells; expected at most 50000000 ({ANOTHER})"
    assert refused(read_trace, f"graphattn trace 1 exact\n{g}\nend\n") == f"trace text: {told}"
    data = {"format": "graphattn trace", "version": 1, "graph": json.loads(graph_json(g)), "steps": []}
    assert refused(read_trace_json, json.dumps(data)) == f"trace JSON: {told}"


def test_arguments():
    trace = run(Graph("empty"))
    assert refused(lambda _: trace_text(trace, precision="exakt"), "") == (
        "precision is 'exakt'; expected 'pretty' or 'exact'; did you mean 'exact'?"
    )
    assert (
        refused(lambda _: trace_text(trace, decimals=-1), "") == "decimals is -1; expected an int from 0 to 17"
    )
    assert (
        refused(lambda _: trace_text(trace, limit=1), "") == "limit is 1; expected an int from 2 to 1000000000"
    )
    assert refused(lambda _: trace_text(trace, only=["q"]), "") == "graph 'empty' has no tensor 'q'"
