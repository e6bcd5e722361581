"""`graphattn diagnose`: exit statuses, forms of the report, how much it reveals, bad input."""

import contextlib
import io
import json
from dataclasses import dataclass

import pytest

from graphattn import run
from graphattn.builtin import specimen
from graphattn.cli import main

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


def test_a_probe_gives_inputs(files):
    done = call(*ATTENTION, "--probe")
    assert done.exit_code == 0 and "can be seen on these inputs" in done.output
    feeds = json.loads(call(*ATTENTION, "--probe", "--json").output)
    assert set(feeds) == set(specimen("attention", n=3, d=4, causal=True).graph.inputs)


@pytest.mark.parametrize("arguments, words", [
    ((), "no numbers are given; expected THEIRS after SOURCE, or --probe"),
    (("nowhere.npz",), "'nowhere.npz' does not exist"),
    (("{shape}",), "expected 3 × 4"),
    (("{wrong}", "--reveal", "all"), "reveal is 'all'; expected one of none, place, cause"),
    (("{wrong}", "--markdown", "--json"), "expected one of them"),
    (("{wrong}", "--precision", "float8"), "unknown precision 'float8'"),
])  # fmt: skip
def test_bad_input_is_one_sentence(files, arguments, words):
    given = [a.format(**{k: str(v) for k, v in files.items()}) for a in arguments]
    done = call(*ATTENTION, *given)
    assert done.exit_code == 2 and words in done.errors and "Traceback" not in done.errors
    assert not done.output and len(done.errors.strip().split("\n")) < 4
