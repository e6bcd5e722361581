// How one cell came about, in writing: the formula, and the formula with the numbers put in. The same
// words and digits as `why` in Python (insight/why/formula.py), as spans that know their cells.

import type { Apply, Cell, Expression, Key } from "./trace.ts";
import { cellsOf, valueOf } from "./trace.ts";
import type { Derivation, Entry } from "./derivation.ts";
import { same } from "./derivation.ts";
import type { Names } from "./text.ts";
import { numberText } from "./text.ts";

/** A run of text; of a cell that can be walked to, or of a part that stands apart. */
export interface Span {
  text: string;
  cell?: Key;
  part?: string;
}
type Spans = Span[];

/** How tightly a text holds together: what binds less goes in parentheses. */
const [ANY, SUM, PRODUCT, POWER, ATOM] = [0, 1, 2, 3, 4];
interface Written {
  spans: Spans;
  binds: number;
}
type Write = (tree: Expression) => Written;

const TERMS = 6;
const GROUPS = 3;
const LETTERS = "kjimnrst";

export function joined(spans: Spans): string {
  return spans.map((span) => span.text).join("");
}

const plain = (text: string): Spans => [{ text }];
const atom = (text: string): Written => ({ spans: plain(text), binds: ATOM });

interface Group {
  terms: Expression[];
}

export class Formula {
  private running = new Map<Expression, string>();
  private values = new Map<Expression, number | null>();
  private through = true;
  letter = LETTERS[0]!;

  constructor(readonly derivation: Derivation, readonly names: Names, readonly entry: Entry, readonly digits = 6) {}

  // ---------------------------------------------------------------- what is asked for

  /** The formula, of names; a part that is given is written out though it has a name. */
  symbols(tree: Expression | null = this.entry.expression): Spans {
    return tree ? this.symbol(tree, true).spans : [];
  }

  /** The formula with numbers put in, and what comes next on the way to its value, if anything. */
  steps(tree: Expression | null = this.entry.expression): Spans[] {
    if (tree?.type !== "apply" || !this.known(tree)) return [];
    const found = [this.numeral(tree, true).spans];
    if (tree.function !== "total" && tree.function !== "maximum" && tree.args.some((a) => a.type === "apply")) {
      found.push(both(this, tree, (t) => this.evaluated(t)).spans);
    }
    return distinct(found);
  }

  /** The named parts, in the order in which they are needed. */
  parts(): Apply[] {
    const found: Apply[] = [];
    const seen = new Set<Expression>();
    const visit = (tree: Expression) => {
      if (tree.type !== "apply" || seen.has(tree)) return;
      seen.add(tree);
      tree.args.forEach(visit);
      if (tree.name && tree !== this.entry.expression) found.push(tree);
    };
    if (this.entry.expression) visit(this.entry.expression);
    return found;
  }

  value(tree: Expression): number | null {
    return valueOf(tree, this.derivation.run, this.values);
  }

  number(value: number | null, kind = "float"): string {
    return numberText(value, kind, this.digits);
  }

  /** The largest terms of a long sum that is the formula, or ''. */
  largest(): string {
    const tree = this.entry.expression;
    const sums = [tree, ...(tree?.type === "apply" ? tree.args : [])].filter(isLong);
    if (sums.length !== 1) return "";
    const values = sums[0]!.args.map((term) => ({ value: this.value(term), term }));
    if (values.some(({ value }) => value === null || !Number.isFinite(value))) return "";
    const ranked = values.map((v) => ({ value: v.value!, term: v.term })).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const told = ranked.slice(0, 2).map(({ value, term }) => `${joined(this.symbols(term))} = ${this.number(value)}`);
    return `largest of ${values.length} terms: ${told.join("; then ")}`;
  }

  /** The cells that stand in the formula itself, not in a named part, in order. */
  main(): Cell[] {
    const found: Cell[] = [];
    const visit = (tree: Expression) => {
      if (tree.type === "cell") found.push(tree, ...(tree.choosers as Cell[]));
      else if (tree.type === "apply" && (!tree.name || tree === this.entry.expression)) tree.args.forEach(visit);
    };
    if (this.entry.expression) visit(this.entry.expression);
    return found;
  }

