import type { RunOutcome } from "../../core/report/counts.ts";
import type { RecordedRun } from "../../ports/ledger/scope.ts";
import { type Content, type Html, html } from "./html.ts";
import { grouped, groupedCount, type PageTime, roundText, took, wallClock } from "./number-and-time-text.ts";

/** `unfinished`: the ledger has no end of the run, for instance after a kill. */
type Ending = RunOutcome | "unfinished";

/** From best to worst. */
const ENDINGS: readonly Ending[] = ["ok", "partial", "held", "unfinished", "failed"];

/** The runs that began in the same hour, or on the same day. */
interface RunsSummary {
  readonly runs: number;
  readonly endings: Readonly<Record<Ending, number>>;
  /** Null if no run reached its end. */
  readonly longestMs: number | null;
}

interface Day {
  /** Midnight of this day's date in UTC, whatever the time zone. */
  readonly start: Date;
  readonly summary: RunsSummary;
  /** By the hours of the wall clock; null for an hour without a run. */
  readonly hours: readonly (RunsSummary | null)[];
}

const QUARTER = 900_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const DAYS = 7;

// One unit is about a pixel: an hour is a column, with a gap to the next.
const COLUMN = 7;
const BAR = 5;
const WIDTH = 24 * COLUMN;
const HEIGHT = 108;
/** Height of the strip above the bars that has room for marks. */
const TOP = 12;
const SHORTEST_BAR = 3;
/** The height of a bar for runs without an end, which have no duration. */
const ENDLESS_BAR = 14;

const DAY_NAME = new Intl.DateTimeFormat("en", {
  weekday: "short",
  day: "numeric",
  month: "short",
  timeZone: "UTC",
});

/** What each kind of bar means. The kinds differ in black and white, too. */
const MEANING: Readonly<Record<Ending, string>> = {
  ok: "ok",
  partial: "partial: rows rejected or groups failing",
  held: "held: deletions wait for approval",
  unfinished: "did not finish",
  failed: "failed",
};

/** The runs of the last days, with a bar for each hour in which runs began. The bar shows the worst ending. */
export function runChart(runs: readonly RecordedRun[], at: PageTime, goesOn: string | null): Html {
  const all = runsByDay(runs, at, DAYS, goesOn);
  const days = all.filter(hasRuns);
  if (days.length === 0) return html`${emptyText(all)}`;
  const scale = scaleFor(days);
  const seen = ENDINGS.filter((ending) => days.some(({ summary }) => summary.endings[ending] > 0));
  return html`<div class="days">${days.map((day) => dayChart(day, scale))}</div>${emptyText(all)}
<ul class="legend">${seen.map(legendEntry)}</ul>
<p class="note">A bar is an hour and shows the worst ending among its runs. Its height is the longest run, on a
logarithmic scale from ${took(SHORTEST_MS)} to ${roundText(scale.topMs)}${linesText(scale)}.</p>
${asTable(days)}`;
}

const hasRuns = ({ summary }: Day): boolean => summary.runs > 0;

/** `No runs: Mon, Mar 2 to Thu, Mar 5; Sat, Mar 7` */
function emptyText(days: readonly Day[]): Content {
  const spans: { first: Day; last: Day }[] = [];
  days.forEach((day, index) => {
    const span = spans.at(-1);
    if (hasRuns(day)) return;
    if (span && span.last === days[index - 1]) span.last = day;
    else spans.push({ first: day, last: day });
  });
  if (spans.length === 0) return null;
  const texts = spans.map(({ first, last }) =>
    first === last ? dayName(first.start) : `${dayName(first.start)} to ${dayName(last.start)}`,
  );
  return html`<p class="note">No runs: ${texts.join("; ")}</p>`;
}

