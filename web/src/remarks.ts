// What a reader should know of one cell beside its formula, in the words of `why` (insight/why/remarks.py
// and tree.py): which mask hid it, which branch was taken, where an infinity or NaN comes from.

import type { Apply, Branch, Expression, Key } from "./trace.ts";
import { cellsOf, valueOf, written } from "./trace.ts";
import type { Derivation, Entry } from "./derivation.ts";
import { same } from "./derivation.ts";
import { Formula, joined } from "./formula.ts";
import type { Names } from "./text.ts";
import { numberText } from "./text.ts";

const HOPS = 10_000;

export function remarks(derivation: Derivation, names: Names, entry: Entry): string[] {
  const formula = new Formula(derivation, names, entry);
  const found: string[] = [];
  if (entry.hidden) found.push(hiddenBy(derivation, names, entry));
  found.push(...branches(derivation, names, entry, formula));
  if (entry.kind === "patched") found.push(patched(derivation, entry, formula));
  else if (!entry.hidden) found.push(...nonfinite(derivation, names, entry));
  if (entry.kind === "computed") {
    const largest = formula.largest();
    if (largest) found.push(largest);
    found.push(...absorbed(entry, formula));
  }
  return found;
}

/** A few words on what kind of cell it is. */
export function note(derivation: Derivation, entry: Entry): string {
  const { op } = entry.maker;
  if (entry.kind === "fed") return op.title;
  if (entry.kind === "unknown") return `op ${op.name} does not say how its cells come about`;
  if (entry.kind === "patched") return "";
  if (!derivation.sources(entry).length) return op.name.replaceAll("_", " ");
  const row = rowOf(derivation, entry);
  return row ? `${op.title} over ${row}` : "";
}

/** 'row "sat"' where a cell was computed from one whole row (or column) of its operand alone. */
function rowOf(derivation: Derivation, entry: Entry): string {
  const cells = new Map<number, Key[]>();
  for (const cell of cellsOf(entry.expression)) {
    const found = cells.get(cell.slot) ?? [];
    if (!found.some((key) => same(key, cell.key))) found.push(cell.key);
    cells.set(cell.slot, found);
  }
  const keys = cells.get(0);
  if (!keys || keys.length < 2 || [...cells].some(([slot, own]) => slot && own.length > 1)) return "";
  const { trace } = derivation;
  const { shape } = trace.tensor(keys[0]!.tensor);
  const indices = keys.map((key) => trace.index(key));
  const moving = shape.map((_, axis) => axis).filter((axis) => new Set(indices.map((i) => i[axis])).size > 1);
  const [axis] = moving;
  if (moving.length !== 1 || keys.length !== shape[axis!] || axis! < shape.length - 2) return "";
  if (shape.length === 1) return "all cells";
  const across = axis === shape.length - 2 ? shape.length - 1 : shape.length - 2;
  const labels = trace.labels(keys[0]!.tensor)[across];
  const place = labels?.[indices[0]![across]!] ?? String(indices[0]![across]);
  return `${across === shape.length - 2 ? "row" : "column"} ${labels && !place.startsWith('"') ? `"${place}"` : place}`;
}

// ---------------------------------------------------------------- masks and branches

function hiddenBy(derivation: Derivation, names: Names, entry: Entry): string {
  const key = derivation.mask(entry.key, (e) => new Formula(derivation, names, e).main().map((cell) => cell.key));
  return key ? `hidden by ${maskText(derivation, names, key)}` : "hidden by a mask";
}

/** A cell of a mask, its value, and how it came to be that. */
function maskText(derivation: Derivation, names: Names, key: Key): string {
  const origin = derivation.entry(derivation.origin(key));
  const formula = new Formula(derivation, names, origin);
  const value = formula.number(origin.value, origin.valueKind);
  const told = `${names.cell(origin.key)}, which is ${value}`;
  if (origin.kind === "fed") return `${told} (${origin.maker.op.title})`;
  const rule = ` (${origin.maker.op.name.replaceAll("_", " ")})`;
  if (origin.kind === "computed") {
    const why = made(derivation, formula, origin);
    const byRule = origin.valueKind !== "bool" && !derivation.sources(origin).length;
    if (why && why.toLowerCase() !== value && origin.expression?.type !== "cell" && !byRule) {
      return `${told}: ${why}${value === "false" ? ` does not hold${rule}` : ""}`;
    }
  }
  return `${told}${rule}`;
}

function made(derivation: Derivation, formula: Formula, entry: Entry): string {
  return entry.expression ? joined(formula.symbols()) : written(derivation.trace, entry.key);
}

/** Whether a condition only guards against rows in which nothing is visible, and it holds. */
function asUsual({ condition, holds }: Branch): boolean {
  return condition.type === "apply" && condition.function === "is_visible" && holds;
}

