"""Backpropagation on scalars, as in micrograd, right or wrong: a head that should give back its input.

gradients(feeds, wrong) -> {"d_x": …}
"""

import math

from graphattn import Graph

T, D = 3, 2
MISTAKES = (
    "add overwrites", "mul overwrites", "all overwrite", "exp of the input", "power: n xⁿ", "power: no n",
    "power: n − 1 left out", "tanh: 1 − t", "tanh: at the input", "sub: no minus", "div: numerator alone",
    "mul: own factor", "mul: one factor", "not in order", "visited again", "backward twice", "all twice",
    "seed: the loss", "seed: 0.5", "sum for mean", "exp detached", "weights detached",
    "order not reversed", "add: first alone", "mul: second alone", "exp overwritten by the weight",
)  # fmt: skip


class Value:
    wrong = None

    def __init__(self, data, children=(), back=None):
        self.data, self.grad, self.children, self.back = data, 0.0, children, back or (lambda: None)

    def take(self, grad, op):
        if self.wrong in (f"{op} overwrites", "all overwrite"):
            self.grad = grad
        else:
            self.grad += grad

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other))

        def back():
            self.take(out.grad, "add")
            if self.wrong != "add: first alone":
                other.take(out.grad, "add")

        out.back = back
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other))

        def back():
            own = self.wrong == "mul: own factor"
            if self.wrong != "mul: second alone":
                self.take((self if own else other).data * out.grad, "mul")
            if self.wrong != "mul: one factor":
                other.take((other if own else self).data * out.grad, "mul")

        out.back = back
        return out

    def __pow__(self, n):
        out = Value(self.data**n, (self,))

        def back():
            slope = {
                "power: n xⁿ": n * self.data**n, "power: no n": self.data ** (n - 1),
                "power: n − 1 left out": n * self.data,
            }.get(self.wrong, n * self.data ** (n - 1))  # fmt: skip
            self.take(slope * out.grad, "pow")

        out.back = back
        return out

    def __sub__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data - other.data, (self, other))

        def back():
            self.take(out.grad, "add")
            other.take(out.grad * (1 if self.wrong == "sub: no minus" else -1), "add")

        out.back = back
        return out

    def __truediv__(self, other):
        if self.wrong == "div: numerator alone":
            return self * (1 / (other.data if isinstance(other, Value) else other))
        return self * (other**-1 if isinstance(other, Value) else 1 / other)

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def back():
            if self.wrong != "exp detached":
                self.take((self.data if self.wrong == "exp of the input" else out.data) * out.grad, "exp")

        out.back = back
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,))

        def back():
            slope = {"tanh: 1 − t": 1 - t, "tanh: at the input": 1 - self.data**2}.get(self.wrong, 1 - t * t)
            self.take(slope * out.grad, "tanh")

        out.back = back
        return out

    def backward(self, seed=1.0):
        order, visited = [], set()

        def build(v):
            if id(v) in visited and Value.wrong != "visited again":
                return
            visited.add(id(v))
            if Value.wrong == "not in order":
                order.append(v)
            for child in v.children:
                build(child)
            if Value.wrong != "not in order":
                order.append(v)

        build(self)
        self.grad = seed
        for v in order if Value.wrong in ("not in order", "order not reversed") else reversed(order):
            v.back()


def total(values):
    whole = values[0]
    for v in values[1:]:
        whole = whole + v
    return whole


def dot(a, b):
    return total([p * q for p, q in zip(a, b, strict=True)])


def product(a, b):
    return [[dot(row, column) for column in zip(*b, strict=True)] for row in a]


def gradients(fed, wrong=None):
    Value.wrong = wrong
    leaves = {
        name: [[Value(v) for v in row] for row in fed[name]] for name in ("x", "w_q", "w_k", "w_v", "w_o")
    }
    x = leaves["x"]
    q, k, v = (product(x, leaves[f"w_{c}"]) for c in "qkv")
    mixed = []
    for i in range(T):
        scores = [dot(q[i], k[j]) / math.sqrt(D) for j in range(T)]
        peak = max(s.data for s in scores)
        raised = [(s - peak).exp() for s in scores]
        whole = total(raised)
        weights = [r / whole for r in raised]
        if wrong == "exp overwritten by the weight":
            for r, w in zip(raised, weights, strict=True):
                r.data = w.data
        if wrong == "weights detached":
            weights = [Value(w.data) for w in weights]
        mixed.append([dot(weights, column) for column in zip(*v, strict=True)])
    out = [[cell.tanh() for cell in row] for row in product(mixed, leaves["w_o"])]
    errors = [(a - b) ** 2 for row, goal in zip(out, x, strict=True) for a, b in zip(row, goal, strict=True)]
    loss = total(errors)
    if wrong != "sum for mean":
        loss = loss / (T * D)
    loss.backward({"seed: the loss": loss.data, "seed: 0.5": 0.5}.get(wrong, 1.0))
    if wrong == "backward twice":
        loss.backward()
    times = 2 if wrong == "all twice" else 1
    return {f"d_{name}": [[times * v.grad for v in row] for row in rows] for name, rows in leaves.items()}


def graph():
    g = Graph("value")
    x = g.input("x", (T, D), ("token", "feature"))
    w = {name: g.parameter(name, (D, D)) for name in ("w_q", "w_k", "w_v", "w_o")}
    q, k, v = (g.matmul(x, w[f"w_{p}"], name=p) for p in "qkv")
    scores = g.scale(g.matmul(q, k.T, name="scores"), sqrt=D, name="scaled")
    a = g.softmax(scores, name="weights")
    out = g.tanh(g.matmul(g.matmul(a, v, name="mixed"), w["w_o"], name="projected"), name="out")
    error = g.subtract(out, x, name="error")
    squares = g.reshape(g.multiply(error, error, name="squared"), (T * D,), name="squares")
    g.output(loss=g.reduce_mean(squares, name="loss"))
    return g


def feeds(random):
    shapes = {"x": (T, D), "w_q": (D, D), "w_k": (D, D), "w_v": (D, D), "w_o": (D, D)}
    return {
        n: [[round(random.gauss(0, 1), 3) for _ in range(c)] for _ in range(r)] for n, (r, c) in shapes.items()
    }