  private known(tree: Expression): boolean {
    return cellsOf(tree).every((cell) => this.derivation.value(cell.key) !== null);
  }

  // ---------------------------------------------------------------- names

  /** The cell that is written for a source. */
  key(cell: Cell): Key {
    return this.through ? this.derivation.origin(cell.key) : cell.key;
  }

  private symbol = (tree: Expression, force = false): Written => {
    if (tree.type === "cell") {
      return { spans: [{ text: this.running.get(tree) ?? this.cell(tree), cell: cell(this.key(tree)) }], binds: ATOM };
    }
    if (tree.type === "literal") return this.literal(tree);
    if (tree.name && !force) return { spans: [{ text: tree.name, part: tree.name }], binds: ATOM };
    if (tree.function === "total" || tree.function === "maximum") return this.run(tree);
    return both(this, tree, (t) => this.symbol(t));
  };

  private cell(tree: Cell): string {
    const key = this.key(tree);
    let index: (number | string)[] = this.derivation.trace.index(key);
    if (tree.choosers.length && same(key, tree.key)) index = this.chosenIndex(tree, index as number[]);
    return this.names.cell(key, index);
  }

  /** The index of a cell that others chose: those stand in it. */
  private chosenIndex(tree: Cell, index: number[]): (number | string)[] {
    let next = 0;
    const choosers = tree.choosers as Cell[];
    return index.map((i) => {
      const chooser = choosers[next];
      if (!chooser || this.derivation.value(chooser.key) !== i) return i;
      next++;
      return this.cell(chooser);
    });
  }

  private literal(tree: Extract<Expression, { type: "literal" }>): Written {
    if (tree.text) return { spans: plain(tree.text), binds: /^[\p{L}\p{N}]+$/u.test(tree.text) ? ATOM : PRODUCT };
    return this.numeral(tree);
  }

  // ---------------------------------------------------------------- sums

  private run(tree: Apply): Written {
    const sum = tree.function === "total";
    const [sign, join] = sum ? ["Σ", " + "] : ["max", ", "];
    if (tree.args.length === 1) return this.symbol(tree.args[0]!);
    let groups = this.groups(tree.args);
    if (groups.length > 1 && this.through && (groups.length > GROUPS || this.hides(tree))) {
      this.through = false; // the operand itself, not the tensors that it was put together from
      const direct = this.groups(tree.args);
      if (direct.length < groups.length) groups = direct;
      else this.through = true;
    }
    const shown = groups.length <= GROUPS ? groups : tree.args.map((term) => ({ terms: [term] }));
    let texts: Spans[] = shown.flatMap(({ terms }) => {
      const text = terms.length > 1 ? this.unified(terms, sign) : null;
      return text ? [text] : terms.map((term) => within(sum ? SUM : ANY, this.symbol(term)));
    });
    this.through = true;
    if (texts.length === 1) return { spans: texts[0]!, binds: PRODUCT };
    if (texts.length > TERMS) texts = [...texts.slice(0, 2), plain("…"), texts.at(-1)!];
    const spans = between(texts, join);
    return sum ? { spans, binds: SUM } : { spans: [{ text: "max(" }, ...spans, { text: ")" }], binds: ATOM };
  }

  private hides(tree: Apply): boolean {
    return cellsOf(tree).some((c) => this.derivation.hidden(c.key));
  }

  /** Neighbouring terms that are alike but for the places that their cells stand at. */
  private groups(terms: Expression[]): Group[] {
    const found: Group[] = [];
    let last = "";
    for (const term of terms) {
      const skeleton = this.skeleton(term);
      if (found.length && skeleton === last) found.at(-1)!.terms.push(term);
      else found.push({ terms: [term] });
      last = skeleton;
    }
    return found;
  }

  private named = new Map<Expression, number>();

