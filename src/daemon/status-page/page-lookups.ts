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

/** Never rejects. `gone` aborts when nobody waits for the answer any more. */
export type LookUp = (text: string, gone: AbortSignal) => Promise<Lookup>;

/**
 * Looks single tenants up for whoever has the status page open. The page has no login, so a visitor must not burden the
 * databases: there is one lookup at a time, one every two seconds after the first ten, and none for long. After the signal to stop
 * aborts, each lookup ends.
 */
export function pageLookups({ explain, find, clock, log }: PageLookupPorts, ending: AbortSignal): LookUp {
  const limiter = tokenBucket(ALLOWED);
  let isBusy = false;

  const explained = async (id: string, stop: AbortSignal): Promise<Explanation | SyncError> => {
    // No source and no ledger has such an id.
    if (Buffer.byteLength(id) > MAX_ID_BYTES) return unknownIds(new Set([id]));
    try {
      return await explain(id, stop);
    } catch (error) {
      if (error instanceof SyncError) return error;
      throw error;
    }
  };

  const lookUp = async (text: string, stop: AbortSignal): Promise<Lookup> => {
    try {
      if (stop.aborted) throw interrupted();
      // Whoever copies an id often copies blanks around it. An id may begin with a blank, so the text as it is comes first.
      const trimmed = text.trim() || text;
      let found = await explained(text, stop);
      if (isUnknown(found) && trimmed !== text) found = await explained(trimmed, stop);
      if (!(found instanceof SyncError)) return found;
      const tenants = await find(text, stop);
      const isKnown = tenants.some(({ user_group_id }) => user_group_id === trimmed);
      return tenants.length > 0 && !isKnown ? tenants : found;
    } catch (error) {
      if (error instanceof SyncError) return error;
      const { code, message } = asSyncError(error);
      log({ level: "error", code, message: `cannot explain ${printableId(text)}: ${message}` });
      return new SyncError(code, "groupsync has made a mistake; its log says more");
    }
  };

  return async (text, gone) => {
    const waitMs = isBusy ? 1_000 : limiter(clock.monotonic());
    if (waitMs > 0)
      return new SyncError(
        "TOO_MANY_LOOKUPS",
        "groupsync looks up one tenant at a time, ten without a pause and then one every two seconds",
        { hint: `try again in ${durationText(waitMs)}` },
      );
    isBusy = true;
    const over = new AbortController();
    const lookup = lookUp(text, AbortSignal.any([over.signal, gone, ending])).finally(() => {
      isBusy = false;
    });
    const timer = new AbortController();
    const tooLong = clock.sleep(LONGEST_LOOKUP, timer.signal).then((): Lookup => {
      over.abort();
      return new SyncError(
        "LOOKUP_TOO_SLOW",
        `the lookup was given up after ${durationText(LONGEST_LOOKUP)}: is a table locked, or a token store slow?`,
      );
    });
    // A lookup that doesn't end at once when it has to is not waited for, and no other begins before its end.
    return Promise.race([lookup, tooLong]).finally(() => timer.abort());
  };
}

const isUnknown = (explained: Explanation | SyncError): boolean =>
  explained instanceof SyncError && explained.code === "UNKNOWN_ID";