function branches(derivation: Derivation, names: Names, entry: Entry, formula: Formula): string[] {
  return entry.branches
    .filter((branch) => !asUsual(branch) && !(entry.hidden && !branch.holds))
    .map(({ condition, holds }) => {
      if (condition.type === "cell") return `since ${maskText(derivation, names, derivation.origin(condition.key))}`;
      const whole = formula.steps(condition).map(joined);
      const numbers = whole[0] && whole[0].length < 40 ? `: ${whole[0]}` : "";
      return `since ${joined(formula.symbols(condition))} ${holds ? "holds" : "does not hold"}${numbers}`;
    });
}

function patched(derivation: Derivation, entry: Entry, formula: Formula): string {
  const told = "patched: this number was put in its place";
  const value = entry.expression ? valueOf(entry.expression, derivation.run) : null;
  return value === null ? told : `${told}; its operands give ${formula.number(value)}`;
}

// ---------------------------------------------------------------- infinities, NaN and zeros

function finite(value: number | null): boolean {
  return value === null || Number.isFinite(value);
}

function nonfinite(derivation: Derivation, names: Names, entry: Entry): string[] {
  if (finite(entry.value)) return [];
  const origin = derivation.entry(cause(derivation, entry.key));
  const formula = new Formula(derivation, names, origin);
  const own = same(origin.key, entry.key);
  if (origin.kind !== "computed" || !origin.expression) {
    if (own) return [];
    const told = origin.kind === "fed" ? "which was fed so" : origin.kind === "patched" ? "which was patched so" : "of unknown origin";
    return [`comes from ${names.cell(origin.key)} = ${formula.number(origin.value, origin.valueKind)}, ${told}`];
  }
  const broken = breaks(derivation, origin, formula);
  if (broken) return [broken + (own ? "" : ` in ${names.cell(origin.key)}`)];
  return own ? [] : [`comes from ${names.cell(origin.key)}${origin.hidden ? ", which is hidden" : ""}`];
}

/** The cell in which a number that is not finite first came up. */
function cause(derivation: Derivation, key: Key): Key {
  for (let hops = 0; hops < HOPS; hops++) {
    const entry = derivation.entry(key);
    const source = derivation.sources(entry).find((k) => !finite(derivation.value(k)));
    if (entry.kind !== "computed" || entry.hidden || !source || breaks(derivation, entry, null)) return key;
    key = source;
  }
  return key;
}

const REASONS: Record<string, string> = {
  exp: "larger than any number of its type",
  total: "the sum is larger than any number of its type",
  multiply: "larger than any number of its type",
  add: "larger than any number of its type",
};

/** The innermost operation that made a number which is not finite, and how; '' where none did. */
function breaks(derivation: Derivation, entry: Entry, formula: Formula | null): string {
  const order: Apply[] = [];
  const seen = new Set<Expression>();
  const visit = (tree: Expression) => {
    if (tree.type !== "apply" || seen.has(tree)) return;
    seen.add(tree);
    tree.args.forEach(visit);
    order.push(tree);
  };
  if (entry.expression) visit(entry.expression);
  const done = new Map<Expression, number | null>();
  for (const tree of order) {
    const value = valueOf(tree, derivation.run, done);
    if (value === null || finite(value)) continue;
    const args = tree.args.map((arg) => valueOf(arg, derivation.run, done));
    if (!(args.every(finite) || (Number.isNaN(value) && !args.some(Number.isNaN)))) continue;
    if (!formula) return "here";
    let text = joined(formula.steps(tree)[0] ?? []);
    if (!text || text.length > 60) text = joined(formula.symbols(tree));
    const reason = Number.isNaN(value) ? "" : REASONS[tree.function] ?? "";
    return `${text} = ${numberText(value)}${reason ? `: ${reason}` : ""}`;
  }
  return "";
}

/** Factors that are exactly 0 before something that is not finite. */
function absorbed(entry: Entry, formula: Formula): string[] {
  let count = 0;
  let shown = "";
  const seen = new Set<Expression>();
  const visit = (tree: Expression | null) => {
    if (tree?.type !== "apply" || seen.has(tree)) return;
    seen.add(tree);
    if (tree.function === "absorb" || tree.function === "absorb_divide") {
      const [a, b] = tree.args.map((arg) => formula.value(arg)) as [number | null, number | null];
      const divides = tree.function === "absorb_divide";
      if ((a === 0 && ((divides && b === 0) || !finite(b))) || (!divides && b === 0 && !finite(a))) {
        count++;
        shown ||= `${formula.number(a)} ${divides ? "/" : "·"} ${formula.number(b)}`;
      }
    }
    tree.args.forEach(visit);
  };
  visit(entry.expression);
  const times = count > 1 ? ` (${count} times)` : "";
  return count ? [`${shown} counts as 0${times}: what stands behind a weight of exactly 0 does not leak`] : [];
}