const dayChart = ({ start, summary, hours }: Day, scale: Scale): Html =>
  html`<figure><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${dayName(start)}: ${summaryText(summary)}">
${scale.lines.map((ms) => html`<path class="grid" d="M0 ${yOf(ms, scale)}h${WIDTH}"/>`)}
<path class="base" d="M0 ${HEIGHT - 0.5}h${WIDTH}"/>
${hours.map((ofHour, hour) => ofHour && hourBar(ofHour, hour, scale))}</svg>
<figcaption>${dayName(start)}</figcaption></figure>`;

function hourBar(summary: RunsSummary, hour: number, scale: Scale): Html {
  const ending = worstOf(summary);
  const y =
    summary.longestMs === null
      ? HEIGHT - ENDLESS_BAR
      : Math.min(yOf(summary.longestMs, scale), HEIGHT - SHORTEST_BAR);
  const hours = `${twoDigits(hour)}:00 to ${twoDigits(hour + 1)}:00`;
  return html`<g><title>${hours}: ${summaryText(summary)}</title>${bar(ending, hour * COLUMN + 1, y)}</g>`;
}

/** Full, striped, hollow, dashed, or dark under a cross. */
function bar(ending: Ending, x: number, y: number): Html {
  const height = round(HEIGHT - y);
  switch (ending) {
    case "ok":
      return html`<rect class="ok" x="${x}" y="${y}" width="${BAR}" height="${height}"/>`;
    case "partial":
      return html`<path class="partial" stroke-width="${BAR}" d="M${x + BAR / 2} ${HEIGHT}V${y}"/>`;
    case "held":
    case "unfinished":
      return html`<rect class="${ending}" x="${x + 0.75}" y="${round(y + 0.75)}" width="${BAR - 1.5}" height="${round(height - 1.5)}"/>`;
    case "failed":
      return html`<rect class="failed-column" x="${x - 1}" y="0" width="${COLUMN}" height="${HEIGHT}"/><rect class="failed" x="${x}" y="${y}" width="${BAR}" height="${height}"/><path class="cross" d="M${x} 2l${BAR} ${BAR}m0 -${BAR}l-${BAR} ${BAR}"/>`;
  }
}

const legendEntry = (ending: Ending): Html =>
  html`<li><svg viewBox="0 ${HEIGHT - 20} ${COLUMN} 20" aria-hidden="true">${legendBar(ending)}</svg>${MEANING[ending]}</li>`;

const legendBar = (ending: Ending): Html =>
  ending === "failed"
    ? html`<rect class="failed" x="1" y="${HEIGHT - 10}" width="${BAR}" height="10"/><path class="cross" d="M1 ${HEIGHT - 18}l${BAR} ${BAR}m0 -${BAR}l-${BAR} ${BAR}"/>`
    : bar(ending, 1, HEIGHT - 17);

/** The same numbers as a table, for readers who can't see the chart. */
const asTable = (days: readonly Day[]): Html =>
  html`<details><summary>The same in numbers</summary><div class="scrolls" tabindex="0" role="region" aria-label="Runs by day"><table>
<thead><tr><th scope="col">Day</th><th scope="col">Runs</th>${ENDINGS.map((ending) => html`<th scope="col">${ending}</th>`)}<th scope="col">Longest</th></tr></thead>
<tbody>${days.map(
    ({ start, summary }) =>
      html`<tr><th scope="row">${dayName(start)}</th><td>${grouped(summary.runs)}</td>${ENDINGS.map((ending) => html`<td>${grouped(summary.endings[ending])}</td>`)}<td>${summary.longestMs === null ? "–" : took(summary.longestMs)}</td></tr>`,
  )}</tbody></table></div></details>`;

/** `288 runs: 286 ok, 2 failed; the longest took 4.2 s` */
function summaryText({ runs, endings, longestMs }: RunsSummary): string {
  if (runs === 0) return "no runs";
  const counts = ENDINGS.flatMap((ending) =>
    endings[ending] > 0 ? [`${grouped(endings[ending])} ${ending}`] : [],
  );
  const longest = longestMs === null ? "" : `; the longest took ${took(longestMs)}`;
  return `${groupedCount(runs, "run")}: ${counts.join(", ")}${longest}`;
}

