"""Files as learners write them: a right `model.py`, the same in other styles, and with mistakes planted."""

RIGHT = """import math

def softmax(xs):
    peak = max(xs)
    raised = [math.exp(x - peak) for x in xs]
    total = sum(raised)
    return [r / total for r in raised]

def attention(Q, K, V, mask=None):
    d = len(K[0])
    weights = []
    for i, q in enumerate(Q):
        scores = [sum(a * b for a, b in zip(q, k)) / math.sqrt(d) for k in K]
        if mask is not None:
            scores = [s if mask[i][j] else -1e9 for j, s in enumerate(scores)]
        weights.append(softmax(scores))
    out = [[sum(w * v[j] for w, v in zip(row, V)) for j in range(len(V[0]))] for row in weights]
    return out, weights

def causal_mask(n):
    return [[j <= i for j in range(n)] for i in range(n)]

def multi_head(Q, K, V, h, mask=None):
    d = len(Q[0]) // h
    heads = []
    for i in range(h):
        part = lambda X: [row[i * d:(i + 1) * d] for row in X]
        heads.append(attention(part(Q), part(K), part(V), mask)[0])
    return [sum((head[t] for head in heads), []) for t in range(len(Q))]

def pos_encoding(n, d):
    rows = []
    for p in range(n):
        angles = [p / 10000 ** ((i - i % 2) / d) for i in range(d)]
        rows.append([math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)])
    return rows

def layer_norm(row, eps=1e-5):
    mean = sum(row) / len(row)
    variance = sum((x - mean) ** 2 for x in row) / len(row)
    return [(x - mean) / math.sqrt(variance + eps) for x in row]

def block(X, h, mask=None):
    normed = [layer_norm(row) for row in X]
    mixed = multi_head(normed, normed, normed, h, mask)
    return [[a + b for a, b in zip(x, y)] for x, y in zip(X, mixed)]
"""

STYLES = {  # changes that leave it right: name -> (old, new) ...
    "as it is": (),
    "minus infinity": (("-1e9", "-math.inf"),),
    "fsum": (
        ("total = sum(raised)", "total = math.fsum(raised)"),
        ("sum(row) / len(row)", "math.fsum(row) / len(row)"),
    ),
    "power of a half": (("math.sqrt(d)", "d ** 0.5"),),
    "queries scaled": ((
        "scores = [sum(a * b for a, b in zip(q, k)) / math.sqrt(d) for k in K]",
        "q = [a / math.sqrt(d) for a in q]\n        scores = [sum(a * b for a, b in zip(q, k)) for k in K]",
    ),),
    "zeros and ones": (("[[j <= i for j", "[[int(j <= i) for j"),),
    "tuples": (("return [r / total for r in raised]", "return tuple(r / total for r in raised)"),),
    "prints much": (("peak = max(xs)", "peak = max(xs)\n    print('x' * 100000)"),),
}  # fmt: skip

MISTAKES = [  # (function that is graded, old, new, words of the mistake or of the problem)
    ("softmax", "math.exp(x - peak)", "math.exp(x)", "OverflowError: math range error exp of a large number"),
    ("softmax", "[r / total for r in raised]", "raised", "wrong"),
    ("softmax", "total = sum(raised)", "total = max(raised)", "wrong"),
    ("attention", " / math.sqrt(d)", "", "without the scale"),
    ("attention", " / math.sqrt(d)", " / d", "scale"),
    ("attention", " / math.sqrt(d)", " * math.sqrt(d)", "scale"),
    ("attention", "d = len(K[0])", "d = len(Q)", "scale"),
    ("attention", "zip(row, V)", "zip(row, K)", "K instead of V"),
    ("attention", "if mask[i][j] else -1e9", "if not mask[i][j] else -1e9", "wrong"),
    ("attention", "scores = [s if mask[i][j] else -1e9 for j, s in enumerate(scores)]", "pass", "mask"),
    ("attention", "scores = [s if mask[i][j] else -1e9 for j, s in enumerate(scores)]",
     "scores = [s + mask[i][j] for j, s in enumerate(scores)]", "mask"),
    ("attention", "scores = [s if mask[i][j] else -1e9 for j, s in enumerate(scores)]",
     "scores = [s if mask[j][i] else -1e9 for j, s in enumerate(scores)]", "mask"),
    ("attention", "return out, weights", "return out", "expected 2"),
    ("attention", "return out, weights", "return weights, out", "expected 4 × 6"),
    ("causal_mask", "j <= i", "j < i", "j < i in place of j ≤ i"),
    ("causal_mask", "j <= i", "j >= i", "the mask causal_mask transposed"),
    ("causal_mask", "[[j <= i for j", "[[float(j <= i) for j", "floats, which a mask adds; expected bools"),
    ("causal_mask", "range(n)] for i", "range(n + 1)] for i", "expected 4 × 4"),
    ("multi_head", "part(K), part(V), mask)", "part(K), part(V))", "mask"),
    ("multi_head", "row[i * d:(i + 1) * d]", "row[i::h]", "wrong"),
    ("multi_head", "(Q, K, V, h, mask=None)", "(Q, K, V)",
     "4 were given; expected multi_head(Q, K, V, h, mask=None)"),
    ("multi_head", "for head in heads)", "for head in heads[::-1])", "multi_head"),
    ("multi_head", "part(K), part(V), mask", "part(V), part(V), mask", "multi_head"),
    ("multi_head", "sum((head[t] for head in heads), [])", "heads[0][t]", "expected 4 × 8"),
    ("pos_encoding", "return rows", "return [[p] * d for p in range(n)]", "outside of [-1, 1]"),
    ("pos_encoding", "angles = [p /", "angles = [0 * p /", "the same vector"),
    ("layer_norm", "for x in row) / len(row)", "for x in row) / (len(row) - 1)", "variance"),
    ("layer_norm", "math.sqrt(variance + eps)", "(math.sqrt(variance) + eps)", "wrong"),
    ("layer_norm", "math.sqrt(variance + eps)", "(variance + eps)", "wrong"),
    ("layer_norm", "(x - mean) / math", "x / math", "deviation"),
    ("layer_norm", "variance + eps", "variance", "eps=0 instead of 1e-05"),
    ("block", "[a + b for", "[b for", "residual"),
    ("block", "normed = [layer_norm(row) for row in X]", "normed = X", "norm"),
    ("block", "zip(X, mixed)", "zip(normed, mixed)", "norm"),
    ("softmax", "peak = max(xs)", "xs.sort()\n    peak = max(xs)", "changed what it was given"),
    ("softmax", "peak = max(xs)", "import time; time.sleep(99)", "did not finish within"),
    ("softmax", "peak = max(xs)", "import sys; sys.exit()", "called exit"),
    ("softmax", "peak = max(xs)", "import os; os._exit(7)", "exit status 7"),
    ("softmax", "peak = max(xs)", "peak = 'a'", "TypeError"),
    ("softmax", "return [r / total for r in raised]", "return [float('nan')] * len(xs)", "wrong"),
    ("softmax", "return [r / total for r in raised]", "pass", "gives None"),
    ("softmax", "return [r / total for r in raised]", "return ['a']", "gives a str"),
    ("softmax", "peak = max(xs)", "x = bytearray(10 ** 10)", "memory"),
]  # fmt: skip


def changed(*changes):
    """RIGHT with texts replaced, each of which must be there."""
    text = RIGHT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text