  private skeleton(tree: Expression): string {
    if (tree.type === "cell") {
      if (tree.choosers.length) return `chosen ${tree.slot} ${tree.key.at} ${tree.choosers.map((c) => (c as Cell).key.at)}`;
      return `t${this.key(tree).tensor}`;
    }
    if (tree.type === "literal") return `${tree.bool} ${tree.value} ${tree.text}`;
    if (tree.name) {
      if (!this.named.has(tree)) this.named.set(tree, this.named.size);
      return `#${this.named.get(tree)}`;
    }
    return `${tree.function}(${tree.args.map((arg) => this.skeleton(arg)).join()})`;
  }

  /** Terms of one skeleton, written once with a running index; null where they do not run alike. */
  private unified(terms: Expression[], sign: string): Spans | null {
    const { trace } = this.derivation;
    const rows = terms.map((term) => writtenCells(term));
    let base: number[] | null = null;
    let size = 0;
    const running: { cell: Cell; key: Key; index: (number | { shift: number })[] }[] = [];
    for (let column = 0; column < rows[0]!.length; column++) {
      const keys = rows.map((row) => this.key(row[column]!));
      const indices = keys.map((key) => trace.index(key));
      const index: (number | { shift: number })[] = [];
      for (let axis = 0; axis < indices[0]!.length; axis++) {
        const places = indices.map((i) => i[axis]!);
        if (places.every((p) => p === places[0])) {
          index.push(places[0]!);
          continue;
        }
        if (!base) {
          base = places;
          size = trace.tensor(keys[0]!.tensor).shape[axis]!;
        }
        const shift = places[0]! - base[0]!;
        if (places.some((p, i) => p - base![i]! !== shift)) return null;
        index.push({ shift });
      }
      running.push({ cell: rows[0]![column]!, key: keys[0]!, index });
    }
    if (!base) return null;
    const letter = (this.letter = this.freeLetter(running));
    this.running = new Map(
      running.map(({ cell, key, index }) => [
        cell,
        this.names.cell(key, index.map((i) => (typeof i === "number" ? i : shifted(letter, i.shift)))),
      ]),
    );
    const body = within(PRODUCT, this.symbol(terms[0]!)).map(({ text, part }) => ({ text, part }));
    this.running = new Map();
    return [{ text: `${sign}${span(base, size, letter)} ` }, ...body];
  }

  /** A letter for the running index that neither a tensor nor a label beside it is taken for. */
  private freeLetter(running: { key: Key; index: (number | { shift: number })[] }[]): string {
    const used = new Set(running.map(({ key }) => this.names.of(key.tensor).split(".").at(-1)!));
    for (const { key, index } of running) {
      const labels = this.derivation.trace.rawLabels(key.tensor);
      index.forEach((i, axis) => typeof i === "number" && labels[axis] && used.add(labels[axis]![i]!));
    }
    return [...LETTERS].find((letter) => !used.has(letter)) ?? LETTERS[0]!;
  }

  // ---------------------------------------------------------------- numbers

  private numeral = (tree: Expression, force = false): Written => {
    if (tree.type === "apply") {
      if (force || !(tree.name || !cellsOf(tree).length)) {
        if (tree.function === "total" || tree.function === "maximum") return this.long(tree);
        return both(this, tree, (t) => this.numeral(t));
      }
      return this.evaluated(tree);
    }
    if (tree.type === "cell") {
      const value = this.derivation.value(tree.key);
      return signed(this.number(value, this.derivation.kindOf(tree.key)), cell(tree.key));
    }
    return this.evaluated(tree);
  };

  private evaluated = (tree: Expression): Written => {
    if (tree.type === "cell") return this.numeral(tree);
    const value = this.value(tree);
    const logical = tree.type === "literal" ? tree.bool : LOGICAL.has(tree.function);
    const name = tree.type === "apply" ? tree.name : "";
    return signed(this.number(value, logical ? "bool" : "float"), undefined, name || undefined);
  };

