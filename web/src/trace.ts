// A run as the page knows it: tensors with their numbers, nodes, scopes, and where each cell comes from.

import type { Contents, NodeRecord, Op, Rule, ScopeRecord, TensorRecord, Tree, Piece, Wording } from "./contract.ts";
import type { Unpacked } from "./decode.ts";
import { bits } from "./decode.ts";
import { Evaluator, literal, wrapped } from "./evaluate.ts";
import { FUNCTIONS, total } from "./numbers.ts";

/** One cell: the place of its tensor, and its own place there, flat. */
export interface Key {
  tensor: number;
  at: number;
}

/** What computes a tensor: a node, or a composite that has a formula of its own. */
export interface Maker {
  kind: "node" | "scope";
  place: number;
  name: string;
  op: Op;
  operands: (number | null)[];
  rule: Rule | null;
}

export interface Values {
  tensors: (Float64Array | null)[];
  /** For each tensor, 1 for each cell that a mask hides; null where none does. */
  masks: (Uint8Array | null)[];
}

export class Trace {
  readonly contents: Contents;
  readonly evaluator: Evaluator;
  readonly runs: Values[];
  /** The node that made each tensor. */
  readonly madeBy: number[] = [];
  /** What makes each tensor: the coarsest formula first. */
  readonly makers: Maker[][];
  readonly byName = new Map<string, number>();
  readonly scopeByName = new Map<string, number>();
  /** The nodes that use each tensor. */
  readonly usedBy: number[][];

  constructor({ contents, numbers }: Unpacked) {
    this.contents = contents;
    this.evaluator = new Evaluator(contents.dot);
    const count = contents.tensors.length;
    this.usedBy = Array.from({ length: count }, () => []);
    contents.nodes.forEach((node, place) => {
      for (const tensor of node.outputs) this.madeBy[tensor] = place;
      for (const tensor of new Set(node.operands)) if (tensor !== null) this.usedBy[tensor]!.push(place);
    });
    contents.tensors.forEach((tensor, place) => {
      if (!this.byName.has(tensor.name)) this.byName.set(tensor.name, place);
    });
    for (const more of [contents.aliases, contents.outputs]) {
      for (const [name, place] of Object.entries(more)) if (!this.byName.has(name)) this.byName.set(name, place);
    }
    contents.scopes.forEach((scope, place) => this.scopeByName.set(scope.name, place));
    this.makers = this.findMakers();
    this.runs = numbers.map((all, run) => ({
      tensors: contents.tensors.map((t) => slice(t, all)),
      masks: contents.tensors.map((t) => {
        const mask = run ? t.mask2 : t.mask;
        return mask === undefined ? null : bits(contents.masks[mask]!, size(t));
      }),
    }));
    for (const run of this.runs) this.rebuild(run);
  }

  private findMakers(): Maker[][] {
    const { ops, tensors, nodes, scopes, rules } = this.contents;
    const found: Maker[][] = tensors.map(() => []);
    scopes.forEach((scope, place) => {
      if (scope.op === undefined || !scope.rules) return;
      scope.outputs!.forEach((tensor, port) => {
        const rule = rules[scope.rules![port]!] as Rule;
        const op = ops[scope.op!]!;
        found[tensor]!.push({ kind: "scope", place, name: scope.name, op, operands: scope.operands!, rule });
      });
    });
    nodes.forEach((node, place) => {
      for (const tensor of node.outputs) {
        const { rule } = tensors[tensor]!;
        found[tensor]!.push({
          kind: "node", place, name: node.name, op: ops[node.op]!, operands: node.operands,
          rule: rule === undefined ? null : (rules[rule] as Rule),
        });
      }
    });
    return found;
  }

  /** Fills in the tensors that only were moved. */
  private rebuild(run: Values): void {
    for (const node of this.contents.nodes) {
      for (const tensor of node.outputs) {
        const record = this.contents.tensors[tensor]!;
        if (record.data !== undefined || record.rule === undefined) continue;
        const operands = node.operands.map((o) => (o === null ? null : run.tensors[o]!));
        if (operands.every((o, i) => o !== null || node.operands[i] === null)) {
          run.tensors[tensor] = this.evaluate(tensor, operands);
        }
      }
    }
  }

