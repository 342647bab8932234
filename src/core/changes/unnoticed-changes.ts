/** The most tenants that are remembered. Beyond that nobody can tell which of them were noticed. */
const MOST = 10_000;

/**
 * Finds tenants that a full sync has changed, and that were not noticed although they should have been: their rows have changed
 * without moving the change column, or without a notification.
 *
 * A tenant may be noticed a moment after the full sync has found it. So the changes of one sync are judged when the next one
 * begins.
 */
export class UnnoticedChanges {
  #noticed = new Set<string>();
  #changed = new Set<string>();
  /** Syncs that have begun. The first one finds what changed before anybody could notice. */
  #syncs = 0;

  noticed(id: string): void {
    if (this.#noticed.size < MOST) this.#noticed.add(id);
  }

  /** A full sync has created or updated the group of this tenant. */
  changed(id: string): void {
    if (this.#changed.size < MOST) this.#changed.add(id);
  }

  /** Call this when a full sync begins. Returns the tenants that the one before has changed unnoticed. */
  syncBegins(): readonly string[] {
    const isKnown = this.#syncs > 1 && this.#noticed.size < MOST;
    const unnoticed = isKnown ? [...this.#changed].filter((id) => !this.#noticed.has(id)) : [];
    this.#noticed = new Set();
    this.#changed = new Set();
    this.#syncs++;
    return unnoticed;
  }
}
