import type { SyncError } from "../../src/core/errors.ts";
import { groupFingerprint, tokenFingerprint } from "../../src/core/group.ts";
import type { Intent } from "../../src/core/ledger-group.ts";
import { Secret } from "../../src/core/secret.ts";
import type { RunReport } from "../../src/engine/report.ts";
import type { Lease } from "../../src/ports/lease.ts";
import type { LedgerTransaction } from "../../src/ports/ledger.ts";
import type { RunEvent } from "../../src/ports/observer.ts";
import type { ChangeOptions, StoredToken, WriteOptions } from "../../src/ports/token-store.ts";
import type { Step } from "../fakes/instance.ts";
import { InMemoryLedger } from "../fakes/ledger.ts";
import { InMemoryLedgerTransaction } from "../fakes/ledger-transaction.ts";
import type { Sent } from "../fakes/service.ts";
import { InMemoryTokenStore, type TokenState } from "../fakes/token-store.ts";
import type { Row, SimulatedConfig } from "./history.ts";
import { isRejected, outOfSync, tellsToken } from "./in-sync.ts";
import { stillLive, type TokensAskedFor } from "./rotated.ts";
import type { SimulatedWorld } from "./simulated-world.ts";

const DAY = 86_400_000;

/** What the watch knows of one start of the program. */
export interface RunRecord {
  readonly holder: string;
  readonly config: SimulatedConfig;
  /** It has faults. */
  readonly isTroubled: boolean;
  /** A sync of all tenants. */
  readonly isWhole: boolean;
  /** It looks into the token stores, too. */
  readonly verifies: boolean;
  /** What somebody else had done to the stores until it started: so many changes. */
  readonly tamperingsBefore: number;
  /** Whether it decides on this id, and notes what it has seen of it. */
  readonly isAbout: (id: string) => boolean;
  /** Of its machine, in milliseconds. */
  readonly wallTime: () => number;
  /** Live when the run got its lease, and to be replaced by it; undefined where it is no rotation. */
  toRotate: TokensAskedFor | undefined;
  readonly events: RunEvent[];
  /** The last that began. */
  read: Read | undefined;
  /** It came to its end and recorded what it found. */
  isRecorded?: boolean;
}

/** One read of the source, and what there was in the ledger when it began. */
interface Read {
  readonly run: RunRecord;
  readonly wallTime: number;
  readonly owned: number;
  readonly intents: ReadonlyMap<string, Intent>;
  readonly held: ReadonlySet<string>;
  /** What the customer's table had; an id that it didn't have is gone. */
  rows: ReadonlyMap<string, Row>;
  isComplete: boolean;
}

interface Removal {
  readonly id: string;
  readonly wallTime: number;
}

/**
 * Looks on from outside and knows the truth. Judges everything that reaches the service, the ledger and the token
 * store by design.md, without asking the engine why.
 */
export class Watch {
  readonly breaches: string[] = [];
  readonly #world: SimulatedWorld;
  readonly #reads: Read[] = [];
  readonly #removals: Removal[] = [];
  readonly #approved = new Set<string>();
  #clockHasJumped = false;
  /** Who has written the ledger last: a lease that was given back names nobody. */
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

  /** In the middle of a run: by which clock is a grace period to be measured then? */
  clockJumps(): void {
    this.#clockHasJumped = true;
  }

  /** A sync is about to read. */
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
    // Of one that has lost the lease nothing will come.
    if (this.#isHolder(run)) this.#reads.push(read);
  }

  hasRead({ read }: RunRecord): void {
    if (read) read.isComplete = true;
  }

  /** A request takes effect now. */
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

  /** Whether it asks for the group that the ledger has, and so for its token alone. */
  #repeats(request: Sent): boolean {
    const known = this.#world.ledger.rows.get(request.id)?.fingerprint;
    return request.operation === "GET" && known === groupFingerprint(request.group);
  }

  /** At any moment, whatever is under way and whoever has died. */
  looksAround(): void {
    const { service, ledger, makers, tamperedWith } = this.#world;
    if (!this.#world.leftAnothersAlone()) this.breach("11: the store of another scope is not as it was");
    for (const [id, { token }] of service.groups) {
      const row = ledger.rows.get(id);
      if (row === undefined && makers.get(id) === "groupsync")
        this.breach(`2: the group of ${id} was made, and the ledger does not know of it`);
      if (row === undefined || row.intent !== null || row.fingerprint === null) continue;
      // Of a tenant that is gone a token is moved when it comes back.
      const isAnywhere = row.copies !== null || row.absence !== null;
      const places = isAnywhere ? null : ledger.tokenPlaces;
      const isStored = this.#world.holdsLive(id, places);
      if (!isStored && !this.#world.isExcused(id))
        this.breach(`1: the ledger has ${id} at rest, and its live token is not stored`);
      // What somebody else did there is made good: from now on nothing excuses that it's not as it should be.
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

  /** Whatever else ends a run is a fault's doing, or another instance's. */
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

  /** The time between good reads, since one that it was gone in; never more than the engine may count. */
  #hasServedGrace(id: string, last: Read): boolean {
    const { gracePeriodMs } = last.run.config.deletion;
    if (gracePeriodMs === 0 || this.#clockHasJumped) return true;
    let next = last;
    let healthyMs = 0;
    for (const read of this.#reads.filter((other) => other !== last && other.run.isAbout(id)).reverse()) {
      const sinceThen = isGood(read) && isGood(next) ? Math.max(0, next.wallTime - read.wallTime) : 0;
      if (read.isComplete && isGoneFrom(read, id) && healthyMs + sinceThen >= gracePeriodMs) return true;
      if (read.isComplete && !isGoneFrom(read, id) && read.run.isRecorded) return false;
      // A sync of a few ids leaves the clock alone.
      if (!read.run.isWhole) continue;
      healthyMs += sinceThen;
      next = read;
    }
    return false;
  }

  /** When its row was last seen. A read that wasn't recorded may have been noted or not. */
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

/** A ledger whose commits are watched. */
export class WatchedLedger extends InMemoryLedger {
  readonly #world: SimulatedWorld;
  readonly #run: RunRecord;

  constructor(world: SimulatedWorld, run: RunRecord, step: Step) {
    super(world.ledger, step, () => world.time.now());
    this.#world = world;
    this.#run = run;
  }

  override write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    return super.write(lease, (transaction) => {
      if (transaction instanceof InMemoryLedgerTransaction)
        transaction.enlist(() => this.#world.watch.commits(this.#run));
      return body(transaction);
    });
  }
}

/** A token store whose writes are watched. */
export class WatchedTokenStore extends InMemoryTokenStore {
  readonly #world: SimulatedWorld;
  readonly #run: RunRecord;
  readonly #state: TokenState;

  constructor(world: SimulatedWorld, state: TokenState, run: RunRecord, step: Step) {
    super(state, step);
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