  /** The numbers of a tensor, from those of its node's operands. */
  evaluate(tensor: number, operands: (Float64Array | null)[]): Float64Array {
    const record = this.contents.tensors[tensor]!;
    return this.evaluator.tensor(this.contents.rules[record.rule!] as Rule, record.shape, operands);
  }

  // ---------------------------------------------------------------- looking things up

  tensor(place: number): TensorRecord {
    return this.contents.tensors[place]!;
  }

  node(place: number): NodeRecord {
    return this.contents.nodes[place]!;
  }

  scope(place: number): ScopeRecord {
    return this.contents.scopes[place]!;
  }

  opOf(tensor: number): Op {
    return this.contents.ops[this.node(this.madeBy[tensor]!).op]!;
  }

  size(tensor: number): number {
    return size(this.tensor(tensor));
  }

  index(key: Key): number[] {
    return indexOf(key.at, this.tensor(key.tensor).shape);
  }

  /** For each axis, the labels as they are shown, or null. */
  labels(tensor: number): (string[] | null)[] {
    return this.labelsOf(tensor, 0);
  }

  /** For each axis, the labels as they were given, or null. */
  rawLabels(tensor: number): (string[] | null)[] {
    return this.labelsOf(tensor, 1);
  }

  private labelsOf(tensor: number, which: 0 | 1): (string[] | null)[] {
    const { axes, shape } = this.tensor(tensor);
    return axes.map((axis, i) => {
      const found = axis === null ? undefined : this.contents.labels[axis];
      const names = found && (found[which] ?? found[0]);
      return names && names.length === shape[i] ? names : null;
    });
  }

  /** Whether the numbers of a tensor are a share of 1 (softmax), which is drawn on a scale of 0 to 1. */
  share(tensor: number): boolean {
    return this.makers[tensor]!.some((maker) => maker.op.share);
  }

  /** What a tensor is: `token 4 × feature 8`. */
  describe(tensor: number): string {
    const { axes, shape, kind } = this.tensor(tensor);
    const told = shape.map((n, i) => (axes[i] ? `${axes[i]} ${n}` : `${n}`)).join(" × ") || "scalar";
    return kind === "float" ? told : `${told} of ${kind}`;
  }

  /** The scopes around a node, inner first. */
  around(scope: number | undefined): number[] {
    const found: number[] = [];
    while (scope !== undefined) {
      found.push(scope);
      scope = this.scope(scope).parent;
    }
    return found;
  }
}

function slice(tensor: TensorRecord, all: Float64Array): Float64Array | null {
  if (tensor.data === undefined || tensor.data === null) return null;
  return all.subarray(tensor.data, tensor.data + size(tensor));
}

export function size(tensor: TensorRecord): number {
  return tensor.shape.reduce((a, b) => a * b, 1);
}

export function indexOf(at: number, shape: readonly number[]): number[] {
  const index = new Array<number>(shape.length);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = at % shape[axis]!;
    at = Math.floor(at / shape[axis]!);
  }
  return index;
}

export function flatOf(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((flat, i, axis) => flat * shape[axis]! + i, 0);
}

// ---------------------------------------------------------------- one cell's expression

/** An expression of one cell, written out: sums have all their terms, cells are found. */
export type Expression =
  | { type: "cell"; slot: number; key: Key; choosers: Expression[] }
  | { type: "literal"; value: number; text: string; bool: boolean; whole: boolean }
  | { type: "apply"; name: string; function: string; args: Expression[] };

export type Cell = Extract<Expression, { type: "cell" }>;
export type Apply = Extract<Expression, { type: "apply" }>;

