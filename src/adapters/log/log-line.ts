import { ABSENCE_TEXT } from "../../core/deletion/missing-tenants.ts";
import { DRIFT_TEXT } from "../../core/drift/drift.ts";
import { isNoFault } from "../../core/failure/sync-error.ts";
import type { Rejection } from "../../core/group/rejections.ts";
import { type Counts, countsText, summaryText } from "../../core/report/counts.ts";
import { queuedText } from "../../core/report/progress.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import type { RunEvent, RunSummary } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";

/** A failing group and a rejected row have lines of their own only in the runs that try them, or find them for the first time. */
const SEE_STATUS = "`groupsync status` names the failing groups and the rejected rows";

/** What was there before: a token or a group of its own. Each has a line. */
const WITH_A_LINE: ReadonlySet<string> = new Set(["adopted", "replaced"]);

export type Fields = Readonly<Record<string, unknown>>;

/** What an event is in the log. */
export interface Line {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly text: string;
  /** Those of the event if left out. */
  readonly fields?: Fields;
  /**
   * What the line has in common with others, if they may be summed up. Left out for an event that has a line in any case: it
   * happens only now and then, or the log is the record of each tenant that an operator may have to look for, such as drift, a
   * tenant that is locked out, or a token or group that was there before.
   */
  readonly alike?: string | undefined;
}

/** What the event's kind and the text of its line say. */
const SAID: readonly string[] = ["kind", "message", "reason"];

/** What else the event has, named in snake_case as in the output of `--json`. */
export const fieldsOf = (event: RunEvent): Fields =>
  Object.fromEntries(
    Object.entries(event).flatMap(([name, value]) =>
      SAID.includes(name) ? [] : [[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]],
    ),
  );

export function lineOf(event: RunEvent): Line {
  switch (event.kind) {
    case "started":
      return { level: "debug", text: "the run begins", fields: {} };
    case "phase":
      return { level: "debug", text: event.phase === "reading" ? "reads the source" : "applies the plan" };
    case "planned": {
      const { changes, unchanged } = event;
      const text = `${quantity(changes, "change")} to make, ${quantity(unchanged, "group")} unchanged`;
      return { level: "debug", text };
    }
    case "restoring":
      return { level: "info", text: `${quantity(event.tokens, "token")} to restore` };
    case "rotating":
      return { level: "info", text: `${quantity(event.tokens, "token")} to rotate` };
    case "refreshing":
      return { level: "info", text: `${quantity(event.groups, "group")} to ask for again` };
    case "refreshed":
      return { level: "debug", text: "refreshed" };
    case "drift": {
      const { name, ...fields } = fieldsOf(event);
      const isName = event.drift === "name";
      return { level: "warn", text: DRIFT_TEXT[event.drift], fields: isName ? { ...fields, name } : fields };
    }
    case "warning": {
      const { code, message, hint } = event;
      // Nothing else names the group that has to be removed by hand.
      const alike = code === "GROUP_LEFT_BEHIND" ? undefined : code;
      return { level: "warn", text: message, fields: { code, hint }, alike };
    }
    case "rejected": {
      const { user_group_id, code, message } = event.rejection;
      // Rows that are only counted are one line already.
      const alike = user_group_id === null ? undefined : `rejected (${code})`;
      return { level: "warn", text: `rejected: ${message}`, fields: rejectionFields(event.rejection), alike };
    }
    case "accepted": {
      const { user_group_id, code, message, since } = event.rejection;
      const fields = { ...rejectionFields(event.rejection), since };
      const alike = user_group_id === null ? undefined : `no longer rejected (${code})`;
      return { level: "info", text: `no longer rejected; it was: ${message}`, fields, alike };
    }
    case "left": {
      const text = ABSENCE_TEXT[event.absence];
      return { level: "info", text, alike: text };
    }
    case "held":
      return { level: "warn", text: event.message };
    case "answered":
      return { level: "debug", text: "the service answers" };
    case "retry":
      return { level: "debug", text: `tries again: ${event.message}` };
    case "waiting": {
      const { ms, reason } = event;
      return {
        level: "info",
        text: `waits up to ${durationText(ms)}: ${reason}`,
        fields: { ms: Math.round(ms) },
        // The reason says a rate, which changes from one wait to the next.
        alike: `waits: ${reason.replace(/\d[\d.,]*/g, "…")}`,
      };
    }
    case "queued":
      return { level: "info", text: queuedText(event) };
    case "recorded":
      // A replaced group has lost its token: log that at info.
      return { level: event.result === "replaced" ? "info" : "debug", text: event.result };
    case "restored": {
      const text = "its token is written again to a store that lacked it";
      return { level: "info", text, alike: text };
    }
    case "deleted":
      return { level: "info", text: "deleted" };
    case "rotated":
      return { level: "info", text: "rotated" };
    case "unstored":
      return {
        level: "error",
        text: `its new token is not stored, and the old one is dead; tries again in ${durationText(event.waitMs)}: ${event.message}`,
      };
    case "failed":
      return { level: "warn", text: `failed: ${event.message}`, alike: `failed (${event.code})` };
    case "served": {
      const { served, ms, user_group_id } = event;
      const { text, ...line } = servedLine(served);
      const code = "code" in served ? { code: served.code } : {};
      return {
        ...line,
        text: `${text}, ${durationText(ms)} after it was noticed`,
        fields: { user_group_id, ...code, ms: Math.round(ms) },
      };
    }
    case "finished":
      return { level: levelOf(event), text: finishedText(event), fields: summaryFields(event) };
  }
}

