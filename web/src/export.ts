// A tensor or the diagram, to take away: as Python, CSV, NumPy, JSON, SVG.

import { repr } from "./text.ts";
import type { TensorRecord } from "./contract.ts";

export type Format = "Python" | "CSV" | "NumPy";
export const FORMATS: Format[] = ["Python", "CSV", "NumPy"];

export function exported(format: Format, record: TensorRecord, values: Float64Array): string {
  const cells = [...values].map((value) => cellOf(format, record.kind, value));
  if (format === "CSV") return csv(record.shape, cells);
  const text = nested(record.shape, cells);
  if (format === "NumPy") return `import numpy as np\n\n${identifier(record.name)} = np.array(${text})\n`;
  const special = /\b(inf|nan)\b/.test(text) ? "from math import inf, nan\n\n" : "";
  return `${special}${identifier(record.name)} = ${text}\n`;
}

function cellOf(format: Format, kind: string, value: number): string {
  if (kind === "bool") return format === "CSV" ? String(Boolean(value)).toLowerCase() : value ? "True" : "False";
  if (kind === "int") return String(value);
  const text = repr(value);
  return format === "NumPy" ? text.replace("inf", "np.inf").replace("nan", "np.nan") : text;
}

function csv(shape: number[], cells: string[]): string {
  const columns = shape.at(-1) ?? 1;
  const rows: string[] = [];
  for (let at = 0; at < cells.length; at += columns) rows.push(cells.slice(at, at + columns).join(","));
  return `${rows.join("\n")}\n`;
}

function nested(shape: number[], cells: string[], indent = 0): string {
  if (!shape.length) return cells[0]!;
  const [count, ...rest] = shape as [number, ...number[]];
  const size = cells.length / count || 0;
  const parts = Array.from({ length: count }, (_, i) => nested(rest, cells.slice(i * size, (i + 1) * size), indent + 1));
  return `[${parts.join(rest.length ? `,\n${" ".repeat(indent + 1)}` : ", ")}]`;
}

function identifier(name: string): string {
  return name.replaceAll(".", "_");
}

/** Copies text; whether that was allowed. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export function download(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  const url = URL.createObjectURL(new Blob([text], { type }));
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const COPIED = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor", "opacity",
];

/** The diagram as a file of its own: what the style sheet says is written onto each element. */
export function svgText(svg: SVGSVGElement): string {
  const clone = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [[...svg.querySelectorAll("*")], [...clone.querySelectorAll("*")]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    const target = to[i]!;
    for (const name of COPIED) {
      const value = style.getPropertyValue(name);
      if (value) target.setAttribute(name, value);
    }
    for (const { name } of [...target.attributes]) {
      if (/^(class|tabindex|role|data-|aria-)/.test(name)) target.removeAttribute(name);
    }
  });
  clone.querySelectorAll(".toggle").forEach((toggle) => toggle.remove());
  clone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(clone)}\n`;
}
