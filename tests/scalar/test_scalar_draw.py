"""The picture of a scalar graph: what is in it, and what is said where it is too large."""

from __future__ import annotations

import re

import pytest

from graphattn import GraphError
from graphattn.scalar import SelfAttention, Value, draw
from graphattn.scalar.value import dot


def small():
    a, b = Value(2.0), Value(-3.0)
    y = (a * b + a).tanh() * a + dot([a, b], [b, a])
    y.backward()
    return a, b, y


def test_every_value_with_number_and_gradient():
    a, b, y = small()
    picture = draw(y, names={"a": a, "rows": [[b]]})
    shown = {ident: box.texts for ident, box in picture.diagram.boxes.items()}
    assert shown["n7"] == ["⊕", "add", "value -13.999", "gradient 1"]  # the result comes last
    assert shown["n2"] == ["a", "value 2", f"gradient {a.grad:.5g}"]
    assert repr(picture) == "<picture of 8 Values>"
    for text in ("rows[0][0]", "value -3", "tanh", "multiply", "add", "dot", f"gradient {a.grad:.5g}"):
        assert text in picture.dot
    assert len(picture.diagram.boxes) == 8
    assert len(picture.diagram.arrows) == 2 + 2 + 1 + 2 + 4 + 2
    a.data = 100.0
    assert "value 2<" in picture.dot and "value 100" not in picture.dot


def test_used_twice_has_two_arrows():
    x = Value(1.5)
    picture = draw(x * x)
    assert len(picture.diagram.arrows) == 2 and picture.dot.count("n0 -> n1") == 2


@pytest.mark.slow
def test_files(tmp_path):
    pytest.importorskip("pygraphviz")
    _, _, y = small()
    for suffix in (".svg", ".png", ".dot"):
        draw(y, tmp_path / f"y{suffix}")
    svg = (tmp_path / "y.svg").read_text(encoding="utf-8")
    assert svg.startswith("<?xml") and "tanh" in svg and len(re.findall('class="node', svg)) == 8
    assert (tmp_path / "y.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "y.dot").read_text(encoding="utf-8") == draw(y).dot
    assert draw(y)._repr_svg_().startswith("<svg")


def test_names_are_shown_as_they_are():
    own = Value(1.0, (Value(2.0),), "<b>&my op")
    picture = draw(own, names={"a<b & c": own})
    assert "a&lt;b &amp; c" in picture.dot and "&lt;b&gt;&amp;my op" in picture.dot
    assert "leaf" in picture.dot


def test_too_large_is_said():
    y = x = Value(1.0)
    for _ in range(100):
        y = y * x
    with pytest.raises(GraphError) as caught:
        draw(y)
    assert str(caught.value) == (
        "the graph behind this Value has 101 Values, more than can be drawn; expected at most 100 (limit=100),"
        " and the trace of a module draws as a graph of whole tensors"
    )
    assert len(draw(y, limit=101).diagram.boxes) == 101
    attn = SelfAttention(8)
    out = attn([[0.1] * 8] * 6)
    with pytest.raises(GraphError, match=r"has [\d,]+ Values, more than can be drawn"):
        draw(out[5][0])
    wide = [Value(1.0)] * 400
    with pytest.raises(GraphError, match="has 800 arrows between them, more than can be drawn"):
        draw(dot(wide, wide))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([Value(1.0)],), "draw got a list; expected one Value, such as one cell of it"),
        ((3.0,), "draw got a float; expected one Value"),
        ((None,), "draw got a NoneType; expected one Value"),
        (
            (Value(1.0), "y.gif"),
            "a picture cannot be written to 'y.gif'; expected a name that ends in .svg, .png, .pdf, .dot",
        ),
        ((Value(1.0), 5), "path is an int; expected a file name"),
        ((Value(1.0), None, ["a"]), "names is a list; expected a dict of Values or lists of them"),
        (
            (Value(1.0), None, None, 100, "lihgt"),
            "unknown theme 'lihgt'; expected light, dark or print; did you mean 'light'?",
        ),
    ],
)
def test_rejected(arguments, words):
    with pytest.raises(GraphError) as caught:
        draw(*arguments)
    assert str(caught.value) == words
