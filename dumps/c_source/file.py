"""The whole C file: helpers that are called, functions, the struct, the constants, the run, a program."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec, describe
from graphattn.core.graph import Graph, Node
from graphattn.core.run import run
from graphattn.dumps.c_source.expression import comment, number
from graphattn.dumps.c_source.function import TYPES, Function, function_of
from graphattn.dumps.golden.source import wrapped
from graphattn.dumps.golden.vectors import identifier

HELPERS = {
    "total": """/* The sum, correctly rounded (Shewchuk 1997): partial sums that do not overlap. */
static double total(const double *x, long n) {
    double partial[64], special = 0;
    long m = 0;
    for (long i = 0; i < n; i++) {
        double a = x[i];
        long kept = 0;
        if (!isfinite(a)) { special += a; continue; }
        for (long j = 0; j < m; j++) {
            double b = partial[j];
            if (fabs(a) < fabs(b)) { double swap = a; a = b; b = swap; }
            double high = a + b, low = b - (high - a);
            if (low != 0) partial[kept++] = low;
            a = high;
        }
        partial[kept] = a;
        m = kept + 1;
    }
    if (special != 0 || isnan(special)) return special;
    double high = m ? partial[--m] : 0, low = 0;
    while (m > 0) {
        double a = high, b = partial[--m];
        high = a + b;
        low = b - (high - a);
        if (low != 0) break;
    }
    if (m > 0 && ((low < 0 && partial[m - 1] < 0) || (low > 0 && partial[m - 1] > 0))) {
        double twice = 2 * low, above = high + twice;
        if (twice == above - high) high = above;
    }
    return high;
}
""",
    "maximum": """static double maximum(const double *x, long n) {
    double most = -INFINITY;
    for (long i = 0; i < n; i++) {
        if (isnan(x[i])) return x[i];
        if (x[i] > most) most = x[i];
    }
    return most;
}
""",
    "absorb": """/* The product; 0 where a factor is 0, whatever the other is. */
static double absorb(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }
""",
    "absorb_divide": """static double absorb_divide(double a, double b) { return a == 0 ? 0 : a / b; }
""",
    "wrapped": """/* A place on an axis; below 0 from the end. */
static long wrapped(long i, long size) { return i < 0 ? i + size : i; }
""",
}
DOTS = {
    False: """/* The dot product, summed from left to right. */
static double dot(const double *a, const double *b, long n) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}
""",
    True: """/* The dot product, correctly rounded: each product is the sum of two doubles. */
static double dot(const double *a, const double *b, long n) {
    double parts[2 * n + 1], plain = 0;
    for (long i = 0; i < n; i++) {
        double product = a[i] * b[i];
        parts[2 * i] = product;
        parts[2 * i + 1] = fma(a[i], b[i], -product);
        plain += product;
    }
    return isfinite(plain) ? total(parts, 2 * n) : plain;
}
""",
}
"""By whether this Python has `math.sumprod`."""
EXACT_DOT = hasattr(math, "sumprod")
ABSORBING_DOT = """/* The dot product; where that is not finite, without the products that have a factor 0. */
static double absorbing_dot(const double *a, const double *b, long n) {
    double left[n], right[n], whole = dot(a, b, n);
    long m = 0;
    if (isfinite(whole)) return whole;
    for (long i = 0; i < n; i++)
        if (a[i] != 0 && b[i] != 0) { left[m] = a[i]; right[m++] = b[i]; }
    return dot(left, right, m);
}
"""

HEAD = """/* {title}
   Written by graphattn from the graph {name!r}; C99, nothing but the standard library.
   Do not compile with -ffast-math: infinities and NaN are meant. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#ifdef __clang__ /* gcc keeps to C99 with -std=c99 */
