import { readFileSync, writeFileSync } from "node:fs";
import { LONG } from "../support/long.ts";
import type { Installation } from "./installation.ts";
import { INSTALLATIONS } from "./installations.ts";
import type { Lived } from "./life.ts";

const FILE = new URL("results.jsonl", import.meta.url);

/** What the last long run has shown of an installation. docs/databases.md has a table of it. */
export interface Result extends Lived {
  readonly name: string;
  readonly server: string;
  readonly through: string;
  readonly variant?: string;
  readonly cannot?: Installation["cannot"];
  readonly refused?: boolean;
}

/** A result is a line of JSON. */
export const results = (): readonly Result[] =>
  readFileSync(FILE, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Writes the result into its file, if this is a long run. Installations that are no longer in the list leave it. */
export function record(
  { name, server, through, variant, cannot, refused }: Installation,
  lived: Lived,
): void {
  if (!LONG) return;
  const result: Result = {
    name,
    server,
    through,
    ...(variant && { variant }),
    ...lived,
    ...(cannot && { cannot }),
    ...(refused && { refused: true }),
  };
  const all = new Map([...results(), result].map((one) => [one.name, one]));
  const inOrder = INSTALLATIONS.flatMap((one) => all.get(one.name) ?? []);
  writeFileSync(FILE, inOrder.map((one) => `${JSON.stringify(one)}\n`).join(""));
}
