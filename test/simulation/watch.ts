import type { SyncError } from "../../src/core/failure/sync-error.ts";
import { type Group, tokenFingerprint } from "../../src/core/group/group.ts";
import type { Intent } from "../../src/core/group/ledger-group.ts";
import type { RecentWrites } from "../../src/core/record/recent-writes.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { RunReport } from "../../src/engine/report/run-report.ts";
import type { GroupService } from "../../src/ports/group-service.ts";
import type { Ledger } from "../../src/ports/ledger/ledger.ts";
import type { RunEvent, RunSummary } from "../../src/ports/observer.ts";
import type { Served } from "../../src/ports/serve-tenant.ts";
import type { ChangeOptions, StoredToken, WriteOptions } from "../../src/ports/token-store.ts";
import type { Step } from "../fakes/instance.ts";
import { type InMemoryLedger, inMemoryLedger } from "../fakes/ledger/ledger.ts";
import { enlist } from "../fakes/ledger/ledger-transaction.ts";
import type { Sent } from "../fakes/service.ts";
import { InMemoryTokenStore, type TokenState } from "../fakes/token-store.ts";
import type { Row, SimulatedConfig } from "./history.ts";
import { type LiveTokens, stillLive } from "./rotation-checks.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import { complaintOn, isRejected, outOfSync, tellsToken } from "./sync-checks.ts";
import { Wishes } from "./wishes.ts";

const DAY = 86_400_000;
/** Clocks that differ by no more than this agree, in milliseconds. */
const CLOCKS_AGREE = 5 * 60_000;
/**
 * A sync asks how the tenants are that are served singly. From there to its end the process passes at most this many points,
 * those of the tenants that are served meanwhile included.
 */
const LAST_POINTS = 40;

/** What the watch knows about one run of the program. */
export interface RunRecord {
  readonly holder: string;
  readonly config: SimulatedConfig;
  /** Whether the run has faults, or may lose its lease, or may have to make room for another run. */
  readonly isDisturbed: boolean;
  /** Whether it is a sync of all tenants. */
  readonly isWhole: boolean;
  /** Whether it verifies tokens. */
  readonly verifies: boolean;
  /** Whether the operator wants it to ask for all its groups again. */
  readonly wantsRefresh: boolean;
  /** Whether the operator wants the groups of its tenants deleted that are gone, without a grace period. */
  readonly skipsGrace: boolean;
  /** The number of changes that other programs had made in the stores when the run started. */
  readonly tamperingsBefore: number;
  /** Whether the run decides about this id and records what it saw of the tenant. */
  readonly isAbout: (id: string) => boolean;
  /** The wall clock of its machine, in milliseconds. */
  readonly wallTime: () => number;
  /** The tokens that were live when the run got its lease and that it has to replace; undefined if it is no rotation. */
  toRotate: LiveTokens | undefined;
  /** Whether it takes back that new tokens are wanted. */
  readonly takesBack: boolean;
  readonly events: RunEvent[];
  /** Whether the run asks for groups again: everything else that its full sync does at the service is done. */
  isRefreshing: boolean;
  /** The last read that began. */
  read: Read | undefined;
  /** The tenants that were looked up singly, each as it was at the last look. */
  readonly lookedUp: Map<string, Look>;
  /** The tenants that were looked up singly and are still being served. */
  readonly served: Set<string>;
  /** How many points the process has passed, without those of the lease's heartbeat. */
  points: number;
  /** The point at which a session has failed to serve a tenant. */
  readonly failedAt: Map<string, number>;
  /** The tenants that were noticed, and that nobody has looked at since. */
  readonly waiting: Set<string>;
  /** What spoke for removals when the full sync had ended. Serving single tenants must not add to it. Undefined if nobody can tell. */
  evidence?: ReadonlySet<string>;
  /** Whether the run came to its end and recorded what it found. */
  isRecorded?: boolean;
}

