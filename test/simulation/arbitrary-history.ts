import fc from "fast-check";
import { codesOf, type Fault, POISON_KINDS, type Port } from "./faults.ts";
import type {
  Command,
  Happening,
  History,
  Meddling,
  Notice,
  Place,
  Poison,
  Row,
  RunStep,
  SimulatedConfig,
  Step,
  StorePlace,
  Tampering,
  WhichStore,
} from "./history.ts";
import { IDS } from "./history.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Few runs with so few tenants pass more points. */
const POINTS = 70;

/** Prefers two ids: faults show rather if several things happen to the same tenant. */
const id = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...IDS) },
  { weight: 3, arbitrary: fc.constantFrom("a" as const, "b" as const) },
);

const activeRow: fc.Arbitrary<Row> = fc.record({
  kind: fc.constant("active" as const),
  name: fc.nat(2),
  mapping: fc.nat(1),
  plan: fc.nat(1),
});

const row: fc.Arbitrary<Row> = fc.oneof(
  { weight: 8, arbitrary: activeRow },
  { weight: 6, arbitrary: fc.constant<Row>({ kind: "gone" }) },
  { weight: 2, arbitrary: fc.constant<Row>({ kind: "flagged" }) },
  { weight: 2, arbitrary: fc.constant<Row>({ kind: "not ready" }) },
  { weight: 1, arbitrary: fc.constant<Row>({ kind: "rejected" }) },
  { weight: 1, arbitrary: fc.constant<Row>({ kind: "twice" }) },
);

/** At the start, most tenants are active. */
const firstRow: fc.Arbitrary<Row> = fc.oneof(
  { weight: 6, arbitrary: activeRow },
  { weight: 1, arbitrary: row },
);

const update = fc.constantFrom<SimulatedConfig["update"][]>("upsert", "replace", "never");
const deletion: fc.Arbitrary<SimulatedConfig["deletion"]> = fc.record({
  when: fc.constantFrom("absent" as const, "absent" as const, "flagged" as const, "never" as const),
  gracePeriodMs: fc.constantFrom(0, 0, HOUR, DAY),
  limit: fc.constantFrom(
    { count: 100, percent: 100 },
    { count: 1, percent: 10 },
    { count: 0, percent: 50 },
    { count: 0, percent: 0 },
  ),
});
const rotation: fc.Arbitrary<SimulatedConfig["rotation"]> = fc.record({
  maxAgeMs: fc.constantFrom(null, null, HOUR, 30 * DAY),
  maxPerRun: fc.constantFrom(null, 1),
});
const source = fc.constantFrom<SimulatedConfig["source"][]>("customers", "clients");

const config: fc.Arbitrary<SimulatedConfig> = fc.record({
  update,
  deletion,
  rotation,
  refreshMs: fc.constantFrom(null, HOUR, DAY),
  concurrency: fc.integer({ min: 1, max: 4 }),
  source: fc.constant("customers" as const),
  hasTier: fc.constant(false),
  tokens: fc.constantFrom("everywhere" as const, "everywhere" as const, "first" as const, "last" as const),
});

const namedStores = fc.constantFrom<SimulatedConfig["tokens"][]>("everywhere", "first", "last");

const configChange: fc.Arbitrary<Partial<SimulatedConfig>> = fc.oneof(
  fc.record({ update }),
  fc.record({ deletion }),
  fc.record({ rotation }),
  fc.record({ source }),
  fc.record({ hasTier: fc.boolean() }),
  fc.record({ tokens: namedStores }),
);

const place: fc.Arbitrary<Place> = fc.record({
  existing: fc.constantFrom("keep" as const, "update" as const),
  names: fc.constantFrom("as sent" as const, "as sent" as const, "small" as const, "cut" as const),
  deleteBy: fc.constantFrom("both" as const, "token" as const, "id" as const),
  stores: fc.constantFrom<StorePlace[][]>(
    ["with the ledger"],
    ["elsewhere"],
    ["elsewhere", "with the ledger"],
    ["elsewhere", "elsewhere"],
    ["with the ledger", "with the ledger"],
  ),
  isOneMachine: fc.boolean(),
});

