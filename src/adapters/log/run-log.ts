import type { Logger } from "pino";
import { ABSENCE_TEXT } from "../../core/deletion/missing-tenants.ts";
import { DRIFT_TEXT } from "../../core/drift/drift.ts";
import { isHandOver, isNoFault } from "../../core/failure/sync-error.ts";
import type { Rejection } from "../../core/group/rejections.ts";
import { AlikeLines, MOST_IN_FULL } from "../../core/report/alike-lines.ts";
import { type Counts, summaryText } from "../../core/report/counts.ts";
import {
  advanced,
  isWork,
  NO_WORK,
  progress,
  queuedText,
  type WorkEvent,
} from "../../core/report/progress.ts";
import { durationText, quantity, rateText } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe, RunEvent, RunSummary } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";

const PROGRESS_EVERY = 10_000;
const QUEUE_TOLD_EVERY = 300_000;
/** A failing group and a rejected row have lines of their own in the runs that try them, or find them for the first time. */
const SEE_STATUS = "`groupsync status` names the failing groups and the rejected rows";
const RESTORED_TEXT = "its token is written again to a store that lacked it";

/**
 * Writes a run to the log: a line for each problem, the progress now and then, and a summary at the end. Logs all other
 * events at debug. Above that level, sums up lines that are alike, in each run and between two runs, and writes a warning of
 * a setting once. `atEnd` returns more fields for the summary.
 */
export function runLog(logger: Logger, clock: Clock, atEnd: () => object = () => ({})): Observe {
  let log = logger;
  let work = NO_WORK;
  let startedAt = 0;
  let toldAt = 0;
  let inStandby = false;
  let toldQueueAt = Number.NEGATIVE_INFINITY;
  const alike = new AlikeLines<Alike>();
  const toldSettings = new Set<string>();
  /** Tenants of the run whose new token waits to be stored. */
  const toldUnstored = new Set<string>();

  /** Ends a run, or the time between two of them. */
  const sumUp = (): void => {
    for (const { line, count } of alike.restart()) {
      const { level, text, hint: _, ...fields } = line;
      log[level]({ ...fields, count }, `${text}: ${count} in all; the log has the first ${MOST_IN_FULL}`);
    }
    toldUnstored.clear();
  };

  /** Whether the event gets a line of its own. */
  const isWritten = (event: RunEvent): boolean => {
    if (event.kind === "warning" && event.isStanding) {
      const before = toldSettings.size;
      if (toldSettings.add(`${event.code} ${event.message}`).size === before) return false;
    }
    const line = log.isLevelEnabled("debug") ? undefined : alikeOf(event);
    if (line === undefined) return true;
    const written = alike.add(line.text, line);
    if (written === "notice") {
      const { level, text, ...fields } = line;
      log[level](fields, `${text}: further ones are only counted`);
    }
    return written === "line";
  };

  const advance = (event: WorkEvent): void => {
    const now = clock.monotonic();
    if (work.total === 0) startedAt = toldAt = now;
    work = advanced(work, event);
    if (now - toldAt < PROGRESS_EVERY) return;
    toldAt = now;
    const { done, total } = work;
    const { rate, leftMs } = progress(done, total, now - startedAt);
    const left = leftMs === undefined ? "" : `, ${durationText(leftMs)} left`;
    log.info(
      { done, total, per_second: Math.round(rate * 10) / 10 },
      `${done} of ${total} groups, ${rateText(rate)}${left}`,
    );
  };

  const write = (event: RunEvent): void => {
    const { kind, ...fields } = event;
    switch (event.kind) {
      case "started":
        sumUp();
        log = logger.child({ run: event.run });
        work = NO_WORK;
        log.debug("the run begins");
        break;
      case "phase":
        log.debug(
          { phase: event.phase },
          event.phase === "reading" ? "reads the source" : "applies the plan",
        );
        break;
      case "planned":
        log.debug(
          withoutMessage(fields),
          `${quantity(event.changes, "change")} to make, ${quantity(event.unchanged, "group")} unchanged`,
        );
        break;
      case "restoring":
        log.info(withoutMessage(fields), `${quantity(event.tokens, "token")} to restore`);
        break;
      case "rotating":
        log.info(withoutMessage(fields), `${quantity(event.tokens, "token")} to rotate`);
        break;
      case "refreshing":
        log.info(withoutMessage(fields), `${quantity(event.groups, "group")} to ask for again`);
        break;
      case "refreshed":
        log.debug(withoutMessage(fields), event.kind);
        break;
      case "drift": {
        const { user_group_id, drift, tokenFingerprint, formerTokenFingerprint, name } = event;
        log.warn(
          {
            user_group_id,
            drift,
            token_fingerprint: tokenFingerprint,
            former_token_fingerprint: formerTokenFingerprint,
            ...(drift === "name" && { name }),
          },
          DRIFT_TEXT[drift],
        );
        break;
      }
      case "warning":
        log.warn({ code: event.code, hint: event.hint }, event.message);
        break;
      case "rejected":
        log.warn(rejectionFields(event.rejection), `rejected: ${event.rejection.message}`);
        break;
      case "accepted":
        log.info(
          { ...rejectionFields(event.rejection), since: event.rejection.since },
          `no longer rejected; it was: ${event.rejection.message}`,
        );
        break;
      case "left":
        log.info(withoutMessage(fields), ABSENCE_TEXT[event.absence]);
        break;
      case "held":
        log.warn(withoutMessage(fields), event.message);
        break;
      case "answered":
        log.debug(fields, "the service answers");
        break;
      case "retry":
        log.debug(withoutMessage(fields), `tries again: ${event.message}`);
        break;
      case "waiting":
        log.info({ ms: Math.round(event.ms) }, `waits up to ${durationText(event.ms)}: ${event.reason}`);
        break;
      case "queued": {
        const now = clock.monotonic();
        if (now - toldQueueAt < QUEUE_TOLD_EVERY) break;
        toldQueueAt = now;
        log.info(fields, queuedText(event));
        break;
      }
      case "recorded": {
        const { user_group_id, result, unverified, tokenFingerprint: token_fingerprint } = event;
        // A replaced group has lost its token: log that at info.
        const level = result === "replaced" ? "info" : "debug";
        log[level]({ user_group_id, result, unverified, token_fingerprint }, result);
        break;
      }
      case "restored":
        log.info(withoutMessage(fields), RESTORED_TEXT);
        break;
      case "deleted":
        log.info(withoutMessage(fields), event.kind);
        break;
      case "rotated": {
        const { user_group_id, tokenFingerprint, formerTokenFingerprint } = event;
        log.info(
          {
            user_group_id,
            token_fingerprint: tokenFingerprint,
            former_token_fingerprint: formerTokenFingerprint,
          },
          event.kind,
        );
        break;
      }
      case "unstored": {
        const level = toldUnstored.has(event.user_group_id) ? "debug" : "error";
        toldUnstored.add(event.user_group_id);
        log[level](
          withoutMessage(fields),
          `its new token is not stored, and the old one is dead; tries again in ${durationText(event.waitMs)}: ${event.message}`,
        );
        break;
      }
      case "failed":
        log.warn(withoutMessage(fields), `failed: ${event.message}`);
        break;
      case "served": {
        const { served, ms, user_group_id } = event;
        const detail = "code" in served ? { code: served.code } : {};
        log[levelOfServed(served)](
          { user_group_id, ...detail, ms: Math.round(ms) },
          `${servedText(served)}, ${durationText(ms)} after it was noticed`,
        );
        break;
      }
      case "finished": {
        const { command, outcome, counts, requests, durationMs, error } = event;
        const duration_ms = Math.round(durationMs);
        const isHeld = error?.code === "LEASE_HELD";
        // An instance in standby asks for the lease several times a minute: log that once.
        const level = isHeld && inStandby ? "debug" : levelOf(event);
        inStandby = isHeld || (error !== null && isHandOver(error));
        sumUp();
        log[level](
          {
            command,
            outcome,
            ...shownCounts(counts),
            requests,
            duration_ms,
            code: error?.code,
            hint: error ? error.hint : counts.rejected + counts.failed > 0 ? SEE_STATUS : undefined,
            ...atEnd(),
          },
          summaryText(event),
        );
        // A daemon's next run may end before it gets an id: don't log that run with the id of this one.
        log = logger;
        break;
      }
      default:
        event satisfies never;
    }
  };
  return (event: RunEvent): void => {
    if (isWritten(event)) write(event);
    if (isWork(event)) advance(event);
  };
}

