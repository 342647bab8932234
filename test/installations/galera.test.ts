import { connect, createServer } from "node:net";
import { afterAll, describe, expect, onTestFinished, type TestContext, test } from "vitest";
import { sqlLedger } from "../../src/adapters/sql/ledger/ledger.ts";
import type { Lease } from "../../src/ports/ledger/lease.ts";
import type { Ledger } from "../../src/ports/ledger/ledger.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../adapters/sql/ledger/ledger-database.ts";
import { anApply } from "../builders/groups.ts";
import { begun } from "../builders/records.ts";
import { runProgram } from "../e2e/program.ts";
import { aWorld, idOf } from "../e2e/world.ts";
import { type FreshDatabase, SERVERS } from "../support/databases/fresh-database.ts";
import { LONG } from "../support/long.ts";
import { type Galera, startGalera } from "../support/mysql/galera.ts";
import { listening } from "../support/servers/listening.ts";
import { skipIfNotToBeHad } from "../support/servers/not-to-be-had.ts";

async function taken(ledger: Ledger, holder: string): Promise<Lease> {
  const attempt = await ledger.acquireLease(holder, 60_000);
  if (attempt.kind !== "acquired") throw new Error(`the lease is ${attempt.kind}`);
  return attempt.lease;
}

/** The url of a balancer that leads each new connection to the next of these servers. */
async function inTurns(urls: readonly string[]): Promise<string> {
  let turn = 0;
  const server = createServer((client) => {
    const { hostname, port } = new URL(urls[turn++ % urls.length] ?? "");
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) socket.on("error", () => {});
    client.pipe(upstream).pipe(client);
  });
  const { port } = await listening(server);
  return Object.assign(new URL(urls[0] ?? ""), { port: String(port) }).href;
}

describe.skipIf(!LONG)("on two nodes of a Galera cluster", () => {
  let starting: Promise<Galera> | undefined;
  afterAll(async () => (await starting?.catch(() => undefined))?.stop());

  let databases = 0;
  /** One database, as each of the nodes has it. */
  async function onBothNodes(context: TestContext): Promise<readonly [FreshDatabase, FreshDatabase]> {
    starting ??= startGalera();
    const cluster = await starting.catch((error: unknown) => skipIfNotToBeHad(error, context));
    const name = `groupsync_test_${databases++}`;
    const at = (node: string): FreshDatabase => {
      const url = Object.assign(new URL(node), { pathname: `/${name}` }).href;
      const { query, end } = SERVERS.mysql.connect(url);
      onTestFinished(end);
      return { kind: "mysql", name, url, query };
    };
    const server = SERVERS.mysql.connect(cluster.urls[0]);
    await server.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
    await server.end();
    const [first, second] = [at(cluster.urls[0]), at(cluster.urls[1])];
    await expect
      .poll(() =>
        second.query("SELECT 1").then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    return [first, second];
  }

  test("both can create the ledger at once, it gets one id, and one of them gets the lease", async (context) => {
    for (let round = 0; round < 20; round++) {
      const nodes = await onBothNodes(context);
      const ledgers = nodes.map(({ url }) =>
        sqlLedger(aDatabase(url, "mysql"), LOCATION, "default", HISTORY_MS),
      );
      await Promise.all(ledgers.map((ledger) => ledger.prepare()));
      const attempts = await Promise.all(
        ledgers.map((ledger, n) => ledger.acquireLease(`node ${n}`, 60_000)),
      );
      expect(attempts.map(({ kind }) => kind).toSorted()).toEqual(["acquired", "held"]);
      const [ids, others] = await Promise.all(
        nodes.map(({ query }) => query("SELECT id FROM groupsync_identity")),
      );
      expect(ids).toHaveLength(1);
      expect(others).toEqual(ids);
    }
  });

  test("an instance that lost its lease to one on the other node writes no more", async (context) => {
    const nodes = await onBothNodes(context);
    const [ours, theirs] = nodes.map(({ url }) =>
      sqlLedger(aDatabase(url, "mysql"), LOCATION, "default", HISTORY_MS),
    );
    if (!ours || !theirs) throw new Error("two nodes have two ledgers");
    await ours.prepare();
    for (let round = 0; round < 200; round++) {
      const lease = await taken(ours, "ours");
      const other = await theirs.acquireLease("theirs", 60_000);
      if (other.kind !== "held") throw new Error(`the lease is ${other.kind}`);
      const seized = await theirs.acquireLease("theirs", 60_000, { dead: other.by });
      const late = ours.write(lease, (transaction) => transaction.change([begun(anApply())], new Date()));
      await expect(late).rejects.toMatchObject({ code: "LEASE_LOST" });
      if (seized.kind === "acquired") await theirs.releaseLease(seized.lease);
    }
  });

  test("one instance may have its connections to both, in any order", async (context) => {
    const nodes = await onBothNodes(context);
    const world = await aWorld({ database: nodes[0], tenants: 20 });
    world.env.DATABASE_URL = await inTurns(nodes.map(({ url }) => url));
    for (let from = 21; from <= 31; from += 5) {
      expect(await world.sync()).toMatchObject({ code: 0 });
      expect(await world.stored()).toEqual(await world.live());
      expect(await world.rotate("--only", idOf(from - 1))).toMatchObject({ code: 0 });
      await world.forgetRequests();
      expect(await world.sync()).toMatchObject({ code: 0, report: { requests: 0 } });
      await world.addTenants(from, from + 4);
    }
  });

  test("of two first syncs at once, one makes all groups, and the other ends or waits for its turn", async (context) => {
    for (let round = 0; round < 6; round++) {
      const [first, second] = await onBothNodes(context);
      const world = await aWorld({ database: first, tenants: 20 });
      const sync = (url: string) => runProgram(["sync", "--json"], { ...world.env, DATABASE_URL: url });
      const ended = await Promise.all([first, second].map(({ url }) => sync(url)));
      const codes = ended.map(({ code }) => code);
      expect(codes, ended.map(({ stdout, stderr }) => stdout + stderr).join("\n")).toContain(0);
      expect(codes.filter((code) => code !== 0 && code !== 5)).toEqual([]);
      const { by_operation } = await world.requests();
      expect(by_operation.GET).toEqual({ 200: 20 });
      expect(await world.stored()).toEqual(await world.live());
      await world.forgetRequests();
      for (const { url } of [second, first]) expect((await sync(url)).code).toBe(0);
      expect(await world.requests()).toMatchObject({ total: 0 });
    }
  });
});
