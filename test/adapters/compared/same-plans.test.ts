import fc from "fast-check";
import { expect, test } from "vitest";
import { hostClock } from "../../../src/adapters/host/clock.ts";
import { sqlLedger } from "../../../src/adapters/sql/ledger/ledger.ts";
import { SqlTokenTable } from "../../../src/adapters/sql/tokens/token-table.ts";
import { writePlanJson } from "../../../src/commands/output/plan-json.ts";
import { RecentWrites } from "../../../src/core/record/recent-writes.ts";
import { dueRotations } from "../../../src/engine/check/due-rotations.ts";
import { makePlan, readLedgerState } from "../../../src/engine/plan/make-plan.ts";
import { type SyncSettings, sync } from "../../../src/engine/sync.ts";
import { column, someRules } from "../../builders/rules.ts";
import { collect } from "../../contracts/collect.ts";
import { InMemoryGroupService, ServiceState } from "../../fakes/service.ts";
import { openSpool } from "../../fakes/spool.ts";
import {
  type DatabaseKind,
  type FreshDatabase,
  freshDatabase,
} from "../../support/databases/fresh-database.ts";
import { rounds } from "../../support/long.ts";
import { aDatabase, HISTORY_MS, LOCATION } from "../sql/ledger/ledger-database.ts";
import { SOURCES } from "../sql/source/source-database.ts";

interface Row {
  readonly id: string | null;
  readonly name: string | null;
  readonly plan: string | null;
}

const CUSTOMERS: Readonly<Record<DatabaseKind, string>> = {
  postgres: "CREATE TABLE customers (id text, name text, plan text)",
  // With a collation that takes "ä" for "a", and "a " for "a".
  mysql: `CREATE TABLE customers (id varchar(100), name text, plan text) CHARACTER SET utf8mb4
    COLLATE utf8mb4_general_ci`,
};

const ROTATION = { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 1 };
const SETTINGS: SyncSettings = {
  rules: someRules({ properties: { kind: "keys", keys: { plan: column("plan") } } }),
  update: "upsert",
  deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 1_000, percent: 100 } },
  source: "customers",
  rotation: ROTATION,
  refresh: { everyMs: null },
  name: "default",
  tokenDestinations: ["here"],
  baseUrl: "https://dashboards.example.com",
  concurrency: 1,
  lease: { holder: "this", ttlMs: 45_000, callMs: 15_000, isDead: async () => false },
};

/** A customer's database, with a ledger and tokens of its own for every history. */
class Side {
  readonly #database: FreshDatabase;
  readonly #connections: ReturnType<typeof aDatabase>;

  constructor(database: FreshDatabase) {
    this.#database = database;
    this.#connections = aDatabase(database.url, database.kind);
  }

  /** What is planned, and what the ledger and the token table hold, after each state of the customers. */
  async live(scope: string, states: readonly (readonly Row[])[]): Promise<unknown[]> {
    const { kind, url, query } = this.#database;
    const service = new ServiceState();
    service.existing = "update";
    const ledger = sqlLedger(this.#connections, LOCATION, scope, HISTORY_MS);
    const table = `tokens_${scope}`;
    const ports = {
      source: SOURCES[kind](url, { table: "customers" }),
      service: new InMemoryGroupService(service, async () => {}),
      tokens: new SqlTokenTable(
        this.#connections,
        { table, rows: "own", idColumn: "id", tokenColumn: "token" },
        ledger,
      ),
      ledger,
      clock: hostClock,
      openSpool,
      observe: () => {},
      durabilityRisks: async () => [],
      recent: new RecentWrites(hostClock.now()),
    };
    // Of its own, because two scopes of a ledger may not have the same group of one service.
    const settings = { ...SETTINGS, baseUrl: `https://${scope}.example.com` };
    const seen: unknown[] = [];
    for (const rows of states) {
      await query("DELETE FROM customers");
      if (rows.length > 0) {
        const places = rows.map((_, row) => `($${3 * row + 1}, $${3 * row + 2}, $${3 * row + 3})`);
        const values = rows.flatMap(({ id, name, plan }) => [id, name, plan]);
        await query(`INSERT INTO customers VALUES ${places.join(", ")}`, values);
      }
      const plan = await makePlan(
        ports,
        settings,
        await readLedgerState({ ledger, clock: hostClock }),
        hostClock.now(),
        new AbortController().signal,
      );
      let printed = "";
      const rotations = await dueRotations(ledger, ROTATION, hostClock.now());
      await writePlanJson(
        {
          plan,
          tables: { tokens: [], ledger: null },
          rotations,
          refresh: null,
          notStored: 0,
          tokensMayBeMissingIn: [],
          failures: [],
          warnings: [],
        },
        ledger,
        (text) => {
          printed += text;
        },
      );
      plan.entries.close();
      const { outcome, counts, error } = await sync(ports, settings, {}, new AbortController().signal);
      expect(error).toBeUndefined();
      const groups = (await collect(ledger.groups())).flat();
      seen.push({
        plan: JSON.parse(printed),
        outcome,
        counts,
        ledger: groups.map(({ user_group_id, fingerprint, intent, failures }) => {
          return { user_group_id, fingerprint, intent, failures };
        }),
        confirmed: [...(await ledger.records(groups.map((group) => group.user_group_id)))].map(
          ([id, record]) => [id, record.confirmed],
        ),
        tokens: (await query(`SELECT id, token FROM ${table}`)).map((row) => JSON.stringify(row)).sort(),
      });
    }
    return seen;
  }
}

/** Ids that one comparison or another takes for each other, beside any other text. */
const anId = fc
  .oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        "a",
        "A",
        "ä",
        "a\u0308",
        "a ",
        " a",
        "ﬁ",
        "fi",
        "\uffff",
        "\u{10000}",
        "😀",
        "",
        "Ä",
        "á",
        "ａ",
        "a\u200b",
        "ß",
        "ss",
        "ı",
        "i",
      ),
    },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 20 }) },
  )
  .map((text) => text.replaceAll("\0", "0"));
const aRow = fc.record<Row>({
  id: fc.option(anId, { freq: 10 }),
  name: fc.option(fc.constantFrom("Acme", "acme", "Acme "), { freq: 10 }),
  plan: fc.option(fc.constantFrom("gold", "Gold")),
});
/** Few and large: a state takes hundreds of statements, and each of its rows is compared with all the others. */
const states = fc.array(fc.array(aRow, { maxLength: 30, size: "max" }), {
  minLength: 2,
  maxLength: 3,
  size: "max",
});

const HISTORIES = rounds(30);

/** Many times what a history takes on an idle machine. */
const MS_PER_HISTORY = 15_000;

// What becomes of values other than ids is shown without the engine, in same-tenants.test.ts.
test("any ids, as they come and go, give the same plans and the same ledger on both", {
  timeout: 60_000 + HISTORIES * MS_PER_HISTORY,
}, async () => {
  const sides: Side[] = [];
  for (const kind of ["postgres", "mysql"] as const) {
    const database = await freshDatabase(kind);
    await database.query(CUSTOMERS[kind]);
    sides.push(new Side(database));
  }
  let histories = 0;
  await fc.assert(
    fc.asyncProperty(states, async (history) => {
      const scope = `h${++histories}`;
      const [onPostgres, onMysql] = await Promise.all(sides.map((side) => side.live(scope, history)));
      expect(onMysql).toEqual(onPostgres);
    }),
    { numRuns: HISTORIES },
  );
});
