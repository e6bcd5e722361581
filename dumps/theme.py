"""What pictures look like: a colour for each family and role, in a light, a dark and a print theme, and fonts.

Colour says the family of an op, and glyph and title say it again, since colour alone fails for
colour-blind readers. Text has a contrast of at least 4.5 : 1 on whatever it may stand on; `pairs`
lists these pairs, and a test measures each. Surfaces that look alike (page, box, inner frame) have
hex values of their own, so that a style sheet can tell them apart by `[fill="#…"]`.

>>> theme("light").family("matmul").fill
'#E4F0FB'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from graphattn.core.errors import GraphError, suggest
from graphattn.dumps.colour import READABLE, blend, contrast, ink_on

FONT = "Helvetica,Arial,Liberation Sans,DejaVu Sans,sans-serif"

MONO = "DejaVu Sans Mono,Menlo,Consolas,monospace"
"""For numbers, whose columns must stand under each other."""

ENTRIES = {
    "matmul": ("⊗", "matmul / projection"),
    "norm": ("μσ", "norm"),
    "scale": ("÷", "scale"),
    "mask": ("+", "mask"),
    "softmax": ("σ", "softmax"),
    "function": ("ƒ", "function"),
    "add": ("⊕", "add / residual"),
    "move": ("", "only moves numbers"),
    "constant": ("", "constant"),
    "composite": ("", "made of smaller ops"),
}
"""The legend: glyph and words for each family, in the order in which it lists them."""


class Paint(NamedTuple):
    """How a kind of box is drawn: its surface and its outline."""

    fill: str
    line: str


@dataclass(frozen=True)
class Heat:
    """The colours of heat maps. The two scales never say alone what a cell is: numbers, marks, hatching
    and the printed range say it again."""

    share: tuple[str, ...]
    """From 0 to 1."""
    signed: tuple[str, ...]
    """From −max over 0 to +max."""
    masked: Paint
    """What is hidden: the surface, and the lines of the hatching."""
    broken: str
    """The surface of NaN and of infinity."""
    grid: str

    def fill(self, kind: str, level: float) -> str:
        """The colour of a level: from 0 to 1 on the scale `share`, from −1 to 1 on `signed`."""
        steps = round(200 * level)
        if kind == "share":
            return blend(self.share, steps / 200)
        return blend(self.signed, (steps + 200) / 400)

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Every ink on every surface of a cell: what it is, text, surface."""
        for step in range(-200, 201):
            for kind in ("signed",) if step < 0 else ("signed", "share"):
                surface = self.fill(kind, step / 200)
                yield f"{kind} {step / 200}", ink_on(surface), surface
        for where, surface in (("masked", self.masked.fill), ("broken", self.broken)):
            yield where, ink_on(surface), surface


