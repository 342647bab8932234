import { asFinding, type Finding, ok } from "../../core/report/finding.ts";
import type { LogEntry } from "../../ports/log.ts";
import type { Notifier } from "../../ports/notifier.ts";

interface Receivers {
  /** The name of this config. */
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
  const receivers = [
    {
      key: "notify.webhook",
      isSet: webhook,
      sent: "a test message",
      send: (to: Notifier) => to.tell(message),
    },
    { key: "notify.heartbeat", isSet: heartbeat, sent: "a heartbeat", send: (to: Notifier) => to.beat() },
  ];
  for (const { key, isSet, sent, send } of receivers) {
    if (!isSet) yield ok(`${key} is not set`);
    else if (trySending === null) yield ok(`${key} is set; check --notify sends ${sent} there`);
    else yield* findingsOf(await trySending(send), `${key} took ${sent}`);
  }
}

const findingsOf = (logged: readonly LogEntry[], well: string): readonly Finding[] =>
  logged.length === 0
    ? [ok(well)]
    : logged.map(({ code = "NOTIFY_FAILED", message, hint }) =>
        asFinding("failure", { code, message, hint }),
      );
