import { expect, test } from "vitest";
import type { FoundTokenTable, TokenTable } from "../../../src/core/tokens/destination.ts";
import { insistOnTables } from "../../../src/engine/tokens/moved-destinations.ts";
import type { TokenDestination } from "../../../src/ports/token-store.ts";

const KNOWN: TokenTable = { written: "tokens", schema: "public", table: "tokens", owner: "app" };

/** The ledger knows the table KNOWN, and the config leads to `now`; null if it leads to no table. */
const portsWith = (now: FoundTokenTable | null) => ({
  ledger: { tokenTables: async () => [KNOWN] },
  tokens: { destinations: [{ table: async () => now } as Partial<TokenDestination> as TokenDestination] },
});

test.each<[string, Partial<FoundTokenTable>]>([
  ["the same table", {}],
  ["a table that the config names otherwise", { written: "other", table: "other" }],
  ["a table of an owner that the config names", { owner: "boss", isOwnerNamed: true }],
])("a config that leads to %s is accepted", async (_, now) => {
  await insistOnTables(portsWith({ ...KNOWN, isOwnerNamed: false, ...now }));
});

test("destinations without a table are accepted", async () => {
  await insistOnTables(portsWith(null));
});

test.each<[string, Partial<FoundTokenTable>, string]>([
  ["in another schema", { schema: "evil" }, "like evil.tokens"],
  ["of another owner", { owner: "boss" }, "write tokens.owner: boss"],
])("a name that now leads to a table %s is refused with a remedy", async (_, now, remedy) => {
  const ports = portsWith({ ...KNOWN, isOwnerNamed: false, ...now });
  await expect(insistOnTables(ports)).rejects.toMatchObject({
    code: "CONFIG_TABLE_MOVED",
    hint: expect.stringContaining(remedy),
  });
});
