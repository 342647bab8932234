/** `npm run docs`: writes what is generated, see `generated.ts`: parts of README.md and the pages of docs/, and whole files. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { FILES, generated } from "./generated.ts";

const REPOSITORY = new URL("../../", import.meta.url);

const docs = readdirSync(new URL("docs/", REPOSITORY), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".md"))
  .map((path) => `docs/${path}`);
for (const page of ["README.md", ...docs.sort()]) {
  const file = new URL(page, REPOSITORY);
  const written = readFileSync(file, "utf8");
  const right = await generated(written).catch((error: unknown) => {
    throw new Error(`${page}: ${error instanceof Error ? error.message : error}`, { cause: error });
  });
  if (right === written) continue;
  writeFileSync(file, right);
  process.stdout.write(`${page} is brought up to date\n`);
}
for (const [path, text] of Object.entries(FILES)) writeFileSync(new URL(path, REPOSITORY), text());