const store = fc.constantFrom<WhichStore[]>("first", "last");

const point = fc.integer({ min: 0, max: POINTS });

const portFault = (port: Port, when: "before" | "after"): fc.Arbitrary<Fault> =>
  fc.record({
    kind: fc.constant("fails" as const),
    port: fc.constant(port),
    store: port === "store" ? store : fc.constant("first" as const),
    when: fc.constant(when),
    from: fc.integer({ min: 1, max: port === "ledger" ? 40 : 12 }),
    times: fc.constantFrom(1, 1, 1, 2, 5, 1_000),
    code: fc.constantFrom(...codesOf(port, when)),
  });

const pause: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constant("pauses" as const),
  at: point,
  // Around the length of a lease, every second matters.
  ms: fc.oneof(
    fc.constantFrom(20 * SECOND, 50 * SECOND, 2 * MINUTE, HOUR),
    fc.integer({ min: 25, max: 50 }).map((seconds) => seconds * SECOND),
  ),
  isAsleep: fc.boolean(),
});

const fault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("dies" as const), at: point }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("is told to stop" as const), at: point }) },
  { weight: 2, arbitrary: pause },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("clock jumps" as const),
      at: point,
      ms: fc.constantFrom(-DAY, -MINUTE, MINUTE, DAY),
    }),
  },
  { weight: 3, arbitrary: portFault("service", "before") },
  { weight: 4, arbitrary: portFault("service", "after") },
  { weight: 1, arbitrary: portFault("store", "before") },
  { weight: 2, arbitrary: portFault("store", "after") },
  { weight: 1, arbitrary: portFault("ledger", "before") },
  { weight: 2, arbitrary: portFault("ledger", "after") },
  { weight: 1, arbitrary: portFault("source", "before") },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("refuses" as const, "refuses" as const, "keeps" as const),
      store,
      id,
      ms: fc.constantFrom(SECOND, MINUTE, HOUR),
    }),
  },
);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      name: fc.constant("sync" as const),
      only: fc.constant(null),
      approves: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.boolean()),
      verifies: fc.boolean(),
      refreshes: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constant("sync" as const),
      only: fc.uniqueArray(id, { minLength: 1, maxLength: 2 }),
      approves: fc.boolean(),
      verifies: fc.constant(false),
      refreshes: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constant("sync" as const),
      only: fc.uniqueArray(id, { minLength: 1, maxLength: 2 }),
      approves: fc.constant(false),
      verifies: fc.constant(false),
      refreshes: fc.constant(false),
      skipsGrace: fc.constant(true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      name: fc.constant("rotate" as const),
      selection: fc.oneof(
        { weight: 2, arbitrary: fc.constant({ kind: "all" as const }) },
        id.map((only) => ({ kind: "only" as const, ids: new Set([only]) })),
        fc.constant({ kind: "older than" as const, ageMs: HOUR }),
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      name: fc.constant("rotate --cancel" as const),
      only: fc.option(id.map((only) => [only])),
    }),
  },
);

const run: fc.Arbitrary<RunStep> = fc.record({
  kind: fc.constant("run" as const),
  command,
  faults: fc.array(fault, { maxLength: 3, size: "max" }),
  latencyMs: fc.constantFrom(0, 0, 20, 2 * SECOND, 7 * SECOND),
  meanwhileMs: fc.constantFrom(null, null, null, 0, 50, 10 * SECOND, MINUTE),
});

/** An instance pauses, and another one takes over meanwhile. */
const overtakenRun: fc.Arbitrary<Step[]> = fc
  .tuple(run, pause, fc.constantFrom(0, 10 * SECOND, MINUTE), run)
  .map(([first, standstill, meanwhileMs, second]) => [
    { ...first, faults: [standstill, ...first.faults], meanwhileMs },
    second,
  ]);

