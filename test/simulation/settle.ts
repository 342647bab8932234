import type { RunReport } from "../../src/engine/report.ts";
import { LEASE_MS } from "./config.ts";
import { refusingStores } from "./faults.ts";
import type { Command, History, Poison } from "./history.ts";
import { isRejected, orphansIn, outOfSync, tellsToken } from "./in-sync.ts";
import type { ProgramOptions } from "./program.ts";
import { askedFor, mayExist, stillLive } from "./rotated.ts";
import type { SimulatedWorld } from "./simulated-world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A token store may refuse for so long. */
const LONGEST_FAULT = HOUR;
/** A run without faults that takes longer has got stuck. */
const LONGEST_RUN = 2 * HOUR;

/**
 * The faults have ended: whatever happened before, one sync establishes the guarantees, where nothing keeps it from
 * working at once. So first all is waited for that only time can end: leases of the dead, store refusals, and
 * the next tries of groups that failed. A sync that holds something back is approved, and the next one is the one. Groups
 * within their grace period need a second read after it. What somebody else did to unchanged groups no sync can see,
 * and what was done to a token in a store none that doesn't look there: `rotate --only` repairs it.
 */
export async function settle(
  world: SimulatedWorld,
  { poison, verifiesAtLast }: Pick<History, "poison" | "verifiesAtLast">,
): Promise<void> {
  const { watch, time, config } = world;
  const command: Command = { name: "sync", only: null, approves: false, verifies: verifiesAtLast };
  world.setEmpty(false);
  if (![...world.visibleRows().values()].some((row) => row.kind === "active"))
    world.setRow("z", { kind: "active", name: 0, mapping: 0, plan: 0 });
  await time.sleep(LONGEST_FAULT + LEASE_MS + MINUTE);
  await untilNextTries(world);

  if (poison !== null) {
    await oneSync(world, command, poison);
    await rotateAll(world, poison);
    await untilNextTries(world);
  }
  let last = await oneSync(world, command);
  // What was made as another group than is wanted now has to be seen before it is replaced.
  if (config.update === "replace" && last && last.counts.failed > unsettledIn(last, world)) {
    last = await oneSync(world, command);
    if (last && last.counts.failed > unsettledIn(last, world))
      watch.breach("1: what is to be replaced fails again");
  }
  if (config.deletion.gracePeriodMs > 0) {
    await time.sleep(config.deletion.gracePeriodMs);
    await untilNextTries(world);
    last = await oneSync(world, command);
  }
  for (const orphan of orphansIn(world, undefined)) watch.breach(`2: ${orphan}`);

  await repairMeddling(world);
  const beyondRepair = excusedIn(world).filter((id) => !world.ledger.rows.get(id)?.confirmed);
  const repaired = [...world.visibleRows()].filter(([id]) => !beyondRepair.includes(id));
  for (const complaint of outOfSync(repaired, config, world)) watch.breach(`1: ${complaint}`);
  const { rotation } = config;
  const idle = await run(world, {
    command,
    config: { ...config, rotation: { ...rotation, maxAgeMs: null } },
  });
  // A group that could not be updated is tried again.
  if (idle && last?.counts.failed === 0 && idle.requests > 0)
    watch.breach(`8: ${idle.requests} requests of a sync with nothing to do`);
  await rotateAll(world);
  if (tellsToken([...world.ledger.rows, world.ledger.runs])) watch.breach("5: a token is in the ledger");
}

const excusedIn = (world: SimulatedWorld): string[] => [
  ...new Set([...world.meddledWith, ...world.tamperedWith.keys()]),
];

async function oneSync(
  world: SimulatedWorld,
  command: Command,
  poison: Poison | null = null,
): Promise<RunReport | undefined> {
  const { watch, config } = world;
  const troubles = troublesOf(poison, world);
  const options = { poison };
  let report = await run(world, { command, ...options });
  // What a sync has found out about a group may have it replaced, too: then the code is another one.
  for (let round = 1; report?.outcome === "held" && round <= 2; round++) {
    const approval = await world.approval();
    report = await run(world, { command, approval, ...options });
  }
  for (const trouble of troubles) trouble.end();
  if (report === undefined) return undefined;
  if (report.outcome === "held") watch.breach("3: what was approved is held again");
  for (const { user_group_id: id, code, message } of report.errors) {
    if (id === poison?.id || mayFail(id, code, world)) continue;
    if (code === "UNSETTLED" && isUnsettled(id, world)) continue;
    watch.breach(`7: ${id} failed without a reason: ${code} ${message}`);
  }
  const now = { verifies: command.name === "sync" && command.verifies, tamperingsBefore: world.tamperings };
  const others = [...world.visibleRows()].filter(([id]) => id !== poison?.id && !world.isExcused(id, now));
  for (const complaint of outOfSync(others, config, world)) watch.breach(`1: after one sync ${complaint}`);
  if (config.deletion.gracePeriodMs === 0)
    for (const orphan of orphansIn(world, poison?.id)) watch.breach(`2: after one sync ${orphan}`);
  return report;
}

