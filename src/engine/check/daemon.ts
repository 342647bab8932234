import { type Finding, failure, ok } from "../../core/report/finding.ts";
import type { AddressTrial } from "../../ports/check.ts";

interface Schedule {
  /** The cron line. */
  readonly line: string;
  readonly timezone: string;
}

/** The next times at which the daemon syncs, by the clock of the schedule's zone. */
export async function* scheduleFindings(
  { line, timezone }: Schedule,
  ticks: readonly Date[],
): AsyncGenerator<Finding> {
  const moments = new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
  yield ok(`"${line}" in ${timezone}: next at ${ticks.map((tick) => moments.format(tick)).join("; ")}`);
}

interface Address {
  /** The name of this config. */
  readonly name: string;
  readonly listen: { readonly host: string; readonly port: number } | "off";
}

/** Whether the daemon could serve its page. */
export async function* addressFindings(
  trial: AddressTrial,
  { name, listen }: Address,
): AsyncGenerator<Finding> {
  if (listen === "off") {
    yield ok("off: the daemon serves no page, probes and metrics");
    return;
  }
  const { host, port } = listen;
  const at = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const use = await trial.use(host, port);
  switch (use.kind) {
    case "free":
      yield ok(`${at} is free`);
      return;
    case "groupsync":
      yield use.name === name
        ? ok(`${at}: the daemon of this config listens there already`)
        : failure(
            `${at}: the daemon of the config named ${JSON.stringify(use.name)} listens there`,
            "name another port in http.listen",
          );
      return;
    case "refused":
      yield failure(
        `${at} can't be listened on: ${use.reason}`,
        'name another address in http.listen, or "off" for no page, probes and metrics',
      );
      return;
    default:
      use satisfies never;
  }
}
