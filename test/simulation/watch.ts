import type { SyncError } from "../../src/core/failure/sync-error.ts";
import { groupFingerprint, tokenFingerprint } from "../../src/core/group/group.ts";
import type { Intent } from "../../src/core/group/ledger-group.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { RunReport } from "../../src/engine/report/run-report.ts";
import type { Ledger, LedgerTransaction } from "../../src/ports/ledger/ledger.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import type { ChangeOptions, StoredToken, WriteOptions } from "../../src/ports/token-store.ts";
import type { Step } from "../fakes/instance.ts";
import { type InMemoryLedger, inMemoryLedger } from "../fakes/ledger/ledger.ts";
import { enlist } from "../fakes/ledger/ledger-transaction.ts";
import type { Sent } from "../fakes/service.ts";
import { InMemoryTokenStore, type TokenState } from "../fakes/token-store.ts";
import type { Row, SimulatedConfig } from "./history.ts";
import { type LiveTokens, stillLive } from "./rotation-checks.ts";
import type { SimulatedWorld } from "./simulated-world.ts";
import { isRejected, outOfSync, tellsToken } from "./sync-checks.ts";

const DAY = 86_400_000;

/** What the watch knows about one run of the program. */
export interface RunRecord {
  readonly holder: string;
  readonly config: SimulatedConfig;
  /** Whether the run has faults, or may have to make room for another one. */
  readonly isTroubled: boolean;
  /** Whether it is a sync of all tenants. */
  readonly isWhole: boolean;
  /** Whether it verifies tokens. */
  readonly verifies: boolean;
  /** The number of changes that other programs had made in the stores when the run started. */
  readonly tamperingsBefore: number;
  /** Whether the run decides about this id and records what it saw of the tenant. */
  readonly isAbout: (id: string) => boolean;
  /** The wall clock of its machine, in milliseconds. */
  readonly wallTime: () => number;
  /** The tokens that were live when the run got its lease and that it has to replace; undefined if it is no rotation. */
  toRotate: LiveTokens | undefined;
  readonly events: RunEvent[];
  /** The last read that began. */
  read: Read | undefined;
  /** Whether the run came to its end and recorded what it found. */
  isRecorded?: boolean;
}

/** One read of the source, and what the ledger had when the read began. */
interface Read {
  readonly run: RunRecord;
  readonly wallTime: number;
  readonly owned: number;
  readonly intents: ReadonlyMap<string, Intent>;
  readonly held: ReadonlySet<string>;
  /** The rows of the customer's table. A tenant without a row is gone. */
  rows: ReadonlyMap<string, Row>;
  isComplete: boolean;
}

interface Removal {
  readonly id: string;
  readonly wallTime: number;
}

/**
 * Checks from outside, with full knowledge of the world, that everything that reaches the service, the ledger and the
 * token stores keeps the guarantees, without asking the engine. The number of a breach names the guarantee: 1 every tenant
 * has a group and its live token is stored, 2 no orphan, 3 no deletion on bad evidence, 5 no token is told, 6 one instance
 * at a time, 7 one bad tenant costs one tenant, 8 no wasted calls, 10 done means done, 11 nobody else's tokens.
 */
export class Watch {
  readonly breaches: string[] = [];
  readonly #world: SimulatedWorld;
  readonly #reads: Read[] = [];
  readonly #removals: Removal[] = [];
  readonly #approved = new Set<string>();
  #clockHasJumped = false;
  /** The run that wrote the ledger last. A released lease doesn't name its holder. */
  #lastAtWork: RunRecord | undefined;

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  breach(what: string): void {
    this.breaches.push(what);
  }

  approve(ids: readonly string[]): void {
    for (const id of ids) this.#approved.add(id);
  }

  /** A clock jumps during a run. From now on the watch can't measure grace periods. */
  clockJumps(): void {
    this.#clockHasJumped = true;
  }

  /** A sync is about to read the source. */
  begins(run: RunRecord): void {
    const { rows } = this.#world.ledger;
    const read: Read = {
      run,
      wallTime: run.wallTime(),
      owned: rows.size,
      intents: new Map([...rows].flatMap(([id, { intent }]) => (intent ? [[id, intent]] : []))),
      held: new Set([...rows].flatMap(([id, { held }]) => (held ? [id] : []))),
      rows: new Map(),
      isComplete: false,
    };
    run.read = read;
  }

