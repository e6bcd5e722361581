// Puts the page's script in: it lies packed in the data block, and the policy knows its hash.

import { inflate } from "./base85.ts";

async function load(): Promise<void> {
  const { script } = JSON.parse(document.getElementById("data")!.textContent!) as { script: string };
  const element = document.createElement("script");
  element.textContent = new TextDecoder().decode(await inflate(script));
  document.body.append(element);
}

load().catch((error: unknown) => {
  document.getElementById("page")!.textContent = `This page cannot be shown by this browser: ${String(error)}`;
});
