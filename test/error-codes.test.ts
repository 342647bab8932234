import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SERVICE_FAILURES } from "../src/core/failure/service-failure.ts";
import { readSource } from "./support/source-text.ts";

const SOURCE = new URL("../src/", import.meta.url);
const README = new URL("../README.md", import.meta.url);

/** `new SyncError("CODE"`, `databaseError(dialect, "CODE"`, `new Rejected("CODE"` and `code: "CODE"`. */
const EMITTED = /\b\w*(?:Error|Rejected)\(\s*(?:[\w.#]+,\s*)?"(\d+)"|\bcode:\s*"(\d+)"/g;
/** Codes that have one row together. */
const FAMILY = /^(CONFIG|SANDBOX)_.+/;

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
      if (/^[A-Z][A-Z_]+$/.test(found)) codes.add(found.replace(FAMILY, "$1_…"));
    }
  }
  return codes;
}

/** The first column of the table under `code | what to do`. */
function documented(): string[] {
  const [, table = ""] =
    /\| code \| what to do \|\n\|[-|]+\|\n((?:\|.*\n)+)/.exec(readFileSync(README, "utf8")) ?? [];
  return table.split("\n").flatMap((row) => {
    const [, codes = ""] = row.split("|");
    return [...codes.matchAll(/`([A-Z_]+…?)`/g)].flatMap(([, code]) => code ?? []);
  });
}

test("every code has a row in the README that says what to do about it, and every row has a code", () => {
  expect(documented().toSorted()).toEqual([...emitted()].sort());
});
