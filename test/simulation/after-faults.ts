import { doesUpdate } from "../../src/core/apply/update-evidence.ts";
import type { RetryableFailure } from "../../src/core/failure/group-failures.ts";
import { tokenFingerprint } from "../../src/core/group/group.ts";
import { intendsRemoval, UNKNOWN_STATE } from "../../src/core/group/ledger-group.ts";
import { DELETED } from "../../src/core/plan/change.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { RunReport } from "../../src/engine/report/run-report.ts";
import { LEASE_MS } from "./config.ts";
import { poisoning } from "./faults.ts";
import type { Command, History } from "./history.ts";
import type { ProgramOptions } from "./program.ts";
import { askedFor, mayExist, stillLive } from "./rotation-checks.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import { isRejected, orphansIn, outOfSync, tellsToken } from "./sync-checks.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The longest time, in milliseconds, that a token store may refuse a token. */
const LONGEST_FAULT = HOUR;
/** In milliseconds. A run without faults that takes longer is stuck. */
const LONGEST_RUN = 2 * HOUR;

/**
 * Checks the guarantees after all faults have ended, and all clocks are right again: one sync has to establish them, whatever happened before. First waits
 * for everything that only time ends: leases of dead processes, refusals of stores, and the next tries of failed groups. If
 * the sync holds removals, approves them, and the next sync has to establish the guarantees. A tenant in its grace period
 * needs a second read. No sync can see what another program did to unchanged groups at the service, and only a verifying
 * sync sees what it did to a token in a store: `rotate --only` repairs both.
 */
export async function checkAfterFaults(
  world: SimulatedWorld,
  {
    isHasty,
    verifiesAtLast: verifies,
    refreshesAtLast: refreshes,
  }: Pick<History, "isHasty" | "verifiesAtLast" | "refreshesAtLast">,
): Promise<void> {
  const { watch, time, config } = world;
  world.clockOffset = 0;
  const command: Command = { name: "sync", only: null, approves: false, verifies, refreshes };
  world.setEmpty(false);
  if (![...world.visibleRows().values()].some((row) => row.kind === "active"))
    world.setRow("z", { kind: "active", name: 0, mapping: 0, plan: 0 });
  if (isHasty) world.endObstacles();
  else {
    await time.sleep(LONGEST_FAULT + LEASE_MS + MINUTE);
    await untilNextTries(world);
  }

  if (isHasty || world.poison !== null) {
    const waited = waitingIn(world);
    await oneSync(world, command);
    await rotateAll(world, waited);
    world.setPoison(null);
    await untilNextTries(world);
  }
  let last = await oneSync(world, command);
  // A sync has to see that a group differs from the wanted one before a sync can replace it.
  if (config.update === "replace" && last && last.counts.failed > hopelessIn(last, world)) {
    last = await oneSync(world, command);
    if (last && last.counts.failed > hopelessIn(last, world))
      watch.breach("1: what is to be replaced fails again");
  }
  // The first wait may be a pause so long that grace periods begin anew. Then the second one is as long as usual.
  for (let wait = 0; wait < 2 && config.deletion.gracePeriodMs > 0; wait++) {
    if (wait > 0 && last?.counts.missing === 0) break;
    await time.sleep(config.deletion.gracePeriodMs);
    await untilNextTries(world);
    last = await oneSync(world, command);
  }
  for (const orphan of orphansIn(world)) watch.breach(`2: ${orphan}`);
  if (refreshes) for (const complaint of unhealed(world)) watch.breach(`1: after a refresh ${complaint}`);

  for (const id of watch.wishes.left)
    if (!last?.errors.some((error) => error.user_group_id === id))
      watch.breach(`13: nobody says why ${id} has no new token`);

  await repairMeddling(world);
  const repaired = [...world.visibleRows()].filter(([id]) => !isBeyondRepair(id, world));
  for (const complaint of outOfSync(repaired, config, world)) watch.breach(`1: ${complaint}`);
  const { rotation } = config;
  const idle = await run(world, {
    command: { ...command, refreshes: false },
    config: { ...config, rotation: { ...rotation, maxAgeMs: null }, refreshMs: null },
  });
  // A group whose update failed may need requests again.
  if (idle && last?.counts.failed === 0 && idle.requests > 0)
    watch.breach(`8: ${idle.requests} requests of a sync with nothing to do`);
  await rotateAll(world);
  if (tellsToken([...world.ledger.rows, world.ledger.runs])) watch.breach("5: a token is in the ledger");
}