#pragma STDC FP_CONTRACT OFF
#endif
"""


class File:
    """Writes the file of one graph."""

    def __init__(self, graph: Graph, feeds: Mapping[str, Any] | None) -> None:
        self.graph = graph
        self.name = identifier(graph.name, set())
        taken: set[str] = set()
        self.members = {name: identifier(name, taken) for name in _tensors(graph)}
        self.functions: dict[Function, str] = {}
        self.calls: list[str] = []
        self.constants: list[Node] = []
        self.feeds = None if feeds is None else run(graph, feeds, allow_nonfinite=True)
        counts: dict[str, int] = {}
        for node in graph.nodes.values():
            if node.op.fed:
                continue
            if not node.operands:
                self.constants.append(node)
                continue
            function = function_of(node, graph.operand_specs(node.operands))
            if function not in self.functions:
                number = counts[node.op.name] = counts.get(node.op.name, -1) + 1
                self.functions[function] = f"{node.op.name}_{number}"
            self.calls.append(self._call(node, self.functions[function]))

    def text(self) -> str:
        title = self.graph.title or self.graph.name
        used = set().union(*(function.used for function in self.functions))
        if "dot" in used and EXACT_DOT:
            used.add("total")
        parts = [HEAD.format(title=comment(title), name=self.graph.name)]
        parts += [text for name, text in HELPERS.items() if name in used]
        parts += [DOTS[EXACT_DOT]] if "dot" in used else []
        parts += [ABSORBING_DOT] if "absorbing_dot" in used else []
        parts += [function.text(name) for function, name in self.functions.items()]
        parts += [self._struct(), self._constants(), self._run(), self._table()]
        if self.feeds is not None:
            parts.append(self._main())
        return "\n".join(parts)

    def _call(self, node: Node, function: str) -> str:
        operands = [self.graph.tensor_name(ref) for ref in node.operands if ref is not None]
        results = [node.tensor_name(port) for port in range(len(node.ports))]
        return f"{function}({', '.join(f't->{self.members[name]}' for name in (*operands, *results))});"

    def _struct(self) -> str:
        lines = [f"struct {self.name} {{"]
        for name, spec in _tensors(self.graph).items():
            written = f"{TYPES[spec.kind]} {self.members[name]}[{max(spec.size, 1)}];"
            lines.append(f"    {written:<40} /* {comment(f'{name}: {describe(spec)}')} */")
        return "\n".join([*lines, "};", ""])

    def _constants(self) -> str:
        """The function that fills in what is part of the graph."""
        lines = [f"void {self.name}_constants(struct {self.name} *t) {{"]
        values = run(self.graph, targets=[name for node in self.constants for name in _outputs(node)])
        if not self.constants and not self.graph.defaults:
            lines.append("    (void)t;")
        for name, default in self.graph.defaults.items():
            spec = self.graph.nodes[name].outputs[0]
            lines += self._filled(name, spec, nested.full(spec.shape, float(default)))
        for node in self.constants:
            for name, spec in zip(_outputs(node), node.outputs, strict=True):
                lines += self._filled(name, spec, values[name])
        return "\n".join([*lines, "}", ""])

    def _filled(self, name: str, spec: Spec, value: Any) -> list[str]:
        member = self.members[name]
        if not spec.size:
            return [f"    t->{member}[0] = 0;"]
        cells = list(nested.flat(value))
        if spec.kind == "int":
            spelled = [str(cell) for cell in cells]
        else:
            spelled = [number(cell) for cell in cells]
        lines = [f"    {{ static const {TYPES[spec.kind]} cells[] = {{", *wrapped(spelled, "       "), "    };"]
        return [*lines, f"    memcpy(t->{member}, cells, sizeof cells); }}"]

    def _run(self) -> str:
        lines = [f"void {self.name}_run(struct {self.name} *t) {{", *(f"    {call}" for call in self.calls)]
        return "\n".join([*lines, *(["    (void)t;"] if not self.calls else []), "}", ""])

    def _table(self) -> str:
        specs = _tensors(self.graph)
        ranks = max((spec.rank for spec in specs.values()), default=0)
        lines = [
            "struct graphattn_tensor {",
            "    const char *name;",
            "    char kind; /* 'f' double, 'i' long, 'b' bool */",
            f"    size_t offset, size, rank, shape[{max(ranks, 1)}];",
            "};",
            f"const struct graphattn_tensor {self.name}_tensors[] = {{",
        ]
        for name, spec in specs.items():
            offset = f"offsetof(struct {self.name}, {self.members[name]})"
            shape = ", ".join(map(str, spec.shape)) or "1"
            sizes = f"{spec.size}, {spec.rank}, {{{shape}}}"
            lines.append(
                f"    {{{json.dumps(name, ensure_ascii=False)}, '{spec.kind[0]}', {offset}, {sizes}}},"
            )
        return "\n".join([*lines, "};", f"const size_t {self.name}_tensor_count = {len(self.members)};", ""])

    def _main(self) -> str:
        """A program that runs the feeds and prints every tensor as `name = [[cells]]`, which compare reads."""
        assert self.feeds is not None
        lines = ["#ifdef GRAPHATTN_MAIN", "#include <stdio.h>", f"static void feed(struct {self.name} *t) {{"]
        lines += [] if self.graph.inputs else ["    (void)t;"]
        for name, spec in self.graph.inputs.items():
            lines += self._filled(name, spec, self.feeds[name])
        for name in self.graph.defaults:
            lines += self._filled(name, self.graph.nodes[name].outputs[0], self.feeds[name])
        lines += MAIN.format(name=self.name).splitlines()
        return "\n".join([*lines, ""])


MAIN = """}}
/* The cells from a place on, in brackets for the axes from `axis` on; the place after them. */
static size_t print_cells(
    const struct graphattn_tensor *tensor, const char *cells, size_t axis, size_t place) {{
    if (axis == tensor->rank) {{
        if (tensor->kind == 'f') printf("%.17g", ((const double *)cells)[place]);
        else if (tensor->kind == 'i') printf("%ld", ((const long *)cells)[place]);
        else printf("%d", ((const bool *)cells)[place]);
        return place + 1;
    }}
    printf("[");
    for (size_t i = 0; i < tensor->shape[axis]; i++) {{
        if (i) printf(", ");
        place = print_cells(tensor, cells, axis + 1, place);
    }}
    printf("]");
    return place;
}}
int main(void) {{
    static struct {name} t;
    {name}_constants(&t);
    feed(&t);
    {name}_run(&t);
    for (size_t i = 0; i < {name}_tensor_count; i++) {{
        const struct graphattn_tensor *tensor = &{name}_tensors[i];
        printf("%s = %s", tensor->name, tensor->rank ? "" : "[");
        print_cells(tensor, (const char *)&t + tensor->offset, 0, 0);
        printf("%s\\n", tensor->rank ? "" : "]");
    }}
    return 0;
}}
#endif"""


def _tensors(graph: Graph) -> dict[str, Spec]:
    return {name: spec for node in graph.nodes.values() for name, spec in zip(_outputs(node), node.outputs)}


def _outputs(node: Node) -> list[str]:
    return [node.tensor_name(port) for port in range(len(node.ports))]
