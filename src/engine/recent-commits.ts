import type { Change } from "../core/change.ts";
import type { Clock } from "../ports/clock.ts";
import type { Durability } from "../ports/durability.ts";
import type { StoredToken } from "../ports/token-store.ts";

/** A server that commits asynchronously has written a commit by then, in milliseconds. */
const KEPT = 10_000;

/** The last thing that was committed about a group. */
export interface RecentCommit {
  /** Null where it was an intent, or where the token was rotated. */
  readonly change: Change | null;
  /** Null where it was an intent. */
  readonly token: StoredToken | null;
  /** By an earlier run of this process: another instance may have made a newer token since. */
  readonly isEarlier?: boolean;
}

interface Remembered extends RecentCommit {
  /** By the monotonic clock. */
  readonly at: number;
}

/**
 * What this process committed a moment ago. A commit that a crash of the server may have taken back is a suspect: it was
 * younger than that when a connection broke.
 */
export class RecentCommits {
  readonly #clock: Pick<Clock, "monotonic">;
  /** By group, the oldest first. */
  readonly #commits = new Map<string, Remembered>();
  readonly #suspects = new Map<string, RecentCommit>();
  #connections: Pick<Durability, "broken"> | undefined;
  #broken = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** With each run come new connections: how those of the last one have ended, nobody has seen. */
  beginRun(connections: Pick<Durability, "broken">): void {
    for (const [id, commit] of this.#commits) this.#suspects.set(id, { ...commit, isEarlier: true });
    this.#commits.clear();
    this.#connections = connections;
    this.#broken = connections.broken;
  }

  add(id: string, commit: RecentCommit): void {
    this.#look();
    const now = this.#clock.monotonic();
    this.forget(id);
    this.#commits.set(id, { ...commit, at: now });
    for (const [oldest, { at }] of this.#commits) {
      if (now - at <= KEPT) break;
      this.#commits.delete(oldest);
    }
  }

  /** Something was committed about the group that takes the place of what was before, lost or not. */
  forget(id: string): void {
    this.#look();
    this.#commits.delete(id);
    this.#suspects.delete(id);
  }

  get suspects(): ReadonlyMap<string, RecentCommit> {
    this.#look();
    return this.#suspects;
  }

  /** These are suspects no longer, unless something newer was committed about a group meanwhile. */
  checked(suspects: ReadonlyMap<string, RecentCommit>): void {
    for (const [id, commit] of [...suspects])
      if (this.#suspects.get(id) === commit) this.#suspects.delete(id);
  }

  #look(): void {
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
