import { type Limiter, tokenBucket } from "../../core/limits/rate-limit.ts";

/** How many wrong keys an address may send. Generous, because all clients behind a proxy have one address. */
const ALLOWED = { rate: { count: 10, perMs: 1_000 }, burst: 100 };
const MOST_ADDRESSES = 1_000;

interface Sender {
  readonly limiter: Limiter;
  blockedUntil: number;
}

/** Blocks addresses that send many wrong keys, so that nobody can try keys out. Times are in milliseconds. */
export class WrongKeys {
  /** The one that has not sent a wrong key for longest comes first. */
  readonly #senders = new Map<string, Sender>();

  /** How long the address is blocked, whatever key it sends; 0 if it isn't. */
  blockedFor(address: string, now: number): number {
    return Math.max(0, (this.#senders.get(address)?.blockedUntil ?? 0) - now);
  }

  /** The address has sent a wrong key. */
  add(address: string, now: number): void {
    const sender = this.#senders.get(address) ?? { limiter: tokenBucket(ALLOWED), blockedUntil: 0 };
    sender.blockedUntil = now + sender.limiter(now);
    this.#senders.delete(address);
    this.#senders.set(address, sender);
    const [oldest] = this.#senders.keys();
    if (this.#senders.size > MOST_ADDRESSES && oldest !== undefined) this.#senders.delete(oldest);
  }
}
