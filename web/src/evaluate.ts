// Evaluates rules: whole tensors, from a rule and its operands. Rules become closures, since the page's
// policy forbids code from text.

import type { Piece, Rule, Tree } from "./contract.ts";
import { FUNCTIONS, maximum, sumprod, total } from "./numbers.ts";

export type Operands = readonly (Float64Array | null)[];
export type Dot = "sumprod" | "sum";

/** What closures read: the operands, the index, and behind it the running indices. */
interface Place {
  operands: Operands;
  at: Int32Array;
  parts: Float64Array;
}

type Closure = () => number;

interface Compiled {
  low: number[];
  high: number[];
  place: Place;
  parts: Closure[];
  tree: Closure;
}

export class Evaluator {
  private compiled = new WeakMap<Rule, Compiled[]>();

  constructor(private dot: Dot) {}

  /** The tensor that a rule gives. */
  tensor(rule: Rule, shape: readonly number[], operands: Operands, out?: Float64Array): Float64Array {
    const found = out ?? new Float64Array(shape.reduce((a, b) => a * b, 1));
    for (const piece of this.pieces(rule)) fill(piece, shape, operands, found);
    return found;
  }

  private pieces(rule: Rule): Compiled[] {
    let found = this.compiled.get(rule);
    if (!found) {
      found = rule.map((piece) => compile(piece, this.dot));
      this.compiled.set(rule, found);
    }
    return found;
  }
}

function fill(piece: Compiled, shape: readonly number[], operands: Operands, out: Float64Array): void {
  const { low, high, place, parts, tree } = piece;
  const rank = shape.length;
  place.operands = operands;
  const at = place.at;
  for (let axis = 0; axis < rank; axis++) at[axis] = low[axis]!;
  for (;;) {
    let flat = 0;
    for (let axis = 0; axis < rank; axis++) flat = flat * shape[axis]! + at[axis]!;
    for (let i = 0; i < parts.length; i++) place.parts[i] = parts[i]!();
    out[flat] = tree();
    let axis = rank - 1;
    while (axis >= 0 && ++at[axis]! >= high[axis]!) at[axis] = low[axis]!, axis--;
    if (axis < 0) return;
  }
}

function compile(piece: Piece, dot: Dot): Compiled {
  const [low, high, parts, tree] = piece;
  const rank = low.length;
  const place: Place = { operands: [], at: new Int32Array(rank + 4), parts: new Float64Array(parts.length) };
  const make = (t: Tree, depth: number) => closure(t, place, rank, depth, dot);
  return { low, high, place, parts: parts.map(([, part]) => make(part, 0)), tree: make(tree, 0) };
}

/** A sum of first + Σ stride · index, over the strides that are not 0. */
function offset(first: number, strides: number[], running: number[], place: Place, rank: number): Closure {
  const { at } = place;
  const terms: [number, number][] = [];
  strides.forEach((stride, axis) => stride && terms.push([axis, stride]));
  running.forEach((stride, depth) => stride && terms.push([rank + depth, stride]));
  if (terms.length === 0) return () => first;
  const [[a, s]] = terms as [[number, number]];
  if (terms.length === 1) return () => first + s * at[a]!;
  const [b, t] = terms[1]!;
  if (terms.length === 2) return () => first + s * at[a]! + t * at[b]!;
  return () => {
    let sum = first;
    for (const [axis, stride] of terms) sum += stride * at[axis]!;
    return sum;
  };
}

