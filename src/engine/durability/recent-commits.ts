import type { Change } from "../../core/plan/change.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Durability } from "../../ports/ledger/ledger.ts";
import type { StoredToken } from "../../ports/token-store.ts";

/** How long a commit is remembered, in milliseconds. By then even a server with asynchronous commits has written it. */
const REMEMBERED_MS = 10_000;

/** The last commit about a group. */
export interface RecentCommit {
  /** The change that was committed; null for a rotation. */
  readonly change: Change | null;
  /** The token that was committed; null for an intent. */
  readonly token: StoredToken | null;
  /** Committed by an earlier run of this process: another instance may have made a newer token since. */
  readonly isEarlier?: boolean;
}

interface Remembered extends RecentCommit {
  /** By the monotonic clock. */
  readonly at: number;
}

/**
 * Remembers what this process has just committed. A commit becomes a suspect if a connection breaks within ten seconds: the
 * server may have crashed and lost it.
 */
export class RecentCommits {
  /** When this process began to remember. */
  readonly since: Date;
  readonly #clock: Pick<Clock, "monotonic">;
  /** By group, the oldest first. */
  readonly #commits = new Map<string, Remembered>();
  readonly #suspects = new Map<string, RecentCommit>();
  #connections: Pick<Durability, "broken"> | undefined;
  #broken = 0;

  constructor(clock: Pick<Clock, "monotonic" | "now">) {
    this.since = clock.now();
    this.#clock = clock;
  }

  /** Makes the commits of the last run suspects: a run opens new connections, and nobody saw how the former ones ended. */
  beginRun(connections: Pick<Durability, "broken">): void {
    for (const [id, commit] of this.#commits) this.#suspects.set(id, { ...commit, isEarlier: true });
    this.#commits.clear();
    this.#connections = connections;
    this.#broken = connections.broken;
  }

  add(id: string, commit: RecentCommit): void {
    this.#noticeBreaks();
    const now = this.#clock.monotonic();
    this.forget(id);
    this.#commits.set(id, { ...commit, at: now });
    for (const [oldest, { at }] of this.#commits) {
      if (now - at <= REMEMBERED_MS) break;
      this.#commits.delete(oldest);
    }
  }

  /** Call this after a newer commit about the group: whether the remembered commit was lost doesn't matter any more. */
  forget(id: string): void {
    this.#noticeBreaks();
    this.#commits.delete(id);
    this.#suspects.delete(id);
  }

  get suspects(): ReadonlyMap<string, RecentCommit> {
    this.#noticeBreaks();
    return this.#suspects;
  }

  /** Removes these suspects, unless there is a newer commit about a group. */
  checked(suspects: ReadonlyMap<string, RecentCommit>): void {
    for (const [id, commit] of [...suspects])
      if (this.#suspects.get(id) === commit) this.#suspects.delete(id);
  }

  #noticeBreaks(): void {
    const broken = this.#connections?.broken ?? 0;
    if (broken === this.#broken) return;
    this.#broken = broken;
    this.#suspectAll();
  }

  #suspectAll(): void {
    for (const [id, commit] of this.#commits) this.#suspects.set(id, commit);
    this.#commits.clear();
  }
}
