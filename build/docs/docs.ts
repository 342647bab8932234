/** `npm run docs`: writes what is generated into the pages of docs/, see `generated.ts`. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { generated } from "./generated.ts";

const DOCS = new URL("../../docs/", import.meta.url);

const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".md"));
for (const page of pages.sort()) {
  const file = new URL(page, DOCS);
  const written = readFileSync(file, "utf8");
  const right = await generated(written).catch((error: unknown) => {
    throw new Error(`docs/${page}: ${error instanceof Error ? error.message : error}`, { cause: error });
  });
  if (right === written) continue;
  writeFileSync(file, right);
  process.stdout.write(`docs/${page} is brought up to date\n`);
}
