"""check_gradients: the derivatives of a graph against differences of its values.

For a random direction u, (f(x + h u) − f(x − h u)) / 2h is compared with Σ gradient · u, where f adds
up the tensors `of`, each cell times a random cotangent. In 50 digits (mpmath, where it is installed)
h is 1e-15, and what is left of the truncation is around 1e-30; in floats about half of the digits
are lost to rounding, and tolerances are accordingly wide.

Cells of f that are infinite or NaN are left out, and so are directions into cells that are: what a
mask hides stays hidden. At a point where f has a corner (relu at 0) there is no derivative to check.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec, need_number
from graphattn.core.errors import GraphError, Rejected
from graphattn.core.graph import Graph
from graphattn.core.numbers import Numbers
from graphattn.core.numbers import of as numbers_of
from graphattn.core.run import run
from graphattn.core.trace import Trace
from graphattn.passes.gradient import Differentiated, _names, differentiate

STEP, TOLERANCE, NOISE = {"mpmath": "1e-15"}, {"mpmath": 1e-20}, {"mpmath": 1e-46}
FLOAT_STEP, FLOAT_TOLERANCE, FLOAT_NOISE = "1e-5", 1e-6, 1e-13
"""NOISE is how far values may be off, in proportion to 1 + |value|: divided by h, the error of a difference
where the derivative itself is 0."""


@dataclass(frozen=True, slots=True)
class Slope:
    """One direction: what the gradients say, and what differences of values say."""

    wrt: str
    """The tensors that moved."""
    gradient: float
    difference: float
    error: float
    """How far they are apart, in proportion to Σ |gradient · u|."""
    ok: bool

    def __str__(self) -> str:
        told = "agrees with" if self.ok else "IS NOT"
        return f"{self.wrt}: the gradient gives {self.gradient:.12g}, which {told} {self.difference:.12g}"


@dataclass(frozen=True, slots=True)
class GradientReport:
    """All directions that were tried."""

    graph: str
    numbers: str
    slopes: tuple[Slope, ...]

    @property
    def ok(self) -> bool:
        """Whether gradients and differences agree in every direction."""
        return all(slope.ok for slope in self.slopes)

    @property
    def wrong(self) -> tuple[str, ...]:
        """The tensors whose gradient is wrong."""
        return tuple(dict.fromkeys(slope.wrt for slope in self.slopes if not slope.ok))

    @property
    def worst(self) -> float:
        """The largest error of all directions."""
        return max((slope.error for slope in self.slopes), default=0.0)

    def check(self) -> None:
        """Raise a `GraphError` that lists every direction in which they disagree."""
        if not self.ok:
            raise GraphError(str(self))

    def __str__(self) -> str:
        """One line, and one more for each direction in which they disagree."""
        good = sum(slope.ok for slope in self.slopes)
        head = f"gradients of {self.graph!r}: {good} of {len(self.slopes)} directions agree ({self.numbers})"
        return "\n".join([head, *(f"  {slope}" for slope in self.slopes if not slope.ok)])


def check_gradients(
    graph: Graph,
    feeds: Mapping[str, Any],
    of: str | Iterable[str],
    wrt: str | Iterable[str] | None = None,
    *,
    directions: int = 2,
    numbers: str | Numbers | None = None,
    step: str | float | None = None,
    tolerance: float | None = None,
    seed: int = 0,
) -> GradientReport:
    """Compare gradients with central differences (see the module's docstring).

    of, wrt: as for `gradient`; cotangents need not be fed. directions: how many, in each of which
    all of `wrt` move; where one disagrees, each tensor is moved alone, to find which it is. numbers:
    "mpmath" where it is installed, else "float". step: h. tolerance: of the error in proportion to
    Σ |gradient · u|. Nothing is raised for a wrong gradient: the report says so.
    """
    if isinstance(directions, bool) or not isinstance(directions, int) or directions < 1:
        raise GraphError(f"directions is {directions!r}; expected an int of 1 or more")
    for what, value in (("step", step), ("tolerance", tolerance)):
        if value is not None:
            try:
                need_number(what, value, positive=True)
            except Rejected as error:
                raise GraphError(str(error)) from None
    kind = numbers_of(("mpmath" if find_spec("mpmath") else "float") if numbers is None else numbers)
    found = differentiate(graph, of, wrt)
    given = {name: feed for name, feed in feeds.items() if name not in found.cotangents.values()}
    probe = _Probe(
        graph, given, _names(of, "of"), found, kind, random.Random(seed),
        kind.lift(STEP.get(kind.name, FLOAT_STEP) if step is None else step),
        TOLERANCE.get(kind.name, FLOAT_TOLERANCE) if tolerance is None else tolerance,
    )  # fmt: skip
    names = list(found.gradients)
    slopes = [probe.slope(names) for _ in range(directions)] if names else []
    if not all(slope.ok for slope in slopes) and len(names) > 1:
        slopes += [probe.slope([name]) for name in names]
    return GradientReport(graph.name, kind.name, tuple(slopes))


class _Probe:
    """The graph at one point: the gradients there, and values around it."""

    def __init__(
        self, graph: Graph, feeds: Mapping[str, Any], of: tuple[str, ...], found: Differentiated,
        numbers: Numbers, dice: random.Random, step: Any, tolerance: float,
    ) -> None:  # fmt: skip
        self.graph, self.feeds, self.of = graph, feeds, of
        self.numbers, self.dice, self.step, self.tolerance = numbers, dice, step, tolerance
        here = self._run({}, (*of, *found.gradients))
        self.at = {name: here[name] for name in found.gradients}
        self.specs = {name: here.spec(name) for name in found.gradients}
        self.cotangents = {name: self._cotangent(here[name], here.spec(name)) for name in of}
        noise = self.numbers.lift(NOISE.get(numbers.name, FLOAT_NOISE)) / step
        self.noise = noise * self._weighed(here, size=True)
        fed = {seed: self.cotangents[name] for name, seed in found.cotangents.items()}
        outputs = list(found.gradients.values())
        there = run(
            found.graph, {**feeds, **fed}, targets=outputs, numbers=numbers, allow_nonfinite=True
        )  # fmt: skip
        self.gradients = {name: there[output] for name, output in found.gradients.items()}

    def _run(self, patch: Mapping[str, Any], targets: Iterable[str]) -> Trace:
        return run(
            self.graph, self.feeds, patch=patch, targets=targets, numbers=self.numbers, allow_nonfinite=True
        )

    def _cotangent(self, value: Any, spec: Spec) -> Any:
        """A random number for each cell that is finite."""

        def cell(*index: int) -> Any:
            finite = self.numbers.isfinite(nested.at(value, index))
            return self.numbers.lift(self.dice.gauss(0.0, 1.0) if finite else 0)

        return nested.build(spec.shape, cell)

    def slope(self, names: list[str]) -> Slope:
        """What the gradients say of a random direction, in which the named tensors move."""
        lift, isfinite = self.numbers.lift, self.numbers.isfinite
        ways = {
            name: nested.build(
                self.specs[name].shape,
                lambda *i, name=name: lift(
                    self.dice.gauss(0.0, 1.0) if isfinite(nested.at(self.at[name], i)) else 0
                ),
            )
            for name in names
        }
        terms = [
            g * u
            for name in names
            for g, u in zip(nested.flat(self.gradients[name]), nested.flat(ways[name]), strict=True)
            if u != 0
        ]
        said = self.numbers.total(terms)
        forth, back = self._moved(ways, self.step), self._moved(ways, -self.step)
        seen = (forth - back) / (self.step + self.step)
        size = self.numbers.total([abs(term) for term in terms]) + abs(seen)
        apart = abs(said - seen)
        error = float(apart / size) if said != seen else 0.0
        ok = error <= self.tolerance or bool(apart <= self.noise)
        return Slope(", ".join(names), float(said), float(seen), error, ok)

    def _moved(self, ways: Mapping[str, Any], far: Any) -> Any:
        """f at a distance along a direction."""
        patch = {}
        for name, way in ways.items():
            shape = self.specs[name].shape

            def cell(*i: int, name: str = name, way: Any = way) -> Any:
                here, along = nested.at(self.at[name], i), nested.at(way, i)
                return here if along == 0 else here + far * along

            patch[name] = nested.build(shape, cell)
        return self._weighed(self._run(patch, (*self.of, *patch)))

    def _weighed(self, trace: Trace, size: bool = False) -> Any:
        """f: every cell times its cotangent, summed up; or how large what is summed up is."""
        terms = [
            (1 + abs(value)) * abs(c) if size else value * c
            for name in self.of
            for value, c in zip(nested.flat(trace[name]), nested.flat(self.cotangents[name]), strict=True)
            if c != 0
        ]
        return self.numbers.total(terms)


__all__ = ["GradientReport", "Slope", "check_gradients"]
