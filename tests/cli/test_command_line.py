"""The command line: what it prints, where it prints it, and what it says of bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from graphattn.builtin import specimen
from graphattn.cli import commands
from graphattn.cli.tour import tour
from graphattn.core.op import OPS
from graphattn.core.tensor_file import MATRIX
from graphattn.dumps.graph_json import graph_json
from graphattn.dumps.load import load_trace
from graphattn.dumps.trace_text import trace_text
from graphattn.weights.toy_induction import toy_induction

MINILM = Path(__file__).parent.parent / "data" / "minilm_L0H2_prevtoken.safetensors"
BUILT_IN = "attention, multi-head, block, encoder, toy"
NEITHER = f"is neither a file nor a built-in graph; expected one of {BUILT_IN}, or a file"
LEVELS = "block, head, op, primitive"


@pytest.fixture
def refused(cli):
    """refused("trace", "blok") -> the one sentence on stderr, after `graphattn: `."""

    def call(*args: str) -> str:
        status, out, err = cli(*args)
        assert (status, out) == (2, "")
        assert err.startswith("graphattn: ") and err.count("\n") == 1 and err.endswith("\n")
        return err.removeprefix("graphattn: ").rstrip("\n")

    return call


def put(name: str, text: str | bytes) -> None:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)


# ---------------------------------------------------------------- help


def test_help_names_every_command_below_its_group(cli):
    for args in ((), ("--help",), ("-h",)):
        status, out, err = cli(*args)
        assert (status, err) == (0, "")
        for command in commands.names():
            group = commands.module(command).GROUP
            section = out.partition(f"\n{group}:\n")[2].partition("\n\n")[0]
            assert re.search(rf"^  {command} +\S.*\.$", section, re.M), command


@pytest.mark.parametrize("command", commands.names())
def test_help_of_a_command(cli, command):
    status, out, err = cli(command, "--help")
    assert status == 0 and out.startswith(f"Usage: graphattn {command} ") and not err
    assert all(len(line) <= 100 for line in out.splitlines())


def test_help_says_that_python_is_executed(cli):
    assert "a .py file                     executed" in cli("trace", "--help")[1]


def test_version(cli):
    assert cli("--version")[1] == "graphattn 0.1.0\n"


# ---------------------------------------------------------------- demo


@pytest.mark.slow
def test_demo(cli, golden):
    status, out, err = cli("demo")
    assert (status, err) == (0, "")
    golden("demo.txt", out.replace("\\", "/"))
    assert sorted(path.name for path in Path("graphattn-demo").iterdir()) == [
        "heads.svg",
        "model.svg",
        "page.html",
        "trace.txt",
    ]
    page, _, link = out.splitlines()[-1].strip().partition("#")
    assert Path(page).is_file() and link.startswith("t=layer1.attention.head0.weights&c=15,")
    assert all(len(line) <= 86 for line in out.splitlines())
    dump = Path("graphattn-demo/trace.txt").read_text(encoding="utf-8")
    assert "layer1.attention.head1.weights = softmax(" in dump and "columns shown" not in dump
    assert "Head 1" in Path("graphattn-demo/heads.svg").read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_demo_says_to_try_works(cli):
    out = cli("demo")[1]
    lines = out.partition("What to try next")[2].partition("Walk through")[0].strip().splitlines()
    assert len(lines) == 5
    for line in lines:
        command = re.match(r"  ?graphattn (.*?)  ", f"  {line.strip()}  ")
        assert command, line
        words = [word.strip("'") for word in command[1].split()]
        assert cli(*words)[0] == 0, line


@pytest.mark.parametrize(
    "text, words",
    [
        ("abcabcabc", "Where it has occurred before: 5 of 5 right."),
        ("abc", "No letter occurs twice before the end"),
        ("a", "Where a letter is new, the model can only guess: 0 of 1 right."),
        ("abcdefghijklmnoabcdefghijklmno", "9 = .9 and more   blank = below .1"),
        ("abcabd", "the text does not repeat, so nobody can say whether that is right."),
    ],
)
def test_the_tour_of_other_texts(text, words):
    model = toy_induction(text)
    lines = [line.plain for line in tour(model, model.run())]
    assert words in " ".join(lines)
    assert all(len(line) <= 86 for line in lines)


def test_what_the_tour_says_is_measured():
    """With the previous-token head switched off, the tour tells of other heads."""
    model = toy_induction()
    off = model.run(patch={"layer0.attention.head1.weights": [[0.0] * 16] * 16})
    told = " ".join(line.plain for line in tour(model, off))
    assert "On average 0.00 of a letter's attention" in told and "9 of 9 right" not in told


def test_demo_refuses(refused):
    put("taken", "")
    assert refused("demo", "Hello") == "character 0 of the text is 'H'; expected letters from a to z"
    assert refused("demo", "a" * 40) == "the text has 40 letters; expected 1 to 31"
    assert refused("demo", "abc", "-o", "taken") == "'taken' is a file; expected a folder to write into"


# ---------------------------------------------------------------- trace


def test_trace_of_a_block(cli):
    status, out, err = cli("trace", "block", "--n", "3", "--d", "4", "--causal", "--labels", "the,cat,sat")
    assert (status, err) == (0, "")
    assert out.startswith("graphattn trace 1\n")
    assert "attention.head0.weights = softmax(attention.head0.masked)\n" in out
    assert re.search(r"^ +the   1\.0000        ·        ·$", out, re.M)


def test_trace_is_the_same_for_the_same_seed(cli):
    first, again, other = (cli("trace", "block", "--seed", seed)[1] for seed in ("1", "1", "2"))
    assert first == again != other


@pytest.mark.parametrize("name", ["attention", "multi-head", "block"])
@pytest.mark.parametrize("projections", ["--projections", "--no-projections"])
@pytest.mark.parametrize("level", ["block", "head", "op", "primitive"])
def test_trace_of_every_built_in_graph(cli, name, projections, level):
    assert cli("trace", name, projections, "--level", level, "--causal")[0] == 0


def test_trace_of_single_tensors(cli):
    out = cli("trace", "toy", "--tensor", "*head0.weights")[1]
    assert re.findall(r"^(\S+) = ", out, re.M) == [f"layer{i}.attention.head0.weights" for i in (0, 1)]


def test_trace_pretty_has_the_decimals_and_limit_that_are_asked_for(cli):
    out = cli("trace", "block", "--d", "16", "--tensor", "norm", "--decimals", "1", "--limit", "4")[1]
    assert "4 of 16 columns shown" in out and not re.search(
        r"\d\.\d\d", out.partition("norm = ")[2].partition("\n")[2]
    )


def test_saved_traces_read_back(cli):
    cli("trace", "block", "--exact", "-o", "a.txt")
    status, out, err = cli("trace", "block", "--json", "-o", "a.json")
    assert (status, out, err) == (0, "", "wrote a.json\n")
    text, data = (Path(name).read_text(encoding="utf-8") for name in ("a.txt", "a.json"))
    assert load_trace("a.txt") == load_trace("a.json")
    assert cli("trace", "a.json", "--exact")[1] == text
    assert cli("trace", "a.txt", "--json")[1] == data
    cli("trace", "block", "-o", "b.json")
    assert Path("b.json").read_text(encoding="utf-8") == data
    assert cli("trace", "a.txt")[1] == cli("trace", "block")[1]
    assert cli("trace", "a.txt", "--level", "block")[1] == cli("trace", "block", "--level", "block")[1]


def test_a_saved_run_with_a_patch_is_shown_and_not_run_again(cli, refused):
    trace = specimen("block", 2, 4).run(patch={"norm": [[1.0, 2.0, 3.0, 4.0]] * 2})
    put("p.txt", trace_text(trace, "exact"))
    assert "1.0000   2.0000   3.0000   4.0000" in cli("trace", "p.txt", "--tensor", "norm")[1]
    words = (
        "the saved run has patched tensors (norm), so it is not run again;"
        " expected no other level, labels, feeds or JSON of single tensors"
    )
    for option in ("--level=head", "--labels=a,b"):
        assert refused("trace", "p.txt", option) == words


def test_json_of_single_tensors(cli):
    out = cli("trace", "block", "--json", "--tensor", "norm")[1]
    kept = [o["name"] for s in json.loads(out)["steps"] for o in s["outputs"] if o["value"] is not None]
    assert kept == ["norm"]


def test_saved_graphs(cli):
    graph = specimen("block", 3, 4).graph
    put("g.txt", str(graph))
    put("g.json", graph_json(graph))
    status, out, err = cli("trace", "g.txt")
    assert (status, err) == (0, "g.txt has no feeds: they are drawn at random (--seed 0)\n")
    assert out == cli("trace", "g.json")[1] == cli("trace", "block", "--n", "3", "--d", "4")[1]
    assert cli("trace", "g.json", "--seed", "7")[1] != out


def test_feeds(cli):
    out = {}
    put("X.csv", "0.5,1\n-1,0.25\n")
    put("f.json", '{"X": [[0.5, 1], [-1, 0.25]]}')
    put("g.json", '[{"name": "X", "shape": [2, 2], "data": [[0.5, 1], [-1, 0.25]]}]')
    for name in ("X.csv", "f.json", "g.json"):
        args = ("trace", "block", "--n", "2", "--d", "2", "--heads", "1", "--tensor", "X", "--feeds", name)
        status, out[name], _ = cli(*args)
        assert status == 0
        assert "        0   0.5000   1.0000\n        1  -1.0000   0.2500\n" in out[name]
    assert out["X.csv"] == out["f.json"] == out["g.json"]


def test_one_matrix_feeds_the_only_input(cli):
    put("softmax.py", "import graphattn\ng = graphattn.Graph()\ng.softmax(g.input('x', (1, 2)), name='y')\n")
    put("any.csv", "0,0\n")
    assert "        0   0.5000   0.5000\n" in cli("trace", "softmax.py", "--feeds", "any.csv")[1]


PYTHON = """
from graphattn import Graph
print("a word")
other = Graph("other")
graph = Graph("mine")
x = graph.input("x", shape=(2, 2), axes=("token", "feature"))
graph.softmax(x, name="y")
feeds = {"x": [[0, 0], [1, 1]]}
labels = {"token": ["first", "second"]}
if __name__ == "__main__":
    raise RuntimeError
