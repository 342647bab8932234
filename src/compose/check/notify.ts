import { hostClock } from "../../adapters/host/clock.ts";
import type { CheckOptions } from "../../commands/check.ts";
import type { Config } from "../../config/model/config.ts";
import { notifyFindings, type TrySending } from "../../engine/check/notify.ts";
import type { Check } from "../../ports/check.ts";
import type { LogEntry } from "../../ports/log.ts";
import { check } from "./subjects.ts";

export const notifyCheck = ({ name, notify }: Config, { notify: maySend }: CheckOptions): Check =>
  check("notify", (stop) => {
    const { webhook, heartbeat } = notify;
    const trySending: TrySending = async (send) => {
      const { HttpNotifier } = await import("../../adapters/notify/http-notifier.ts");
      const logged: LogEntry[] = [];
      await send(new HttpNotifier(notify, hostClock, (entry) => logged.push(entry), stop));
      return logged;
    };
    const set = { name, webhook: webhook !== undefined, heartbeat: heartbeat !== undefined };
    return notifyFindings(set, maySend ? trySending : null);
  });
