// Unpacks the data block: base 85, raw deflate, bytes of doubles (all first bytes first, where shuffled).

import { inflate } from "./base85.ts";
import type { Contents, Packed } from "./contract.ts";

export interface Unpacked {
  contents: Contents;
  numbers: Float64Array[];
}

export async function unpack(packed: Packed): Promise<Unpacked> {
  const text = new TextDecoder().decode(await inflate(packed.contents));
  const numbers = await Promise.all(
    packed.numbers.map(async ({ bytes, shuffled }) => doubles(await inflate(bytes), shuffled)),
  );
  return { contents: JSON.parse(text) as Contents, numbers };
}

function doubles(bytes: Uint8Array, shuffled: boolean): Float64Array {
  const count = bytes.length / 8;
  const plain = new Uint8Array(bytes.length);
  if (shuffled) for (let i = 0; i < bytes.length; i++) plain[(i % count) * 8 + Math.floor(i / count)] = bytes[i]!;
  else plain.set(bytes);
  return new Float64Array(plain.buffer);
}

/** The bits of a mask: 1 where a cell is hidden. */
export function bits(hex: string, size: number): Uint8Array {
  const found = new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    found[i] = (parseInt(hex.substr((i >> 3) * 2, 2), 16) >> (i & 7)) & 1;
  }
  return found;
}
