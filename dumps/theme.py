"""What pictures look like: a colour for each family and role, in a light and a dark theme, and fonts.

Colour says the family of an op, and glyph and title say it again, since colour alone fails for
colour-blind readers. Text has a contrast of at least 4.5 : 1 on whatever it may stand on; `pairs`
lists these pairs, and a test measures each. Surfaces that look alike (page, box, inner frame) have
hex values of their own, so that a style sheet can tell them apart by `[fill="#…"]`.

>>> round(contrast("#000000", "#FFFFFF"), 1)
21.0
>>> theme("light").family("matmul").fill
'#E4F0FB'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from graphattn.core.errors import GraphError, suggest

FONT = "Helvetica,Arial,Liberation Sans,DejaVu Sans,sans-serif"

READABLE = 4.5
"""The least contrast of text (WCAG 2.2, level AA)."""

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
)

THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def theme(name: str) -> Theme:
    """The theme of that name, or a `GraphError` that lists them."""
    if not isinstance(name, str) or name not in THEMES:
        raise GraphError(f"unknown theme {name!r}; expected {' or '.join(THEMES)}{suggest(name, THEMES)}")
    return THEMES[name]


def contrast(a: str, b: str) -> float:
    """The contrast of two colours, from 1 (none) to 21 (WCAG 2.2, relative luminance)."""
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