/** The counts that are not zero, so that a run with nothing to do has a short line. */
const shownCounts = ({ drift, ...counts }: Readonly<Counts>): object => {
  const found = withoutZeros(drift);
  return { ...withoutZeros(counts), ...(Object.keys(found).length > 0 && { drift: found }) };
};

const withoutZeros = (numbers: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(numbers).filter(([, count]) => count > 0));

/** Rows that are only counted come with their number. */
const rejectionFields = ({ user_group_id, code, rows }: Rejection): object =>
  user_group_id === null ? { user_group_id, code, rows } : { user_group_id, code };

function levelOf({ outcome, error }: RunSummary): "info" | "warn" | "error" {
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

function levelOfServed(served: Served): "debug" | "info" | "warn" {
  switch (served.kind) {
    case "done":
      return served.outcome === "unchanged" ? "debug" : "info";
    case "pending":
    case "unknown":
      return "debug";
    case "conflict":
      // It has failed before, and its failure had a line.
      return served.outcome === "waiting" ? "debug" : "info";
    case "failed":
      return "warn";
  }
}

function servedText(served: Served): string {
  switch (served.kind) {
    case "done":
      return served.outcome;
    case "pending":
      return "not served yet";
    case "unknown":
      return "the source has no such tenant";
    case "conflict":
      return `${served.outcome}: ${served.message}`;
    case "failed":
      return `failed: ${served.message}`;
  }
}

function withoutMessage(fields: object): object {
  const { message: _, ...rest } = fields as { message?: string };
  return rest;
}

/** What lines have in common that the log may sum up. */
interface Alike {
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
function alikeOf(event: RunEvent): Alike | undefined {
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
