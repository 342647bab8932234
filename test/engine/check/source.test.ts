import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { channelFindings, columnFindings, sourceFindings } from "../../../src/engine/check/source.ts";
import type { SourceRole, TenantSource } from "../../../src/ports/tenant-source.ts";
import { column, someRules } from "../../builders/rules.ts";
import { FakeChannel, FakeFeed } from "../../fakes/change-feed.ts";
import { Instance } from "../../fakes/instance.ts";
import type { TenantRecord } from "../../fakes/tenant-source.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { tenants, World } from "../../fakes/world.ts";
import { allOf, signsOf } from "./findings.ts";

const rules = someRules({ mapping: { kind: "keys", keys: { "40": column("warehouse") } } });

interface Faults {
  readonly role?: Partial<SourceRole>;
  readonly isIndexed?: boolean;
}

function find(records: readonly TenantRecord[], { role, isIndexed = true }: Faults = {}) {
  const world = new World(records);
  const { source } = world.ports(new Instance(), new VirtualClock(world.time));
  const faulty: Pick<TenantSource, "open"> = {
    open: async (...asked) => {
      const snapshot = await source.open(...asked);
      const isWell = { name: "reader", secrets: [], openSchemas: [] };
      return { ...snapshot, role: async () => ({ ...isWell, ...role }), isIndexed: async () => isIndexed };
    },
  };
  return allOf(
    sourceFindings(
      faulty,
      { rules, before: null, database: { title: "db:5432/app", privacy: "verified" } },
      new AbortController().signal,
    ),
  );
}

const good = (...ids: string[]): TenantRecord[] =>
  tenants(...ids).map((record) => ({ ...record, warehouse: "w" }));

test("a source in order is well, with the number of its tenants", async () => {
  const found = await find([...good("a", "b"), { id: "c", removed: true }]);
  expect(signsOf(found)).toEqual(["✓", "✓", "✓"]);
  expect(found[1]?.message).toBe(
    "2 tenants in memory.customers, and 1 that source.removed_when says are gone",
  );
});

test("rows that would be rejected are counted by their reasons, the most frequent first", async () => {
  const found = await find([
    ...good("a", "double", "double"),
    ...tenants("n-1", "n-2", "n-3", "n-4"),
    { id: null, name: "Nobody", warehouse: "w" },
  ]);
  const [, count, ...reasons] = found.slice(0, -1);
  expect(count?.message).toBe("1 tenant in memory.customers");
  expect(reasons.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    "warning: 4 rows rejected (VALUE_NULL): mapping.40 (column warehouse) is null: n-1, n-2, n-3, …",
    "warning: 1 row rejected (ID_NULL): column id is null: (a row without an id)",
    "warning: 1 row rejected (ID_DUPLICATE): 2 rows have this id in column id; none of them is used: double",
  ]);
  expect(reasons.map(({ hint }) => hint?.split("; until then")[0])).toEqual([
    "fill the column, or give its rule a default",
    "fill the id's column, or have the source leave the row out",
    "leave one row with this id",
  ]);
});

test("ids with a blank at one end are a warning, because nobody sees the blank", async () => {
  const found = await find(good("a", "b ", " c", "d ", "e ", "f g"));
  expect(signsOf(found)).toEqual(["✓", "✓", "!", "✓"]);
  expect(found[2]?.message).toBe('4 ids with a blank at one end: " c", "b ", "d ", …');
});

test("a source without a tenant is a warning", async () => {
  const found = await find([]);
  expect(signsOf(found)).toEqual(["✓", "!", "✓"]);
  expect(found[1]?.hint).toContain("check the url");
});

test("rows that wait for source.ready_when are counted, and no problem", async () => {
  const found = await find([...good("a"), { id: "b", ready: false }, { id: null, ready: false }]);
  expect(signsOf(found)).toEqual(["✓", "✓", "✓"]);
  expect(found[1]?.message).toBe("1 tenant in memory.customers, and 2 that wait for source.ready_when");
});

test("a role that can read the tokens is a warning", async () => {
  const found = await find(good("a"), { role: { secrets: ["public.groupsync_tokens"] } });
  expect(signsOf(found)).toEqual(["✓", "! SOURCE_ROLE_READS_TOKENS", "✓", "✓"]);
});

test("an id without an index is a warning", async () => {
  const found = await find(good("a"), { isIndexed: false });
  expect(signsOf(found)).toEqual(["✓", "✓", "! LOOKS_NOT_INDEXED"]);
  expect(found[2]?.hint).toContain("create an index");
});

test("the table of the last run is asked for, so that another one is refused as in a sync", async () => {
  const seen: unknown[] = [];
  const source: Pick<TenantSource, "open"> = {
    open: async (_columns, _seed, _stop, before) => {
      seen.push(before);
      throw new SyncError("CONFIG_TABLE_MOVED", "the same config now leads to another table");
    },
  };
  const settings = {
    rules,
    before: "public.customers",
    database: { title: "db", privacy: "local" },
  } as const;
  const findings = sourceFindings(source, settings, new AbortController().signal);
  await expect(allOf(findings)).rejects.toMatchObject({ code: "CONFIG_TABLE_MOVED" });
  expect(seen).toEqual(["public.customers"]);
});

const never = new AbortController().signal;

describe("the change column", () => {
  const aFeed = () => new FakeFeed(new VirtualClock(new VirtualTime()));

  test("is well with values and an index, and is closed afterwards", async () => {
    const feed = aFeed();
    feed.insert("a");
    expect(signsOf(await allOf(columnFindings(feed, "public.customers", never)))).toEqual(["✓"]);
    expect(feed).toMatchObject({ before: "public.customers", opened: 1, openNow: 0 });
  });

  test("without an index is a warning with the statement that makes it", async () => {
    const feed = aFeed();
    feed.insert("a");
    feed.missing = "CREATE INDEX ON customers (updated_at)";
    const found = await allOf(columnFindings(feed, null, never));
    expect(found).toMatchObject([{ level: "warning", code: "CHANGES_NOT_INDEXED", hint: feed.missing }]);
  });

  test("without a value is a warning", async () => {
    const found = await allOf(columnFindings(aFeed(), null, never));
    expect(found).toMatchObject([
      { level: "warning", hint: expect.stringContaining("every insert and update") },
    ]);
  });
});

describe("the change channel", () => {
  test("is well if notifications arrive, and is closed afterwards", async () => {
    const channel = new FakeChannel();
    expect(signsOf(await allOf(channelFindings(channel, never)))).toEqual(["✓"]);
    expect(channel).toMatchObject({ probes: 1, openNow: 0 });
  });
});
