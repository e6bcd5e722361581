"""What diagnose names: a table over mistakes.json and over mistakes that no list has, and the counts.

    python tests/insight/diagnose_report.py [PART …]            listed, declared, invented, ported, right, …
    python tests/insight/diagnose_report.py listed:0/2          every second one, from the first on

The mistakes are written by hand in `by_hand`, on lists of floats, many of them in several ways (`M3:nan` is one
of M3). A finding is "first" where its graph gives
what the wrong code gives on other inputs and parameters too, "named" where a later finding does, "look-alike"
where none does.
"""

import sys
import time
from functools import partial
from random import Random

import backprop
import by_hand
import fresh
import gradient_mistakes
import porting
import twofold

from graphattn import GraphError, diagnose, run
from graphattn.builtin import random_feeds, specimen
from graphattn.core import nested
from graphattn.core.rounded import FLOAT32
from graphattn.insight.variants import Intended, variants

BUDGET = 600
COLUMNS = ("output", "some", "all", "float32", "4 decimals")
SOME = ("q", "concat", "residual1")


def rounded(value, how):
    if isinstance(value, list):
        return [rounded(v, how) for v in value]
    return round(value, 4) if how == "4 decimals" else FLOAT32.round(value)


def same(a, b):
    x, y = list(nested.flat(a)), list(nested.flat(b))
    if len(x) != len(y):
        return False
    size = max((abs(v) for v in y if abs(v) < 1e300), default=0.0)
    return all(p == q or abs(p - q) <= 1e-9 * size or (p != p and q != q) for p, q in zip(x, y, strict=True))


def observed(base, feeds, wrong, column):
    seen = {}
    y = by_hand.layer(base, feeds, wrong, seen)
    if column == "some":
        return {"y": y, **{name: seen[name] for name in SOME if name in seen}}
    if column == "all":
        return {"y": y, **seen}
    return {"y": y if column == "output" else rounded(y, column)}


def judged(graph, feeds, given, other, truth, **options):
    """(word, seconds, first phrase) of what was observed; `truth()` is what the wrong code gives on `other`."""
    started = time.process_time()
    found = diagnose(graph, feeds, given, budget=BUDGET, pairs=False, **options)
    seconds = time.process_time() - started
    if not found.findings or found.verdict == "harmless":
        return found.verdict, seconds, found.findings[0].phrase if found.findings else ""
    expected = truth()
    for place, finding in enumerate(found.findings):
        fed = {name: other[name] for name in finding.graph.inputs}
        if same(run(finding.graph, fed, allow_nonfinite=True)["y"], expected):
            return "named" if place else "first", seconds, finding.phrase
    return "look-alike", seconds, found.findings[0].phrase


def judged_by_hand(base, wrong, column, **options):
    """The same of a mistake of `by_hand`."""
    graph, feeds = by_hand.intended(base), by_hand.feeds_of(base)
    other = by_hand.feeds_of(base, seed=9)
    try:
        given = observed(base, feeds, wrong, column)
        return judged(graph, feeds, given, other, lambda: by_hand.layer(base, other, wrong), **options)
    except GraphError as error:
        return f"error: {error}", 0.0, ""


def judged_fresh(what):
    """The same of a mistake of `fresh`, from the output alone."""
    built = fresh.CASES[what]
    feeds, other = fresh.feeds(**built), fresh.feeds(**built, seed=3)
    y, truth = (partial(fresh.block, fed, what, built.get("pooled", False)) for fed in (feeds, other))
    return judged(fresh.intended(**built), feeds, {"y": y()}, other, truth)


def judged_porting(base, what):
    """The same of a mistake of `porting`."""
    feeds, other = porting.feeds(base), porting.feeds(base, seed=3)
    y, truth = (partial(porting.forward, base, fed, what) for fed in (feeds, other))
    return judged(porting.intended(base), feeds, {"y": y()}, other, truth)


def ported(part=""):
    first, step = map(int, part.split("/")) if part else (0, 1)
    counts = {}
    for base, what in porting.CASES[first::step]:
        word, seconds, phrase = judged_porting(base, what)
        counts[word] = counts.get(word, 0) + 1
        print(f"{base:8} {what:40} {word} {seconds:.1f}s   {phrase}", flush=True)
    print(f"ported: {counts} of {sum(counts.values())}", flush=True)


def freshly():
    counts = {}
    for what in fresh.CASES:
        word, seconds, phrase = judged_fresh(what)
        counts[word] = counts.get(word, 0) + 1
        print(f"{what:30} {word} {seconds:.1f}s   {phrase}", flush=True)
    print(f"fresh: {counts} of {len(fresh.CASES)}", flush=True)


