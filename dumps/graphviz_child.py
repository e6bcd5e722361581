"""Reads DOT from stdin, writes pictures to stdout:
`python graphviz_child.py FORMAT,FORMAT DPI ENGINE SIDE PIXELS`.

It lays out once. The first line of what it writes has the size of each picture, then they follow. A PNG
behind an SVG is empty where it would have a side longer than SIDE, or more than PIXELS.

A process of its own, because Graphviz can take very long or crash on some graphs. It imports
nothing of graphattn. Exit status: 0 fine, 3 no pygraphviz, 4 the text was not accepted,
5 no room, or no right, for its own files.
"""

import re
import sys

PROBE = (
    'digraph { node [shape=box width=0 margin=0 fontname="Helvetica,Arial,sans-serif"]; iiiiiiii; WWWWWWWW }'
)


def has_fonts(pygraphviz) -> bool:
    """Whether letters differ in width: without any font each is drawn as the same small box."""
    drawn = pygraphviz.AGraph(string=PROBE).draw(format="plain", prog="dot").decode("utf-8")
    return len({line.split()[4] for line in drawn.splitlines() if line.startswith("node")}) > 1


def too_large(svg: bytes, side: int, pixels: int) -> bool:
    """Whether a PNG of the size that an SVG says would be beyond the bounds."""
    found = re.search(rb'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', svg)
    width, height = (float(number) for number in found.groups()) if found else (0.0, 0.0)
    return max(width, height) > side or width * height > pixels


def drawn(graphviz, picture, forms: list[str], engine: str, side: int, pixels: int) -> list[bytes]:
    """One layout, in several formats (`AGraph.draw` would lay out for each)."""
    context = graphviz.gvContextWithBuiltins()
    if graphviz.gvLayout(context, picture.handle, engine.encode()):
        raise ValueError("Graphviz raised a layout error")
    found = []
    for form in forms:
        if form == "png" and "svg" in forms[:1] and too_large(found[0], side, pixels):
            found.append(b"")
            continue
        failed, data = graphviz.gvRenderData(context, picture.handle, form.encode())
        if failed:
            raise ValueError(f"Graphviz did not write {form}")
        found.append(data or b"")
    return found


def main(forms: list[str], dpi: int, engine: str, side: int, pixels: int) -> int:
    try:
        import pygraphviz
        import pygraphviz.graphviz
    except ImportError as error:
        print(f"pygraphviz does not load: {error}", file=sys.stderr)
        return 3
    source = sys.stdin.buffer.read().decode("utf-8")
    try:
        # strict=False: a strict graph merges parallel edges, such as those of x * x
        picture = pygraphviz.AGraph(string=source, strict=False, directed=True)
        if dpi:
            picture.graph_attr["dpi"] = str(dpi)
        parts = drawn(pygraphviz.graphviz, picture, forms, engine, side, pixels)
        if {"png", "pdf"}.intersection(forms) and not has_fonts(pygraphviz):
            form = "PNG" if "png" in forms else "PDF"
            print(
                f"no fonts are installed, so a {form} has boxes for letters; an .svg has not", file=sys.stderr
            )
    except OSError as error:
        print(error.strerror or error, file=sys.stderr)
        return 5
    except Exception as error:
        print(f"{error}", file=sys.stderr)
        return 4
    sys.stdout.buffer.write(" ".join(str(len(part)) for part in parts).encode() + b"\n")
    for part in parts:
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].split(","), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
