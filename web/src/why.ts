// All that is said of one cell, as data: what `why` of depth 1 says, with spans that know their cells.

import type { Derivation, Entry } from "./derivation.ts";
import { Formula, joined, type Span } from "./formula.ts";
import { note, remarks } from "./remarks.ts";
import type { Names } from "./text.ts";
import { indexText } from "./text.ts";
import type { Key, Maker } from "./trace.ts";
import { cellsOf, written } from "./trace.ts";

export interface Part {
  name: string;
  segments: Span[][];
}

export interface Why {
  entry: Entry;
  /** The cell with its labels. */
  head: string;
  /** What stands between equals signs, the value last. */
  segments: Span[][];
  parts: Part[];
  note: string;
  remarks: string[];
  /** The cells that the formula reads, those of named parts too. */
  sources: Key[];
}

export function whyOf(derivation: Derivation, names: Names, key: Key, maker?: Maker): Why {
  const { trace } = derivation;
  const entry = derivation.entry(key, maker);
  const formula = new Formula(derivation, names, entry);
  const value = formula.number(entry.value, entry.valueKind);
  const segments = segmentsOf(derivation, entry, formula, value);
  return {
    entry,
    head: trace.tensor(key.tensor).name + indexText(trace.index(key), trace.labels(key.tensor)),
    segments,
    parts: formula.parts().map((part) => {
      const told = [formula.symbols(part), ...formula.steps(part).slice(0, 1), [{ text: formula.number(formula.value(part)) }]];
      return { name: part.name, segments: told };
    }),
    note: note(derivation, entry),
    remarks: remarks(derivation, names, entry),
    sources: entry.kind === "computed" ? cellsOf(entry.expression).map((cell) => cell.key) : [],
  };
}

function segmentsOf(derivation: Derivation, entry: Entry, formula: Formula, value: string): Span[][] {
  const last: Span[] = [{ text: value }];
  if (entry.kind !== "computed") return [last];
  const tree = entry.expression;
  if (!tree) {
    const text = written(derivation.trace, entry.key);
    if (!text || text === value) return [last];
    return [[{ text: entry.valueKind === "bool" ? `(${text})` : text }], last];
  }
  const all = [formula.symbols(), ...formula.steps(), last];
  return all.filter((spans, i) => all.findIndex((other) => joined(other) === joined(spans)) === i);
}
