"""Reads DOT from stdin, writes the picture to stdout: `python graphviz_child.py FORMAT`.

A process of its own, because Graphviz can take very long or crash on some graphs. It imports
nothing of graphattn.
"""

import sys


def main(form: str) -> int:
    try:
        import pygraphviz
    except ImportError as error:
        print(f"no pygraphviz: {error}", file=sys.stderr)
        return 3
    source = sys.stdin.buffer.read().decode("utf-8")
    # strict=False: a strict graph merges parallel edges, such as those of x * x
    picture = pygraphviz.AGraph(string=source, strict=False, directed=True)
    sys.stdout.buffer.write(picture.draw(format=form, prog="dot"))
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