/** Groups that another program changed at the service, or whose token it changed in a store. */
const excusedIn = (world: SimulatedWorld): string[] => [
  ...new Set([...world.meddledWith, ...world.tamperedWith.keys()]),
];

/**
 * Another program changed the group or its token, or the tokens moved, while nothing but the group's name was known. A GET could
 * make the group anew from its name alone, so nobody is asked for its token.
 */
const isBeyondRepair = (id: string, world: SimulatedWorld): boolean =>
  (excusedIn(world).includes(id) || isLeftBehind(id, world)) && !world.ledger.rows.get(id)?.confirmed;

/**
 * A store may lack the token of a group whose state nobody knows: the config did not name this store for a while, and no update
 * brings the token.
 */
function isLeftBehind(id: string, world: SimulatedWorld): boolean {
  const { config, abandoned, ledger } = world;
  const isUpdated = config.update !== "never" && world.visibleRows().get(id)?.kind === "active";
  if (isUpdated || ledger.rows.get(id)?.fingerprint !== UNKNOWN_STATE) return false;
  return world.storesOf(config).some((store) => abandoned.has(store));
}

/**
 * Complaints about present tenants whose groups another program has changed at the service. A group at rest has been asked
 * for again, and is healed, if the config lets a refresh ask at all.
 */
function unhealed(world: SimulatedWorld): string[] {
  const { service, ledger, config } = world;
  if (config.update === "never" && doesUpdate(ledger.service.evidence) !== false) return [];
  return [...world.visibleRows()].flatMap(([id, { kind }]) => {
    const known = ledger.rows.get(id);
    if (kind !== "active" || !known?.confirmed || known.fingerprint === UNKNOWN_STATE) return [];
    if (known.intent !== null || Object.values(known.failures).some((failure) => failure !== null)) return [];
    const held = service.groups.get(id);
    if (held === undefined) return [`${id} has no group`];
    return [
      ...(world.holdsLive(id, world.destinationsOf(config)) ? [] : [`the live token of ${id} is not stored`]),
      ...(held.group.name === service.rewrites(known.confirmed.name)
        ? []
        : [`nobody tells that ${id} has another name`]),
    ];
  });
}

/** `isRewound`: the ledger went back in time, and this sync need not do all. */
export async function oneSync(
  world: SimulatedWorld,
  command: Command,
  isRewound = false,
): Promise<RunReport | undefined> {
  const { watch, config } = world;
  const mayWait = waitingIn(world);
  let report = await run(world, { command });
  // The first sync may find out that a group has to be replaced, which changes the approval code.
  for (let round = 1; report?.outcome === "held" && round <= 4; round++) {
    const approval = await world.approval();
    const refreshApproval = await world.refreshApproval();
    report = await run(world, { command, approval, refreshApproval });
  }
  if (report === undefined || isRewound) return report;
  if (report.outcome === "held") watch.breach("3: what was approved is held again");
  for (const { user_group_id: id, code, message } of report.errors) {
    if (mayWait.has(id) || mayFail(id, code, world) || isUnaskable(id, code, world)) continue;
    if (OF_UNSETTLED.includes(code) && isUnsettled(id, world)) continue;
    // If the refresh alone is held, the code for removals is given in vain.
    if (id === null && code === "APPROVAL_NOT_NEEDED") continue;
    watch.breach(`7: ${id} failed without a reason: ${code} ${message}`);
  }
  const now = { verifies: command.name === "sync" && command.verifies, tamperingsBefore: world.tamperings };
  const isExcused = (id: string) => world.isExcused(id, now) || isBeyondRepair(id, world);
  const named = new Set(report.errors.map(({ user_group_id }) => user_group_id));
  for (const [id, row] of world.visibleRows()) {
    if (isExcused(id)) continue;
    const complaints = outOfSync([[id, row]], config, world);
    const isOwed = mayWait.has(id) && named.has(id);
    for (const complaint of isOwed ? [] : complaints) watch.breach(`1: after one sync ${complaint}`);
    if (isOwed && mayWait.get(id) === "change" && isCutOff(id, world))
      watch.breach(`1: after one sync the live token of ${id} is not stored, of which a change fails`);
  }
  if (config.deletion.gracePeriodMs === 0)
    for (const orphan of orphansIn(world, mayWait)) watch.breach(`2: after one sync ${orphan}`);
  return report;
}

