"""Text that fits the terminal, and its colours; in a pipe everything stays as it is."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import warnings

import pytest
from click.testing import CliRunner

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.cli import main, options_in
from graphattn.cli.op_card import card
from graphattn.cli.op_facts import to_copy
from graphattn.cli.paint import TRACE, WHY, painter
from graphattn.core.op import OPS
from graphattn.core.words import aligned, width
from graphattn.dumps.latex import trace_latex
from graphattn.dumps.markdown import trace_markdown
from graphattn.dumps.trace_text import read_trace, trace_text
from graphattn.passes.cost import cost
from graphattn.progress import expected, following, forewarn


@pytest.fixture(scope="module")
def trace():
    return specimen("block", n=20, d=8, causal=True).run()


@pytest.mark.parametrize("wide", [60, 80, 120, 200, 400])
def test_lines_of_a_trace_fit(trace, wide):
    text = trace_text(trace, width=wide, only=["*.weights", "*.out", "norm"])
    body = text.split("\n\n", 1)[1]
    assert max(map(width, body.splitlines())) <= wide
    for line in re.findall(r"^ {8}.*columns shown", text, re.M):
        shown, count = map(int, re.search(r"(\d+) of (\d+) columns", line).groups())
        assert shown < count and 8 + 2 + 9 * (count + 1) > wide  # no column is left out that had room


def test_a_wide_terminal_shows_every_column_and_a_pipe_twelve(trace):
    only = ["head0.weights"]
    assert "columns shown" not in trace_text(trace, width=250, only=only)
    assert "12 of 20 rows, 12 of 20 columns shown" in trace_text(trace, only=only)
    with pytest.raises(GraphError, match="width is 5; expected an int of 40 or more"):
        trace_text(trace, width=5)


def test_one_column_more_than_the_limit_is_left_out():
    text = trace_text(specimen("block", n=13, d=4).run(), only=["head0.scores"])
    assert "12 of 13 rows, 12 of 13 columns shown" in text
    rows = [line for line in text.splitlines() if re.match(r" {8}(\d|…)+ ", line) and "shown" not in line]
    assert len(rows) == 13 and {len(row.split()) for row in rows} == {14}


def test_the_command_obeys_columns_and_width(monkeypatch):
    args = ["trace", "block", "--n", "20", "--tensor", "head0.weights"]

    def printed(*more: str) -> str:
        done = CliRunner().invoke(main, [*args, *more])
        assert done.exit_code == 0
        return done.stdout

    monkeypatch.delenv("COLUMNS", raising=False)
    plain = printed()
    assert "12 of 20 columns" in plain
    assert printed("--width", "250").count("columns shown") == 0
    monkeypatch.setenv("COLUMNS", "250")
    assert "columns shown" not in printed()
    assert printed("--limit", "12") == plain
    assert "w_q =" not in (text := printed("--no-parameters")) and "weights" in text


def test_parameters_can_be_left_out(trace):
    text, less = trace_text(trace), trace_text(trace, parameters=False)
    assert "\n        w_q " in text and "\n        w_q " not in less
    assert "\n        X " in less and less.count("\n\n") == text.count("\n\n") - 4


WIDE = {
    "ops": 68,
    "ops attention": 80,
    "trace block --stats": 68,
    "heads toy": 66,
    "why toy layer1.head1.scores 5 2 --sources": 52,
    "ablate toy --patch layer0.head0.out=zero": 68,
    "compare block theirs.json --all": 60,
    "diagnose block theirs.json --no-pairs": 60,
}
"""Commands, and the narrowest terminal that they are tried on."""


@pytest.mark.parametrize("line", WIDE)
def test_every_report_fits(line, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    small = specimen("block", n=4, d=8)
    unscaled = {"head0.scaled": small.run()["head0.scores"]}
    theirs = run(small.graph, small.feeds, patch=unscaled)
    wanted = ("scores", "scaled", "weights", "out", "residual")
    told = {name: theirs[name] for name in theirs.names if name.rpartition(".")[2] in wanted}
    told |= small.feeds
    (tmp_path / "theirs.json").write_text(json.dumps(told), encoding="utf-8")

    def shown(places: int | None) -> str:
        monkeypatch.delenv("COLUMNS", raising=False)
        if places:
            monkeypatch.setenv("COLUMNS", str(places))
        done = CliRunner().invoke(main, line.split())
        assert done.exit_code in (0, 1) and done.stderr == ""
        return done.stdout

    plain, wide = shown(None), shown(200)
    for places in (WIDE[line], 80):
        fitted = shown(places)
        assert max(map(width, fitted.splitlines())) <= places
        words = re.findall(r"[a-z]{4,}", plain)
        assert set(words) <= set(re.findall(r"[a-z]{4,}", fitted))  # nothing is lost
    assert max(map(width, wide.splitlines())) <= 200
    assert line.startswith(("why", "ops")) or len(wide.splitlines()) < len(fitted.splitlines())


@pytest.mark.parametrize("limit", [20, 30, 40, 60])
def test_a_table_folds_before_it_falls_apart(limit):
    rows = [("name", "a", "what it says"), ("attention.head0.weights", "12", "a sentence of some words")]
    lines = aligned(rows, limit=limit, numbers=(1,))
    assert max(map(width, lines)) <= max(limit, 2 * 16 + 2)  # columns do not get narrower than 16
    assert ("" in lines) == (limit < 40)
    assert aligned(rows, numbers=(1,)) == [
        "name                      a  what it says",
        "attention.head0.weights  12  a sentence of some words",
    ]


def test_what_a_run_costs_is_fitted():
    found = cost(specimen("block", n=3, d=4).graph.at("op"))
    assert max(map(width, found.text(50).splitlines())) <= 50
    assert str(found) == found.text() and "total" in found.text(50)


@pytest.mark.parametrize("write", [trace_text, trace_markdown, trace_latex])
def test_parameters_stand_below_what_was_computed(trace, write):
    text = write(trace)
    places = [text.rindex(name) for name in ("norm", "head1.out", "residual", "w_q", "w_o")]
    assert places == sorted(places)
    assert read_trace(trace_text(trace, "exact")) == trace  # which keeps the order of evaluation
    screenful = "\n".join(trace_text(trace, width=100).splitlines()[:45])
    assert "norm = layernorm(X, eps=1e-05)" in screenful


@pytest.mark.parametrize("rules", [TRACE, WHY])
def test_a_painter_changes_no_letter(trace, rules):
    lines = [*str(trace).splitlines(), *str(trace.why("head0.weights", 2, 1, depth=3)).splitlines()]
    assert [text.plain for text in painter(rules)(lines)] == lines


def test_names_are_bold_and_hidden_cells_dim(trace):
    lines = trace_text(trace, only=["head0.weights"]).splitlines()
    painted = dict(zip(lines, painter(TRACE)(lines), strict=True))
    named = painted["attention.head0.weights = softmax(attention.head0.masked)"]
    assert (named.spans[0].start, named.spans[0].end, named.spans[0].style) == (0, 23, "bold cyan")
    first = next(line for line in lines if line.startswith("        0 "))
    assert len(painted[first].spans) == first.count("·")


def test_options_are_named_in_sentences_of_the_command_line():
    assert options_in("decimals is 30; expected 0") == "--decimals is 30; expected 0"
    assert options_in("x; expected names={'x': 'hidden_states'}, the name in the reference first") == (
        "x; expected --name x=hidden_states, the name in A first"
    )


def test_a_pair_of_names_is_offered_by_compare(tmp_path):
    (tmp_path / "mine.json").write_text('{"x": [[1.0, 2.0]]}', encoding="utf-8")
    (tmp_path / "theirs.json").write_text('{"hidden_states": [[[5.0, -3.5, 7.0]]]}', encoding="utf-8")
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "mine.json"), str(tmp_path / "theirs.json")])
    assert done.exit_code == 2 and "expected --name x=hidden_states, the name in A first" in done.stderr


def test_progress_is_shown_on_a_terminal_alone(monkeypatch):
    small = specimen("block", n=3, d=4)
    assert run(small.graph, small.feeds, progress=True) == run(small.graph, small.feeds)
    assert expected(small.graph) == ""
    large = Graph("large")
    q, k, v = (large.input(name, (2000, 2000)) for name in "qkv")
    large.output(out=large.attention(q, k, v).out)
    told = expected(large)
    assert re.fullmatch(r"   \(\d\.\de\+\d+ operations: about \d+ (seconds|minutes) in all\)", told)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = []
    monkeypatch.setattr("graphattn.progress.counted", lambda total, say, beside: seen.append)
    monkeypatch.setattr(sys, "stderr", Terminal())
    run(small.graph, small.feeds, progress=True)
    assert len(seen) == len(small.graph.at("op"))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with following(small.graph) as listen:
        assert listen(seen[0]) is None


def test_a_run_of_minutes_is_warned_of_once_for_each_place(monkeypatch):
    small, large = specimen("block", n=3, d=4), Graph("large")
    x = large.input("x", (3000, 3000))
    large.matmul(x, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(small.graph, small.feeds)
        with pytest.raises(UserWarning, match=r"^this run takes about 4 minutes \(5\.4e\+10 operations\); "):
            forewarn(large, 1)
    monkeypatch.setattr("graphattn.progress.CELLS", 0)
    monkeypatch.setattr("graphattn.progress.MINUTES", 0)
    graph = small.graph.at("primitive")  # which was not asked yet
    with pytest.warns(UserWarning, match="progress=True shows how far it is$") as caught:
        run(graph, small.feeds, level="primitive")
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(graph, small.feeds, level="primitive", progress=True)  # is followed
        run(graph, small.feeds, level="primitive", listeners=[lambda step: None])


def test_warnings_are_sentences_on_the_command_line(monkeypatch, tmp_path):
    (tmp_path / "long.py").write_text(
        "import warnings\nfrom graphattn.builtin import specimen\ngraph = specimen('block').graph\n"
        "warnings.warn(\"this run takes long; engine='onnxruntime' is faster, and progress=True shows it\")\n"
        "warnings.warn('of old names', DeprecationWarning)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        done = CliRunner().invoke(main, ["trace", str(tmp_path / "long.py"), "--tensor", "X"])
    assert done.stderr.splitlines()[0] == "warning: this run takes long; --engine onnxruntime is faster"
    assert "old names" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is asked for")
def test_colour_and_width_on_a_terminal(tmp_path):
    import fcntl
    import pty
    import struct
    import subprocess
    import termios

    def shown(*args: str, **environment: str) -> str:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 66, 0, 0))
        settings = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
        process = subprocess.Popen(
            [sys.executable, "-m", "graphattn", *args], stdout=slave, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, env={**settings, "TERM": "xterm-256color", **environment},
        )  # fmt: skip
        os.close(slave)
        parts = []
        try:
            while part := os.read(master, 65536):
                parts.append(part)
        except OSError:  # the other side is closed
            pass
        os.close(master)
        assert process.wait(timeout=60) == 0
        return b"".join(parts).decode("utf-8").replace("\r\n", "\n")

    for unbuffered in ("", "1"):
        args = ("trace", "block", "--n", "9", "--tensor", "head0.weights")
        text = shown(*args, PYTHONUNBUFFERED=unbuffered)
        assert "\x1b[1;36mattention.head0.weights" in text and "columns shown" in text
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text).split("\n\n", 1)[1]
        assert max(map(width, plain.splitlines())) <= 66
    assert "36m" not in shown(*args, NO_COLOR="1")


def test_what_a_trace_is_of_fits(trace):
    """The lines at the head, and warnings."""
    for places in (80, 60):
        lines = trace_text(trace, width=places).splitlines()
        assert max(map(width, lines)) <= places and trace.graph.title.split()[-1] in " ".join(lines[:4])
    g = Graph("a")
    g.output(y=g.log(g.input("x", (1,)), name="of_a_name_that_is_long_enough"))
    warned = trace_text(g.run({"x": [-1.0]}), width=60).splitlines()
    assert any("!" in line for line in warned) and max(map(width, warned)) <= 60


def test_the_call_to_copy_fits():
    for name in ("encoder_layer", "decoder_layer", "block"):
        copied = card(OPS[name], 80).partition("to copy")[2].partition("what it is")[0]
        assert max(map(width, copied.splitlines())) <= 80 and "    y = g." in copied
    short, long = (to_copy(OPS["encoder_layer"], places) for places in (40, 1000))
    assert re.sub(r",?\s", "", short) == re.sub(r",?\s", "", long) != long
