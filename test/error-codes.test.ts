import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SERVICE_FAILURES } from "../src/core/failure/service-failure.ts";
import { pageText } from "./support/pages.ts";
import { readSource } from "./support/source-text.ts";

const SOURCE = new URL("../src/", import.meta.url);

/** `new SyncError("CODE"`, `databaseError(dialect, "CODE"`, `new Rejected("CODE"` and `code: "CODE"`. */
const EMITTED = /\b\w*(?:Error|Rejected)\(\s*(?:[\w.#]+,\s*)?"(\d+)"|\bcode:\s*"(\d+)"/g;

/** Every code that an operator can get to see. */
function emitted(): Set<string> {
  const codes = new Set<string>(Object.keys(SERVICE_FAILURES));
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".ts"),
  );
  for (const path of files) {
    const { code, strings } = readSource(readFileSync(new URL(path, SOURCE), "utf8"));
    for (const [, thrown, reported] of code.matchAll(EMITTED)) {
      const found = strings[Number(thrown ?? reported)] ?? "";
      if (/^[A-Z][A-Z_]+$/.test(found)) codes.add(found);
    }
  }
  return codes;
}

/** The codes that have a row of their own, with what they mean and what to do. */
const documented = (): string[] =>
  [...pageText("docs/errors.md").matchAll(/^\| `([A-Z_]+)` \|(?: [^|]+ \|){2,3}$/gm)].map(
    ([, code = ""]) => code,
  );

test("every code has one row in docs/errors.md that says what to do about it, and every row has a code", () => {
  expect(documented().toSorted()).toEqual([...emitted()].sort());
});
