// How each cell of a run came about: its expression, where copies come from, which mask hid it.

import type { Apply, Branch, Cell, Expression, Key, Maker, Trace, Values } from "./trace.ts";
import { cellsOf, expression, taken } from "./trace.ts";

export interface Entry {
  key: Key;
  maker: Maker;
  kind: "computed" | "fed" | "patched" | "unknown";
  value: number | null;
  valueKind: string;
  hidden: boolean;
  /** Of the cells that it was computed from; for a patched cell, what would have been computed. */
  expression: Expression | null;
  branches: Branch[];
}

const HOPS = 10_000;

/** The cells of a run, and where they come from. `moved` says which cells a reader has put in. */
export class Derivation {
  private entries = new Map<string, Entry>();

  constructor(
    readonly trace: Trace,
    readonly run: Values,
    readonly moved: (key: Key) => boolean = () => false,
  ) {}

  value(key: Key): number | null {
    return this.run.tensors[key.tensor]?.[key.at] ?? null;
  }

  kindOf(key: Key): string {
    return this.trace.tensor(key.tensor).kind;
  }

  hidden(key: Key): boolean {
    return Boolean(this.run.masks[key.tensor]?.[key.at]);
  }

  /** How a cell came about, by its coarsest formula or by the maker that is given. */
  entry(key: Key, maker: Maker = this.trace.makers[key.tensor]![0]!): Entry {
    const name = `${key.tensor} ${key.at} ${maker.kind} ${maker.place}`;
    let found = this.entries.get(name);
    if (!found) {
      found = this.make(key, maker);
      this.entries.set(name, found);
    }
    return found;
  }

  private make(key: Key, maker: Maker): Entry {
    const patched = Boolean(this.trace.tensor(key.tensor).patched) || this.moved(key);
    const kind = patched ? "patched" : maker.op.fed ? "fed" : "computed";
    const entry: Entry = {
      key, maker, kind, value: this.value(key), valueKind: this.kindOf(key), hidden: this.hidden(key),
      expression: null, branches: [],
    };
    if (maker.op.fed) return entry;
    const tree = expression(this.trace, this.run, maker, key);
    if (tree) entry.expression = taken(tree, this.run, entry.branches);
    else if (maker.operands.some((operand) => operand !== null) && !patched) entry.kind = "unknown";
    return entry;
  }

  /** The one cell that a cell is a copy of, chosen by nothing that can be looked at, or null. */
  copied(entry: Entry): Key | null {
    const tree = entry.expression;
    if (entry.kind !== "computed" || tree?.type !== "cell" || tree.choosers.length) return null;
    const decided = entry.branches.flatMap((branch) => cellsOf(branch.condition));
    return decided.some((cell) => same(cell.key, tree.key)) ? null : tree.key;
  }

  /** The cell that a copy was taken from, through everything that only moves numbers. */
  origin(key: Key): Key {
    for (let hops = 0; hops < HOPS; hops++) {
      const entry = this.entry(key);
      const from = entry.value === null ? null : this.copied(entry);
      if (!from) return key;
      key = from;
    }
    return key;
  }

  /** The cells that an entry read: of its expression, of what decided, and those that chose. */
  sources(entry: Entry): Key[] {
    const found = new Map<string, Key>();
    const add = (cell: Cell) => {
      found.set(`${cell.key.tensor} ${cell.key.at}`, cell.key);
      for (const chooser of cell.choosers) add(chooser as Cell);
    };
    cellsOf(entry.expression).forEach(add);
    for (const branch of entry.branches) cellsOf(branch.condition).forEach(add);
    return [...found.values()];
  }

  /** The mask that hid a cell, by the cell of it that said so; null where none is found. */
  mask(key: Key, main: (entry: Entry) => Key[]): Key | null {
    const seen = new Set<string>();
    const todo = [key];
    while (todo.length && seen.size < HOPS) {
      const now = todo.pop()!;
      const name = `${now.tensor} ${now.at}`;
      if (seen.has(name)) continue;
      seen.add(name);
      const entry = this.entry(now);
      const made = entry.maker.operands.length === 0 && entry.kind === "computed";
      if (entry.expression?.type === "literal" || made) {
        for (const branch of entry.branches) {
          const cell = maskCell(branch);
          if (cell) return cell.key;
        }
        if (!entry.branches.length) return now;
      }
      const sources = this.sources(entry).reverse().filter((k) => this.hidden(k));
      todo.push(...sources);
      todo.push(...main(entry).reverse().filter((k) => this.hidden(k)));
      const index = this.trace.index(now).join();
      todo.push(...sources.filter((k) => this.trace.index(k).join() === index));
    }
    return null;
  }
}

export function same(a: Key, b: Key): boolean {
  return a.tensor === b.tensor && a.at === b.at;
}

/** The cell of a mask that a condition looks at: the cell itself, or whether it is −∞. */
function maskCell(branch: Branch): Cell | null {
  const { condition } = branch;
  const inner = condition.type === "apply" && condition.function === "is_visible" ? (condition as Apply).args[0]! : condition;
  return inner.type === "cell" && !branch.holds ? inner : null;
}
