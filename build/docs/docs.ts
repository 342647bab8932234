/** `npm run docs`: writes what is generated, see `generated.ts`: parts of the pages of docs/, and whole files. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { FILES, generated } from "./generated.ts";

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
for (const [path, text] of Object.entries(FILES))
  writeFileSync(new URL(`../../${path}`, import.meta.url), text());
