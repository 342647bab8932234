import type { Clock } from "../../ports/clock.ts";
import type { LeaseHolder } from "../../ports/ledger/lease.ts";
import type { HandOver, RequestId, Requests } from "../../ports/ledger/requests.ts";
import type { Observe } from "../../ports/observer.ts";

/** How often the holder looks what others ask of it. In milliseconds. */
export const HOLDER_LOOKS_EVERY = 500;
/** How often whoever asks for the lease looks whether it is free. In milliseconds. */
export const REQUESTER_LOOKS_EVERY = 250;
/** A request of a process that has died ends after this many milliseconds. */
const REQUEST_TTL = 5_000;
const PROLONG_EVERY = 1_000;
/** After its last call, the holder records the answers and closes what it has open. In milliseconds. */
const LONGEST_END_OF_RUN = 30_000;

interface RequestPorts {
  readonly ledger: Requests;
  readonly clock: Clock;
  readonly observe: Observe;
}

/** A command's request for a lease whose holder hands it over. */
export class HandOverRequest {
  readonly #ports: RequestPorts;
  readonly #requester: string;
  #id: RequestId | undefined;
  /** By the monotonic clock. */
  #prolongedAt = 0;
  /** By the monotonic clock. Undefined until the request is made. */
  #waitsUntil: number | undefined;

  constructor(ports: RequestPorts, requester: string) {
    this.#ports = ports;
    this.#requester = requester;
  }

  /**
   * Makes the request if the holder hands over, and keeps it alive. Resolves to false if there is nothing to wait for: the
   * holder doesn't hand over, or has not done so in time. A ledger that can't keep requests counts as such a holder.
   */
  async isWorthWaiting(by: LeaseHolder): Promise<boolean> {
    // If the ledger is out of reach, the next look at the lease says so.
    if (this.#waitsUntil === undefined) return this.#make(by).catch(() => false);
    if (this.#ports.clock.monotonic() < this.#waitsUntil) {
      await this.#prolong().catch(() => {});
      return true;
    }
    await this.withdraw();
    return false;
  }

  /** Without this, the request would end by itself a little later. */
  async withdraw(): Promise<void> {
    const id = this.#id;
    this.#id = undefined;
    if (id !== undefined) await this.#ports.ledger.withdrawRequest(id).catch(() => {});
  }

  async #make(by: LeaseHolder): Promise<boolean> {
    const { ledger, clock, observe } = this.#ports;
    const offer = await ledger.handOver();
    if (offer === null) return false;
    this.#id = await ledger.requestLease(this.#requester, REQUEST_TTL);
    const ms = longestWait(offer);
    this.#prolongedAt = clock.monotonic();
    this.#waitsUntil = this.#prolongedAt + ms;
    observe({
      kind: "waiting",
      ms,
      reason: `${by.holder} has the lease, and hands it over once its calls under way have ended`,
    });
    return true;
  }

  async #prolong(): Promise<void> {
    const { ledger, clock } = this.#ports;
    const now = clock.monotonic();
    if (now - this.#prolongedAt < PROLONG_EVERY) return;
    this.#prolongedAt = now;
    const isThere = this.#id !== undefined && (await ledger.prolongRequest(this.#id, REQUEST_TTL));
    // This process was suspended for so long that the request has ended.
    if (!isThere) this.#id = await ledger.requestLease(this.#requester, REQUEST_TTL);
  }
}

/** Until the holder has seen the request, its calls under way have ended, and it has recorded the answers. */
const longestWait = ({ callMs }: HandOver): number => 2 * HOLDER_LOOKS_EVERY + callMs + LONGEST_END_OF_RUN;
