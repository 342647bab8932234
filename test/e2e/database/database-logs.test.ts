import { expect, inject, test } from "vitest";
import { writtenForms } from "../../support/databases/written-forms.ts";
import { aTalkativeServer, canTalk } from "../../support/servers/talkative-server.ts";
import { aWorld } from "../world.ts";

const kind = inject("databaseKind");

test.skipIf(!canTalk(kind))("the text of no statement that a database logs holds a token", async () => {
  const { database, logged } = await aTalkativeServer(kind);
  const world = await aWorld({ database, tenants: 3, config: { deletion: { grace_period: "0s" } } });
  expect((await world.sync()).report).toMatchObject({ created: 3 });
  await database.query("DELETE FROM groupsync_tokens WHERE user_group_id = 't-00001'");
  expect(await world.sync("--verify-tokens")).toMatchObject({ code: 0 });
  await world.removeTenants(3, 3);
  expect((await world.sync()).report).toMatchObject({ deleted: 1 });
  expect((await world.rotate("--all", "--yes")).report).toMatchObject({ rotated: 2 });
  const [tokens, entries] = [await world.tokensEver(), await logged()];
  expect(tokens).toHaveLength(5);
  expect(entries.some((entry) => entry.includes("INSERT INTO customers"))).toBe(true);
  const forms = tokens.flatMap(writtenForms);
  const withTokens = entries.filter((entry) => forms.some((form) => entry.includes(form)));
  expect(withTokens.filter((entry) => !/^DETAIL: +Parameters: /.test(entry))).toEqual([]);
});
