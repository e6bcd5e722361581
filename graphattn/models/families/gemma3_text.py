"""Gemma 3 (2025), the models of text alone: Gemma 2 with norms of each head's queries and keys, other angles
in the layers that see a window."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.graph import Tensor
from ..assembly import Assembly
from ..config import Config
from ..rotary import angles
from . import gemma, gemma2, llama

PREFIXES = llama.PREFIXES
VOCABULARY = 262208
GAINS = gemma2.GAINS | {"gamma_q": "self_attn.q_norm.weight", "gamma_k": "self_attn.k_norm.weight"}
KINDS = ("full_attention", "sliding_attention")


def build(a: Assembly) -> Tensor:
    c = a.config
    settings = llama.sizes(a, head_dim=256, turning=False) | gemma2.common(a)
    settings["eps_qk"] = settings["eps"]
    each = c.size("_sliding_window_pattern", c.size("sliding_window_pattern", 6))
    kinds = [KINDS[(i + 1) % each != 0] for i in range(a.sizes["layers"])]
    windows = llama.windows(a, c.size("sliding_window", 4096), kinds)
    turns = {
        kind: angles(a, s, a.sizes["e"], base, of=of)
        for kind, s, base, of in zip(KINDS, ropes(c), (1e6, 1e4), ("", "_local"), strict=True)
    }
    x = gemma.layers(
        a,
        gemma.embedded(a),
        GAINS,
        settings,
        lambda i: {"window": windows.get(i), **turns[KINDS[i in windows]]},
    )
    return gemma.finished(a, x, settings)


def ropes(c: Config) -> tuple[Config, Config]:
    """The settings of the angles in layers that see everything, and in those that see a window: by kind
    (transformers 5), or side by side (4)."""
    given = c.get("rope_parameters", {})
    if isinstance(given, Mapping) and given.keys() <= set(KINDS):
        full, local = (given.get(kind) or {} for kind in KINDS)
    else:
        full, local = given, {}
    for settings in (full, local):
        if not isinstance(settings, Mapping):
            raise c.wrong("rope_parameters", given, "an object, or one for each kind of layers")
    scaling = c.get("rope_scaling", {})
    if not isinstance(scaling, Mapping):
        raise c.wrong("rope_scaling", scaling, "an object")
    full = {"rope_theta": c.get("rope_theta"), **scaling, **full}
    local = {"rope_theta": c.get("rope_local_base_freq"), **local}
    return c.part("rope", full), c.part("rope of windows", local)
