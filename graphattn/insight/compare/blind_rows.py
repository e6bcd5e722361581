"""Rows that see nothing: a row of weights whose every cell is masked, and what is computed from it.

What such a row holds is a convention: zeros, NaN, or uniform weights. With a policy, those rows are left out
where yours follows it.
"""

from __future__ import annotations

from typing import Any

from ...core import nested
from ...core.errors import GraphError
from ...core.graph import Ref
from .cell_classes import Skip
from .masked_cells import hides_all, is_masked
from .matched import Matched

POLICIES = ("zero", "nan", "uniform", "any")


class BlindRows:
    """Which rows of a tensor may be left out, by the policy `empty` (None: no row may)."""

    def __init__(self, matched: Matched, empty: str | None) -> None:
        if empty is not None and empty not in POLICIES:
            raise GraphError(f"empty is {empty!r}; expected one of {', '.join(POLICIES)}")
        self.matched, self.empty = matched, empty
        self.known = matched.trace is not None
        """Whether masks are known; else the values tell."""
        self.rows: dict[Ref, frozenset[int]] = {}
        """For each output, its rows that see nothing or were computed from such rows."""
        self.kept: dict[str, bool] = {}
        """Whether yours followed the policy in all that comes before a tensor."""
        if empty is not None and self.known:
            self.rows = self._rows()
            self._follow()

    def _rows(self) -> dict[Ref, frozenset[int]]:
        rows_of: dict[Ref, frozenset[int]] = {}
        graph = self.matched.graph
        assert graph is not None
        for node in graph.nodes.values():
            for port, spec in enumerate(node.outputs):
                ref = Ref(node.name, port)
                rows = spec.size // spec.shape[-1] if spec.rank and spec.shape[-1] else 0
                blind = self._hidden(node.tensor_name(port)) if rows else set()
                for source in node.operands:
                    if source is not None and rows_of.get(source):
                        own = graph.spec(source)
                        if own.rank and own.shape[-1] and own.size // own.shape[-1] == rows:
                            blind |= rows_of[source]
                rows_of[ref] = frozenset(blind)
        return rows_of

    def _follow(self) -> None:
        kept = True
        for key in self.matched.order:
            self.kept[key] = kept
            hidden = self._hidden(key)
            for pair in self.matched.by_key[key] if hidden else ():
                rows = [row for i, row in enumerate(pair.yours.rows) if i in hidden]
                kept = kept and all(hides_all(row) or self._fits(row) for row in rows)

    def _hidden(self, name: str) -> set[int]:
        """The rows of a tensor of the reference with nothing but hidden cells."""
        trace = self.matched.trace
        assert trace is not None
        mask = trace.masked(name)
        rank = trace.spec(name).rank
        return set() if mask is None else {i for i, (_, row) in enumerate(nested.rows(mask, rank)) if all(row)}

    def skip(self, key: str) -> Skip | None:
        """The function that says of a row whether it is left out; None where no row is."""
        if self.empty is None:
            return None
        return self._by_mask(key) if self.known else self._by_value

    def _by_value(self, i: int, a: list[Any], b: list[Any]) -> bool:
        nothing = all(x != x for x in a) or not any(a) or all(y != y for y in b)
        return nothing and (self.empty == "any" or self._fits(b))

    def _by_mask(self, key: str) -> Skip:
        blind, direct = self.rows.get(self.matched.refs[key], frozenset()), self._hidden(key)
        kept = self.kept[key]

        def skip(i: int, a: list[Any], b: list[Any]) -> bool:
            if i not in blind or all(map(is_masked, a)):
                return False
            if self.empty == "any":
                return True
            if i in direct:
                return kept and self._fits(b)
            return kept and (self.empty == "nan" or not any(y != y for y in b))

        return skip

    def _fits(self, row: list[Any]) -> bool:
        """Whether a row of yours is what the policy says."""
        if self.empty == "nan":
            return all(y != y for y in row)
        if self.empty == "zero":
            return not any(row)
        return all(abs(y * len(row) - 1.0) < 0.02 for y in row)
