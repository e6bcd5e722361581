"""Heat maps in a terminal: colours where there are some, else shades."""

from __future__ import annotations

import math

import pytest
from rich.color import Color, ColorSystem

from graphattn import Graph, GraphError
from graphattn.cli import main
from graphattn.core.words import width
from graphattn.dumps.colour import contrast, oklab
from graphattn.dumps.heat import Cell
from graphattn.dumps.heat_text import ABOVE, BELOW, LEAST, heat_lines, painted, plain_text


def square(n: int, labels: list[str] | None = None):
    g = Graph("square")
    x = g.input("x", (n, n), ("token", "token"))
    g.softmax(g.mask(x, g.causal_mask(n), name="masked"), name="w")
    feed = [[math.sin(7 * i + 3 * j) * 3 for j in range(n)] for i in range(n)]
    return g.run({"x": feed}, labels={"token": labels} if labels else {})


def test_without_colours(golden):
    lines = heat_lines(square(3, ["the", "cat", "sat"]), ["masked", "w"], colour=False)
    golden("heat.txt", plain_text(lines))


def test_the_largest_stands_out_and_what_is_hidden_does_not():
    lines = list(heat_lines(square(3), ["w"]))
    first, second, third = ([*line[1:]] for line in lines[2:5])
    assert [piece.text.strip() for piece in first] == ["1.00", "//", "//"]
    assert first[0].style == f"#FFFFFF on {ABOVE}" and first[1].style == first[2].style == "dim"
    small = [piece for piece in (*second, *third) if piece.text.strip() in (".00", ".05")]
    assert small and all(piece.style == "" for piece in small)


@pytest.mark.parametrize("system", [ColorSystem.TRUECOLOR, ColorSystem.EIGHT_BIT, ColorSystem.STANDARD])
def test_a_scale_for_a_dark_and_for_a_light_terminal(system):
    """Each cell can be read, none is near black or near white, and the more the more colour."""
    for end in (ABOVE, BELOW):
        colours = []
        for step in range(101):
            piece = painted("x", Cell("number", (1 if end == ABOVE else -1) * step / 100, ""), True)
            if step < 100 * LEAST:
                assert piece.style == ""
                continue
            ink, fill = (
                Color.parse(name).downgrade(system).get_truecolor().hex.upper()
                for name in (piece.ink, piece.fill)
            )
            assert contrast(ink, fill) >= 3.7
            assert min(contrast(fill, "#000000"), contrast(fill, "#FFFFFF")) >= 2
            colours.append(math.hypot(*oklab(fill)[1:]))
        assert max(colours) == pytest.approx(colours[-1], rel=0.1) and colours[0] < 0.3 * colours[-1]


def test_it_fits_into_its_room():
    for n, room in ((12, 80), (40, 60), (3, 40)):
        for colour in (True, False):
            lines = plain_text(heat_lines(square(n), limit=40, colour=colour, room=room)).splitlines()
            assert max(map(width, lines)) <= room
    assert "1.00" in "".join(lines)


def test_many_columns_are_two_characters_each():
    trace = square(20)
    text = plain_text(heat_lines(trace, ["masked"], colour=False))
    rows = text.splitlines()[1:21]
    assert rows[0].endswith("//" * 19) and "−" in text and "░" in text and "█" in text
    assert len({len(row) for row in rows if row.endswith("//")}) == 1
    short = plain_text(heat_lines(trace, ["masked"], limit=6, colour=False)).splitlines()
    assert len(short) == 10 and "…" in short[5]


def test_slices_vectors_scalars_and_nan():
    g = Graph("ranks")
    x = g.input("x", (2, 2, 2), ("head", "token", "token"))
    g.output(y=g.negate(x, name="y"), u=g.negate(g.input("v", (3,)), name="n"))
    trace = g.run({"x": [[[1, 2], [3, math.nan]]] * 2, "v": [1, 0, -1]}, allow_nonfinite=True)
    text = plain_text(heat_lines(trace, colour=False))
    assert "[0]" in text and "[1]" in text and "NaN" in text and "−1.00" in text
    with pytest.raises(GraphError, match="limit is 1; expected an int of 2 or more"):
        list(heat_lines(trace, limit=1))


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def status(*line):
        with pytest.raises(SystemExit) as left:
            main(["trace", "block", "--causal", *line])
        return (left.value.code, *capsys.readouterr())

    code, out, _ = status("--heat", "--tensor", "*.weights")
    assert code == 0 and "█1.00" in out and "//" in out and "\x1b" not in out
    assert status("--heat", "--exact")[0] == 2 and status("--heat", "--json")[0] == 2
    code, _, err = status("--heat", "-o", "a.txt")
    assert code == 0 and "wrote a.txt" in err and "█1.00" in (tmp_path / "a.txt").read_text(encoding="utf-8")


def test_colours_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with pytest.raises(SystemExit):
        main(["trace", "block", "--causal", "--heat", "--tensor", "head0.weights"])
    out = capsys.readouterr().out
    assert "\x1b[" in out and "1.00" in out and "█" not in out
