import { asFinding, type Finding, ok } from "../../core/report/finding.ts";
import type { LogEntry } from "../../ports/log.ts";
import type { Notifier } from "../../ports/notifier.ts";

interface Schedule {
  readonly line: string;
  readonly timezone: string;
}

/** The next times at which the daemon syncs, by the clock of the schedule's zone. */
export function scheduleFinding({ line, timezone }: Schedule, times: readonly Date[]): Finding {
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
  return ok(`"${line}" in ${timezone}: next at ${times.map((time) => moments.format(time)).join("; ")}`);
}

interface Receivers {
  readonly name: string;
  readonly webhook: boolean;
  readonly heartbeat: boolean;
}

/** Sends by the daemon's own notifier. Resolves to what the daemon would log of it: nothing if all went well. */
export type TrySending = (send: (notifier: Notifier) => Promise<void>) => Promise<readonly LogEntry[]>;

/** The webhook and the heartbeat. `trySending` is null if nothing may be sent: then says only what is configured. */
export async function* notifyFindings(
  { name, webhook, heartbeat }: Receivers,
  trySending: TrySending | null,
): AsyncGenerator<Finding> {
  const message = `groupsync ${name}: this is a test by \`groupsync check --notify\`; nothing has happened`;
  const tell = (notifier: Notifier): Promise<void> => notifier.tell(message);
  const beat = (notifier: Notifier): Promise<void> => notifier.beat();
  const receivers = [
    { key: "notify.webhook", isSet: webhook, sent: "a test message", send: tell },
    { key: "notify.heartbeat", isSet: heartbeat, sent: "a heartbeat", send: beat },
  ];
  for (const { key, isSet, sent, send } of receivers) {
    if (!isSet) yield ok(`${key} is not set`);
    else if (trySending === null) yield ok(`${key} is set; check --notify sends ${sent} there`);
    else yield* findingsOf(await trySending(send), `${key} took ${sent}`);
  }
}

function findingsOf(logged: readonly LogEntry[], well: string): readonly Finding[] {
  if (logged.length === 0) return [ok(well)];
  return logged.map(({ code = "NOTIFY_FAILED", message, hint }) =>
    asFinding("failure", { code, message, hint }),
  );
}