const dayName = (start: Date): string => DAY_NAME.format(start);
const twoDigits = (hour: number): string => String(hour).padStart(2, "0");

/** Logarithmic, from 100 ms to the longest run, because runs may take seconds or hours. */
interface Scale {
  readonly topMs: number;
  readonly lines: readonly number[];
}

const SHORTEST_MS = 100;
const LOWEST_TOP_MS = 5_000;
const LINES_MS = [1_000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 360_000_000];

function scaleFor(days: readonly Day[]): Scale {
  const longest = Math.max(0, ...days.map(({ summary }) => summary.longestMs ?? 0));
  const topMs = Math.max(longest, LOWEST_TOP_MS);
  return { topMs, lines: LINES_MS.filter((ms) => ms < topMs / 1.2) };
}

function yOf(ms: number, { topMs }: Scale): number {
  const share = Math.log(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / Math.log(topMs / SHORTEST_MS);
  return round(HEIGHT - share * (HEIGHT - TOP));
}

const linesText = ({ lines }: Scale): string =>
  lines.length === 1
    ? ` with a line at ${lines.map(roundText).join()}`
    : ` with lines at ${lines
        .map(roundText)
        .join(", ")
        .replace(/, ([^,]*)$/, " and $1")}`;

const round = (value: number): number => Math.round(value * 10) / 10;

/**
 * Sums up runs by day and hour of the page's time zone: the last `count` days, today included. `goesOn` is the run that is
 * under way; it is left out, because it has no ending yet.
 */
function runsByDay(runs: readonly RecordedRun[], at: PageTime, count: number, goesOn: string | null): Day[] {
  const clock = quickClock(at.timeZone);
  const today = Math.floor(clock(at.now) / DAY) * DAY;
  const ended = runs.filter(({ id }) => id !== goesOn);
  const byDay = groupBy(ended, (run) => Math.floor(clock(run.startedAt) / DAY) * DAY);
  return Array.from({ length: count }, (_, index) => {
    const start = today - (count - 1 - index) * DAY;
    const ofDay = byDay.get(start) ?? [];
    const byHour = groupBy(ofDay, (run) => Math.floor((clock(run.startedAt) - start) / HOUR));
    const hours = Array.from({ length: 24 }, (_, hour) => {
      const ofHour = byHour.get(hour);
      return ofHour ? summarize(ofHour) : null;
    });
    return { start: new Date(start), summary: summarize(ofDay), hours };
  });
}

/**
 * The wall clock of a time zone, in milliseconds. Asks once for each quarter of an hour, because a page may have thousands
 * of runs: all zones differ from UTC by whole quarters, and change their clocks at one.
 */
function quickClock(timeZone: string): (date: Date) => number {
  const shifts = new Map<number, number>();
  return (date) => {
    const quarter = Math.floor(date.getTime() / QUARTER) * QUARTER;
    const shift = shifts.get(quarter) ?? wallClock(new Date(quarter), timeZone).getTime() - quarter;
    shifts.set(quarter, shift);
    return date.getTime() + shift;
  };
}

function summarize(runs: readonly RecordedRun[]): RunsSummary {
  const endings: Record<Ending, number> = { ok: 0, partial: 0, held: 0, unfinished: 0, failed: 0 };
  let longestMs: number | null = null;
  for (const { startedAt, finishedAt, result } of runs) {
    endings[result?.outcome ?? "unfinished"]++;
    if (finishedAt) longestMs = Math.max(longestMs ?? 0, finishedAt.getTime() - startedAt.getTime());
  }
  return { runs: runs.length, endings, longestMs };
}

/** The worst ending among the runs. */
const worstOf = ({ endings }: RunsSummary): Ending =>
  ENDINGS.findLast((ending) => endings[ending] > 0) ?? "ok";

function groupBy<T>(items: readonly T[], keyOf: (item: T) => number): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
