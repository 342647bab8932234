import { destination, type Logger, pino } from "pino";
import { noCounts } from "../../core/report/counts.ts";
import { printable, printableId, visible } from "../../core/text/printable.ts";
import type { Log, LogLevel } from "../../ports/log.ts";

/** Logs to standard error: lines of JSON, or readable lines on a terminal. */
export async function createLogger(level: LogLevel, isTerminal: boolean): Promise<Logger> {
  const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  if (!isTerminal)
    return pino(
      { ...options, formatters: { level: (label) => ({ level: label }) }, hooks: { streamWrite: visible } },
      stderr(),
    );
  const { default: pretty } = await import("pino-pretty");
  return pino(
    { ...options, formatters: { log: printableFields } },
    pretty({
      destination: 2,
      sync: true,
      ignore: SAID_IN_THE_MESSAGE.join(),
      translateTime: "SYS:HH:MM:ss",
      messageFormat: ({ run, user_group_id: id, ...line }, key) =>
        [
          ...(typeof run === "string" ? [`run ${printable(run)}`] : []),
          ...(typeof id === "string" ? [printableId(id)] : []),
          printable(String(line[key]), LONGEST_TEXT),
        ].join(": "),
    }),
  );
}

const LONGEST_TEXT = 2_000;

/** Fields that a terminal leaves out, because the message says them. In JSON they stay. */
const SAID_IN_THE_MESSAGE = [
  "run",
  "user_group_id",
  "command",
  "outcome",
  ...Object.keys(noCounts()),
  "requests",
  "duration_ms",
];

/** Ids and the service's words come from outside. JSON escapes control characters; a terminal would obey them. */
const printableFields = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [printable(name), printableField(value)]));

function printableField(value: unknown): unknown {
  if (typeof value === "string") return printable(value, LONGEST_TEXT);
  if (Array.isArray(value)) return value.map(printableField);
  const isPlain =
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? printableFields({ ...value }) : value;
}

/**
 * Writes each line at once, because no line may be lost when the process is killed. Lines that can't be written, as to
 * a full disk, are tried again with the next line, up to a limit. A failed write doesn't end the run.
 */
const stderr = () => destination({ fd: 2, sync: true, maxLength: MAX_UNWRITTEN }).on("error", () => {});

/** In characters. */
const MAX_UNWRITTEN = 1_000_000;

/** The daemon's own log lines, between its runs. */
export const logTo =
  (logger: Logger): Log =>
  ({ level, message, ...fields }) =>
    logger[level](fields, message);
