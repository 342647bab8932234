/** Of more than these the first have been read back long ago, or won't be. */
const MOST = 1_000;
/** How often an old version is taken for one that is not the newest yet. */
const TRIES = 6;

interface Write {
  readonly version: string | undefined;
  triesLeft: number;
}

/** Which version each secret was given last, in a store that shows a change only after a moment. */
export class RecentWrites {
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

  /** Undefined where none is remembered, or it had no version. */
  versionOf(name: string): string | undefined {
    return this.#writes.get(name)?.version;
  }

  /**
   * Whether `seen`, undefined where there is none, is still what was there before the last write. What is seen again and
   * again is somebody else's change: each call counts as a try, and after some of them it is not stale any more.
   */
  isStale(name: string, seen: string | undefined): boolean {
    const write = this.#writes.get(name);
    if (!write) return false;
    if (write.version !== seen && write.triesLeft-- > 0) return true;
    this.forget(name);
    return false;
  }
}
