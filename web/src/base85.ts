// Bytes as text: four bytes in five letters (base 85, as Python's base64.b85encode, with : for <), deflated.

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;:=>?@^_`{|}~";

export async function inflate(text: string): Promise<Uint8Array> {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const values = new Uint8Array(128);
  for (let i = 0; i < 85; i++) values[LETTERS.charCodeAt(i)] = i;
  const count = Math.floor(text.length / 5) * 4 + Math.max(0, (text.length % 5) - 1);
  const found = new DataView(new ArrayBuffer(count + 4));
  for (let from = 0, to = 0; from < text.length; from += 5, to += 4) {
    let word = 0;
    for (let i = 0; i < 5; i++) word = word * 85 + (from + i < text.length ? values[text.charCodeAt(from + i)]! : 84);
    found.setUint32(to, word);
  }
  return new Uint8Array(found.buffer, 0, count);
}
