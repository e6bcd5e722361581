"""The angles of rotary position embeddings (Su et al. 2021), with the scalings that long-context models use.

The i-th of r/2 pairs of features turns by position · θ^(−2i/r). config.json has θ and a scaling in one of
three places: `rope_parameters` (transformers 5), or `rope_theta` and `rope_scaling` (4), or, in GPT-NeoX,
`rotary_emb_base`. A scaling slows the pairs down, so that more tokens fit than a model was first trained on;
some also lengthen what turns. Everything here is computed in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import GraphError
from ..core.graph import Tensor
from .assembly import Assembly
from .config import SIZE_LIMIT, Config


@dataclass(frozen=True)
class Rope:
    """What a scaling starts from: θ, how many features turn, the settings, how many tokens the model reads and
    was first trained on (the same where nothing is said), and how many there are."""

    theta: float
    turning: int
    settings: Config
    most: int
    trained: int
    length: int

    def rates(self, theta: float | None = None) -> list[float]:
        """θ^(−2i/r) for each pair."""
        base = self.theta if theta is None else theta
        return [base ** (-i / self.turning) for i in range(0, self.turning, 2)]


def rotary(a: Assembly, head_dim: int, base: float = 10000.0, part: float | None = None) -> dict[str, Tensor]:
    """cos and sin, token × pair, for the positions of the text. `part` of each head's features turn where
    config.json names no other; None for a family in which all of them do."""
    return angles(a, _settings(a.config), head_dim, a.config.get("rotary_emb_base", base), part)


def angles(
    a: Assembly, s: Config, head_dim: int, base: float, part: float | None = None, of: str = ""
) -> dict[str, Tensor]:
    """The same with settings of their own; `of` is added to the names of cos and sin. Without a scaling they
    are those of `rope_angles`, so that base and offset can be read off the graph."""
    share = s.number("partial_rotary_factor", part or 1.0)
    if share > 1.0 or (part is None and share != 1.0):
        raise s.wrong("partial_rotary_factor", share, "1 in this family" if part is None else "at most 1")
    kind = s.get("rope_type", s.get("type", "default"))
    scale = s.choice("rope_type", SCALINGS, kind)
    most = a.config.size("max_position_embeddings", 2048)
    trained = s.size("original_max_position_embeddings", most)
    theta = s.number("rope_theta", base)
    factor = 1.0 if kind == "default" else s.number("factor", 1.0)
    a.need_length(max(most, int(min(trained * factor, SIZE_LIMIT))))

    turning = int(head_dim * share)

    def turns(length: int) -> tuple[list[float], float]:
        return _finite(scale, Rope(theta, turning, s, most, trained, length))

    rates, size = turns(a.start + a.n)
    if a.start and turns(a.start) != (rates, size):
        raise GraphError(
            f"keys of {a.start} tokens turn by other angles than those of {a.start + a.n};"
            " expected the whole text without a past"
        )
    if kind == "default" and not turning % 2:
        cos, sin = a.graph.rope_angles(a.n, turning, base=theta, offset=a.start, name=f"angles{of}")
        for name, table in (("cos", cos), ("sin", sin)):
            a.graph.adopt_alias(f"{name}{of}", table.ref)
        return {"cos": cos, "sin": sin}
    places = range(a.start, a.start + a.n)
    return {
        name: a.graph.constant(
            tuple(tuple(size * function(place * rate) for rate in rates) for place in places),
            axes=("token", "feature"),
            name=f"{name}{of}",
            title=f"{name} of the angles",
        )
        for name, function in (("cos", math.cos), ("sin", math.sin))
    }


def _settings(config: Config) -> Config:
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
    if (trained := config.get("original_max_position_embeddings")) is not None:
        found["original_max_position_embeddings"] = trained
    return config.part("rope", found)


def _finite(scale: Scaling, rope: Rope) -> tuple[list[float], float]:
    """What a scaling gives; refused where that is nothing to turn by."""
    try:
        rates, size = scale(rope)
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, GraphError):
            raise
        rates, size = [], 1.0
    if not rates or not all(math.isfinite(size * rope.length * rate) for rate in rates):
        raise GraphError(f"{rope.settings.where}: these settings give no finite angles; expected others")
    return rates, size


def plain(r: Rope) -> tuple[list[float], float]:
    return r.rates(), 1.0


def linear(r: Rope) -> tuple[list[float], float]:
    """Every rate is divided by the factor (Chen et al. 2023)."""
    factor = r.settings.number("factor")
    return [rate / factor for rate in r.rates()], 1.0


def dynamic(r: Rope) -> tuple[list[float], float]:
    """θ grows with the text, once that is longer than the model reads as it is (NTK-aware scaling)."""
    factor = r.settings.number("factor")
    if r.length <= r.most:
        return r.rates(), 1.0
    grown = factor * r.length / r.most - (factor - 1)
    return r.rates(r.theta * grown ** (r.turning / (r.turning - 2))), 1.0


def llama3(r: Rope) -> tuple[list[float], float]:
    """Slow rates are divided by the factor, fast ones stay, those between are mixed (Llama 3.1)."""
    factor, low, high = map(r.settings.number, ("factor", "low_freq_factor", "high_freq_factor"))

    def scaled(rate: float) -> float:
        turns = r.trained * rate / (2 * math.pi)
        if turns > high:
            return rate
        if turns < low:
            return rate / factor
        smooth = (turns - low) / (high - low)
        return (1 - smooth) * rate / factor + smooth * rate

    return list(map(scaled, r.rates())), 1.0


def yarn(r: Rope) -> tuple[list[float], float]:
    """As llama3, but mixed by the number of the pair, from the one that turns beta_fast times over the tokens
    of the training to the one that turns beta_slow times; what turns is lengthened (Peng et al. 2023)."""
    s = r.settings
    factor = s.number("factor", r.most / r.trained)

    def longer(by: float) -> float:
        return 0.1 * by * math.log(factor) + 1.0 if factor > 1.0 else 1.0

    def pair(turns: float) -> float:
        """The number of the pair that turns so often."""
        return r.turning * math.log(r.trained / (turns * 2 * math.pi)) / (2 * math.log(r.theta))

    low, high = pair(s.number("beta_fast", 32)), pair(s.number("beta_slow", 1))
    if s.flag("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, r.turning - 1)
    high += 0.001 * (low == high)
    slowed = [min(max((i - low) / (high - low), 0.0), 1.0) for i in range(len(r.rates()))]
    rates = [rate / factor * part + rate * (1 - part) for rate, part in zip(r.rates(), slowed, strict=True)]
    both = s.get("mscale") and s.get("mscale_all_dim")
    size = longer(s.number("mscale")) / longer(s.number("mscale_all_dim")) if both else longer(1.0)
    return rates, s.number("attention_factor", size)


def longrope(r: Rope) -> tuple[list[float], float]:
    """Each rate is divided by a number of its own: of one list for texts that are no longer than those of the
    training, of another for longer ones; what turns is lengthened for both (Ding et al. 2024)."""
    s = r.settings
    factor = s.number("factor", r.most / r.trained)
    size = math.sqrt(1 + math.log(factor) / math.log(r.trained)) if factor > 1.0 else 1.0
    by = {key: s.numbers(key, len(r.rates())) for key in ("short_factor", "long_factor")}
    own = by["long_factor" if r.length > r.trained else "short_factor"]
    return [rate / n for rate, n in zip(r.rates(), own, strict=True)], s.number("attention_factor", size)


Scaling = Callable[[Rope], tuple[list[float], float]]
"""The rates of all pairs, and what cos and sin are multiplied by."""
SCALINGS: Mapping[str, Scaling] = {
    "default": plain,
    "linear": linear,
    "dynamic": dynamic,
    "llama3": llama3,
    "yarn": yarn,
    "longrope": longrope,
    "su": longrope,
}
"""By rope_type."""
