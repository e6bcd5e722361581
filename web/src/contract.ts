// What Python writes into a page (dumps/page/contents.py, rules.py, views.py say it in full).

export type Tree =
  | ["c", number, number, number[], number[]]
  | ["v", number, number, number[], number[], [number, number, Tree][]]
  | ["l", number | boolean | string, string]
  | ["i", number, number[], number[], string]
  | ["p", number]
  | ["f", string, string, ...Tree[]]
  | ["r", string, string, number, Tree];

/** A box of the result, from low up to high, in which one expression holds; its named parts; itself. */
export type Piece = [low: number[], high: number[], parts: [string, Tree][], tree: Tree];
export type Rule = Piece[];
/** How cells are written: words, and between them numbers that move. */
export type Wording = [low: number[], high: number[], words: string[], numbers: [number, number[]][]][];

export interface Op {
  name: string;
  title: string;
  glyph: string;
  formula: string;
  family: string;
  level: string;
  moves?: true;
  fed?: true;
  share?: true;
  beside?: true;
}

export interface TensorRecord {
  name: string;
  shape: number[];
  axes: (string | null)[];
  kind: "float" | "bool" | "int";
  rule?: number;
  text?: number;
  mask?: number;
  mask2?: number;
  data?: number | null;
  patched?: true;
  /** Its whole numbers choose a place in another tensor, of so many. */
  below?: number;
}

export interface NodeRecord {
  name: string;
  op: number;
  operands: (number | null)[];
  outputs: number[];
  scope?: number;
  warnings?: string[];
}

export interface ScopeRecord {
  name: string;
  title: string;
  parent?: number;
  op?: number;
  operands?: (number | null)[];
  outputs?: number[];
  rules?: number[];
}

export interface BoxRecord {
  kind: string;
  name: string;
  width: number;
  height: number;
  scope?: string;
  /** How wide it is at least when it is open. */
  head?: number;
  family?: string;
  glyph?: string;
  title?: string[];
  inside?: string[];
  note?: string[];
  role?: string;
  cells?: [port: string, label: string][];
  /** Stands beside the others, in a column of its own: derivatives. */
  column?: true;
}

export interface ArrowRecord {
  tensor: number;
  from?: number;
  to?: number;
  port?: string;
  label?: string;
  role?: string;
  kind?: string;
}

export interface ViewRecord {
  boxes: BoxRecord[];
  arrows: (ArrowRecord & { from: number; to: number })[];
  in: (ArrowRecord & { to: number })[];
  out: (ArrowRecord & { from: number })[];
}

export interface Contents {
  format: string;
  title: string;
  graph: string;
  dot: "sumprod" | "sum";
  labels: Record<string, [shown: string[], raw: string[] | null]>;
  ops: Op[];
  rules: (Rule | Wording)[];
  masks: string[];
  tensors: TensorRecord[];
  nodes: NodeRecord[];
  scopes: ScopeRecord[];
  views: Record<string, ViewRecord>;
  outputs: Record<string, number>;
  aliases: Record<string, number>;
  notes: string[];
  /** What `compare` says of two runs: of each tensor that was recorded, and what the first to differ is. */
  compared?: { first: number | null; relation: string; by: Record<string, number[]> };
}

/** What stands in the page's data block: everything packed. */
export interface Packed {
  contents: string;
  numbers: { bytes: string; shuffled: boolean }[];
  left?: string[];
}