@dataclass(frozen=True)
class Theme:
    """One set of colours."""

    name: str
    page: str
    ink: str
    muted: str
    edge: str
    end: Paint
    """Inputs and outputs."""
    end_ink: str
    end_muted: str
    frames: tuple[Paint, Paint]
    """Clusters, outer and inner by turns."""
    families: Mapping[str, Paint]
    other: Paint
    """A family that the theme does not know."""
    roles: Mapping[str, str]
    residual: str
    heat: Heat

    def family(self, name: str) -> Paint:
        """The colours of a family."""
        return self.families.get(name, self.other)

    def role(self, name: str | None, otherwise: str) -> str:
        """The colour of a role, or another where there is no role or an unknown one."""
        return self.roles.get(name or "", otherwise)

    def title(self, role: str | None, surface: str) -> str:
        """The colour of a title on a surface: that of its role where it reads well, else ink."""
        colour = self.role(role, self.ink)
        return colour if contrast(colour, surface) >= READABLE else self.ink

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Every text colour with every surface it may stand on: what it is, text, surface."""
        surfaces = [("page", self.page), *((f"frame {i}", f.fill) for i, f in enumerate(self.frames))]
        boxes = [(name, paint.fill) for name, paint in self.families.items()]
        for where, surface in [*surfaces, *boxes, ("another family", self.other.fill)]:
            yield f"ink on {where}", self.ink, surface
            yield f"muted on {where}", self.muted, surface
            for role in self.roles:
                yield f"role {role} on {where}", self.title(role, surface), surface
        for where, surface in surfaces:
            yield f"residual on {where}", self.residual, surface
            for role, colour in self.roles.items():
                yield f"role {role} on {where}", colour, surface
        yield from self.heat.pairs()
        yield "ink on an end", self.end_ink, self.end.fill
        yield "muted on an end", self.end_muted, self.end.fill


LIGHT = Theme(
    name="light",
    page="#FFFFFF",
    ink="#1F2933",
    muted="#52606D",
    edge="#7B8794",
    end=Paint("#323F4B", "#323F4A"),
    end_ink="#FFFFFB",
    end_muted="#E1E6EB",
    frames=(Paint("#F5F7FA", "#9AA5B1"), Paint("#FFFFFD", "#CBD2D9")),
    families={
        "matmul": Paint("#E4F0FB", "#2B6CA3"),
        "norm": Paint("#D3EFDF", "#1A6B43"),
        "scale": Paint("#FBF5DC", "#806410"),
        "mask": Paint("#DFE3E8", "#52606D"),
        "softmax": Paint("#E6D3F1", "#5B2182"),
        "function": Paint("#FBE7EE", "#9B2257"),
        "add": Paint("#F8D2B3", "#A34A06"),
        "move": Paint("#FFFFFE", "#52606E"),
        "constant": Paint("#FFFFFC", "#7B8795"),
        "composite": Paint("#ECEFF6", "#47557A"),
    },
    other=Paint("#F1EFEA", "#5F5B52"),
    roles={"Q": "#0068A8", "K": "#B23F00", "V": "#00705F", "weights": "#5B2183"},
    residual="#A34A05",
    heat=Heat(
        share=("#FFFFFF", "#9A69BA", "#33084F"),
        signed=("#0B4F8A", "#FFFFFF", "#9C4A05"),
        masked=Paint("#E1E5EA", "#8592A0"),
        broken="#F26BD0",
        grid="#C3CAD3",
    ),
)

DARK = Theme(
    name="dark",
    page="#11161C",
    ink="#E4E9EE",
    muted="#A9B6C3",
    edge="#8794A1",
    end=Paint("#DDE3E9", "#DDE3E8"),
    end_ink="#1A222B",
    end_muted="#3D4955",
    frames=(Paint("#181F27", "#4A5663"), Paint("#1E2731", "#3A444F")),
    families={
        "matmul": Paint("#15334B", "#6DB3EA"),
        "norm": Paint("#123424", "#63C796"),
        "scale": Paint("#38300F", "#D9BC5A"),
        "mask": Paint("#2B333C", "#A3B0BC"),
        "softmax": Paint("#362245", "#C79AE2"),
        "function": Paint("#3F1A2B", "#EE8FB4"),
        "add": Paint("#412710", "#F0A25D"),
        "move": Paint("#14181D", "#A3B0BD"),
        "constant": Paint("#14181E", "#8794A2"),
        "composite": Paint("#222B40", "#9DB0E0"),
    },
    other=Paint("#2C2A25", "#BDB7A8"),
    roles={"Q": "#62B8F0", "K": "#F29155", "V": "#45CDA0", "weights": "#C79AE3"},
    residual="#F0A25C",
    heat=Heat(
        share=("#14101A", "#7A489C", "#E9CCFF"),
        signed=("#7CC3FA", "#14191F", "#F7AC66"),
        masked=Paint("#2A323B", "#7A8794"),
        broken="#F26BD0",
        grid="#3A444F",
    ),
)

PRINT = Theme(
    name="print",
    page="#FFFFFF",
    ink="#000000",
    muted="#3C3C3C",
    edge="#5A5A5A",
    end=Paint("#1A1A1A", "#1A1A1B"),
    end_ink="#FFFFFB",
    end_muted="#E4E4E4",
    frames=(Paint("#F4F4F4", "#8A8A8A"), Paint("#FFFFFD", "#A0A0A0")),
    families={
        "matmul": Paint("#FDFDFD", "#202020"),
        "norm": Paint("#E6E6E6", "#202021"),
        "scale": Paint("#F1F1F1", "#202022"),
        "mask": Paint("#D8D8D8", "#202023"),
        "softmax": Paint("#CDCDCD", "#202024"),
        "function": Paint("#DFDFDF", "#202025"),
        "add": Paint("#EBEBEB", "#202026"),
        "move": Paint("#FFFFFE", "#3C3C3D"),
        "constant": Paint("#FFFFFC", "#5A5A5B"),
        "composite": Paint("#EEEEEE", "#303030"),
    },
    other=Paint("#F0F0F0", "#303031"),
    roles={"Q": "#000001", "K": "#000002", "V": "#000003", "weights": "#000004"},
    residual="#000005",
    heat=Heat(
        share=("#FFFFFF", "#000000"),
        signed=("#000000", "#9E9E9E", "#FFFFFF"),
        masked=Paint("#FFFFFF", "#6E6E6E"),
        broken="#FFFFFF",
        grid="#8A8A8A",
    ),
)
"""For printers without colours: the signed scale runs from black over grey to white."""

THEMES = {theme.name: theme for theme in (LIGHT, DARK, PRINT)}


def theme(name: str) -> Theme:
    """The theme of that name, or a `GraphError` that lists them."""
    if not isinstance(name, str) or name not in THEMES:
        *first, last = THEMES
        known = f"{', '.join(first)} or {last}"
        raise GraphError(f"unknown theme {name!r}; expected {known}{suggest(name, THEMES)}")
    return THEMES[name]
