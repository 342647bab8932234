import type { Log } from "../../ports/log.ts";
import type { RunEvent } from "../../ports/observer.ts";

/** The most tenants that are remembered. Beyond that nobody can tell which of them were noticed. */
const MOST = 10_000;

/**
 * Warns, once for a config, of tenants that a full sync has changed, and that were not noticed although they should have been:
 * their rows have changed without moving the change column, or without a notification.
 *
 * A tenant may be noticed a moment after the full sync has found it. So the changes of one sync are judged when the next one
 * begins.
 */
export class UnnoticedChanges {
  readonly #log: Log;
  #isWatching = false;
  #noticed = new Set<string>();
  #changed = new Set<string>();
  /** Syncs that have begun. The first one finds what changed before anybody could notice. */
  #syncs = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Call this for a new config, which may change all groups. `isNoticing`: it names a feed to notice tenants. */
  begin(isNoticing: boolean): void {
    this.#isWatching = isNoticing;
    this.#syncs = 0;
    this.#forget();
  }

  noticed(id: string): void {
    if (this.#isWatching && this.#noticed.size < MOST) this.#noticed.add(id);
  }

  observe(event: RunEvent): void {
    if (!this.#isWatching) return;
    if (event.kind === "recorded" && this.#changed.size < MOST) this.#changed.add(event.user_group_id);
    if (event.kind === "started") this.#syncBegins();
  }

  #syncBegins(): void {
    const isKnown = this.#syncs > 1 && this.#noticed.size < MOST;
    const unnoticed = isKnown ? [...this.#changed].filter((id) => !this.#noticed.has(id)) : [];
    this.#forget();
    this.#syncs++;
    if (unnoticed.length === 0) return;
    this.#isWatching = false;
    this.#log({
      level: "warn",
      code: "CHANGES_NOT_NOTICED",
      message: `a full sync has found changes that source.changes didn't name, such as those of tenant ${JSON.stringify(unnoticed[0])}: ${unnoticed.length} in one sync`,
      hint: "each insert and update has to move the column, or to notify the channel; else tenants wait for the full sync. With a source.query over several tables, whoever changes another table has to move the column in the tenant's own row, or to call POST /sync. With source.changes.column, a value below the newest one is not noticed: groupsync check shows the newest one",
    });
  }

  #forget(): void {
    this.#noticed = new Set();
    this.#changed = new Set();
  }
}