/** What may fail of these groups in the next sync: one of their changes alone, or everything. */
function waitingIn(world: SimulatedWorld): ReadonlyMap<string | null, "change" | "all"> {
  const { ledger, time, clockOffset, poison } = world;
  const now = time.now().getTime() + clockOffset;
  const found = new Map<string, "change" | "all">();
  for (const [id, { failures }] of ledger.rows) {
    if ([failures.change, failures.rotation].some((failure) => waits(failure, now))) found.set(id, "change");
    if (waits(failures.storing, now)) found.set(id, "all");
  }
  if (poison && found.get(poison.id) !== "all")
    found.set(poison.id, poisoning(poison.kind).fails?.isOfChanges ? "change" : "all");
  return found;
}

const waits = (failure: RetryableFailure | null, now: number): boolean =>
  failure !== null && failure.retryAt.getTime() > now;

/** Whether the ledger doesn't know the live token of a tenant's group, and a GET that leaves the group as it is could have told it. */
function isCutOff(id: string, world: SimulatedWorld): boolean {
  const known = world.ledger.rows.get(id);
  const live = world.service.groups.get(id)?.token;
  const mayAsk = known !== undefined && known.confirmed !== null && !intendsRemoval(known.intent);
  if (!mayAsk || live === undefined || world.visibleRows().get(id)?.kind !== "active") return false;
  return known.tokenFingerprint !== tokenFingerprint(new Secret(live));
}

/**
 * Expects that `rotate --all` gives every group a new token, whatever the state of this group and of other groups. `waited`: what
 * waited for its next try as the last sync began, and may be left to the next one.
 */
async function rotateAll(
  world: SimulatedWorld,
  waited: ReturnType<typeof waitingIn> = new Map(),
): Promise<void> {
  const { watch, time, clockOffset } = world;
  const selection = { kind: "all" } as const;
  const asked = askedFor(selection, world, new Date(time.now().getTime() + clockOffset));
  const mayWait = new Map([...waited, ...waitingIn(world)]);
  const mayEndWith = knowsNoGroup(world) ? "LEDGER_EMPTY" : undefined;
  const report = await run(world, { command: { name: "rotate", selection } }, mayEndWith);
  if (report === undefined) return;
  const named = new Set<string | undefined>([world.poison?.id]);
  // After a store has refused a new token, no further rotation begins.
  const isStopped = report.errors.some(({ code }) => code === "NEW_TOKEN_NOT_STORED");
  for (const { user_group_id: id, code, message } of report.errors) {
    const isLeft = isStopped && code === "NOT_ROTATED";
    const isUntracked = code === "GROUP_UNTRACKED" && !mayExist(world.ledger.rows.get(id ?? ""));
    const isExcused =
      isLeft ||
      isUntracked ||
      mayFail(id, code, world) ||
      isUnsettled(id, world) ||
      isUnaskable(id, code, world);
    if (!mayWait.has(id) && !isExcused)
      watch.breach(`7: the token of ${id} was not rotated without a reason: ${code} ${message}`);
    named.add(id ?? undefined);
  }
  for (const complaint of stillLive(asked, world, named)) watch.breach(`10: after rotate --all ${complaint}`);
}

/** If the ledger knows no group, nothing can be rotated, and another program stored the tokens. */
const knowsNoGroup = ({ ledger }: SimulatedWorld): boolean => ![...ledger.rows.values()].some(mayExist);

