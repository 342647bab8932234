import type { Logger } from "pino";
import { isHandOver } from "../../core/failure/sync-error.ts";
import { AlikeLines, MOST_IN_FULL } from "../../core/report/alike-lines.ts";
import { advanced, NO_WORK, progress } from "../../core/report/progress.ts";
import { durationText, rateText } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe, RunEvent } from "../../ports/observer.ts";
import { type Fields, fieldsOf, type Line, lineOf } from "./log-line.ts";

const PROGRESS_EVERY = 10_000;
const QUEUE_TOLD_EVERY = 300_000;

/**
 * Writes a run to the log: a line for each problem, the progress now and then, and a summary at the end. Logs all other
 * events at debug, and so what the log has told already. Above that level, sums up lines that are alike, in each run and
 * between two runs. `atEnd` returns more fields for the summary.
 */
export function runLog(logger: Logger, clock: Clock, atEnd: () => object = () => ({})): Observe {
  let log = logger;
  let work = NO_WORK;
  let workBegan = 0;
  let progressTold = 0;
  const alikes = new AlikeLines<Pick<Line, "level"> & { readonly fields: Fields; readonly alike: string }>();
  const isRepeated = repetitions(clock);

  /** Ends a run, or the time between two of them. */
  const sumUp = (): void => {
    for (const { line, count } of alikes.restart()) {
      const { level, alike, fields } = line;
      const { code, absence } = fields;
      log[level](
        { code, absence, count },
        `${alike}: ${count} in all; the log has the first ${MOST_IN_FULL}`,
      );
    }
  };

  const write = (event: RunEvent): void => {
    const { level: first, text, alike, fields = fieldsOf(event) } = lineOf(event);
    const level = isRepeated(event) ? "debug" : first;
    const isSummed = alike !== undefined && level === first && !log.isLevelEnabled("debug");
    if (isSummed && !alikes.add(alike, { level, alike, fields })) return;
    log[level](event.kind === "finished" ? { ...fields, ...atEnd() } : fields, text);
  };

  const tellProgress = (event: RunEvent): void => {
    const before = work;
    work = advanced(before, event);
    const now = clock.monotonic();
    if (before.total === 0) workBegan = progressTold = now;
    if (work === before || now - progressTold < PROGRESS_EVERY) return;
    progressTold = now;
    const { done, total } = work;
    const { rate, leftMs } = progress(work, now - workBegan);
    const left = leftMs === undefined ? "" : `, ${durationText(leftMs)} left`;
    log.info(
      { done, total, per_second: Math.round(rate * 10) / 10 },
      `${done} of ${total} groups, ${rateText(rate)}${left}`,
    );
  };

  return (event: RunEvent): void => {
    if (event.kind === "started" || event.kind === "finished") sumUp();
    if (event.kind === "started") log = logger.child({ run: event.run });
    write(event);
    tellProgress(event);
    // A daemon's next run may end before it gets an id: don't log that run with the id of this one.
    if (event.kind === "finished") log = logger;
  };
}

/** Tells whether the log has told an event already: a setting once a process, the rest once a run or every few minutes. */
function repetitions(clock: Clock): (event: RunEvent) => boolean {
  const settings = new Set<string>();
  /** Tenants of the run whose new token waits to be stored. */
  const unstored = new Set<string>();
  let queueTold = Number.NEGATIVE_INFINITY;
  let isInStandby = false;
  const isIn = (told: Set<string>, text: string): boolean => {
    const before = told.size;
    return told.add(text).size === before;
  };
  return (event) => {
    switch (event.kind) {
      case "started":
        unstored.clear();
        return false;
      case "warning":
        return event.isStanding === true && isIn(settings, `${event.code} ${event.message}`);
      case "unstored":
        return isIn(unstored, event.user_group_id);
      case "queued": {
        const now = clock.monotonic();
        if (now - queueTold < QUEUE_TOLD_EVERY) return true;
        queueTold = now;
        return false;
      }
      case "finished": {
        // An instance in standby asks for the lease several times a minute.
        const isHeld = event.error?.code === "LEASE_HELD";
        const isRepeated = isHeld && isInStandby;
        isInStandby = isHeld || (event.error !== null && isHandOver(event.error));
        return isRepeated;
      }
      default:
        return false;
    }
  };
}
