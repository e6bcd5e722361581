// Numbers and cells as Python writes them (insight/why/formula.py and index.py), digit for digit.

import type { Key, Trace } from "./trace.ts";

/** A number rounded to so many decimals, as `why` shows it. */
export function numberText(value: number | null, kind = "float", digits = 6): string {
  if (value === null) return "?";
  if (kind === "bool") return value ? "true" : "false";
  if (kind === "int") return String(value);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e9) {
    const text = fixed(value, digits);
    return Number(text) === value && text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  }
  const text = exponent(value.toExponential(digits));
  const short = repr(value);
  return short.length <= text.length ? short : text;
}

/** f"{value:.{digits}f}": ties go to the even digit. */
export function fixed(value: number, digits: number): string {
  const doubled = Math.abs(value) * 2 ** (digits + 1);
  if (Number.isInteger(doubled) && doubled % 2 === 1 && doubled < 2 ** 53) {
    const scaled = BigInt(doubled) * 5n ** BigInt(digits); // twice the number of units in the last place
    let units = scaled / 2n;
    if (units % 2n) units += 1n;
    const text = units.toString().padStart(digits + 1, "0");
    const whole = text.slice(0, text.length - digits);
    return `${value < 0 ? "-" : ""}${whole}${digits ? `.${text.slice(text.length - digits)}` : ""}`;
  }
  return value.toFixed(digits);
}

/** repr(value): the shortest digits that read back to the same double. */
export function repr(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.0";
  const size = Math.abs(value);
  if (size && (size >= 1e16 || size < 1e-4)) return exponent(value.toExponential());
  const text = size >= 1e-6 ? String(value) : "0";
  return text.includes(".") || text.includes("e") ? text : `${text}.0`;
}

function exponent(text: string): string {
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}

/** A number as it is shown in a cell of a map. */
export function cellText(value: number | null, kind: string): string {
  if (value === null) return "?";
  if (kind === "bool") return value ? "true" : "false";
  if (kind === "int") return String(value);
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  if (Number.isInteger(value) && size < 1e6) return String(value);
  if (size >= 1e6 || size < 1e-3) return exponent(value.toExponential(2));
  return value.toPrecision(4);
}

/** A number with every digit, as Python writes it. */
export function exactText(value: number | null, kind: string): string {
  if (value === null) return "?";
  return kind === "float" ? repr(value) : numberText(value, kind);
}

/** `[sat, 2]`; '' for the cell of a scalar. Text (a running index) stands for itself. */
export function indexText(index: readonly (number | string)[], labels: readonly (string[] | null)[]): string {
  const shown = index.map((i, axis) => (typeof i === "string" ? i : labels[axis]?.[i] ?? String(i)));
  return shown.length ? `[${shown.join(", ")}]` : "";
}

/** What tensors are called beside a first one: those in a scope that it is in go without the name of that. */
export class Names {
  private scopes: string[];
  private short = new Map<number, string>();
  private given = new Map<string, string>();

  constructor(private trace: Trace, top: string) {
    const parts = top.split(".");
    this.scopes = parts.map((_, i) => parts.slice(0, parts.length - i).join("."));
  }

  of(tensor: number): string {
    let found = this.short.get(tensor);
    if (found === undefined) {
      const { name } = this.trace.tensor(tensor);
      const scope = this.scopes.find((s) => name.startsWith(`${s}.`));
      found = scope === undefined ? name : name.slice(scope.length + 1);
      if (found !== name) {
        const taken = this.given.get(found);
        if (this.trace.byName.has(found) || (taken !== undefined && taken !== name)) found = name;
        else this.given.set(found, name);
      }
      this.short.set(tensor, found);
    }
    return found;
  }

  cell(key: Key, index?: readonly (number | string)[]): string {
    return this.of(key.tensor) + indexText(index ?? this.trace.index(key), this.trace.labels(key.tensor));
  }
}
