import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { EventOf } from "../../../src/core/record/next.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import type { HeldLease } from "../../../src/engine/lease/lease.ts";
import { Committer } from "../../../src/engine/loop/committer.ts";
import { ServiceIdentity } from "../../../src/engine/service/service-identity.ts";
import type { TokenTables } from "../../../src/ports/token-store.ts";
import { type Fate, failing, Instance } from "../../fakes/instance.ts";
import { synced } from "../../fakes/two-stores.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";
import { aSession, slow } from "../serving/a-session.ts";

const DAY = 86_400_000;
const many = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const away = (): SyncError => new SyncError("TOKEN_STORE_UNAVAILABLE", "away for a moment");

const refuse = async (): Promise<never> => {
  throw away();
};

/** What becomes of an entry. */
const committing = (committer: Committer, user_group_id: string, token?: Secret): Promise<string> =>
  committer.commit({ user_group_id, token, events: (): EventOf[] => [] }).then(
    () => "recorded",
    (error: SyncError) => error.code,
  );

/** A committer, by default one whose token table is away. */
async function aCommitter(
  tables: TokenTables = { batchSize: 64, write: refuse, writeAtOnce: refuse, remove: refuse },
  fate: Fate = {},
): Promise<Committer> {
  const world = new World();
  const clock = new VirtualClock(world.time);
  const { ledger } = world.ports(new Instance(fate), clock);
  const attempt = await ledger.acquireLease("this", DAY);
  if (attempt.kind !== "acquired") throw new Error("it is nobody's");
  const { service } = await ledger.scope();
  return new Committer({
    ledger,
    clock,
    lease: { ...attempt.lease, assertHeld: () => {} } as HeldLease,
    tokens: { ...world.ports(new Instance(), clock).tokens, outside: undefined, tables },
    storing: new Map(),
    observe: () => {},
    signal: new AbortController().signal,
    identity: new ServiceIdentity(service, "https://service.example"),
    concurrency: 4,
  });
}

describe("a token store that is away", () => {
  test("doesn't keep what stores no token from being recorded in the same transaction", async () => {
    const committer = await aCommitter();
    const token = new Secret("ugt_b");
    const ended = [committing(committer, "a"), committing(committer, "b", token)];
    expect(await Promise.all(ended)).toEqual(["recorded", "TOKEN_STORE_UNAVAILABLE"]);
  });

  test("while a copy is made doesn't cost a new tenant its token", async () => {
    const world = await synced("a");
    world.second.tokens.delete("a");
    await world.time.sleep(60_000);
    slow(world, 1_000);
    world.tenants.push(...tenants("new"));
    let isAway = true;
    const session = aSession(world, {
      settings: { verifyTokensMs: 1 },
      at: async ({ when, call, id, store }) => {
        if (when !== "before" || call !== "writeTokens" || id !== "a" || store !== 1 || !isAway) return;
        isAway = false;
        await world.time.sleep(500);
        throw away();
      },
    });
    session.serve("new").catch(() => {});
    await session.run;
    await session.end().catch(() => {});
    await world.time.sleep(5_000);
    expect(world.sent).toContain("GET new");
    expect(world.store.tokens.get("new")).toBe(world.service.tokens.get("new"));
  });
});

test("an answer is recorded although the ledger was away for an intent before", async () => {
  const gone = () => new SyncError("LEDGER_UNAVAILABLE", "away for a moment");
  const tables = { batchSize: 64, write: async () => new Map(), writeAtOnce: refuse, remove: refuse };
  const committer = await aCommitter(tables, { at: failing("before", "commit", gone, { times: 1 }) });
  expect(await committing(committer, "a")).toBe("LEDGER_UNAVAILABLE");
  expect(await committing(committer, "b", new Secret("ugt_b"))).toBe("recorded");
});

test("copies ask the ledger for no owner of their tokens", async () => {
  const world = await synced(...many("t", 250));
  world.second.tokens.clear();
  const { report, instance } = world.start({ verifyTokens: true });
  expect(await report).toMatchObject({ outcome: "ok", counts: { restored: 250 } });
  expect(instance.passed.filter(({ call }) => call === "sharedTokens").length).toBeLessThan(20);
});

test("after many creations, rotations don't wait for more to commit", async () => {
  const world = await aSyncedWorld(many("old", 50));
  await world.time.sleep(100 * DAY);
  world.tenants.push(...tenants(...many("new", 200)));
  const posts: number[] = [];
  world.network = async ({ operation }) => {
    if (operation === "POST") posts.push(world.time.now().getTime());
  };
  const rotation = { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1 };
  const { counts } = await world.sync({ settings: { rotation, concurrency: 50 } });
  expect(counts).toMatchObject({ rotated: 50, created: 200 });
  // By the virtual clock, on which nothing else takes time.
  expect((posts.at(-1) ?? 0) - (posts[0] ?? 0)).toBeLessThan(1_000);
});
