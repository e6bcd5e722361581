"""`graphattn diagnose`: exit statuses, forms of the report, how much it reveals, bad input."""

import contextlib
import io
import json
from dataclasses import dataclass

import pytest

from graphattn import run
from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.dumps.graph_json import graph_json
from graphattn.dumps.trace_json import trace_json

ATTENTION = ["diagnose", "attention", "--causal", "--n", "3", "--d", "4"]


@dataclass
class Done:
    exit_code: int
    output: str
    errors: str


def call(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    return Done(caught.value.code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diagnose")
    given = specimen("attention", n=3, d=4, causal=True)
    right = run(given.graph, given.feeds)
    name = next(iter(given.graph.outputs))
    fine = given.graph.at("op")
    scaled = next(n for n in fine.nodes if n.endswith("scaled"))
    scores = next(n for n in fine.nodes if n.endswith("scores"))
    wrong = run(fine, given.feeds, patch={scaled: run(fine, given.feeds)[scores]})[name]
    made = {}
    for what, value in (("right", right[name]), ("wrong", wrong), ("shape", [[1.0, 2.0]])):
        made[what] = folder / f"{what}.json"
        made[what].write_text(json.dumps({name: value}), encoding="utf-8")
    made["folder"] = folder
    return made


def test_the_status_says_whether_it_is_right(files):
    done = call(*ATTENTION, files["right"])
    assert done.exit_code == 0 and done.output.startswith("right: ")
    done = call(*ATTENTION, files["wrong"])
    assert done.exit_code == 1 and done.output.startswith("mistake: ") and "without the scale" in done.output


@pytest.mark.parametrize("names", [("Q", "K", "V"), ("q", "k", "v"), ("query", "key", "value")])
def test_inputs_that_were_recorded_come_before_those_that_are_drawn_by_whatever_name(names, tmp_path):
    given = specimen("attention", n=3, d=4, causal=True, seed=5)
    out = run(given.graph, given.feeds).outputs
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({**dict(zip(names, given.feeds.values())), **out}), encoding="utf-8")
    done = call(*ATTENTION, file)
    assert done.exit_code == 0 and done.output.startswith("right: ")


def test_feeds_that_were_given_stay_whatever_else_may_be_meant_by_a_name(tmp_path):
    given = specimen("attention", n=3, d=4, causal=True, seed=5)
    (tmp_path / "feeds.json").write_text(json.dumps(dict(given.feeds)), encoding="utf-8")
    out = run(given.graph, given.feeds).outputs
    observed = {"query": [[0.0] * 4] * 3, **out}
    (tmp_path / "mine.json").write_text(json.dumps(observed), encoding="utf-8")
    done = call(*ATTENTION, "--feeds", tmp_path / "feeds.json", tmp_path / "mine.json")
    assert done.exit_code == 0 and done.output.startswith("right: ")


LINE = """from graphattn import Graph
graph = Graph("line")
graph.output(y=graph.matmul(graph.input("x", (2, 2)), graph.parameter("w", (1, 2)).T, name="guess"))
"""
X, W, Y, SEED, D_W = [[1.0, 2.0], [3.0, 4.0]], [[0.5, -0.25]], [[0.0], [0.5]], [[1.0], [-3.0]], [[-8.0, -10.0]]
HELD = f"feeds = {json.dumps({'x': X, 'w': W})}\n"


@pytest.fixture
def written(tmp_path):
    """written(name, tensors): the path of a file that holds them."""

    def write(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("called", ["d_y", "d_guess", "d_out"])
@pytest.mark.parametrize("held, fed, seen", [(True, (), ()), (False, ("seed",), ()), (False, (), ("seed",))])
def test_a_cotangent_is_taken_from_the_source_from_feeds_and_from_theirs(written, called, held, fed, seen):
    kept = {"seed": {called: SEED}}
    source = written("line.py", LINE + HELD + (f"feeds[{called!r}] = {SEED!r}\n" if held else ""))
    feeds = [arg for name in fed for arg in ("--feeds", written(f"{name}.json", kept[name]))]
    for sign, status in ((1, 0), (-1, 1)):
        theirs = {"d_w": [[sign * cell for cell in D_W[0]]], **{k: v for n in seen for k, v in kept[n].items()}}
        done = call("diagnose", source, *feeds, written("mine.json", theirs))
        assert done.exit_code == status and not done.errors
        assert done.output.startswith("right: " if not status else "mistake: ")


def test_a_file_named_after_a_cotangent_feeds_no_input(written):
    source = written("line.py", 'from graphattn import Graph\ngraph = Graph("half")\n'
                     'graph.output(y=graph.scale(graph.input("x", (1, 2)), sqrt=4))\n')  # fmt: skip
    done = call("diagnose", source, "--feeds", written("d_y.csv", "2,-6\n"),
                written("mine.json", {"x": W, "d_x": [[1, -3]]}))  # fmt: skip
    assert (done.exit_code, done.errors) == (0, "") and done.output.startswith("right: ")


def test_names_are_told_as_in_compare(written):
    source, theirs = written("line.py", LINE), {"in": X, "gw": D_W, "gy": SEED, "weight": W}
    names = [arg for pair in ("x=in", "w=weight", "d_w=gw", "d_y=gy") for arg in ("--name", pair)]
    done = call("diagnose", source, *names, written("mine.json", theirs))
    assert done.exit_code == 0 and done.output.startswith("right: yours is what this graph gives in d_w")
    done = call("diagnose", source, "--name", "x", written("mine.json", theirs))
    assert done.exit_code == 2 and "'x' is no pair; expected NAME_IN_SOURCE=NAME_IN_THEIRS" in done.errors


@pytest.mark.parametrize("command", ["diagnose", "compare"])
@pytest.mark.parametrize("name, n, d, flags", [
    ("attention", 6, 4, "--n 6 --d 4"), ("attention", 4, 12, "--d 12"), ("block", 5, 8, "--n 5"),
])  # fmt: skip
def test_sizes_of_another_graph_are_told_with_the_options_for_them(written, command, name, n, d, flags):
    given = specimen(name, n=n, d=d)
    first, result = next(iter(given.graph.inputs)), next(iter(given.graph.outputs))
    out = run(given.graph, given.feeds)[result]
    for seen in ({result: out}, {**given.feeds, result: out}):
        told = first if first in seen else result
        theirs = written("mine.json", seen)
        done = call(command, name, theirs)
        assert done.exit_code == 2 and done.errors == (
            f"graphattn: {told} is {n} × {d} in {theirs}; expected 4 × 8, or {flags} for {name} of that size\n"
        )
    done = call(command, name, *flags.split(), theirs)
    assert done.exit_code == 0, done.errors


@pytest.mark.parametrize("command", ["diagnose", "compare"])
@pytest.mark.parametrize("name", ["multi-head", "block"])
def test_no_options_are_told_for_a_graph_that_cannot_be(written, command, name):
    theirs = written("mine.json", {"X": [[1.0] * 9] * 4, "Y": [[1.0] * 9] * 4})
    done = call(command, name, theirs)
    assert done.exit_code == 2
    assert done.errors == f"graphattn: X is 4 × 9 in {theirs}; expected 4 × 8, or a graph of that size\n"


def test_sizes_of_another_graph_are_told_of_a_graph_of_ones_own(written):
    source = written("line.py", LINE + HELD)
    theirs = written("mine.json", {"y": [[1], [2], [3]]})
    done = call("diagnose", source, theirs)
    told = f"graphattn: y is 3 × 1 in {theirs}; expected 2 × 1, or a graph of that size\n"
    assert (done.exit_code, done.errors) == (2, told)


def drawn(names, theirs, source, seed=0):
    told = f"{theirs} did not record {names}, and {source} does not hold them"
    return f"{told}: they are drawn at random (--seed {seed})\n"


@pytest.mark.parametrize("made", ["built-in", "python", "python with feeds", "json"])
@pytest.mark.parametrize("fed", ["", "Q", "QKV"])
@pytest.mark.parametrize("seen", ["", "K", "KV", "QKV", "qkv"])
def test_what_is_drawn_is_said_and_nothing_else(written, made, fed, seen):
    given = specimen("attention", n=3, d=4, causal=True, seed=5)
    feeds, out = dict(given.feeds), {"out": run(given.graph, given.feeds)["out"]}
    start = "from graphattn.builtin import attention\ngraph = attention(3, 4, 1, True, False)\n"
    source, *sizes = {
        "built-in": ATTENTION[1:],
        "python": [written("made.py", start)],
        "python with feeds": [written("held.py", f"{start}feeds = {feeds!r}\n")],
        "json": [written("made.json", graph_json(given.graph))],
    }[made]  # fmt: skip
    files = ["--feeds", written("feeds.json", {name: feeds[name] for name in fed})] if fed else []
    theirs = written("mine.json", {**{name: feeds[name.upper()] for name in seen}, **out})
    done = call("diagnose", source, *sizes, *files, theirs, "--budget", 0.05, "--no-pairs")
    held = {"Q", "K", "V"} if made == "python with feeds" else set(fed) | set(seen.upper())
    missing = [name for name in "QKV" if name not in held]
    if missing and fed and made != "built-in":
        assert done.exit_code == 2 and f"yours did not record {', '.join(missing)}" in done.errors
    else:
        assert done.errors == (drawn(", ".join(missing), theirs, source) if missing else "")
        assert done.output.startswith("unexplained: " if missing else "right: ")


@pytest.mark.parametrize("option", [("--patch", "weights=zero"), ("--labels", "a,b,c")])
def test_what_would_be_ignored_is_no_option(files, option):
    done = call(*ATTENTION, *option, files["right"])
    assert done.exit_code == 2 and f"no such option {option[0]!r}" in done.errors


def test_a_run_that_was_patched_is_not_run_again(written):
    given = specimen("attention", n=3, d=4)
    trace = run(given.graph, given.feeds, patch={"weights": [[1 / 3] * 3] * 3})
    source, theirs = written("trace.json", trace_json(trace)), written("mine.json", {"out": trace["out"]})
    done = call("diagnose", source, theirs)
    assert done.exit_code == 2 and "patched tensors (weights)" in done.errors


@pytest.mark.slow
def test_forms_of_the_report(files):
    told = json.loads(call(*ATTENTION, files["wrong"], "--json").output)
    assert told["verdict"] == "mistake" and "without the scale" in told["findings"][0]["sentence"]
    target = files["folder"] / "out.json"
    assert call(*ATTENTION, files["wrong"], "-o", target).exit_code == 1
    assert json.loads(target.read_text(encoding="utf-8"))["verdict"] == "mistake"
    marked = call(*ATTENTION, files["wrong"], "--markdown").output
    assert marked.startswith("**mistake: ") and "\n- where: " in marked
    picture = files["folder"] / "wrong.dot"
    assert call(*ATTENTION, files["wrong"], "--picture", picture).exit_code == 1
    assert "✗" in picture.read_text(encoding="utf-8")


def test_how_much_is_revealed(files):
    done = call(*ATTENTION, files["wrong"], "--reveal", "none")
    assert (done.exit_code, done.output) == (1, "wrong, by a mistake that has a name\n")
    done = call(*ATTENTION, files["wrong"], "--reveal", "place")
    assert "look at  " in done.output and "without" not in done.output
    hidden = json.loads(call(*ATTENTION, files["wrong"], "--reveal", "none", "--json").output)
    assert set(hidden) == {"format", "verdict"}


@pytest.mark.slow
def test_a_probe_gives_inputs(files):
    done = call(*ATTENTION, "--probe")
    assert done.exit_code == 0 and "can be seen on these inputs" in done.output
    feeds = json.loads(call(*ATTENTION, "--probe", "--json").output)
    assert set(feeds) == set(specimen("attention", n=3, d=4, causal=True).graph.inputs)


def test_a_result_of_another_shape_is_a_difference(files):
    done = call(*ATTENTION, str(files["shape"]))
    assert done.exit_code == 1 and done.output.startswith("unexplained: ")
    assert "  note     out is 1 × 2 in yours; expected 3 × 4, or a graph of that size\n" in done.output


@pytest.mark.parametrize("arguments, words", [
    ((), "no numbers are given; expected THEIRS after SOURCE, or --probe"),
    (("nowhere.npz",), "'nowhere.npz' does not exist"),
    (("{wrong}", "--reveal", "all"), "reveal is 'all'; expected one of none, place, cause"),
    (("{wrong}", "--markdown", "--json"), "expected one of them"),
    (("{wrong}", "--precision", "float8"), "unknown precision 'float8'"),
])  # fmt: skip
def test_bad_input_is_one_sentence(files, arguments, words):
    given = [a.format(**{k: str(v) for k, v in files.items()}) for a in arguments]
    done = call(*ATTENTION, *given)
    assert done.exit_code == 2 and words in done.errors and "Traceback" not in done.errors
    assert not done.output and len(done.errors.strip().split("\n")) < 4