function closure(tree: Tree, place: Place, rank: number, depth: number, dot: Dot): Closure {
  const inner = (t: Tree) => closure(t, place, rank, depth, dot);
  switch (tree[0]) {
    case "c": {
      const [, slot, first, strides, running] = tree;
      const at = offset(first, strides, running, place, rank);
      return () => place.operands[slot]![at()]!;
    }
    case "v": {
      const [, slot, first, strides, running, choosers] = tree;
      const at = offset(first, strides, running, place, rank);
      const chosen = choosers.map(([factor, size, cell]) => ({ factor, size, value: inner(cell) }));
      return () => {
        let sum = at();
        for (const { factor, size, value } of chosen) sum += factor * wrapped(value(), size);
        return place.operands[slot]![sum]!;
      };
    }
    case "l": {
      const value = literal(tree[1]);
      return () => value;
    }
    case "i": {
      const [, first, strides, running] = tree;
      return offset(first, strides, running, place, rank);
    }
    case "p": {
      const part = tree[1];
      return () => place.parts[part]!;
    }
    case "f":
      return applied(tree[1], (tree.slice(3) as Tree[]).map(inner));
    case "r": {
      const [, name, , count, body] = tree;
      return repeated(name, count, body, place, rank, depth, dot);
    }
  }
}

/** Python's int(value) % size. */
export function wrapped(value: number, size: number): number {
  const left = Math.trunc(value) % size;
  return left < 0 ? left + size : left;
}

export function literal(value: number | boolean | string): number {
  if (typeof value !== "string") return Number(value);
  return value === "nan" ? NaN : value === "inf" ? Infinity : -Infinity;
}

function applied(name: string, args: Closure[]): Closure {
  const call = FUNCTIONS[name];
  if (!call) throw new Error(`the page knows no function ${name}`);
  const [a, b, c] = args;
  if (name === "where") return () => (a!() ? b!() : c!());
  if (args.length === 1) return () => call(a!());
  if (args.length === 2) return () => call(a!(), b!());
  return () => call(...args.map((arg) => arg()));
}

function repeated(
  name: string, count: number, body: Tree, place: Place, rank: number, depth: number, dot: Dot,
): Closure {
  const { at } = place;
  const own = rank + depth;
  const product = name === "total" && body[0] === "f" && (body[1] === "multiply" || body[1] === "absorb");
  if (product && (body[3] as Tree)[0] === "c" && (body[4] as Tree)[0] === "c") {
    return products(body, count, place, rank, depth, dot);
  }
  const term = closure(body, place, rank, depth + 1, dot);
  const terms = new Float64Array(count);
  const fold = name === "total" ? total : maximum;
  return () => {
    for (let k = 0; k < count; k++) {
      at[own] = k;
      terms[k] = term();
    }
    at[own] = 0;
    return fold(terms, count);
  };
}

/** A sum of products of two cells is one dot product; with `absorb`, where it is not finite, it is taken
 * again without the factors that are 0. */
function products(body: Tree, count: number, place: Place, rank: number, depth: number, dot: Dot): Closure {
  const [, operation, , left, right] = body as ["f", string, string, Tree, Tree];
  const [, slotP, firstP, stridesP, runningP] = left as ["c", number, number, number[], number[]];
  const [, slotQ, firstQ, stridesQ, runningQ] = right as ["c", number, number, number[], number[]];
  const atP = offset(firstP, stridesP, runningP.slice(0, depth), place, rank);
  const atQ = offset(firstQ, stridesQ, runningQ.slice(0, depth), place, rank);
  const stepP = runningP[depth] ?? 0;
  const stepQ = runningQ[depth] ?? 0;
  const p = new Float64Array(count);
  const q = new Float64Array(count);
  return () => {
    const from = place.operands[slotP]!;
    const other = place.operands[slotQ]!;
    for (let k = 0, i = atP(), j = atQ(); k < count; k++, i += stepP, j += stepQ) {
      p[k] = from[i]!;
      q[k] = other[j]!;
    }
    const sum = dotted(p, q, count, dot);
    if (operation === "multiply" || Number.isFinite(sum)) return sum;
    let kept = 0;
    for (let k = 0; k < count; k++) {
      if (p[k] !== 0 && q[k] !== 0) {
        p[kept] = p[k]!;
        q[kept++] = q[k]!;
      }
    }
    return dotted(p, q, kept, dot);
  };
}

function dotted(p: Float64Array, q: Float64Array, count: number, dot: Dot): number {
  if (dot === "sumprod") return sumprod(p, q, count);
  let sum = 0;
  for (let k = 0; k < count; k++) sum += p[k]! * q[k]!;
  return sum;
}
