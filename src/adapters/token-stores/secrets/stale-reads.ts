/** How many writes are remembered. Older ones have been read back long ago, or never will be. */
const MOST = 1_000;
/** How many reads in a row may count as stale. */
const TRIES = 6;

interface Write {
  readonly version: string | undefined;
  triesLeft: number;
}

/**
 * Detects stale reads in a store that shows a change only after a moment: remembers which version each secret was given
 * last.
 */
export class StaleReads {
  readonly #writes = new Map<string, Write>();

  add(name: string, version: string | undefined): void {
    this.forget(name);
    this.#writes.set(name, { version, triesLeft: TRIES });
    const [oldest] = this.#writes.keys();
    if (this.#writes.size > MOST && oldest !== undefined) this.forget(oldest);
  }

  forget(name: string): void {
    this.#writes.delete(name);
  }

  /** Undefined if no write is remembered, or if it had no version. */
  versionOf(name: string): string | undefined {
    return this.#writes.get(name)?.version;
  }

  /**
   * Whether a read of version `seen` (undefined if there was no secret) still shows the state before the last write.
   * Each call counts as a read. After several such reads the version counts as somebody else's change, and not as
   * stale.
   */
  isStale(name: string, seen: string | undefined): boolean {
    const write = this.#writes.get(name);
    if (!write) return false;
    if (write.version !== seen && write.triesLeft-- > 0) return true;
    this.forget(name);
    return false;
  }
}