def table(planted, columns, part="", **options):
    if part:
        first, step = map(int, part.split("/"))
        planted = dict(list(planted.items())[first::step])
    counts = {column: {} for column in columns}
    missed = {column: set() for column in columns}
    for identity, base in planted.items():
        words = []
        for column in columns:
            word, seconds, phrase = judged_by_hand(base, identity, column, **options)
            counts[column][word] = counts[column].get(word, 0) + 1
            if word not in ("first", "named"):
                missed[column].add(identity.partition(":")[0])
            words.append(f"{column}: {word} {seconds:.1f}s")
        print(f"{identity:22} {base:8} {'   '.join(words)}   {phrase}", flush=True)
    for column in columns:
        total = sum(counts[column].values())
        hidden = counts[column].get("right", 0)
        fine = counts[column].get("first", 0) + counts[column].get("named", 0)
        told = ", ".join(f"{word} {count}" for word, count in sorted(counts[column].items()))
        print(f"{column}: {fine} of {total - hidden} that can be seen ({told})", flush=True)
        print(f"{column}: not named in each way: {' '.join(sorted(missed[column])) or 'none'}", flush=True)


def right(runs=2000, step=100):
    """Right code in many guises: no name. A line for every `step` runs."""
    wrongly, unsure = [], []
    guises = list(gradient_mistakes.RIGHT_GUISES)
    bases = ("plain", "pe", "rope", "alibi", "softcap", "window", "gqa", "large")
    for done in range(runs):
        base, seed, guise = bases[done % 8], done // 8, guises[done % len(guises)]
        feeds = by_hand.feeds_of(base, seed)
        graph = by_hand.intended(base)
        if (guise, base) == ("renormalized", "large"):
            continue  # not right there: hidden scores may be so large that no visible weight is left
        y = gradient_mistakes.RIGHT_GUISES[guise](base, feeds, graph)
        found = diagnose(graph, feeds, {"y": y}, budget=5, pairs=False)
        if found.findings:
            wrongly.append((base, guise, seed, found.findings[0].phrase))
        elif found.verdict != "right":
            unsure.append((base, guise, seed, found.verdict))
        if not (done + 1) % step:
            print(f"right code: {len(wrongly)} names in {done + 1} runs; {len(unsure)} not called right"
                  f" {wrongly[:5]} {unsure[:5]}", flush=True)  # fmt: skip


def noise(runs=510, step=30):
    """Noise of the shape of the output, and outputs that no mistake gives: no name."""
    wrongly, done = [], 0
    given = [
        specimen("block", n=4, d=4, causal=True),
        specimen("attention", n=4, d=4),
        specimen("multi-head", n=4, d=4),
    ]
    rights = [run(s.graph, s.feeds)[next(iter(s.graph.outputs))] for s in given]
    while done < runs:
        random = Random(done)
        for s, right in zip(given, rights, strict=True):
            name, out = next(iter(s.graph.outputs.items()))
            value = nested.build(out.shape, lambda *_, r=random: r.gauss(0, 1))
            if done % 2:  # the right output, with noise of a tenth of its size
                value = nested.build(out.shape, lambda i, j, v=value, y=right: y[i][j] + v[i][j] / 10)
            found = diagnose(s.graph, s.feeds, {name: value}, budget=60, pairs=False)
            if found.findings:
                wrongly.append(found.findings[0].phrase)
            done += 1
        if not done % step:
            print(f"noise: {len(wrongly)} names in {done} runs {wrongly[:5]}", flush=True)


def pairs(count=40, most=20):
    """Two mistakes of different kinds at once, from the output alone: whether both are named within so many
    seconds of work, all in all."""
    given = specimen("block", n=4, d=8, heads=2, causal=True)
    op, other = given.graph.at("op"), random_feeds(given.graph, 9)
    usual = [v for v in variants(Intended(op, given.feeds), rest=False) if v.price <= 1.2]
    random, counts = Random(1), {}
    while sum(counts.values()) < count:
        a = random.choice(usual)
        try:
            once = a.rewrite.graph(op)
            more = [v for v in variants(Intended(once, given.feeds), rest=False) if v.price <= 1.2]
            b = random.choice([v for v in more if v.kind != a.kind])
            twice = b.rewrite.graph(once)
            y = run(twice, given.feeds)["Y"]
            truth = run(twice, other)["Y"]
            if diagnose(given.graph, given.feeds, {"Y": y}, pairs=False).verdict != "unexplained":
                continue
        except (GraphError, IndexError):
            continue
        found = diagnose(given.graph, given.feeds, {"Y": y})
        word = _first(found, other, {"Y": truth}) if found.seconds <= most else "late"
        counts[word] = counts.get(word, 0) + 1
        told = found.findings[0].phrase if found.findings else ""
        print(f"  {a.phrase} + {b.phrase} -> {word} {found.seconds:.1f}s {told}", flush=True)
    print(f"pairs: {counts} of {count}", flush=True)


