"""The angles of rotary position embeddings (Su et al. 2021), with the scalings that long-context models use.

The i-th of r/2 pairs of features turns by position · θ^(−2i/r). config.json has θ and a scaling in one of
three places: `rope_parameters` (transformers 5), or `rope_theta` and `rope_scaling` (4), or, in GPT-NeoX,
`rotary_emb_base`. Everything here is computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..core import nested
from ..core.errors import GraphError
from ..core.graph import Tensor
from .assembly import Assembly
from .config import Config


def rotary(a: Assembly, head_dim: int, base: float = 10000.0, part: float = 1.0) -> dict[str, Tensor]:
    """cos and sin, token × pair, for the positions of the text; `part` of each head's features turn."""
    settings = _settings(a.config)
    theta = _number(a.config, settings, "rope_theta", a.config.get("rotary_emb_base", base))
    turning = int(head_dim * _number(a.config, settings, "partial_rotary_factor", part))
    rates = [theta ** (-2 * i / turning) for i in range(turning // 2)]
    kind = settings.get("rope_type", settings.get("type", "default"))
    if not isinstance(kind, str) or kind not in SCALINGS:
        raise GraphError(
            f"{a.config.where}: rope_type is {nested.shown(kind)}; expected one of {', '.join(SCALINGS)}"
        )
    known, scale = SCALINGS[kind]
    strange = settings.keys() - {"rope_theta", "partial_rotary_factor", "rope_type", "type", *known}
    if strange:
        raise GraphError(
            f"{a.config.where}: the rope setting {min(strange)!r} is not known for {kind}, and may change"
            " what is computed; expected none"
        )
    rates = scale(rates, {key: _number(a.config, settings, key) for key in known})
    places = range(a.start, a.start + a.n)
    return {
        name: a.graph.constant(
            tuple(tuple(function(place * rate) for rate in rates) for place in places),
            axes=("token", "feature"),
            name=name,
            title=f"{name} of the angles",
        )
        for name, function in (("cos", math.cos), ("sin", math.sin))
    }


def _settings(config: Config) -> Mapping[str, Any]:
    """All settings of the angles, wherever they stand."""
    found: dict[str, Any] = {}
    if (theta := config.get("rope_theta")) is not None:
        found["rope_theta"] = theta
    if (part := config.get("partial_rotary_factor", config.get("rotary_pct"))) is not None:
        found["partial_rotary_factor"] = part
    for key in ("rope_scaling", "rope_parameters"):
        more = config.get(key, {})
        if not isinstance(more, Mapping):
            raise config.wrong(key, more, "an object")
        found |= {name: value for name, value in more.items() if value is not None}
    return found


def _number(config: Config, settings: Mapping[str, Any], key: str, default: float | None = None) -> float:
    value = settings.get(key, default)
    if type(value) not in (int, float) or not 0 < value < math.inf:
        raise config.wrong(f"{key} of the rope", value, "a number above 0")
    return value


def _llama3(rates: list[float], s: Mapping[str, float]) -> list[float]:
    """Slow rates are divided by the factor, fast ones stay, those between are mixed (Llama 3.1)."""
    low, high, length = s["low_freq_factor"], s["high_freq_factor"], s["original_max_position_embeddings"]

    def scaled(rate: float) -> float:
        turns = length * rate / (2 * math.pi)
        if turns > high:
            return rate
        if turns < low:
            return rate / s["factor"]
        smooth = (turns - low) / (high - low)
        return (1 - smooth) * rate / s["factor"] + smooth * rate

    return list(map(scaled, rates))


SCALINGS: Mapping[str, tuple[tuple[str, ...], Callable[..., list[float]]]] = {
    "default": ((), lambda rates, s: rates),
    "linear": (("factor",), lambda rates, s: [rate / s["factor"] for rate in rates]),
    "llama3": (
        ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
        _llama3,
    ),
}
"""By rope_type: the settings that it takes, and what it makes of the rates."""