/** The expression of one cell; null for a tensor without a rule. */
export function expression(trace: Trace, run: Values, maker: Maker, key: Key): Expression | null {
  if (!maker.rule) return null;
  const shape = trace.tensor(key.tensor).shape;
  const index = indexOf(key.at, shape);
  const piece = pieceOf(maker.rule, index);
  if (!piece) return null;
  const parts: Expression[] = [];
  const write = (tree: Tree, running: number[]): Expression => {
    switch (tree[0]) {
      case "c":
      case "v": {
        const [, slot, first, strides, steps] = tree;
        let at = place(first, strides, steps, index, running);
        const choosers: Expression[] = [];
        for (const [factor, count, inner] of tree[5] ?? []) {
          const chooser = write(inner, running) as Cell;
          choosers.push(chooser);
          at += factor * wrapped(run.tensors[chooser.key.tensor]?.[chooser.key.at] ?? 0, count);
        }
        return { type: "cell", slot, key: { tensor: maker.operands[slot]!, at }, choosers };
      }
      case "l":
        return {
          type: "literal", value: literal(tree[1]), text: tree[2], bool: typeof tree[1] === "boolean", whole: false,
        };
      case "i": {
        const value = place(tree[1], tree[2], tree[3], index, running);
        return { type: "literal", value, text: tree[4] === "=" ? `${value}` : tree[4], bool: false, whole: true };
      }
      case "p":
        return parts[tree[1]]!;
      case "f":
        return {
          type: "apply", function: tree[1], name: tree[2],
          args: (tree.slice(3) as Tree[]).map((arg) => write(arg, running)),
        };
      case "r": {
        const args = Array.from({ length: tree[3] }, (_, k) => write(tree[4], [...running, k]));
        return { type: "apply", function: tree[1], name: tree[2], args };
      }
    }
  };
  for (const [, part] of piece[2]) parts.push(write(part, []));
  return write(piece[3], []);
}

function pieceOf(rule: Rule, index: number[]): Piece | undefined {
  return rule.find(([low, high]) => index.every((i, axis) => low[axis]! <= i && i < high[axis]!));
}

function place(first: number, strides: number[], steps: number[], index: number[], running: number[]): number {
  let sum = first;
  strides.forEach((stride, axis) => (sum += stride * index[axis]!));
  steps.forEach((step, depth) => (sum += step * running[depth]!));
  return sum;
}

/** How a cell of an op without operands is written (`3 ≤ 1`), or "". */
export function written(trace: Trace, key: Key): string {
  const text = trace.tensor(key.tensor).text;
  if (text === undefined) return "";
  const index = trace.index(key);
  const rule = trace.contents.rules[text] as Wording;
  const found = rule.find(([low, high]) => index.every((i, axis) => low[axis]! <= i && i < high[axis]!));
  if (!found) return "";
  const [, , words, numbers] = found;
  return words.map((word, i) => word + (numbers[i] ? String(place(numbers[i]![0], numbers[i]![1], [], index, [])) : "")).join("");
}

/** The cells that an expression reads, in the order in which it is written, each part once. */
export function cellsOf(tree: Expression | null): Cell[] {
  const found: Cell[] = [];
  const seen = new Set<Expression>();
  const visit = (t: Expression) => {
    if (t.type === "cell") found.push(t);
    else if (t.type === "apply" && !seen.has(t)) {
      seen.add(t);
      t.args.forEach(visit);
    }
  };
  if (tree) visit(tree);
  return found;
}

/** The value of an expression from the numbers of a run; null where one was not kept. */
export function valueOf(tree: Expression, run: Values, done: Map<Expression, number | null> = new Map()): number | null {
  if (tree.type === "cell") return run.tensors[tree.key.tensor]?.[tree.key.at] ?? null;
  if (tree.type === "literal") return tree.value;
  let value = done.get(tree);
  if (value === undefined) {
    const args = tree.args.map((arg) => valueOf(arg, run, done));
    if (tree.function === "where") value = args[0] === null ? null : args[0] ? args[1]! : args[2]!;
    else if (args.some((arg) => arg === null)) value = null;
    else if (tree.function === "total") value = total(args as number[]);
    else value = FUNCTIONS[tree.function]!(...(args as number[]));
    done.set(tree, value);
  }
  return value;
}

/** A condition that decided which expression counts, and how it came out. */
export interface Branch {
  condition: Expression;
  holds: boolean;
}

/** The expression without the branches of `where` that were not taken. */
export function taken(tree: Expression, run: Values, branches: Branch[], done = new Map<Expression, Expression>()): Expression {
  if (tree.type !== "apply") return tree;
  const known = done.get(tree);
  if (known) return known;
  let result: Expression = tree;
  if (tree.function === "where") {
    const [condition, first, second] = tree.args as [Expression, Expression, Expression];
    const value = valueOf(condition, run);
    if (value !== null) {
      branches.push({ condition, holds: Boolean(value) });
      result = taken(value ? first : second, run, branches, done);
    }
  } else {
    const args = tree.args.map((arg) => taken(arg, run, branches, done));
    if (args.some((arg, i) => arg !== tree.args[i])) result = { ...tree, args };
  }
  done.set(tree, result);
  return result;
}
