import { ABSENCE_TEXT } from "../../core/deletion/missing-tenants.ts";
import type { RunEvent } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";

/** What lines have in common that the log may sum up. */
export interface Alike {
  readonly level: "info" | "warn";
  readonly text: string;
  readonly code?: string;
  readonly absence?: string;
  /** Where the tenants are named that the log only counts. */
  readonly hint?: string;
}

/**
 * Undefined for an event that has a line in any case: it happens only now and then, or the log is the record of each tenant that
 * an operator may have to look for, such as drift, a tenant that is locked out, or a token or group that was there before.
 */
export function alikeOf(event: RunEvent): Alike | undefined {
  switch (event.kind) {
    case "failed":
      return ofCode("warn", "failed", event, SEE_STATUS);
    case "rejected":
    case "accepted": {
      const { rejection } = event;
      // Rows that are only counted are one line already.
      if (rejection.user_group_id === null) return undefined;
      return event.kind === "accepted"
        ? ofCode("info", "no longer rejected", rejection)
        : ofCode("warn", "rejected", rejection, SEE_STATUS);
    }
    case "left":
      return {
        level: "info",
        text: ABSENCE_TEXT[event.absence],
        absence: event.absence,
        hint: "`groupsync plan` names the groups whose tenants are gone",
      };
    case "restored":
      return { level: "info", text: RESTORED_TEXT };
    case "waiting":
      // The reason says a rate, which changes from one wait to the next.
      return { level: "info", text: `waits: ${event.reason.replace(/\d[\d.,]*/g, "…")}` };
    case "warning":
      // Nothing else names the group that has to be removed by hand.
      return event.code === "GROUP_LEFT_BEHIND"
        ? undefined
        : { level: "warn", text: event.code, code: event.code };
    case "served":
      return alikeServed(event.served);
    default:
      return undefined;
  }
}

/** A failing group and a rejected row have lines of their own in the runs that try them, or find them for the first time. */
export const SEE_STATUS = "`groupsync status` names the failing groups and the rejected rows";
export const RESTORED_TEXT = "its token is written again to a store that lacked it";

function alikeServed(served: Served): Alike | undefined {
  switch (served.kind) {
    case "failed":
      return ofCode("warn", "served alone, failed", served, SEE_STATUS);
    case "conflict":
      if (served.outcome === "waiting") return undefined;
      return ofCode("info", `served alone, ${served.outcome}`, served);
    default:
      return undefined;
  }
}

const ofCode = (
  level: Alike["level"],
  what: string,
  { code }: { readonly code: string },
  hint?: string,
): Alike => ({
  level,
  text: `${what} (${code})`,
  code,
  ...(hint !== undefined && { hint }),
});
