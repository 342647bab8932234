import { expect, test } from "vitest";
import type { EventOf } from "../../../src/core/record/next.ts";
import type { LedgerTransaction } from "../../../src/ports/ledger/ledger.ts";
import { aDelete, aDeleted, anApplied, anApply, aRotation } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { begin, NOW, type Opened, opened, returned, write } from "../../contracts/ledger/rig.ts";
import { ledgerDatabase } from "../sql/ledger/ledger-database.ts";

/** What is done to groups of a ledger with `groups` groups in all. */
interface Work {
  readonly groups: number;
  readonly ids: readonly string[];
  run(at: Opened, ids: readonly string[]): Promise<unknown>;
}

const MANY = Array.from({ length: 500 }, (_, n) => `t${n}`);
const ofMany = (run: Work["run"]): Work => ({ groups: 20_000, ids: MANY, run });
const ofOne = (run: Work["run"]): Work => ({ groups: 300, ids: ["t7"], run });
const writing =
  (body: (to: LedgerTransaction, ids: readonly string[]) => Promise<unknown>): Work["run"] =>
  (at, ids) =>
    write(at, (to) => body(to, ids));

const updated = (user_group_id: string): EventOf =>
  ended(anApplied({ kind: "updated", change: anApply({ kind: "update", user_group_id }) }));
const deleted = (user_group_id: string): EventOf => ended(aDeleted({ change: aDelete({ user_group_id }) }));
const tokensOf = (ids: readonly string[]): Map<string, string> => new Map(ids.map((id) => [id, `of ${id}`]));

// As long as PostgreSQL has no statistics of a table, it takes a scope for a small part of it.
test.each<[string, Work]>([
  ["many groups are read", ofMany(({ ledger }, ids) => ledger.records(ids))],
  [
    "the tokens of many groups are read",
    ofMany(({ ledger }, of) => ledger.candidates({ kind: "vouched", of }, { limit: 500 })),
  ],
  [
    "many tokens are looked for in other groups",
    ofMany(({ ledger }, ids) => ledger.sharedTokens(tokensOf(ids), "recorded")),
  ],
  [
    "a group is looked for by its id",
    ofOne(({ ledger }) => ledger.candidates({ kind: "id begins", text: "t29" }, { limit: 5 })),
  ],
  [
    "a group is looked for by its name",
    ofOne(({ ledger }) => ledger.candidates({ kind: "name begins", text: "Name 29" }, { limit: 5 })),
  ],
  [
    "many changes begin",
    ofMany((at, ids) => begin(at, ...ids.map((user_group_id) => anApply({ user_group_id })))),
  ],
  [
    "many deletions begin",
    ofMany((at, ids) => begin(at, ...ids.map((user_group_id) => aDelete({ user_group_id })))),
  ],
  ["many updates are recorded", ofMany(writing((to, ids) => to.change(ids.map(updated), NOW)))],
  ["many deletions are recorded", ofMany(writing((to, ids) => to.change(ids.map(deleted), NOW)))],
  ["many tenants are back", ofMany(writing((to, ids) => to.change(ids.map(returned), NOW)))],
  [
    "a rotation is recorded",
    ofOne(
      writing((to, [id = ""]) => to.change([aRotation({ user_group_id: id, tokenFingerprint: "new" })], NOW)),
    ),
  ],
  [
    "a token is looked for in other groups",
    ofOne(({ ledger }, ids) => ledger.sharedTokens(tokensOf(ids), "all")),
  ],
])("in a ledger that has just been filled, other groups are not read when %s", async (_, work) => {
  const at = await opened(() => ledgerDatabase("postgres"));
  const { query, cut } = at.database;
  // No statistics may come in between.
  await query("ALTER TABLE groupsync_groups SET (autovacuum_enabled = off)");
  await query(
    `INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, confirmed, name_key,
       token_fingerprint, token_since, verified_at, at_rest, state)
     SELECT 'default', 't' || i, i % 4096, 1, 'f', '{}', 'NAME ' || i, 'of t' || i, now(), now(), 1,
       '{"name":"n","dataSourceId":null,"intended":null,"goneAt":null,"createdAt":"2026-01-01","changedAt":"2026-01-01",
         "failures":{"change":null,"rotation":null,"storing":null}}'
     FROM generate_series(0, ${work.groups - 1}) AS i`,
  );
  await work.run(at, work.ids);
  // A session reports its reads when it ends, if not before.
  await cut();
  const reads = async (): Promise<number> => {
    const [row] = await query<{ count: string }>(
      `SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS count FROM pg_stat_user_tables
       WHERE relname = 'groupsync_groups'`,
    );
    return Number(row?.count);
  };
  await expect.poll(reads).toBeGreaterThanOrEqual(work.ids.length);
  expect(await reads()).toBeLessThan(10 * work.ids.length);
});
