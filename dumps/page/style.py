"""The colours of the page's diagram, as custom properties: those of the still pictures (`dumps/theme.py`)."""

from __future__ import annotations

from graphattn.dumps.theme import DARK, LIGHT, Theme


def theme_css() -> str:
    """The colours of both themes; which holds is the color-scheme of the page."""
    light, dark = _properties(LIGHT), _properties(DARK)
    both = "".join(f"--{name}:light-dark({light[name]},{dark[name]});" for name in light)
    families = "".join(
        f".family-{name}{{--fill:var(--{name}-fill);--line:var(--{name}-line)}}" for name in LIGHT.families
    )
    roles = "".join(
        f".box.role-{name} .title,.label.role-{name}{{fill:var(--role-{name})}}"
        f".arrow.role-{name} path{{stroke:var(--role-{name})}}"
        f".arrow.role-{name} .tip{{fill:var(--role-{name});stroke:none}}"
        for name in LIGHT.roles
    )
    return f":root{{{both}}}{families}{roles}"


def _properties(theme: Theme) -> dict[str, str]:
    found = {
        "page": theme.page,
        "ink": theme.ink,
        "muted": theme.muted,
        "edge": theme.edge,
        "residual": theme.residual,
        "end": theme.end.fill,
        "end-line": theme.end.line,
        "end-ink": theme.end_ink,
        "end-muted": theme.end_muted,
        "other-fill": theme.other.fill,
        "other-line": theme.other.line,
    }
    for i, frame in enumerate(theme.frames):
        found |= {f"frame{i}": frame.fill, f"frame{i}-line": frame.line}
    for name, paint in theme.families.items():
        found |= {f"{name}-fill": paint.fill, f"{name}-line": paint.line}
    return found | {f"role-{name}": colour for name, colour in theme.roles.items()}
