import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../src/core/failure/error-codes.ts";
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

test("every code that an operator can get to see is explained, and every explained code is in use", () => {
  const explained = Object.values(ERROR_CODES).flatMap((codes) => Object.keys(codes));
  expect(explained.toSorted()).toEqual([...emitted()].sort());
});

test("the page of errors has the codes of every part", () => {
  const parts = [...pageText("docs/errors.md").matchAll(/^<!-- generated: errors (.+) -->$/gm)];
  expect(parts.map(([, part]) => part)).toEqual(Object.keys(ERROR_CODES));
});