/** A daemon's sync makes room for another run, and a daemon syncs again. */
const handedOverRun: fc.Arbitrary<Step[]> = fc
  .tuple(run, fc.constantFrom(2 * SECOND, 7 * SECOND), fc.constantFrom(2 * SECOND, 10 * SECOND), run, run)
  .map(([first, latencyMs, meanwhileMs, second, third]) => [
    { ...first, latencyMs, meanwhileMs, handsOver: true },
    { ...second, meanwhileMs: null },
    { ...third, handsOver: true },
  ]);

const notice: fc.Arbitrary<Notice> = fc.record({
  afterMs: fc.constantFrom(0, 0, 50, 5 * SECOND, 20 * SECOND),
  feed: fc.constantFrom(
    "change feed" as const,
    "change feed" as const,
    "request" as const,
    "request to a standby" as const,
  ),
});

const happening: fc.Arbitrary<Happening> = fc.record({
  // While nothing else is to be done, a session passes two points in a second.
  at: fc.integer({ min: 1, max: 2 * POINTS }),
  id: fc.oneof({ weight: 9, arbitrary: id }, { weight: 1, arbitrary: fc.constant("never there") }),
  row: fc.option(row, { freq: 3 }),
  notices: fc.array(notice, { maxLength: 3 }),
});

/** Whatever happens, its id is never there. */
const happenings = fc.array(
  happening.map((one) => (one.id === "never there" ? { ...one, row: null } : one)),
  { minLength: 1, maxLength: 8, size: "max" },
);

/** A daemon's session, which another run may end: it asks for the lease. */
const session: fc.Arbitrary<Step[]> = fc
  .record({
    sync: run,
    verifies: fc.boolean(),
    refreshes: fc.boolean(),
    lastsMs: fc.constantFrom(0, SECOND, 10 * SECOND, MINUTE),
    happenings,
    isUndisturbed: fc.boolean(),
    handsOver: fc.boolean(),
    next: fc.option(run),
  })
  .map(({ sync, verifies, refreshes, lastsMs, happenings, isUndisturbed, handsOver, next }) => [
    {
      ...sync,
      command: { name: "sync", only: null, approves: false, verifies, refreshes },
      ...(isUndisturbed ? { faults: [], latencyMs: 0 } : {}),
      meanwhileMs: next === null ? null : sync.meanwhileMs,
      handsOver,
      session: { lastsMs, happenings },
    },
    ...(next === null ? [] : [next]),
  ]);

const meddling: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant("meddling" as const),
  what: fc.constantFrom<Meddling[]>(
    "makes the group",
    "rotates the token",
    "deletes the group",
    "renames the group",
  ),
  id,
});

const tampering: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant("tampering" as const),
  what: fc.constantFrom<Tampering[]>(
    "stores another token",
    "stores a copy of another group's token",
    "takes the token out of the store",
  ),
  id,
  store,
});

const poison: fc.Arbitrary<Poison> = fc.record({
  id,
  kind: fc.oneof(fc.constant("has a change that is refused" as const), fc.constantFrom(...POISON_KINDS)),
});

const poisonings: fc.Arbitrary<Step[]> = fc.array(
  fc.option(poison).map((one) => ({ kind: "poison" as const, poison: one })),
  { maxLength: 1 },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 7, arbitrary: run },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("row" as const), id, row }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("table" as const), isEmpty: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("config" as const), change: configChange }) },
  { weight: 2, arbitrary: meddling },
  { weight: 2, arbitrary: tampering },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("loss" as const), store }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("time" as const),
      ms: fc.constantFrom(SECOND, MINUTE, HOUR, 12 * HOUR, 25 * HOUR, 10 * DAY),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("clocks" as const),
      ms: fc.constantFrom(-10 * DAY, -HOUR, HOUR, 10 * DAY),
    }),
  },
);