/** One read of the source, and what the ledger had when the read began. */
interface Read {
  readonly run: RunRecord;
  /** By the ledger's clock, in milliseconds. */
  readonly at: number;
  /** Whether the clock of the run's machine is wrong, by more than what is tolerated. */
  readonly clocksDiffer: boolean;
  /** The number of groups, on which the limit depends. */
  owned: number;
  readonly intents: ReadonlyMap<string, Intent>;
  readonly held: ReadonlySet<string>;
  /** The rows of the customer's table. A tenant without a row is gone. */
  rows: ReadonlyMap<string, Row>;
  /** The rows of tenants that were looked at once more, right before their groups were removed. */
  readonly again: Map<string, Row | undefined>;
  isComplete: boolean;
}

interface Look {
  readonly row: Row | undefined;
  readonly version: number;
}

interface Removal {
  readonly id: string;
  /** By the ledger's clock, in milliseconds. */
  readonly at: number;
  /** By the clock of the machine at work: the earlier one of when the group went and when a run recorded that. */
  recordedAt: number;
  /** Whether the ledger says no more that the removal is under way. */
  isRecorded: boolean;
}

/**
 * Checks from outside, with full knowledge of the world, that everything that reaches the service, the ledger and the
 * token stores keeps the guarantees, without asking the engine. The number of a breach names the guarantee: 1 every tenant
 * has a group and its live token is stored, 2 no orphan, 3 no deletion on bad evidence, 5 no token is told, 6 one instance
 * at a time, 7 one bad tenant costs one tenant, 8 no wasted calls, 10 done means done, 11 nobody else's tokens, 13 what was
 * asked for stays due until it is done.
 */
export class Watch {
  readonly breaches: string[] = [];
  /** False if the ledger went back in time: what it knew of tenants and groups says nothing. */
  knowsTheLedger = true;
  readonly wishes: Wishes;
  readonly #world: SimulatedWorld;
  readonly #reads: Read[] = [];
  #removals: Removal[] = [];
  /** The tenants that were seen singly, by the source. */
  readonly #seenSingly = { customers: new Set<string>(), clients: new Set<string>() };
  readonly #approved = new Set<string>();
  /** The groups that were held when this code was made. */
  readonly #held = new Map<string, readonly string[]>();
  /** The groups that a run has begun to remove when a sync ended. */
  readonly #underWay = new Set<string>();
  /** The run that wrote the ledger last. A released lease doesn't name its holder. */
  #lastAtWork: RunRecord | undefined;

  constructor(world: SimulatedWorld) {
    this.#world = world;
    this.wishes = new Wishes(world);
  }

