import { expect, test } from "vitest";
import { pageText } from "../support/pages.ts";
import { LEDGER_TABLES } from "./ledger-tables.ts";

test("docs/internals.md says of each of the ledger's tables what it holds", () => {
  const rows = [...pageText("docs/internals.md").matchAll(/^\| `groupsync_([a-z_]+)` \| [^|]+ \|$/gm)];
  expect(rows.map(([, name]) => name).toSorted()).toEqual(LEDGER_TABLES.toSorted());
});
