import { hostClock } from "../adapters/host/clock.ts";
import { reachService } from "../adapters/service/reach-service.ts";
import type { Config } from "../config/config.ts";
import { describeDatabase } from "../config/descriptions.ts";
import type { DatabaseUrl } from "../config/urls.ts";
import { asFinding, type Finding, ok, warning } from "../core/report/finding.ts";
import { connectionPrivacy } from "../core/tls/database-tls.ts";
import { dueTimesOf } from "../daemon/schedule.ts";
import type { Check, CheckLimits } from "../engine/check/check.ts";
import { notifyFindings, scheduleFinding, type TrySending } from "../engine/check/daemon.ts";
import {
  type CheckedDatabase,
  channelFindings,
  columnFindings,
  connectionFindings,
  ledgerFindings,
  sourceFindings,
  tokenFindings,
} from "../engine/check/databases.ts";
import { planFindings } from "../engine/check/plan.ts";
import { serviceFindings } from "../engine/check/service.ts";
import type { LogEntry } from "../ports/log.ts";
import { connectionsAtOnce } from "./check-connections.ts";
import { readConfig } from "./config.ts";
import type { Host } from "./host.ts";
import type { Opened } from "./opened.ts";
import { composePlan, type PlanSetup } from "./plan.ts";
import { connectionOf } from "./sync.ts";
import { changeChannel, changeFeed } from "./tenant-source.ts";

/** What the operator allows beyond what leaves no trace. */
export interface CheckOptions {
  /** To send a test to the webhook and the heartbeat. */
  readonly notify: boolean;
}

export interface CheckSetup extends Omit<CheckLimits, "stop"> {
  readonly checks: readonly Check[];
}

/** How long one check may take, in milliseconds. Long enough to read a source of millions of rows. */
const LIMIT = 300_000;
const TIMES_SHOWN = 3;
const RIGHTS = "the rights of its user; `groupsync init` writes the statements that grant them";

/** What `check` needs. Throws CONFIG_… if the config is wrong. Contacts nothing before a check begins. */
export function composeCheck(path: string, host: Host, { notify }: CheckOptions): CheckSetup {
  const warnings: Finding[] = [];
  const config = readConfig(path, host, (event) => {
    if (event.kind === "warning") warnings.push(asFinding("warning", event));
  });
  const { name, service, source, group, ledger } = config;
  const { base_url: baseUrl, update } = service;

  const configCheck: Check = {
    title: "config",
    remedy: "groupsync schema describes every key",
    async *run() {
      yield ok(`${path} is valid; its name is ${name}`);
      yield* warnings;
      if (group.mapping.kind === "keys" && Object.keys(group.mapping.keys).length === 0)
        yield warning(
          "group.mapping is empty: each group sees the default data source of each schema",
          "if that is not meant, write the id of each schema there, and the column that has the tenant's data source",
        );
    },
  };

  /** Each check opens its own connections, so that one that fails hides no other. */
  const opened = (find: (setup: PlanSetup, stop: AbortSignal) => AsyncIterable<Finding>): Check["run"] =>
    whileOpen((stop) => composePlan(config, { ...host, stop }), find);

  const sourceCheck: Check = {
    title: "source",
    remedy: `check source.url, and ${RIGHTS}`,
    run: opened(({ ports }, stop) =>
      sourceFindings(ports.source, { rules: group, database: checked(source.url) }, stop),
    ),
  };

  const { column, channel } = source.changes;
  const changesCheck: Check = {
    title: "changes",
    remedy: `check source.changes, and ${RIGHTS}`,
    async *run(stop) {
      if (column !== undefined) yield* columnFindings(await changeFeed(config, column), stop);
      if (channel !== undefined) yield* channelFindings(await changeChannel(config, channel), stop);
    },
  };

  const ledgerCheck: Check = {
    title: "ledger",
    remedy: `check ledger.url, and ${RIGHTS}`,
    run: opened(({ ports }) =>
      ledgerFindings(ports.ledger, { database: checked(ledger.url), baseUrl, update }),
    ),
  };

  const tokenCheck: Check = {
    title: "tokens",
    remedy: `check the config's section tokens, and ${RIGHTS}`,
    run: opened(({ ports, tokens }) => tokenFindings({ ledger: ports.ledger, tokens }, { name, baseUrl })),
  };

  const planCheck: Check = {
    title: "plan",
    remedy: "groupsync plan shows more",
    run: opened(planFindings),
  };

  const connectionCheck: Check = {
    title: "connections",
    remedy: "let the users of source, ledger and tokens have more connections at once",
    run: whileOpen((stop) => connectionsAtOnce(config, { ...host, stop }), connectionFindings),
  };

  const serviceCheck: Check = {
    title: "service",
    remedy: "check service.base_url, and what stands between here and the service",
    run: whileOpen(
      async () => {
        const { HttpGroupService } = await import("../adapters/service/http-group-service.ts");
        const tried = new HttpGroupService(connectionOf(config));
        return { value: tried, close: () => tried.close() };
      },
      (tried) => serviceFindings(() => reachService(connectionOf(config)), tried, hostClock.now()),
    ),
  };

  const schedule = { line: config.schedule, timezone: config.timezone };
  const scheduleCheck: Check = {
    title: "schedule",
    remedy: "check schedule and timezone; groupsync schema describes them",
    async *run() {
      yield scheduleFinding(schedule, dueTimesOf(schedule).nextRuns(TIMES_SHOWN, new Date()));
    },
  };

  const notifyCheck: Check = {
    title: "notify",
    remedy: "check the addresses in the config's section notify",
    run: (stop) => {
      const { webhook, heartbeat } = config.notify;
      const set = { name, webhook: webhook !== undefined, heartbeat: heartbeat !== undefined };
      return notifyFindings(set, notify ? sendingTo(config, stop) : null);
    },
  };

  return {
    clock: hostClock,
    limitMs: LIMIT,
    checks: [
      configCheck,
      sourceCheck,
      ...(column === undefined && channel === undefined ? [] : [changesCheck]),
      ledgerCheck,
      tokenCheck,
      planCheck,
      connectionCheck,
      serviceCheck,
      scheduleCheck,
      notifyCheck,
    ],
  };
}

/** Opens something for a check, and closes it at the end. */
const whileOpen = <T>(
  open: (stop: AbortSignal) => Promise<Opened<T>>,
  find: (value: T, stop: AbortSignal) => AsyncIterable<Finding>,
): Check["run"] =>
  async function* (stop) {
    const { value, close } = await open(stop);
    try {
      yield* find(value, stop);
    } finally {
      await close();
    }
  };

const checked = (at: DatabaseUrl): CheckedDatabase => ({
  title: describeDatabase(at),
  privacy: connectionPrivacy(at.dialect, at.url.reveal()),
});

/** Sends by the daemon's own notifier, and collects what the daemon would log of it. */
const sendingTo =
  ({ notify }: Config, stop: AbortSignal): TrySending =>
  async (send) => {
    const { httpNotifier } = await import("../adapters/notify/http-notifier.ts");
    const logged: LogEntry[] = [];
    await send(httpNotifier(notify, hostClock, (entry) => logged.push(entry), stop));
    return logged;
  };
