import { SyncError } from "../../../core/failure/sync-error.ts";

/** How many pings fit into the idle time after which the server would end the transaction. */
const PINGS = 6;

interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * Keeps one transaction open while this process runs. If the process stands still, because it or its machine is paused,
 * the server ends the transaction after `idleMs` without a statement: its locks would keep the lease from all other
 * instances. While the process runs, `ping` reaches the server often enough, whatever else the process waits for.
 */
export class TransactionKeepalive {
  readonly #ping: () => Promise<unknown>;
  readonly #idleMs: number;
  readonly #timer: NodeJS.Timeout;
  #underWay = 0;
  #pinging: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  /** When the last answered statement was sent. */
  #lastAnswer = now();

  constructor(ping: () => Promise<unknown>, idleMs: number) {
    this.#ping = ping;
    this.#idleMs = idleMs;
    this.#timer = setInterval(() => this.#pingIfIdle(), idleMs / PINGS);
  }

  /** Runs a statement after the present ping: drivers take one statement at a time. Rejects if a ping has failed. */
  async run<T>(statement: () => Promise<T>): Promise<T> {
    await this.#pinging;
    if (this.#failure) throw this.#failure.error;
    return this.#send(statement);
  }

  /**
   * Throws PAUSED if this process has stood still for half of the idle time. Otherwise the server might end the
   * transaction, and another instance take the lease, before a call to another store is over.
   */
  assertOpen(): void {
    if (msSince(this.#lastAnswer) <= this.#idleMs / 2) return;
    throw new SyncError(
      "PAUSED",
      "this process stood still before the token was written; it asks for its lease again",
    );
  }

  /** Stops the pings. Never rejects. */
  end(): Promise<void> {
    clearInterval(this.#timer);
    return this.#pinging;
  }

  #pingIfIdle(): void {
    if (this.#underWay > 0 || this.#failure) return;
    this.#pinging = this.#send(this.#ping).then(
      () => {},
      (error: unknown) => {
        this.#failure = { error };
      },
    );
  }

  async #send<T>(statement: () => Promise<T>): Promise<T> {
    const sent = now();
    this.#underWay++;
    try {
      const answer = await statement();
      this.#lastAnswer = sent;
      return answer;
    } finally {
      this.#underWay--;
    }
  }
}

const now = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });

/**
 * The larger of two clocks' times: the monotonic clock stands still while the machine sleeps, and the other can be set.
 */
const msSince = ({ monotonic, wall }: Moment): number =>
  Math.max(performance.now() - monotonic, Date.now() - wall);
