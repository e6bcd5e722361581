"""Reads DOT from stdin, writes the picture to stdout: `python graphviz_child.py FORMAT DPI`.

A process of its own, because Graphviz can take very long or crash on some graphs. It imports
nothing of graphattn. Exit status: 0 fine, 3 no pygraphviz, 4 the text was not accepted.
"""

import sys

PROBE = (
    'digraph { node [shape=box width=0 margin=0 fontname="Helvetica,Arial,sans-serif"]; iiiiiiii; WWWWWWWW }'
)


def has_fonts(pygraphviz) -> bool:
    """Whether letters differ in width: without any font each is drawn as the same small box."""
    drawn = pygraphviz.AGraph(string=PROBE).draw(format="plain", prog="dot").decode("utf-8")
    return len({line.split()[4] for line in drawn.splitlines() if line.startswith("node")}) > 1


def main(form: str, dpi: int) -> int:
    try:
        import pygraphviz
    except ImportError as error:
        print(f"pygraphviz does not load: {error}", file=sys.stderr)
        return 3
    source = sys.stdin.buffer.read().decode("utf-8")
    try:
        # strict=False: a strict graph merges parallel edges, such as those of x * x
        picture = pygraphviz.AGraph(string=source, strict=False, directed=True)
        if dpi:
            picture.graph_attr["dpi"] = str(dpi)
        data = picture.draw(format=form, prog="dot") or b""
        if form == "png" and not has_fonts(pygraphviz):
            print("no fonts are installed, so a PNG has boxes for letters; an .svg has not", file=sys.stderr)
    except Exception as error:
        print(f"{error}", file=sys.stderr)
        return 4
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