/** A tenant is visible to one run between two absences. */
const visit: fc.Arbitrary<Step[]> = fc
  .tuple(id, run, row, run)
  .map(([tenant, first, visible, second]) => [
    { kind: "row", id: tenant, row: { kind: "gone" } },
    first,
    { kind: "row", id: tenant, row: visible },
    second,
    { kind: "row", id: tenant, row: { kind: "gone" } },
  ]);

/** A store refuses a new tenant's token, and a change of the tenant fails meanwhile. */
const refusal: fc.Arbitrary<Step[]> = fc
  .record({
    // Ids that rarely exist already.
    tenant: fc.constantFrom("c" as const, "d" as const, "e" as const),
    store,
    before: activeRow,
    first: run,
    meanwhile: row,
    second: run,
    fault: portFault("service", "before"),
  })
  .map(({ tenant, store, before, first, meanwhile, second, fault }) => [
    { kind: "row", id: tenant, row: before },
    { ...first, faults: [{ kind: "refuses", store, id: tenant, ms: HOUR }] },
    { kind: "row", id: tenant, row: meanwhile },
    { ...second, faults: [fault] },
    { kind: "row", id: tenant, row: before },
  ]);

/** A tenant's change is refused until it waits for its next try. Then a rotation is cut off, and nobody wants another one. */
const refusedChange: fc.Arbitrary<Step[]> = fc
  .record({
    id,
    row: activeRow,
    sync: run,
    times: fc.constantFrom(0, 1, 3, 6),
    last: run,
    end: fc.oneof(
      fc.record({ kind: fc.constant("dies" as const), at: fc.nat(30) }),
      portFault("service", "after").map((lost) => ({ ...lost, from: 1, times: 1_000 })),
    ),
  })
  .map(({ id, row, sync, times, last, end }) => [
    { kind: "poison", poison: { id, kind: "has a change that is refused" } },
    { kind: "row", id, row },
    ...Array.from({ length: times }, () => [sync, { kind: "time" as const, ms: 4 * MINUTE }]).flat(),
    { ...last, command: { name: "rotate", selection: { kind: "only", ids: new Set([id]) } }, faults: [end] },
    { ...last, command: { name: "rotate --cancel", only: null }, faults: [] },
  ]);

/** The config names another scope's store, until the operator has read the error. */
const misdirection: fc.Arbitrary<Step[]> = fc
  .tuple(run, fc.array(step, { maxLength: 2 }), namedStores)
  .map(([first, meanwhile, tokens]) => [
    { kind: "config", change: { tokens: "another scope's" } },
    first,
    ...meanwhile,
    { kind: "config", change: { tokens } },
  ]);

export const arbitraryHistory = (): fc.Arbitrary<History> =>
  fc.record({
    place,
    config,
    tenants: fc.dictionary(id, firstRow, { maxKeys: IDS.length, noNullPrototype: true }),
    startsInSync: fc.oneof({ weight: 2, arbitrary: fc.constant(true) }, fc.boolean()),
    isHasty: fc.boolean(),
    steps: fc
      .tuple(
        fc.array(
          fc.oneof(
            { weight: 12, arbitrary: step.map((one) => [one]) },
            overtakenRun,
            handedOverRun,
            { weight: 6, arbitrary: session },
            visit,
            poisonings,
            refusal,
            refusedChange,
            misdirection,
          ),
          {
            minLength: 1,
            maxLength: 8,
            size: "max",
          },
        ),
        fc.oneof(poisonings, refusedChange),
      )
      .map(([steps, last]) => [...steps.flat(), ...last]),
    verifiesAtLast: fc.boolean(),
    refreshesAtLast: fc.boolean(),
    rewind: fc.option(fc.record({ to: fc.nat(8), withTokens: fc.boolean() }), { freq: 2 }),
    seed: fc.nat(),
  });
