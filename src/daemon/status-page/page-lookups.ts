import { asSyncError, interrupted, SyncError } from "../../core/failure/sync-error.ts";
import { MAX_ID_BYTES } from "../../core/group/tenant.ts";
import { tokenBucket } from "../../core/limits/rate-limit.ts";
import { printableId } from "../../core/text/printable.ts";
import { durationText } from "../../core/text/quantity.ts";
import type { Explanation } from "../../engine/explain/explain-tenant.ts";
import type { FoundTenant } from "../../engine/explain/find-tenants.ts";
import { unknownIds } from "../../engine/plan/make-plan.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";

interface PageLookupPorts {
  /** Reads all that is known of one tenant, and changes nothing. Rejects soon after the signal aborts. */
  readonly explain: (id: string, stop: AbortSignal) => Promise<Explanation>;
  /** See `findTenants`. Rejects soon after the signal aborts. */
  readonly find: (text: string, stop: AbortSignal) => Promise<readonly FoundTenant[]>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A tenant, or why there is none to see. Or, if no tenant has the text as its id, those whose ids or names begin with it. */
export type Lookup = Explanation | readonly FoundTenant[] | SyncError;

/** Ten lookups after a pause, and then one every two seconds. */
const ALLOWED = { rate: { count: 1, perMs: 2_000 }, burst: 10 };
/** In milliseconds. */
const LONGEST_LOOKUP = 10_000;

/**
 * Looks single tenants up for whoever has the status page open. The page has no login, so a visitor must not burden the
 * databases: there is one lookup at a time, one every two seconds after the first ten, and none for long.
 */
export class PageLookups {
  readonly #ports: PageLookupPorts;
  readonly #stop: AbortSignal;
  readonly #limiter = tokenBucket(ALLOWED);
  #isBusy = false;

  /** After the signal to stop aborts, each lookup ends. */
  constructor(ports: PageLookupPorts, stop: AbortSignal) {
    this.#ports = ports;
    this.#stop = stop;
  }

  /** Never rejects. `gone` aborts when nobody waits for the answer any more. */
  async at(text: string, gone: AbortSignal): Promise<Lookup> {
    const waitMs = this.#isBusy ? 1_000 : this.#limiter(this.#ports.clock.monotonic());
    if (waitMs > 0)
      return new SyncError(
        "TOO_MANY_LOOKUPS",
        "groupsync looks up one tenant at a time, ten without a pause and then one every two seconds",
        { hint: `try again in ${durationText(waitMs)}` },
      );
    this.#isBusy = true;
    const ending = new AbortController();
    const lookup = this.#lookUp(text, AbortSignal.any([ending.signal, gone, this.#stop])).finally(() => {
      this.#isBusy = false;
    });
    const timer = new AbortController();
    const tooLong = this.#ports.clock.sleep(LONGEST_LOOKUP, timer.signal).then((): Lookup => {
      ending.abort();
      return new SyncError(
        "LOOKUP_TOO_SLOW",
        `the lookup was given up after ${durationText(LONGEST_LOOKUP)}: is a table locked, or a token store slow?`,
      );
    });
    // A lookup that doesn't end at once when it has to is not waited for, and no other begins before its end.
    return Promise.race([lookup, tooLong]).finally(() => timer.abort());
  }

  async #lookUp(text: string, stop: AbortSignal): Promise<Lookup> {
    try {
      if (stop.aborted) throw interrupted();
      // Whoever copies an id often copies blanks around it. An id may begin with a blank, so the text as it is comes first.
      const trimmed = text.trim() || text;
      let explained = await this.#explained(text, stop);
      if (isUnknown(explained) && trimmed !== text) explained = await this.#explained(trimmed, stop);
      if (!(explained instanceof SyncError)) return explained;
      const tenants = await this.#ports.find(text, stop);
      const isKnown = tenants.some(({ user_group_id }) => user_group_id === trimmed);
      return tenants.length > 0 && !isKnown ? tenants : explained;
    } catch (error) {
      if (error instanceof SyncError) return error;
      const { code, message } = asSyncError(error);
      this.#ports.log({ level: "error", code, message: `cannot explain ${printableId(text)}: ${message}` });
      return new SyncError(code, "groupsync has made a mistake; its log says more");
    }
  }

  async #explained(id: string, stop: AbortSignal): Promise<Explanation | SyncError> {
    // No source and no ledger has such an id.
    if (Buffer.byteLength(id) > MAX_ID_BYTES) return unknownIds(new Set([id]));
    try {
      return await this.#ports.explain(id, stop);
    } catch (error) {
      if (error instanceof SyncError) return error;
      throw error;
    }
  }
}

const isUnknown = (explained: Explanation | SyncError): boolean =>
  explained instanceof SyncError && explained.code === "UNKNOWN_ID";
