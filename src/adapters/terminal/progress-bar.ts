import { styleText } from "node:util";
import { DRIFT_TEXT } from "../../core/drift/drift.ts";
import { AlikeLines } from "../../core/report/alike-lines.ts";
import { advanced, NO_WORK, progress, queuedText } from "../../core/report/progress.ts";
import { printable, printableId } from "../../core/text/printable.ts";
import { durationText, rateText } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe, RunEvent } from "../../ports/observer.ts";

/** What is used of a terminal's output stream. */
export interface Terminal {
  write(text: string): unknown;
  /** 0 if the terminal doesn't know its width. */
  readonly columns?: number;
}

const REDRAW_EVERY = 100;
const COLUMNS_WHERE_UNKNOWN = 80;
const BAR_CELLS = 28;
const SHORTEST_BAR = 4;
const LONG_WAIT = 4_000;
const QUEUE_SHOWN = 30_000;
const LONGEST_WARNING = 2_000;
const CLEAR_LINE_ABOVE = "\u001b[A\r\u001b[K";

/**
 * One line at the bottom shows the progress; problems scroll past above it. The cursor stays below that line, so that
 * later output begins on a line of its own, however the run ends.
 */
export function progressBar(terminal: Terminal, clock: Clock): Observe {
  let work = NO_WORK;
  let startedAt = 0;
  let drawnAt = -REDRAW_EVERY;
  let waitsUntil = 0;
  let reason = "";
  let shown = false;
  const failures = new AlikeLines<Extract<RunEvent, { kind: "failed" }>>();

  const columns = (): number => terminal.columns || COLUMNS_WHERE_UNKNOWN;
  const clear = (): string => {
    const text = shown ? CLEAR_LINE_ABOVE : "";
    shown = false;
    return text;
  };
  const show = (line: string): void => {
    terminal.write(`${clear()}${line.slice(0, columns() - 1)}\n`);
    shown = true;
  };
  const draw = (force = false): void => {
    const now = clock.monotonic();
    const { done, total } = work;
    if (total === 0 || (!force && now - drawnAt < REDRAW_EVERY)) return;
    drawnAt = now;
    const { rate, leftMs } = progress(work, now - startedAt);
    // On a narrow terminal the bar gets shorter, because the text after it is more useful.
    const next =
      waitsUntil > now
        ? ` · waiting ${durationText(waitsUntil - now)}: ${reason}`
        : leftMs === undefined || done === total
          ? ""
          : ` · ${durationText(Math.max(leftMs, 1000))} left`;
    const text = `${done}/${total} · ${rateText(rate)}${next}`;
    show(`${bar(done / total, columns() - 2 - text.length)}${text}`);
  };
  const say = (mark: string, text: string): void => {
    terminal.write(`${clear()}${mark} ${text}\n`);
    draw(true);
  };

  const wait = (ms: number, why: string): void => {
    waitsUntil = clock.monotonic() + ms;
    reason = why;
    draw(true);
  };

  const advance = (event: RunEvent): void => {
    const before = work;
    if (before.total === 0) startedAt = clock.monotonic();
    work = advanced(before, event);
    if (work === before) return;
    // Draw at once what there is to do, and the end.
    draw(work.total > before.total || work.done === work.total);
  };

  return (event: RunEvent): void => {
    switch (event.kind) {
      case "phase":
        if (event.phase === "reading") show("reading the source …");
        else terminal.write(clear());
        draw(true);
        break;
      case "waiting":
        wait(event.ms, printable(event.reason));
        break;
      case "queued":
        // Until the next report at the latest, the bar has moved.
        wait(QUEUE_SHOWN, queuedText(event));
        break;
      case "retry":
        // The run may be waiting for nothing but this retry: say so.
        if (event.waitMs >= LONG_WAIT) wait(event.waitMs, `${event.code}: ${printable(event.message)}`);
        break;
      case "warning": {
        const message = printable(event.message, LONGEST_WARNING);
        say(styleText("yellow", "!"), `${message}${hintLine(event.hint)}`);
        break;
      }
      case "failed": {
        const what = `${printableId(event.user_group_id)}: ${event.code}: ${printable(event.message)}`;
        if (failures.add(event.code, event)) say(styleText("red", "✗"), what);
        advance(event);
        break;
      }
      case "drift":
        say(styleText("yellow", "!"), `${printableId(event.user_group_id)}: ${DRIFT_TEXT[event.drift]}`);
        break;
      case "unstored": {
        const what = `its new token is not stored, and the old one is dead; tries again in ${durationText(event.waitMs)}`;
        say(
          styleText("red", "!"),
          `${printableId(event.user_group_id)}: ${what}: ${printable(event.message)}${hintLine(event.hint)}`,
        );
        break;
      }
      default:
        // The report that the command prints at the end has what else there is to say.
        advance(event);
    }
  };
}

/** The bar in at most `room` columns; empty if that is too narrow. */
function bar(share: number, room: number): string {
  const cells = Math.min(BAR_CELLS, room);
  if (cells < SHORTEST_BAR) return "";
  const filled = Math.round(share * cells);
  return `${"█".repeat(filled)}${"░".repeat(cells - filled)} `;
}

const hintLine = (hint: string | undefined): string =>
  hint === undefined ? "" : `\n  ${styleText("dim", printable(hint, LONGEST_WARNING))}`;