  #now(): number {
    return this.#world.time.now().getTime();
  }

  breach(what: string): void {
    this.breaches.push(what);
  }

  /** The operator approves what was held when the code was made. */
  approve(code: string): void {
    this.#remembersHeld();
    for (const id of this.#held.get(code) ?? []) this.#approved.add(id);
  }

  #remembersHeld(): void {
    const { history, rows } = this.#world.ledger;
    const code = history.held?.code;
    if (!code || this.#held.has(code)) return;
    this.#held.set(
      code,
      [...rows.keys()].filter((id) => rows.get(id)?.held),
    );
  }

  /** A sync is about to read the source. */
  begins(run: RunRecord): void {
    const { rows } = this.#world.ledger;
    const read: Read = {
      run,
      at: this.#now(),
      clocksDiffer: Math.abs(run.wallTime() - this.#now()) > CLOCKS_AGREE,
      owned: rows.size,
      intents: new Map([...rows].flatMap(([id, { intent }]) => (intent ? [[id, intent]] : []))),
      held: new Set([...rows].flatMap(([id, { held }]) => (held ? [id] : []))),
      rows: new Map(),
      again: new Map(),
      isComplete: false,
    };
    run.read = read;
    this.wishes.begins(run);
  }

  /** The snapshot is opened. */
  reads(run: RunRecord): void {
    const { read } = run;
    if (read === undefined) return;
    read.rows = this.#world.visibleRows();
    // A run without the lease can't record its read.
    if (this.#isHolder(run)) this.#reads.push(read);
  }

  /** Some rows are read, for a sync of these tenants or right before their groups are removed. */
  readsSome(ids: readonly string[], run: RunRecord): void {
    const { read } = run;
    const rows = this.#world.visibleRows();
    if (read?.isComplete) for (const id of ids) read.again.set(id, rows.get(id));
    else this.reads(run);
  }

  /** A session looks single tenants up, and serves them from now on. */
  looks(ids: readonly string[], run: RunRecord): void {
    const rows = this.#world.visibleRows();
    for (const id of ids) {
      const row = rows.get(id);
      run.lookedUp.set(id, { row, version: this.#world.versionOf(id) });
      run.served.add(id);
      run.waiting.delete(id);
      if (!isGone(row)) this.#seenSingly[run.config.source].add(id);
    }
  }

  /** The session has told the end of a tenant, or given it up. */
  hasServed(id: string, hasFailed: boolean, run: RunRecord): void {
    run.served.delete(id);
    if (hasFailed) run.failedAt.set(id, run.points);
    else run.failedAt.delete(id);
  }

  /** A session tells what became of a tenant; `version`: the tenant's row when somebody asked. */
  answers(id: string, served: Served, version: number, run: RunRecord): void {
    const world = this.#world;
    if (this.#lastAtWork !== run || world.isExcused(id)) return;
    const rows = world.rowsSince(id, version);
    const complaint = complaintOn(id, served, rows, run.config, world);
    if (complaint) this.breach(`10: ${run.holder} says that ${id} is ${served.kind}, but ${complaint}`);
  }

  hasRead({ read }: RunRecord): void {
    if (read === undefined) return;
    read.isComplete = true;
    // A tenant that was served meanwhile may count, or not.
    read.owned = Math.max(read.owned, this.#world.ledger.rows.size);
  }

  /** A request takes effect at the service. */
  arrives(request: Sent, run: RunRecord): void {
    const { service, ledger } = this.#world;
    const { operation, id } = request;
    const what = `${operation} ${id} of ${run.holder}`;
    this.#insistOnLease(what, run);
    if (id === "") return;
    if (isMisdirected(run)) this.breach(`11: ${what}, whose config names another scope's store`);
    const intent = ledger.rows.get(id)?.intent ?? null;
    if (intent === null) this.breach(`2: ${what} without an intent in the ledger`);
    const isServed = run.served.has(id);
    const row = isServed ? run.lookedUp.get(id)?.row : run.read && rowIn(run.read, id);
    const leavesAsItIs = intent === "rotate" || this.#repeats(request);
    if (operation !== "POST" && !leavesAsItIs && row && isRejected(row)) {
      this.breach(`3: ${what}, whose row is rejected`);
    }
    // A tenant may be back since the read: then the GET that settles its group may follow the answer to who asked for it.
    const rows = [row, run.lookedUp.get(id)?.row];
    if (operation === "GET" && run.isRefreshing && !isServed) this.#insistOnRefresh(request, rows, what);
    if (operation === "GET" && !leavesAsItIs && this.#isOutdated(request.group, run))
      this.breach(`1: ${what} sends an older state of its tenant than the one that was looked at`);
    if (operation !== "GET" && isServed) this.breach(`3: ${what}, whose tenant is being served singly`);
    if (operation === "GET" && !service.groups.has(id)) this.#world.makers.set(id, "groupsync");
    if (operation === "POST") this.wishes.rotates(id, run);
    if (operation !== "DELETE") return;
    const isNamed = run.skipsGrace && isGone(row);
    // What the operator named doesn't count in the limit, nor does a replacement of it that was never recorded.
    if (isNamed) this.#removals = this.#removals.filter((removal) => removal.id !== id || removal.isRecorded);
    const victim = service.find(id, request.token);
    if (victim === undefined) return;
    if (victim !== id) this.breach(`3: ${what} deletes the group of ${victim}`);
    const reason = this.#whyNotDeleted(id, intent, run);
    if (reason !== undefined && this.knowsTheLedger) this.breach(`3: ${what}, though ${reason}`);
    if (isNamed) return;
    this.#removals.push({ id, at: this.#now(), recordedAt: run.wallTime(), isRecorded: false });
  }

  /** A refresh asks for the groups of present tenants alone, and sends them as they were confirmed. */
  #insistOnRefresh(request: Sent, rows: readonly (Row | undefined)[], what: string): void {
    if (!rows.some((row) => row?.kind === "active"))
      this.breach(`2: ${what} asks again for a tenant whose row is ${rows[0]?.kind ?? "gone"}`);
    if (!this.#repeats(request))
      this.breach(`1: ${what} asks again with another state than the confirmed one`);
  }

  #isOutdated(group: Group, { lookedUp, config }: RunRecord): boolean {
    const look = lookedUp.get(group.user_group_id);
    const sent = this.#world.newestVersionFor(group, config);
    return look !== undefined && sent !== undefined && sent < look.version;
  }

  /**
   * Whether a GET sends the group as the service confirmed it last, and so asks for the token alone. If somebody else has renamed
   * the group since, its present state is unknown, and a GET at a service that keeps groups still asks for the token alone.
   */
  #repeats(request: Sent): boolean {
    return request.operation === "GET" && this.#world.isConfirmed(request.group);
  }

  /** Checks what has to hold at any moment, whatever is under way and whichever process has died. */
  looksAround(): void {
    const { service, ledger, makers, tamperedWith } = this.#world;
    if (!this.#world.leftAnothersAlone()) this.breach("11: the store of another scope is not as it was");
    for (const [id, { token }] of this.knowsTheLedger ? service.groups : []) {
      const row = ledger.rows.get(id);
      if (row === undefined && makers.get(id) === "groupsync")
        this.breach(`2: the group of ${id} was made, and the ledger does not know of it`);
      if (row === undefined || row.intent !== null || row.fingerprint === null) continue;
      // The token of a tenant that is gone moves to a new destination only when the tenant comes back.
      const isAnywhere = row.failures.storing !== null || row.absence !== null;
      const places = isAnywhere ? null : ledger.tokens.complete;
      const isStored = this.#world.holdsLive(id, places);
      if (!isStored && !this.#world.isExcused(id))
        this.breach(`1: the ledger has ${id} at rest, and its live token is not stored`);
      // The tampering is repaired: from now on it excuses nothing.
      if (isStored && places !== null && row.tokenFingerprint === tokenFingerprint(new Secret(token)))
        tamperedWith.delete(id);
    }
  }

  /** A run sends its calls from now on. */
  applies(run: RunRecord): void {
    if (this.#lastAtWork === run) this.wishes.recorded(run);
  }

  /** The command has ended. If it is a session's sync, the session goes on. */
  finishes(run: RunRecord, { outcome, error }: Pick<RunSummary, "outcome" | "error">): void {
    const world = this.#world;
    run.isRecorded = error === null;
    // A run that has lost its lease doesn't wait for its last commit, which may still be on its way.
    if (error?.code !== "LEASE_LOST") run.evidence = this.#evidence();
    if (outcome !== "ok" || this.#lastAtWork !== run) return;
    for (const complaint of run.toRotate ? stillLive(run.toRotate, world) : [])
      this.breach(`10: ${run.holder} ended well, but ${complaint}`);
    if (!run.isWhole || run.read === undefined) return;
    for (const id of this.wishes.left)
      this.breach(`10: ${run.holder} ended well, but the new token of ${id} is still wanted`);
    const isUnderWay = (id: string): boolean =>
      run.served.has(id) ||
      run.waiting.has(id) ||
      run.points - (run.failedAt.get(id) ?? Number.NEGATIVE_INFINITY) <= LAST_POINTS;
    for (const [id, { doubt, absence }] of world.ledger.rows)
      if (doubt !== null && absence === null && !isUnderWay(id))
        this.breach(`10: ${run.holder} ended well, but ${id} is in doubt`);
    for (const [id, row] of run.read.rows) {
      // The report names a tenant that has changed right before its group was removed.
      const hasChanged = rowIn(run.read, id) !== row;
      if (world.isExcused(id, run) || isUnderWay(id) || hasChanged) continue;
      const complaintsAbout = (seen: Row | undefined): string[] =>
        seen === undefined ? [] : outOfSync([[id, seen]], run.config, world);
      // A tenant that was looked up singly may be newer than the sync's read.
      const look = run.lookedUp.get(id);
      if (look && complaintsAbout(look.row).length === 0) continue;
      for (const complaint of complaintsAbout(row))
        this.breach(`1: ${run.holder} ended well, but ${complaint}`);
    }
  }

  /** The process has ended, and its session too. */
  ends(run: RunRecord, report: RunReport): void {
    this.looksAround();
    if (tellsToken([run.events, report.errors, report.error?.message, report.error?.hint]))
      this.breach(`5: ${run.holder} tells a token`);
    if (isMisdirected(run)) this.#insistOnRefusal(run, report);
    if (this.#lastAtWork !== run) return;
    for (const fact of this.#evidence())
      if (run.evidence?.has(fact) === false) this.breach(`3: after its sync ${run.holder} recorded ${fact}`);
  }

  /**
   * What only full syncs record: the grace clock, absences, held removals, and what counts against the limit. Without the
   * removals that are under way: who serves the tenant may find out that its group was removed.
   */
  #evidence(): ReadonlySet<string> {
    const { history, rows, removals } = this.#world.ledger;
    for (const [id, { intent }] of rows)
      if (intent === "delete" || intent === "replace") this.#underWay.add(id);
    const absences = [...rows].map(([id, { absence, held }]) => ({ id, absence, held }));
    const counted = removals.filter(({ user_group_id }) => !this.#underWay.has(user_group_id));
    const facts = [{ history }, ...counted, ...absences.filter(({ absence, held }) => absence ?? held)];
    return new Set(facts.map((fact) => JSON.stringify(fact)));
  }

  writesTokens(run: RunRecord): void {
    this.#insistOnLease(`a token written by ${run.holder}`, run);
  }

  commits(run: RunRecord): void {
    this.#lastAtWork = run;
    this.#remembersHeld();
    this.#insistOnLease(`a commit of ${run.holder}`, run);
  }

  /**
   * A commit has taken effect. The program dates a removal when it records the answer. The clock may be set between the DELETE
   * and that commit, and then the removal counts in the limit when this clock says: see docs/guarantees.md. That is so only
   * if the run that sent the DELETE records it, and not for a clock that is set later.
   */
  hasCommitted(run: RunRecord): void {
    for (const removal of this.#removals) {
      const intent = this.#world.ledger.rows.get(removal.id)?.intent ?? null;
      if (removal.isRecorded || intent === "delete" || intent === "replace") continue;
      removal.recordedAt = Math.min(removal.recordedAt, run.wallTime());
      removal.isRecorded = true;
    }
  }

  /** A run whose config names another scope's store may end with another error only because of a fault or another instance. */
  #insistOnRefusal(run: RunRecord, { error }: RunReport): void {
    const mayEndOtherwise = run.isDisturbed || this.#lastAtWork !== run;
    if (error === undefined || !(error.code === "CONFIG_TOKENS_OWNED" || mayEndOtherwise))
      this.breach(
        `11: ${run.holder}, whose config names another scope's store, ended with ${error?.code ?? "no error"}`,
      );
  }

  #isHolder({ holder }: RunRecord): boolean {
    return this.#world.ledger.lease?.holder === holder;
  }

  #insistOnLease(what: string, run: RunRecord): void {
    if (this.#isHolder(run)) return;
    this.breach(`6: ${what}, while the lease is that of ${this.#world.ledger.lease?.holder}`);
  }

  #whyNotDeleted(id: string, intent: Intent | null, run: RunRecord): string | undefined {
    const { read, config } = run;
    if (read === undefined) return "this run has read nothing";
    if (!read.isComplete) return "the source was not read to its end";
    if (!read.again.has(id) && run.isAbout(id)) return "its tenant was not looked at once more";
    const row = rowIn(read, id);
    const wasBegun = ["delete", "replace"].includes(read.intents.get(id) ?? "");
    if (row?.kind === "not ready") return "its tenant is there, and waits";
    if (row?.kind === "active") {
      if (intent !== "replace") return "its tenant is there, and this is no replacement";
      if (!wasBegun && config.update !== "replace") return "nothing is to be replaced";
    } else {
      if (run.skipsGrace ? !run.isAbout(id) : !run.isWhole) return "nobody has asked for that";
      if (!isConclusive(read)) return "the source showed no valid row";
      if (config.deletion.when === "never") return "nothing is to be deleted";
      const isFlagged = row !== undefined || this.#wasFlaggedLast(id);
      const isEvidence = isFlagged || wasBegun || run.skipsGrace;
      if (config.deletion.when === "flagged" && !isEvidence) return "it is not flagged";
    }
    if (wasBegun) return undefined;
    if (read.clocksDiffer) return "the clocks differ";
    if (run.skipsGrace && row?.kind !== "active") return undefined;
    if (row?.kind !== "active") {
      if (!read.held.has(id) && !this.#hasServedGrace(id, read)) return "its grace period is not over";
      if (!this.#approved.has(id) && !this.#wasSeen(id, read)) return "this source never had its tenant";
    }
    return this.#exceedsLimit(id, read) ? "that is more than the limit" : undefined;
  }

  /** Adds up the time between good reads since a read that missed the tenant: the engine may not count more. */
  #hasServedGrace(id: string, last: Read): boolean {
    const { gracePeriodMs } = last.run.config.deletion;
    if (gracePeriodMs === 0) return true;
    let next = last;
    let healthyMs = 0;
    for (const read of this.#reads.filter((other) => other !== last && other.run.isAbout(id)).reverse()) {
      // By the true time: each of the two clocks may have been wrong by as much as is tolerated.
      const sinceThen = isGood(read) && isGood(next) ? next.at - read.at + 2 * CLOCKS_AGREE : 0;
      if (read.isComplete && isGoneFrom(read, id) && healthyMs + sinceThen >= gracePeriodMs) return true;
      if (read.isComplete && !isGoneFrom(read, id) && read.run.isRecorded) return false;
      // A sync of some ids doesn't advance the grace clock.
      if (!read.run.isWhole) continue;
      healthyMs += sinceThen;
      next = read;
    }
    return false;
  }

  /** Whether the tenant was flagged when its row was last seen. A read whose run failed may be recorded or not. */
  #wasFlaggedLast(id: string): boolean {
    for (const { rows, run, isComplete } of this.#reads.filter((other) => other.run.isAbout(id)).reverse()) {
      const row = rows.get(id);
      if (row === undefined || !isComplete) continue;
      if (row.kind === "flagged") return true;
      if (run.isRecorded) return false;
    }
    return false;
  }

  #wasSeen(id: string, { run }: Read): boolean {
    const { source } = run.config;
    if (this.#seenSingly[source].has(id)) return true;
    return this.#reads.some((read) => read.run.config.source === source && !isGoneFrom(read, id));
  }

  #exceedsLimit(id: string, { run, owned }: Read): boolean {
    if (this.#approved.has(id)) return false;
    const { count, percent } = run.config.deletion.limit;
    // When a removal was recorded, or when the plan was made, the clock may have been wrong by as much as is tolerated.
    const since = this.#now() - DAY + 2 * CLOCKS_AGREE;
    // If a clock is set between the read and the record of a removal, the removal counts when this clock says.
    const recent = this.#removals.filter(({ at, recordedAt }) => Math.min(at, recordedAt) >= since);
    const removed = new Set([...recent.map((removal) => removal.id), id]);
    return removed.size > Math.max(count, Math.floor((percent * owned) / 100));
  }
}

/** To take back a rotation, no store is needed. */
const isMisdirected = ({ config, takesBack }: RunRecord): boolean =>
  config.tokens === "another scope's" && !takesBack;

/** The row by which a run decides. */
const rowIn = ({ rows, again }: Read, id: string): Row | undefined =>
  again.has(id) ? again.get(id) : rows.get(id);

const isGoneFrom = ({ rows }: Read, id: string): boolean => isGone(rows.get(id));

const isGone = (row: Row | undefined): boolean => row === undefined || row.kind === "flagged";

const isConclusive = ({ rows }: Read): boolean => [...rows.values()].some((row) => !isRejected(row));

const isGood = (read: Read): boolean => read.isComplete && isConclusive(read);

/** A service that tells the watch when calls begin and end. */
export function watchedService(service: GroupService, watch: Watch, run: RunRecord): GroupService {
  const underWay = new Set<string>();
  const alone = async <T>(id: string, call: () => Promise<T>): Promise<T> => {
    if (underWay.has(id)) watch.breach(`6: ${run.holder} makes two calls for ${id} at a time`);
    underWay.add(id);
    try {
      return await call();
    } finally {
      underWay.delete(id);
    }
  };
  return {
    getOrCreate: async (group, beforeSend) => {
      const { user_group_id: id } = group;
      const answer = await alone(id, () => service.getOrCreate(group, beforeSend));
      watch.wishes.told(id);
      return answer;
    },
    rotate: async (id, token, beforeSend) => {
      const answer = await alone(id, () => service.rotate(id, token, beforeSend));
      watch.wishes.answered(id, run);
      return answer;
    },
    remove: (group, beforeSend) => alone(group.user_group_id, () => service.remove(group, beforeSend)),
    getWithWrongKey: (beforeSend) => service.getWithWrongKey(beforeSend),
    rotateNobody: (beforeSend) => service.rotateNobody(beforeSend),
  };
}

/** A ledger that reports its commits to the watch. */
export function watchedLedger(
  world: SimulatedWorld,
  run: RunRecord,
  step: Step,
  recent: RecentWrites,
): InMemoryLedger {
  const ledger = inMemoryLedger(world.ledger, step, () => world.time.now(), { recent });
  return {
    ...ledger,
    write: (lease, body) =>
      ledger.write(lease, async (transaction) => {
        enlist(transaction, () => world.watch.commits(run));
        const result = await body(transaction);
        enlist(transaction, () => world.watch.hasCommitted(run));
        enlist(transaction, () => world.watch.wishes.committed(run));
        return result;
      }),
  };
}

/** A token store that reports its writes to the watch. */
export class WatchedTokenStore extends InMemoryTokenStore {
  readonly #world: SimulatedWorld;
  readonly #run: RunRecord;

  constructor(world: SimulatedWorld, state: TokenState, run: RunRecord, step: Step, ledger: Ledger) {
    super(state, step, ledger);
    this.#world = world;
    this.#run = run;
  }

  override put(token: StoredToken, options?: ChangeOptions & WriteOptions): Promise<SyncError | undefined> {
    options?.assertHeld?.();
    this.#world.watch.writesTokens(this.#run);
    return super.put(token, options);
  }

  override drop(id: string, options?: ChangeOptions): Promise<SyncError | undefined> {
    options?.assertHeld?.();
    this.#world.watch.writesTokens(this.#run);
    return super.drop(id, options);
  }
}