const troublesOf = (poison: Poison | null, world: SimulatedWorld): { end: () => void }[] =>
  poison === null
    ? []
    : refusingStores(poison.kind).map((store) => world.trouble("refuses", store, poison.id));

/** Gives every group another token: neither its state nor another group's failure keeps it from that. */
async function rotateAll(world: SimulatedWorld, poison: Poison | null = null): Promise<void> {
  const { watch, time, clockOffset } = world;
  const selection = { kind: "all" } as const;
  const asked = askedFor(selection, world, new Date(time.now().getTime() + clockOffset));
  const troubles = troublesOf(poison, world);
  const mayEndWith = knowsNoGroup(world) ? "LEDGER_EMPTY" : undefined;
  const report = await run(world, { command: { name: "rotate", selection }, poison }, mayEndWith);
  for (const trouble of troubles) trouble.end();
  if (report === undefined) return;
  const named = new Set([poison?.id]);
  // A store that doesn't take a new token is given no further one.
  const isStopped = report.errors.some(({ code }) => code === "NEW_TOKEN_NOT_STORED");
  for (const { user_group_id: id, code, message } of report.errors) {
    const isLeft = isStopped && code === "NOT_ROTATED";
    const isUntracked = code === "GROUP_UNTRACKED" && !mayExist(world.ledger.rows.get(id ?? ""));
    if (id !== poison?.id && !isLeft && !isUntracked && !mayFail(id, code, world) && !isUnsettled(id, world))
      watch.breach(`7: the token of ${id} was not rotated without a reason: ${code} ${message}`);
    named.add(id ?? undefined);
  }
  for (const complaint of stillLive(asked, world, named)) watch.breach(`10: after rotate --all ${complaint}`);
}

/** Nothing can be rotated then, and the tokens that are stored are somebody else's doing. */
const knowsNoGroup = ({ ledger }: SimulatedWorld): boolean => ![...ledger.rows.values()].some(mayExist);

/** A change was begun for a tenant that is gone by now: nobody knows whether there is a group, and a GET would make it. */
const isUnsettled = (id: string | null, world: SimulatedWorld): boolean =>
  id !== null && world.ledger.rows.get(id)?.intent !== null && world.visibleRows().get(id)?.kind !== "active";

const unsettledIn = ({ errors }: RunReport, world: SimulatedWorld): number =>
  errors.filter(({ user_group_id: id, code }) => code === "UNSETTLED" && isUnsettled(id, world)).length;

function mayFail(id: string | null, code: string, world: SimulatedWorld): boolean {
  if (id === null) return false;
  const row = world.visibleRows().get(id);
  if (row === undefined) return false;
  if (isRejected(row)) return true;
  // A service that keeps what exists takes no update.
  return code === "NOT_UPDATED" && world.service.existing === "keep";
}

async function repairMeddling(world: SimulatedWorld): Promise<void> {
  const rows = world.visibleRows();
  const ids = excusedIn(world).filter(
    (id) => rows.get(id)?.kind === "active" && world.ledger.rows.get(id)?.confirmed,
  );
  if (ids.length === 0) return;
  const report = await run(world, {
    command: { name: "rotate", selection: { kind: "only", ids: new Set(ids) } },
  });
  if (report && report.outcome !== "ok")
    world.watch.breach(`1: a rotation ended with ${report.errors[0]?.code}`);
}

/** A run without faults. Undefined where it got stuck, or had to end early: that is a breach in any case. */
async function run(
  world: SimulatedWorld,
  options: Pick<ProgramOptions, "command"> & Partial<ProgramOptions>,
  mayEndWith?: string,
): Promise<RunReport | undefined> {
  const report = await world.start({ faults: [], latencyMs: 0, ...options }).endsWithin(LONGEST_RUN);
  if (report === "died") {
    world.watch.breach("1: a run without faults got stuck");
    return undefined;
  }
  if (report.error === undefined) return report;
  if (report.error.code === mayEndWith) return undefined;
  world.watch.breach(`1: a run without faults failed: ${report.error.code} ${report.error.message}`);
  return undefined;
}

/** Every group that failed is due again. */
async function untilNextTries(world: SimulatedWorld): Promise<void> {
  const now = world.time.now().getTime() + world.clockOffset;
  const failures = [...world.ledger.rows.values()].flatMap(({ failure, copies }) => [failure, copies]);
  const tries = failures.map((failure) => failure?.retryAt.getTime() ?? now);
  await world.time.sleep(Math.max(now, ...tries) - now);
}