def together(part="", count=48):
    """Two mistakes at once of `twofold`: whether both are named, within the usual budgets."""
    first, step = map(int, part.split("/")) if part else (0, 1)
    graph, feeds, other = twofold.intended(), twofold.feeds(), twofold.feeds(9)
    counts = {}
    for wrong in twofold.cases(count)[first::step]:
        found = diagnose(graph, feeds, {"y": twofold.layer(feeds, wrong)})
        word = _first(found, other, {"y": twofold.layer(other, wrong)})
        counts[word] = counts.get(word, 0) + 1
        told = found.findings[0].phrase if found.findings else ""
        print(f"{' + '.join(wrong):50} {word} {found.seconds:.1f}s   {told}", flush=True)
    print(f"two at once: {counts} of {sum(counts.values())}", flush=True)


SEEN = {"all": None, "x": ("d_x", "d_table"), "some": ("d_w_q", "d_w_1", "d_gamma1", "d_b_1")}
"""Which gradients are observed, where there are any of these."""


def by_hand_backward(column="all", part=""):
    """Wrong backward passes of `backprop`, all gradients observed or some, in fewer digits or not."""
    first, step = map(int, part.split("/")) if part else (0, 1)
    counts = {}
    for base, what in backprop.CASES[first::step]:
        word, seconds, phrase = judged_backward(base, what, column)
        counts[word] = counts.get(word, 0) + 1
        print(f"{base:8} {what:40} {word} {seconds:.1f}s   {phrase}", flush=True)
    print(f"backward, {column}: {counts} of {sum(counts.values())}", flush=True)


def judged_backward(base, what, column="all"):
    """(word, seconds of work, first phrase) of a wrong backward pass, within the usual budget."""
    feeds, other = backprop.feeds(base), backprop.feeds(base, seed=9)
    given, truth = backprop.gradients(base, feeds, what), backprop.gradients(base, other, what)
    if same_tensors(given, backprop.gradients(base, feeds)):
        return "cannot be seen", 0.0, ""
    names = SEEN.get(column) or given
    given = {n: v if column in SEEN else rounded(v, column) for n, v in given.items() if n in names}
    try:
        found = diagnose(backprop.intended(base), feeds, given, pairs=False)
    except GraphError as error:
        return "error", 0.0, str(error)
    told = found.findings[0].phrase if found.findings else ""
    return _first(found, other, {n: truth[n] for n in given}), found.seconds, told


def same_tensors(a, b):
    return same([a[name] for name in b], list(b.values()))  # of all together: one of them may be all 0


def _first(found, other, truth):
    """Whether the first finding, or one after it, gives the same on other inputs."""
    if not found.findings or found.verdict == "harmless":
        return found.verdict
    for place, finding in enumerate(found.findings):
        fed = {name: value for name, value in other.items() if name in finding.graph.inputs}
        trace = run(finding.graph, fed, allow_nonfinite=True)
        if same_tensors({name: trace[name] for name in truth}, truth):
            return "named" if place else "first"
    return "look-alike"


def gradients():
    gradient_mistakes.report(partial(print, flush=True))


def times():
    for n, d, heads in ((4, 8, 2), (5, 12, 3), (16, 64, 4)):
        given = specimen("block", n=n, d=d, heads=heads, causal=True)
        right = run(given.graph, given.feeds)
        patch = {f"head{i}.scaled": right[f"head{i}.scores"] for i in range(heads)}
        wrong = run(given.graph, given.feeds, patch=patch)["Y"]
        random = Random(1)
        nothing = [[random.gauss(0, 1) for _ in range(d)] for _ in range(n)]
        for what, value in (("first hit", wrong), ("nothing fits", nothing)):
            seconds = []
            for _ in range(3):
                fresh = specimen("block", n=n, d=d, heads=heads, causal=True)
                started = time.process_time()
                diagnose(fresh.graph, fresh.feeds, {"Y": value}, budget=BUDGET, pairs=False)
                seconds.append(time.process_time() - started)
            print(f"({n}, {d}, {heads}) {what}: {min(seconds):.2f} s of processor time", flush=True)


PARTS = {
    "listed": lambda part="": table(by_hand.LISTED, COLUMNS, part),
    "harmless": lambda part="": table(by_hand.HARMLESS, COLUMNS, part),
    "declared": lambda part="": table(by_hand.LISTED, COLUMNS[:1], part, declared=False),
    "invented": lambda part="": table(by_hand.INVENTED, COLUMNS[:1], part), "fresh": freshly, "ported": ported,
    "right": right, "noise": noise, "pairs": pairs, "gradients": gradients, "times": times,
    "together": together, "backward": by_hand_backward,
}  # fmt: skip

if __name__ == "__main__":
    for asked in sys.argv[1:] or PARTS:
        print(f"---- {asked}", flush=True)
        name, *slices = asked.split(":")
        PARTS[name](*slices)