/** What a sync says of such a group: at last, whether its token is stored, if it has tried that. */
const OF_UNSETTLED = ["UNSETTLED", "TOKEN_NOT_EVERYWHERE", "TOKEN_NOT_STORED"];

/** A change began and then its tenant went: whether the group exists isn't known, and a GET would create it. */
export const isUnsettled = (id: string | null, world: SimulatedWorld): boolean =>
  id !== null && world.ledger.rows.get(id)?.intent !== null && world.visibleRows().get(id)?.kind !== "active";

/**
 * A token is asked for that was lost, overwritten or rotated by somebody else, or that did not move with the others, and nobody
 * is asked because asking could change the group. A sync doesn't ask either if somebody else has renamed the group; a rotation
 * does.
 */
function isUnaskable(id: string | null, code: string, world: SimulatedWorld): boolean {
  const group = id === null ? undefined : world.ledger.rows.get(id);
  if (id === null) return false;
  const isRenamed = code === "TOKEN_NOT_EVERYWHERE" && group?.fingerprint === UNKNOWN_STATE;
  if (group?.confirmed && !isRenamed) return false;
  if (code === "REFUSED") return world.meddledWith.has(id);
  const isLost = world.tamperedWith.has(id) || group?.absence != null || isLeftBehind(id, world);
  return ["UNSETTLED", "TOKEN_NOT_EVERYWHERE"].includes(code) && isLost;
}

/** How many groups failed of which no sync can do more. */
const hopelessIn = ({ errors }: RunReport, world: SimulatedWorld): number =>
  errors.filter(
    ({ user_group_id: id, code }) =>
      (OF_UNSETTLED.includes(code) && isUnsettled(id, world)) ||
      isFailedRotation(id, code, world) ||
      isFailedDeletion(id, code, world) ||
      isRejectedNow(id, world) ||
      (code === "IN_DOUBT" && mayFail(id, code, world)) ||
      (code === "TOKEN_NOT_EVERYWHERE" && id !== null && isLeftBehind(id, world)),
  ).length;

/** Its group stays as it is, whatever is under way. */
function isRejectedNow(id: string | null, world: SimulatedWorld): boolean {
  const row = world.visibleRows().get(id ?? "");
  return row !== undefined && isRejected(row);
}

/** A rotation that failed is owed until somebody asks for it again. */
const isFailedRotation = (id: string | null, code: string, { ledger }: SimulatedWorld): boolean =>
  ledger.rows.get(id ?? "")?.failures.rotation?.code === code;

/** A long pause begins the grace period anew: the deletion that failed before is owed, and is not due. */
const isFailedDeletion = (id: string | null, code: string, { ledger }: SimulatedWorld): boolean => {
  const { absence, failures } = ledger.rows.get(id ?? "") ?? {};
  return Boolean(absence) && failures?.change?.fingerprint === DELETED && failures.change.code === code;
};

export function mayFail(id: string | null, code: string, world: SimulatedWorld): boolean {
  // With service.update: never, no refresh is sent to a service that may change groups.
  if (id === null) return code === "REFRESH_UNSAFE";
  if (isFailedRotation(id, code, world) || isFailedDeletion(id, code, world)) return true;
  const row = world.visibleRows().get(id);
  if (code === "IN_DOUBT") return row?.kind !== "active" || world.config.update === "never";
  // Without a valid row, nobody knows whether the tenant is gone.
  if (row === undefined) return ![...world.visibleRows().values()].some((other) => !isRejected(other));
  if (isRejected(row)) return true;
  // A service that keeps existing groups applies no update.
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

/** A run without faults. Resolves to undefined if the run got stuck or had to end early; both are breaches. */
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

/** Waits until the next try of every failed group is due. */
export async function untilNextTries(world: SimulatedWorld): Promise<void> {
  const now = world.time.now().getTime() + world.clockOffset;
  const failures = [...world.ledger.rows.values()].flatMap((row) => Object.values(row.failures));
  const tries = failures.map((failure) => failure?.retryAt.getTime() ?? now);
  await world.time.sleep(Math.max(now, ...tries) - now);
}
