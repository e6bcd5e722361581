"""Names that a mask has for its axes stay through a zoom; `op_laws.axis_names` is the law for every op."""

from graphattn import Graph
from graphattn.passes.zoom import fuse, zoom


def test_a_mask_of_other_names_survives_the_zoom():
    g = Graph("a")
    q = [g.input(c, (2, 4)) for c in "qkv"]
    m = g.input("m", (2, 2), axes=("query", "key"), kind="bool")
    g.output(y=g.multi_head(*q, m, heads=1, name="mh"))
    assert fuse(zoom(g, "primitive")) == g
    assert g.nodes["mh"].outputs[0].axes[0] == "query"
