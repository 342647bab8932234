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
  let workBeganAt = 0;
  let progressToldAt = 0;
  const told = new ToldEvents();
  const alikeLines = new AlikeLines<AlikeLine>();

  /** Ends a run, or the time between two of them. */
  const sumUp = (): void => {
    for (const { line, count } of alikeLines.restart()) {
      const { level, alike, fields } = line;
      const { code, absence } = fields;
      log[level](
        { code, absence, count },
        `${alike}: ${count} in all; the log has the first ${MOST_IN_FULL}`,
      );
    }
  };

  const write = (event: RunEvent): void => {
    const { level, text, alike, fields: ofLine = fieldsOf(event) } = lineOf(event);
    const fields = event.kind === "finished" ? { ...ofLine, ...atEnd() } : ofLine;
    const wasTold = told.add(event, clock.monotonic());
    if (wasTold) {
      log.debug(fields, text);
      return;
    }
    const isCounted = alike !== undefined && !log.isLevelEnabled("debug");
    if (isCounted && !alikeLines.add(alike, { level, alike, fields })) return;
    log[level](fields, text);
  };

  const tellProgress = (event: RunEvent): void => {
    const before = work;
    work = advanced(before, event);
    if (work === before) return;
    const now = clock.monotonic();
    if (before.total === 0) workBeganAt = progressToldAt = now;
    if (now - progressToldAt < PROGRESS_EVERY) return;
    progressToldAt = now;
    const { done, total } = work;
    const { rate, leftMs } = progress(work, now - workBeganAt);
    const left = leftMs === undefined ? "" : `, ${durationText(leftMs)} left`;
    log.info(
      { done, total, per_second: Math.round(rate * 10) / 10 },
      `${done} of ${total} groups, ${rateText(rate)}${left}`,
    );
  };

  return (event: RunEvent): void => {
    if (event.kind === "started" || event.kind === "finished") sumUp();
    if (event.kind === "started") {
      log = logger.child({ run: event.run });
      work = NO_WORK;
    }
    write(event);
    tellProgress(event);
    // A daemon's next run may end before it gets an id: don't log that run with the id of this one.
    if (event.kind === "finished") log = logger;
  };
}

interface AlikeLine {
  readonly level: Line["level"];
  readonly alike: string;
  readonly fields: Fields;
}

/** What the log has told already: a setting once a process, the rest once a run or every few minutes. */
class ToldEvents {
  readonly #settings = new Set<string>();
  /** Tenants of the run whose new token waits to be stored. */
  readonly #unstored = new Set<string>();
  #queueToldAt = Number.NEGATIVE_INFINITY;
  #isInStandby = false;

  /** Returns whether the log had told the event before. `now` is in milliseconds. */
  add(event: RunEvent, now: number): boolean {
    switch (event.kind) {
      case "started":
        this.#unstored.clear();
        return false;
      case "warning":
        return event.isStanding === true && addTo(this.#settings, `${event.code} ${event.message}`);
      case "unstored":
        return addTo(this.#unstored, event.user_group_id);
      case "queued":
        if (now - this.#queueToldAt < QUEUE_TOLD_EVERY) return true;
        this.#queueToldAt = now;
        return false;
      case "finished": {
        // An instance in standby asks for the lease several times a minute.
        const isHeld = event.error?.code === "LEASE_HELD";
        const wasTold = isHeld && this.#isInStandby;
        this.#isInStandby = isHeld || (event.error !== null && isHandOver(event.error));
        return wasTold;
      }
      default:
        return false;
    }
  }
}

/** Returns whether the text was in the set before. */
function addTo(texts: Set<string>, text: string): boolean {
  const wasIn = texts.has(text);
  texts.add(text);
  return wasIn;
}