function servedLine(served: Served): Line {
  switch (served.kind) {
    case "done": {
      const { outcome } = served;
      if (outcome === "unchanged") return { level: "debug", text: outcome };
      return {
        level: "info",
        text: outcome,
        alike: WITH_A_LINE.has(outcome) ? undefined : `served alone, ${outcome}`,
      };
    }
    case "pending":
      return { level: "debug", text: "not served yet" };
    case "unknown":
      return { level: "debug", text: "the source has no such tenant" };
    case "conflict": {
      const { outcome, code, message } = served;
      const text = `${outcome}: ${message}`;
      // It has failed before, and its failure had a line.
      if (outcome === "waiting") return { level: "debug", text };
      return { level: "info", text, alike: `served alone, ${outcome} (${code})` };
    }
    case "failed": {
      const { code, message } = served;
      return { level: "warn", text: `failed: ${message}`, alike: `served alone, failed (${code})` };
    }
  }
}

/** Rows that are only counted come with their number. */
const rejectionFields = ({ user_group_id, code, rows }: Rejection): Fields => ({
  user_group_id,
  code,
  rows: user_group_id === null ? rows : undefined,
});

/** Short after a sync that had nothing to do: most lines of a daemon's log are about those. */
function finishedText(summary: RunSummary): string {
  const { command, outcome, counts, requests } = summary;
  const isQuiet = outcome === "ok" && requests === 0 && counts.unchanged > 0;
  return isQuiet ? `${command} ok: ${countsText(counts)}` : summaryText(summary);
}

const summaryFields = ({ command, outcome, counts, requests, durationMs, error }: RunSummary): Fields => ({
  ...{
    command,
    outcome,
    ...shownCounts(counts),
    ...withoutZeros({ requests }),
    duration_ms: Math.round(durationMs),
  },
  code: error?.code,
  hint: error ? error.hint : counts.rejected + counts.failed > 0 ? SEE_STATUS : undefined,
});

/** The counts that are not zero, so that a run with nothing to do has a short line. */
const shownCounts = ({ drift, ...counts }: Readonly<Counts>): Fields => {
  const found = withoutZeros(drift);
  return { ...withoutZeros(counts), ...(Object.keys(found).length > 0 && { drift: found }) };
};

const withoutZeros = (numbers: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(numbers).filter(([, count]) => count > 0));

function levelOf({ outcome, error }: RunSummary): Line["level"] {
  switch (outcome) {
    case "ok":
      return "info";
    case "partial":
    case "held":
      return "warn";
    case "failed":
      return error && isNoFault(error) ? "info" : "error";
  }
}