  /** A sum or maximum of numbers; where it is long, its middle is one number. */
  long(tree: Apply): Written {
    const { args } = tree;
    if (tree.function === "maximum") {
      let texts = args.map((arg) => this.evaluated(arg).spans);
      if (texts.length > TERMS) texts = [...texts.slice(0, 3), plain(`… ${texts.length - 5} more …`), ...texts.slice(-2)];
      return { spans: [{ text: "max(" }, ...between(texts, ", "), { text: ")" }], binds: ATOM };
    }
    if (args.length === 1) return this.term(args[0]!);
    let shown = args.map((arg) => this.term(arg));
    if (args.length > TERMS) {
      const middle: Apply = { type: "apply", function: "total", name: "", args: args.slice(2, -2) };
      const told = `[${middle.args.length} terms: ${this.number(valueOf(middle, this.derivation.run))}]`;
      shown = [...shown.slice(0, 2), atom(told), ...shown.slice(-2)];
    }
    return { spans: summed(shown), binds: SUM };
  }

  /** A term of a sum: a product of two cells is shown as such, anything else as its number. */
  private term(tree: Expression): Written {
    const product = tree.type === "apply" && (tree.function === "multiply" || tree.function === "absorb") && !tree.name;
    return product && tree.args.every((arg) => arg.type !== "apply") ? this.numeral(tree) : this.evaluated(tree);
  }
}

const LOGICAL = new Set(["is_visible", "positive", "less", "equal", "logical_and", "logical_or", "logical_not"]);

function cell(key: Key): Key {
  return key;
}

function distinct(found: Spans[]): Spans[] {
  return found.filter((spans, i) => found.findIndex((other) => joined(other) === joined(spans)) === i);
}

export { distinct };

function isLong(tree: Expression | null): tree is Apply {
  return tree?.type === "apply" && tree.function === "total" && tree.args.length > TERMS && !tree.name;
}

/** The cells of a term as they are written: none of named parts. */
function writtenCells(tree: Expression): Cell[] {
  if (tree.type === "cell") return tree.choosers.length ? [] : [tree];
  return tree.type === "apply" && !tree.name ? tree.args.flatMap(writtenCells) : [];
}

function shifted(letter: string, shift: number): string {
  return shift ? `${letter} ${shift > 0 ? "+" : "−"} ${Math.abs(shift)}` : letter;
}

/** Which places an index runs over; '' where it runs over a whole axis. */
function span(base: number[], size: number, letter: string): string {
  if (base.length === size && base.every((b, i) => b === i)) return "";
  const step = base[1]! - base[0]!;
  if (base.some((b, i) => b !== base[0]! + step * i)) return `(${letter} over ${base.length} places)`;
  const second = step === 1 ? "" : `${base[0]! + step}, `;
  if (base.length === 2) return `(${letter} = ${base[0]}, ${base[1]})`;
  return second ? `(${letter} = ${base[0]}, ${second}…, ${base.at(-1)})` : `(${letter} = ${base[0]}…${base.at(-1)})`;
}

// ---------------------------------------------------------------- putting texts together

function between(texts: Spans[], join: string): Spans {
  return texts.flatMap((text, i) => (i ? [{ text: join }, ...text] : text));
}

/** A text, in parentheses where it binds less than its place needs. */
function within(least: number, { spans, binds }: Written): Spans {
  return binds >= least ? spans : [{ text: "(" }, ...spans, { text: ")" }];
}

function minus(spans: Spans): boolean {
  return /^[-−]/.test(joined(spans));
}

function signed(text: string, key?: Key, part?: string): Written {
  return { spans: [{ text, cell: key, part }], binds: /^[-−]/.test(text) ? POWER : ATOM };
}

function isNumber(text: string): boolean {
  return /^\d/.test(text) || (/^[-−∞N]/.test(text) && text[1] !== "(" && !text.includes(" "));
}

/** a + b − c: negative numbers are taken away. */
function summed(pieces: Written[]): Spans {
  const spans = [...within(SUM, pieces[0]!)];
  for (const piece of pieces.slice(1)) {
    const own = within(SUM, piece);
    if (minus(own) && isNumber(joined(own))) {
      spans.push({ text: " − " }, { ...own[0]!, text: own[0]!.text.slice(1) }, ...own.slice(1));
    } else spans.push({ text: " + " }, ...own);
  }
  return spans;
}