  /** The snapshot is opened. */
  reads(run: RunRecord): void {
    const { read } = run;
    if (read === undefined) return;
    read.rows = this.#world.visibleRows();
    // A run without the lease can't record its read.
    if (this.#isHolder(run)) this.#reads.push(read);
  }

  hasRead({ read }: RunRecord): void {
    if (read) read.isComplete = true;
  }

  /** A request takes effect at the service. */
  arrives(request: Sent, run: RunRecord): void {
    const { service, ledger } = this.#world;
    const { operation, id } = request;
    const what = `${operation} ${id} of ${run.holder}`;
    this.#insistOnLease(what, run);
    if (isMisdirected(run)) this.breach(`11: ${what}, whose config names another scope's store`);
    const intent = ledger.rows.get(id)?.intent ?? null;
    if (intent === null) this.breach(`2: ${what} without an intent in the ledger`);
    const row = run.read?.rows.get(id);
    const leavesAsItIs = intent === "rotate" || this.#repeats(request);
    if (operation !== "POST" && !leavesAsItIs && row && isRejected(row)) {
      this.breach(`3: ${what}, whose row is rejected`);
    }
    if (operation === "GET" && !service.groups.has(id)) this.#world.makers.set(id, "groupsync");
    if (operation !== "DELETE") return;
    const victim = service.find(id, request.token);
    if (victim === undefined) return;
    if (victim !== id) this.breach(`3: ${what} deletes the group of ${victim}`);
    const reason = this.#whyNotDeleted(id, intent, run);
    if (reason !== undefined) this.breach(`3: ${what}, though ${reason}`);
    this.#removals.push({ id, wallTime: run.wallTime() });
  }

  /** Whether a GET sends the group as the ledger has it, and so asks for the token alone. */
  #repeats(request: Sent): boolean {
    const known = this.#world.ledger.rows.get(request.id)?.fingerprint;
    return request.operation === "GET" && known === groupFingerprint(request.group);
  }

