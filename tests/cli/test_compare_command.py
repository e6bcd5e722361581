"""`graphattn compare`: what it prints, and its exit status."""

import contextlib
import io
import json

import pytest

from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.dumps.graph_text import graph_text
from graphattn.dumps.trace_json import trace_json


@pytest.fixture
def files(tmp_path):
    """A trace, its tensors, and tensors with weights that are twice as large."""
    made = specimen("attention", n=3, d=4)
    trace = made.run()
    tensors = {name: trace[name] for name in trace.names}
    wrong = {
        **tensors,
        **{name: [[2 * v for v in row] for row in tensors[name]] for name in ("weights", "out")},
    }
    for name, text in (
        ("trace.json", trace_json(trace)), ("same.json", json.dumps(tensors)),
        ("wrong.json", json.dumps(wrong)), ("graph.txt", graph_text(made.graph)),
    ):  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")
    return tmp_path


def call(*args):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as caught:
        main(["compare", *map(str, args)])
    return caught.value.code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize("mine", ["trace.json", "same.json", "graph.txt"])
def test_what_agrees_ends_with_0(files, mine):
    code, out, err = call(files / mine, files / "same.json")
    assert code == 0 and out.startswith("the same: "), err


def test_a_built_in_graph_is_run_on_what_was_recorded(files):
    assert call("attention", files / "same.json", "--n", 3, "--d", 4)[0] == 0
    code, out, _ = call("attention", files / "wrong.json", "--n", 3, "--d", 4)
    assert code == 1 and "weights is the first to differ; its inputs agree" in out


@pytest.mark.parametrize("seen, drawn", [((), "Q, K, V"), (("Q",), "K, V"), (("Q", "K", "V"), "")])
def test_what_of_a_built_in_graph_is_drawn_is_said(files, seen, drawn):
    made = specimen("attention", n=3, d=4)
    held = {name: made.feeds[name] for name in seen}
    (files / "part.json").write_text(json.dumps({**held, **made.run().outputs}), "utf-8")
    code, _, err = call("attention", files / "part.json", "--n", 3, "--d", 4)
    told = f"B did not record {drawn}, and A does not hold them: they are drawn at random\n"
    assert (code, err) == (0, told if drawn else "")


def test_a_python_file_is_run(files):
    path = files / "mine.py"
    code = "from graphattn.builtin import specimen\ngraph = specimen('attention', n=3, d=4).graph\n"
    path.write_text(code, "utf-8")
    assert call(path, files / "wrong.json")[0] == 1


def test_a_difference_ends_with_1(files):
    code, out, err = call(files / "trace.json", files / "wrong.json")
    assert code == 1 and err == ""
    assert out.splitlines()[0] == "different: weights is the first to differ; its inputs agree"
    assert (
        out.splitlines()[1]
        == "  yours is the reference × 2, which is √d_k (d_k = 4) or √d_model (d_model = 4) or 2"
    )
    assert f"{files / 'wrong.json'}\n" in out


def test_json_and_files(files):
    code, out, _ = call(files / "trace.json", files / "wrong.json", "--json")
    assert code == 1 and json.loads(out)["first"]["tensor"] == "weights"
    code, out, _ = call(files / "trace.json", files / "same.json", "-o", files / "report.json")
    assert (code, out) == (0, "")
    assert json.loads((files / "report.json").read_text("utf-8"))["agrees"] is True


def test_all_tensors_are_listed_on_demand(files):
    assert "scores" not in call(files / "trace.json", files / "same.json")[1]
    assert "scores" in call(files / "trace.json", files / "same.json", "--all")[1]


def test_options_reach_the_comparison(files):
    assert call(files / "trace.json", files / "wrong.json", "--rtol", 1, "--atol", 0)[0] == 0
    assert call(files / "trace.json", files / "wrong.json", "--by", "value")[0] == 1
    assert call(files / "trace.json", files / "same.json", "--name", "weights=scores")[0] == 1
    assert "float16" in call(files / "trace.json", files / "wrong.json", "--precision", "float16")[1]


@pytest.mark.parametrize("args, words", [
    (["absent.json", "same.json"], "'absent.json' does not exist; expected a recording"),
    (["same.json", "absent.json"], "'absent.json' does not exist; expected a recording"),
    (["same.json", "graph.txt"], "graph.txt is a graph without values; expected a recording: a trace"),
    (["same.json", "same.json", "--n", "3"], "--n does not apply to same.json; expected it with attention"),
    (["same.json", "same.json", "--name", "a"], "--name 'a' is no pair; expected NAME_IN_A=NAME_IN_B"),
    (["same.json", "same.json", "--name", "a=b"], "same.json has no tensor 'b'; expected one of q"),
    (["same.json", "same.json", "--precision", "half"], "unknown precision 'half'"),
    (["attention", "same.json", "--n", "5"], "expected 5"),
    (["same.json"], "missing argument 'b'"),
])  # fmt: skip
def test_bad_input_ends_with_2(files, monkeypatch, args, words):
    monkeypatch.chdir(files)
    code, out, err = call(*args)
    assert code == 2 and out == "" and len(err.splitlines()) == 1
    assert words.lower() in err.replace(str(files), "").lower(), err


@pytest.mark.parametrize("mine", ["trace.json", "same.json", "graph.txt"])
def test_text_where_numbers_belong_is_told_by_name(files, mine):
    tensors = json.loads((files / "same.json").read_text("utf-8"))
    said = "text.json: {} is 'hello'; expected nested lists of numbers\n"
    for text, more in (({"out": "hello"}, ()), ({"Q": "hello"}, ()), ({"o": "hello"}, ("--name", "out=o"))):
        tensors = {name: tensor for name, tensor in tensors.items() if name != "out"}
        (files / "text.json").write_text(json.dumps({**tensors, **text}), "utf-8")
        code, out, err = call(files / mine, files / "text.json", *more)
        assert (code, out) == (2, "") and err.endswith(said.format(*text))
    (files / "text.json").write_text('{"out": "hello"}', "utf-8")
    assert call(files / mine, files / "text.json")[2].endswith(said.format("out"))
    (files / "text.json").write_text(json.dumps({**tensors, "title": "hello"}), "utf-8")
    assert call(files / mine, files / "text.json")[0] == 0  # a text of its own


def test_text_where_numbers_belong_is_told_by_every_reader(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.json").write_text('{"out": "hello", "weights": "hello", "Q": [[1]]}', "utf-8")
    (tmp_path / "head.json").write_text('{"q": "hello", "k": [[1]], "v": [[1]]}', "utf-8")
    for line, said in (
        ("diagnose attention text.json --n 1 --d 1 --heads 1", "text.json: out is 'hello'"),
        ("trace attention --patch weights=text.json", "text.json: weights is 'hello'"),
        ("trace head.json", "head.json: q is 'hello'"),
    ):
        with pytest.raises(SystemExit):
            main(line.split())
        assert f"{said}; expected nested lists of numbers" in capsys.readouterr().err