function equal(a: Expression, b: Expression): boolean {
  if (a === b) return true;
  if (a.type === "cell" && b.type === "cell") return a.slot === b.slot && same(a.key, b.key);
  if (a.type === "literal" && b.type === "literal") return a.value === b.value && a.text === b.text;
  if (a.type === "apply" && b.type === "apply") {
    return a.function === b.function && a.args.length === b.args.length && a.args.every((arg, i) => equal(arg, b.args[i]!));
  }
  return false;
}

function multiplied(tree: Apply, write: Write): Written {
  const [a, b] = tree.args as [Expression, Expression];
  if (equal(a, b)) return { spans: [...within(ATOM, write(a)), { text: "²" }], binds: POWER };
  if (a.type === "apply" && a.function === tree.function && equal(a.args[0]!, b) && equal(a.args[1]!, b)) {
    return { spans: [...within(ATOM, write(b)), { text: "³" }], binds: POWER };
  }
  const [x, y] = [write(a), write(b)];
  if ([x, y].every((w) => isNumber(joined(w.spans)) && w.binds >= POWER)) {
    return { spans: [{ text: "(" }, ...x.spans, { text: ")(" }, ...y.spans, { text: ")" }], binds: PRODUCT };
  }
  const tight = minus(y.spans) || (b.type === "apply" && b.function === "divide" && !b.name);
  return { spans: [...within(PRODUCT, x), { text: " · " }, ...within(tight ? ATOM : PRODUCT, y)], binds: PRODUCT };
}

function call(shown: string, tree: Apply, write: Write): Written {
  const args = between(tree.args.map((arg) => write(arg).spans), ", ");
  return { spans: [{ text: `${shown}(` }, ...args, { text: ")" }], binds: ATOM };
}

function against(text: string, tree: Apply, write: Write): Written {
  return { spans: [...within(SUM, write(tree.args[0]!)), { text: ` ${text}` }], binds: ANY };
}

function infix(sign: string, tree: Apply, write: Write): Written {
  return { spans: between(tree.args.map((arg) => within(SUM, write(arg))), ` ${sign} `), binds: ANY };
}

/** How each function is written, of names as of numbers. */
function both(formula: Formula, tree: Apply, write: Write): Written {
  const arg = (i: number) => write(tree.args[i]!);
  switch (tree.function) {
    case "add":
      return { spans: summed(tree.args.map(write)), binds: SUM };
    case "subtract": {
      const [a, b] = [arg(0), arg(1)];
      return { spans: [...within(SUM, a), { text: " − " }, ...within(minus(b.spans) ? ATOM : PRODUCT, b)], binds: SUM };
    }
    case "multiply":
    case "absorb":
      return multiplied(tree, write);
    case "divide":
    case "absorb_divide": {
      const [a, b] = [arg(0), arg(1)];
      return { spans: [...within(PRODUCT, a), { text: " / " }, ...within(minus(b.spans) ? ATOM : POWER, b)], binds: PRODUCT };
    }
    case "negate":
      return { spans: [{ text: "−" }, ...within(ATOM, arg(0))], binds: POWER };
    case "sqrt":
      return { spans: [{ text: "√" }, ...within(ATOM, arg(0))], binds: ATOM };
    case "total":
    case "maximum":
      return formula.long(tree);
    case "log":
      return call("ln", tree, write);
    case "is_visible":
      return against("≠ −∞", tree, write);
    case "positive":
      return against("≥ 0", tree, write);
    case "less":
      return infix("<", tree, write);
    case "equal":
      return infix("==", tree, write);
    case "logical_and":
      return infix("and", tree, write);
    case "logical_or":
      return infix("or", tree, write);
    case "logical_not":
      return { spans: [{ text: "not " }, ...within(SUM, arg(0))], binds: ANY };
    case "where": {
      const [condition, a, b] = tree.args.map((t) => within(SUM, write(t))) as [Spans, Spans, Spans];
      return { spans: [...a, { text: " if " }, ...condition, { text: ", else " }, ...b], binds: ANY };
    }
    default:
      return call(tree.function, tree, write);
  }
}
