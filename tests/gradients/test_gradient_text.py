"""The text dump of a run with gradients: values and gradients side by side."""

from graphattn import run
from graphattn.builtin import specimen
from graphattn.dumps.trace_text import trace_text
from graphattn.passes.gradient import gradient


def traced(n=3):
    made = specimen("attention", n=n, d=2, causal=True)
    feeds = {**made.feeds, "d_out": made.feeds["Q"]}
    words = ["the", "cat", "sat", "on", "a", "mat", "so", "he", "was", "not", "seen", "twice"][:n]
    return run(gradient(made.graph, of="out"), feeds, labels={"token": words})


def test_side_by_side(golden):
    golden("gradient_trace.txt", trace_text(traced()))


def test_one_below_the_other_where_there_is_no_room():
    text = trace_text(traced(n=10))
    assert max(map(len, (line for line in text.splitlines() if "sat" in line))) < 112
    scores = text.partition("\nscores = ")[2].partition("\nscaled = ")[0]
    assert "d_scores" not in scores
    assert "\nbackward.d_scores = " in text


def test_other_dumps_are_as_before():
    assert "    d_weights    " not in trace_text(traced(), precision="exact")
    plain = specimen("attention", n=3, d=2)
    assert "d_weights" not in trace_text(plain.run())


def test_what_was_not_kept():
    made = specimen("attention", n=3, d=2)
    graph, feeds = gradient(made.graph, of="out"), {**made.feeds, "d_out": made.feeds["Q"]}
    text = trace_text(run(graph, feeds, keep=["scores"]))
    assert "d_scores" not in text.partition("\nscores = ")[2].partition("\nscaled = ")[0]