"""


def test_a_python_file(cli):
    put("mine.py", PYTHON)
    status, out, err = cli("trace", "mine.py")
    assert (status, err) == (0, "a word\n")
    assert "y = softmax(x)" in out and "second   0.5000   0.5000" in out


def test_a_python_file_imports_its_neighbours(cli):
    Path("there").mkdir()
    put("there/sizes.py", "n = 3\n")
    put("there/mine.py", "from sizes import n\nfrom graphattn import Graph\ng = Graph()\ng.input('x', (n,))\n")
    assert cli("trace", "there/mine.py")[0] == 0


def test_an_extract(cli):
    out = cli("trace", str(MINILM), "--tensor", "head.weights")[1]
    assert "the cat sat on the mat" in out
    assert re.search(r"^ +cat +0\.0000 +0\.9999 +0\.0001", out, re.M)


def test_labels(cli):
    out = cli(
        "trace", "attention", "--n", "2", "--d", "2", "--labels", 'a,"b,<&>"', "--labels", "feature=고,x"
    )[1]
    assert "b,<&>" in out and "고" in out


# ---------------------------------------------------------------- what trace refuses


@pytest.mark.parametrize(
    "args, words",
    [
        ("blok", f"'blok' {NEITHER}; did you mean 'block'?"),
        ("none.json", f"'none.json' {NEITHER}"),
        ("block --level blok", f"unknown level 'blok'; expected one of {LEVELS}; did you mean 'block'?"),
        ("block --n 0", "invalid value for '--n': expected a whole number of 1 or more, got '0'"
                        " (`graphattn trace --help` tells more)"),
        ("block --d four", "invalid value for '--d': expected a whole number of 1 or more, got 'four'"
                           " (`graphattn trace --help` tells more)"),
        ("block --n 100000", "n = 100000, d = 8 is too large; expected each to be at most 2048"
         " (GRAPHATTN_MAX_CELLS in the environment sets another limit)"),
        ("block --d 6 --heads 4 --no-projections",
         "multi_head 'attention': the 6 features of q do not divide into 4 heads; 3 or 6 would do"
         " (q, k and v are norm, token 4 × feature 6)"),
        ("attention --heads 2", "the built-in graph 'attention' has 1 head, not 2;"
                                " expected multi-head for more"),
        ("block --text abc", "--text does not apply to block; expected it with toy, or a model's folder"),
        ("toy --n 3", "--n does not apply to toy; expected it with attention, multi-head, block, encoder"),
        ("toy --no-projections", "--no-projections does not apply to toy;"
                                 " expected it with attention, multi-head, block, encoder"),
        ("toy --text ABC", "character 0 of the text is 'A'; expected letters from a to z"),
        ("block --labels a,b", "--labels 'a,b' has 2 names for axis 'token'; expected 4"),
        ("block --labels head=a,b", "--labels 'head=a,b': the graph has no axis 'head';"
                                    " expected AXIS=A,B,… with one of token, feature"),
        ("block --tensor nothing", "graph 'block' has no tensor 'nothing';"
                                   " `graphattn trace SOURCE --stats` lists those it has"),
        ("block --patch nothing=zero", "graph 'block' has no tensor 'nothing';"
                                       " `graphattn trace SOURCE --stats` lists those it has"),
        ("block --patch head0.weights=small.json", "small.json: patch 'attention.head0.weights' has 1 rows;"
                                                   " expected 4 (patch 'attention.head0.weights' is token 4 ×"
                                                   " token 4)"),
        ("block --tensor wieghts", "graph 'block' has no tensor 'wieghts'; did you mean 'weights'?"),
        ("block --engine foo", "--engine is 'foo'; expected onnxruntime, or no --engine for ours"),
        (".", "'.' is a folder without config.json; expected a file, the folder of a model, or one of"
              " `graphattn trace --csv`"),
        ("block -o run.foo", "'run.foo' has no known ending; expected .txt, .json, .md, .markdown, .npz,"
                             " .safetensors, .tex, .xlsx, or a folder: 'name/'"),
        ("block -1", "no such option '-1'; expected negative numbers behind `--`, as in `-- -1 0`"),
        ("block --feeds none.json", "none.json: no such file or directory"),
        ("block --feeds .", "'.' is a folder; expected a file of feeds"),
        ("block --feeds ragged.json", "ragged.json: X[1] has 1 cells; expected 2, as in its neighbours"),
        ("block --feeds nan.json", "nan.json: X[0][0] is nan; expected a finite number"
                                    " (--allow-nonfinite lets it in)"),
        ("block --feeds text.json", "text.json: X is 'hello'; expected nested lists of numbers"),
        ("block --feeds small.json", "small.json: X has 1 rows; expected 4 (X is token 4 × feature 8)"),
        ("block --feeds extra.json", "extra.json: graph 'block' has no input 'Z';"
                                      " expected X, w_q, w_k, w_v, w_o"),
        ("block --feeds broken.json", "broken.json is not JSON: Expecting ',' delimiter at line 1, column 10"),
        ("block --feeds deep.json", "deep.json is nested too deep; expected at most 32 lists"),
        ("block --feeds Z.csv", "Z.csv is named after none of the inputs;"
                                " expected a file named X, w_q, w_k, w_v, w_o"),
        ("block --feeds x.pkl", "x.pkl has no known ending; expected .safetensors, .json, .csv, .npy, .npz"),
        ("half.json", "half.json has no w_k, w_v; expected x, w_q, w_k, w_v, or q, k, v"),
        ("hello.txt", "'hello.txt': it begins with 'hello'; expected a graph as text or JSON of graphattn"),
        ("bytes.txt", "'bytes.txt' is not UTF-8 (byte 0); expected a text file"),
        ("syntax.py", "syntax.py line 1: invalid syntax; expected Python"),
        ("name.py", "name.py line 2: NameError: name 'undefined' is not defined"),
        ("shape.py", "shape.py line 4: matmul 'matmul_x_x': a has 3 columns and b has 2 rows;"
                     " expected as many; b.T would fit (a and b are x, 2 × 3)"),
        ("exit.py", "exit.py line 1: SystemExit: 3"),
        ("rude.py", "rude.py line 1: GeneratorExit: gone"),
        ("empty.py", "empty.py defines no graphs; expected one, or one that is named `graph`"),
        ("two.py", "two.py defines 2 graphs; expected one, or one that is named `graph`"),
        ("feeds.py", "feeds.py: feeds is a list; expected a dict"),
        ("endless.py", "endless.py line 1: RecursionError: maximum recursion depth exceeded"),
        ("block -o none/x.txt", "'none/x.txt' was not written: No such file or directory;"
                                " expected a folder to write in"),
        ("block -o .", "'.' is a folder; expected a file name to write to"),
        ("block --frobnicate", "no such option '--frobnicate' (`graphattn trace --help` tells more)"),
        ("", "missing argument 'SOURCE' (`graphattn trace --help` tells more)"),
    ],
)  # fmt: skip
def test_trace_refuses(refused, args, words):
    put("ragged.json", '{"X": [[1, 2], [3]]}')
    put("nan.json", json.dumps({"X": [[float("nan")] * 8] * 4}))
    put("text.json", '{"X": "hello"}')
    put("small.json", '{"X": [[1, 2]]}')
    put("extra.json", '{"Z": [[1, 2]]}')
    put("broken.json", '{"X": [1 ')
    put("deep.json", "[" * 100000)
    put("Z.csv", "1,2\n")
    put("bad.safetensors", b"")
    put("half.json", '{"x": [[1, 2]], "w_q": [[1, 2]]}')
    put("hello.txt", "hello")
    put("bytes.txt", b"\xff\xfe")
    put("syntax.py", "x = = 1")
    put("name.py", "\nundefined\n")
    put("shape.py", "from graphattn import Graph\ng = Graph()\nx = g.input('x', (2, 3))\nx @ x\n")
    put("exit.py", "raise SystemExit(3)")
    put("rude.py", "raise GeneratorExit('gone')")
    put("empty.py", "")
    put("two.py", "from graphattn import Graph\na = Graph()\nb = Graph()\n")
    put("feeds.py", "from graphattn import Graph\na = Graph()\nfeeds = []\n")
    put("endless.py", "def f(): return f() + 1\nf()\n")
    told = refused("trace", *args.split())
    assert told.replace("no such option: --frobnicate", "no such option '--frobnicate'") == words


def test_a_name_with_newlines_stays_on_one_line(refused):
    assert refused("trace", "a\nb").startswith("'a\\nb' is neither a file nor a built-in graph;")
    assert refused("trace", "block", "--labels", "a\nb,c,d,e") == (
        "--labels 'a\\nb,c,d,e': a name with a newline in it stands in \"quotes\""
    )
    put("new\nline.csv", "x")
    assert refused("trace", "block", "--feeds", "new\nline.csv") == (
        f"new\\nline.csv line 1, column 0 is 'x'; expected a number ({MATRIX})"
    )


def test_a_failed_write_leaves_the_old_file(refused, cli):
    put("old.txt", "old")
    refused("trace", "block", "--tensor", "nothing", "-o", "old.txt")
    assert Path("old.txt").read_text() == "old"


# ---------------------------------------------------------------- render


@pytest.mark.parametrize("name", ["x.svg", "x.dot"])
def test_render(cli, name):
    status, out, err = cli("render", "block", "--level", "head", "-o", name)
    assert (status, out, err) == (0, "", f"wrote {name}\n")
    assert "Head 1" in Path(name).read_text(encoding="utf-8")


def test_render_themes(cli):
    for theme in ("light", "dark"):
        cli("render", "attention", "--theme", theme, "-o", f"{theme}.svg")
    assert Path("light.svg").read_text(encoding="utf-8") != Path("dark.svg").read_text(encoding="utf-8")


def test_render_needs_no_feeds(cli):
    put("g.txt", str(specimen("attention", 2, 2).graph))
    assert cli("render", "g.txt", "-o", "g.svg")[2] == "wrote g.svg\n"


@pytest.mark.parametrize(
    "args, words",
    [
        ("block", "there is no file to draw into; expected -o FILE.svg, FILE.png or FILE.dot"),
        ("block -o x.gif", "a picture cannot be written to 'x.gif';"
                           " expected a name that ends in .svg, .png, .pdf, .dot"),
        ("block -o none/x.svg", "'none/x.svg' was not written: No such file or directory;"
                                " expected a folder to write in"),
        ("block -o x.svg --theme pink", "unknown theme 'pink'; expected light, dark or print;"
                                        " did you mean 'print'?"),
        ("block -o x.svg --level all", f"unknown level 'all'; expected one of {LEVELS}"),
        ("none -o x.svg", f"'none' {NEITHER}"),
    ],
)  # fmt: skip
def test_render_refuses(refused, args, words):
    assert refused("render", *args.split()) == words


# ---------------------------------------------------------------- ops


def test_ops_lists_every_op(cli):
    out = cli("ops")[1]
    for op in OPS.values():
        assert re.search(
            rf"^{re.escape(op.glyph)} +{op.name} +{op.family} +{op.level} +{re.escape(op.formula)}$", out, re.M
        )
    assert f"\n{len(OPS)} ops;" in out


@pytest.mark.slow
def test_every_op_has_a_card(cli):
    for name, op in list(OPS.items()):
        status, out, err = cli("ops", name)
        assert (status, err) == (0, ""), name
        assert out.startswith(f"{name}   {op.glyph}") and f"g.{name}(" in out
        assert ("made of" in out) == (op.expand is not None), name
        assert ("example" in out) == bool(op.samples), name


def test_the_card_of_softmax(cli, golden):
    golden("ops-softmax.txt", cli("ops", "softmax")[1])


OWN = '''
"""y = 2 x."""
from graphattn.core.axes import Spec
from graphattn.core.op import Kernel, Op, Sample, register

def shape(x: Spec, *, times: int = 2) -> Spec:
    return Spec(x.shape, x.axes)

def expand(g, x, *, times):
    return g.multiply(x, float(times), name="product")

register(Op("double", "double", "2x", "function", "y = 2 x", "op", shape, expand=expand,
            samples=(Sample(([1.5, 2.0],)),)))
'''


def test_an_op_that_is_registered_at_run_time(cli):
    put("own.py", OWN)
    try:
        assert "2x" in cli("ops", "--with", "own.py")[1]
        out = cli("ops", "double")[1]
        assert "g.double(x, *, times=2)" in out and "product" in out and "3.0000" in out
    finally:
        OPS.pop("double", None)


def test_ops_refuses(refused):
    assert refused("ops", "sofmax") == "unknown op 'sofmax'; did you mean 'softmax'?"
    assert refused("ops", "--with", "none.py") == "none.py: no such file or directory"


# ---------------------------------------------------------------- experiments


@pytest.mark.slow
def test_experiments(cli):
    status, out, err = cli("experiments", "-o", "there")
    names = ["02-scale.txt", "05-perm.txt", "08-notes.md", "model.py"]
    assert (status, out) == (0, "") and sorted(path.name for path in Path("there").iterdir()) == names
    assert sorted(err.splitlines()) == [f"wrote {Path('there', name)}" for name in names]


def test_experiments_refuses(refused):
    put("taken", "")
    assert refused("experiments", "-o", "taken") == (
        "'taken' was not made: File exists; expected the path of a folder"
    )
    assert refused("experiments").startswith("missing option '-o'")


# ---------------------------------------------------------------- all of them


def test_a_damaged_safetensors_file(refused):
    put("bad.safetensors", "bad")
    said = refused("trace", "block", "--feeds", "bad.safetensors")
    assert said.startswith("bad.safetensors is not a whole .safetensors file: ")  # then the library's words


def test_unknown_commands(refused):
    assert refused("tarce") == (
        f"there is no command 'tarce'; expected one of {', '.join(commands.names())}; did you mean 'trace'?"
    )