  /** Checks what has to hold at any moment, whatever is under way and whichever process has died. */
  looksAround(): void {
    const { service, ledger, makers, tamperedWith } = this.#world;
    if (!this.#world.leftAnothersAlone()) this.breach("11: the store of another scope is not as it was");
    for (const [id, { token }] of service.groups) {
      const row = ledger.rows.get(id);
      if (row === undefined && makers.get(id) === "groupsync")
        this.breach(`2: the group of ${id} was made, and the ledger does not know of it`);
      if (row === undefined || row.intent !== null || row.fingerprint === null) continue;
      // The token of a tenant that is gone moves to a new destination only when the tenant comes back.
      const isAnywhere = row.failures.storing !== null || row.absence !== null;
      const places = isAnywhere ? null : ledger.tokenDestinations;
      const isStored = this.#world.holdsLive(id, places);
      if (!isStored && !this.#world.isExcused(id))
        this.breach(`1: the ledger has ${id} at rest, and its live token is not stored`);
      // The tampering is repaired: from now on it excuses nothing.
      if (isStored && places !== null && row.tokenFingerprint === tokenFingerprint(new Secret(token)))
        tamperedWith.delete(id);
    }
  }

  ends(run: RunRecord, report: RunReport): void {
    const world = this.#world;
    this.looksAround();
    run.isRecorded = report.error === undefined;
    if (tellsToken([run.events, report.errors, report.error?.message, report.error?.hint]))
      this.breach(`5: ${run.holder} tells a token`);
    if (isMisdirected(run)) this.#insistOnRefusal(run, report);
    if (run.toRotate && report.outcome === "ok" && this.#lastAtWork === run)
      for (const complaint of stillLive(run.toRotate, world))
        this.breach(`10: ${run.holder} ended well, but ${complaint}`);
    if (!run.isWhole || report.outcome !== "ok" || this.#lastAtWork !== run || run.read === undefined) return;
    const rows = [...run.read.rows].filter(([id]) => !world.isExcused(id, run));
    for (const complaint of outOfSync(rows, run.config, world))
      this.breach(`1: ${run.holder} ended well, but ${complaint}`);
  }

  writesTokens(run: RunRecord, { sharesLedger }: TokenState): void {
    if (!sharesLedger) this.#insistOnLease(`a token written by ${run.holder}`, run);
  }

  commits(run: RunRecord): void {
    this.#lastAtWork = run;
    this.#insistOnLease(`a commit of ${run.holder}`, run);
  }

  /** A run whose config names another scope's store may end with another error only because of a fault or another instance. */
  #insistOnRefusal(run: RunRecord, { error }: RunReport): void {
    const mayEndOtherwise = run.isTroubled || this.#lastAtWork !== run;
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
    const row = read.rows.get(id);
    const wasBegun = ["delete", "replace"].includes(read.intents.get(id) ?? "");
    if (row?.kind === "active") {
      if (intent !== "replace") return "its tenant is there, and this is no replacement";
      if (!wasBegun && config.update !== "replace") return "nothing is to be replaced";
    } else {
      if (!run.isWhole) return "only some of the tenants were read";
      if (!isConclusive(read)) return "the source showed no valid row";
      if (config.deletion.when === "never") return "nothing is to be deleted";
      const isFlagged = row !== undefined || this.#wasFlaggedLast(id);
      if (config.deletion.when === "flagged" && !isFlagged && !wasBegun) return "it is not flagged";
    }
    if (wasBegun) return undefined;
    if (row?.kind !== "active") {
      if (!read.held.has(id) && !this.#hasServedGrace(id, read)) return "its grace period is not over";
      if (!this.#approved.has(id) && !this.#wasSeen(id, read)) return "this source never had its tenant";
    }
    return this.#exceedsLimit(id, read) ? "that is more than the limit" : undefined;
  }

  /** Adds up the time between good reads since a read that missed the tenant: the engine may not count more. */
  #hasServedGrace(id: string, last: Read): boolean {
    const { gracePeriodMs } = last.run.config.deletion;
    if (gracePeriodMs === 0 || this.#clockHasJumped) return true;
    let next = last;
    let healthyMs = 0;
    for (const read of this.#reads.filter((other) => other !== last && other.run.isAbout(id)).reverse()) {
      const sinceThen = isGood(read) && isGood(next) ? Math.max(0, next.wallTime - read.wallTime) : 0;
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
    return this.#reads.some((read) => read.run.config.source === run.config.source && !isGoneFrom(read, id));
  }

  #exceedsLimit(id: string, { run, owned }: Read): boolean {
    if (this.#approved.has(id) || this.#clockHasJumped) return false;
    const { count, percent } = run.config.deletion.limit;
    const since = run.wallTime() - DAY;
    const recent = this.#removals.filter((removal) => removal.wallTime >= since);
    const removed = new Set([...recent.map((removal) => removal.id), id]);
    return removed.size > Math.max(count, Math.floor((percent * owned) / 100));
  }
}

const isMisdirected = ({ config }: RunRecord): boolean => config.tokens === "another scope's";

const isGoneFrom = ({ rows }: Read, id: string): boolean => {
  const kind = rows.get(id)?.kind;
  return kind === undefined || kind === "flagged";
};

const isConclusive = ({ rows }: Read): boolean => [...rows.values()].some((row) => !isRejected(row));

const isGood = (read: Read): boolean => read.isComplete && isConclusive(read);

/** A ledger that reports its commits to the watch. */
export function watchedLedger(world: SimulatedWorld, run: RunRecord, step: Step): InMemoryLedger {
  const ledger = inMemoryLedger(world.ledger, step, () => world.time.now());
  return {
    ...ledger,
    write: (lease, body) =>
      ledger.write(lease, (transaction) => {
        enlist(transaction, () => world.watch.commits(run));
        return body(transaction);
      }),
  };
}

/** A token store that reports its writes to the watch. */
export class WatchedTokenStore extends InMemoryTokenStore {
  readonly #world: SimulatedWorld;
  readonly #run: RunRecord;
  readonly #state: TokenState;

  constructor(world: SimulatedWorld, state: TokenState, run: RunRecord, step: Step, ledger: Ledger) {
    super(state, step, ledger);
    this.#world = world;
    this.#state = state;
    this.#run = run;
  }

  override write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    options?: WriteOptions,
  ): Promise<ReadonlyMap<string, SyncError>> {
    options?.assertHeld?.();
    this.#world.watch.writesTokens(this.#run, this.#state);
    return super.write(tokens, transaction, options);
  }

  override remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    options?: ChangeOptions,
  ): Promise<ReadonlyMap<string, SyncError>> {
    options?.assertHeld?.();
    this.#world.watch.writesTokens(this.#run, this.#state);
    return super.remove(ids, transaction, options);
  }
}
