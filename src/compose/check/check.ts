import { addressTrial } from "../../adapters/host/address-trial.ts";
import { hostClock } from "../../adapters/host/clock.ts";
import type { CheckOptions, CheckSetup } from "../../commands/check.ts";
import type { Config } from "../../config/model/config.ts";
import { defaultListenAddress } from "../../config/model/listen-address.ts";
import { asFinding, type Finding, ok } from "../../core/report/finding.ts";
import { nextTicks, tickAfter } from "../../daemon/schedule.ts";
import { addressFindings, scheduleFindings } from "../../engine/check/daemon.ts";
import { ledgerFindings } from "../../engine/check/ledger.ts";
import { mappingFindings } from "../../engine/check/mapping.ts";
import { tokenFindings } from "../../engine/check/tokens.ts";
import type { Check } from "../../ports/check.ts";
import { readConfig } from "../config.ts";
import { Databases, VIEW_CONNECTIONS, VIEW_TIMEOUTS } from "../databases.ts";
import type { Host } from "../host.ts";
import { composeLedgerView, openLedgerView } from "../ledger-view.ts";
import { openTokens } from "../token-stores.ts";
import { connectionCheck } from "./connections.ts";
import { notifyCheck } from "./notify.ts";
import { serviceCheck } from "./service.ts";
import { sourceChecks } from "./source.ts";
import { check, checkedDatabase, whileOpen } from "./subjects.ts";

/** How long one check may take, in milliseconds. Long enough to read a source of millions of rows. */
const LIMIT = 300_000;
const TICKS_SHOWN = 3;

/**
 * What `check` needs. Each check opens its own connections, so that one that fails hides no other. Throws CONFIG_… if the
 * config is wrong. Contacts nothing before a check begins.
 */
export function composeCheck(path: string, host: Host, options: CheckOptions): CheckSetup {
  const warnings: Finding[] = [];
  const config = readConfig(path, host, (event) => {
    if (event.kind === "warning") warnings.push(asFinding("warning", event));
  });
  return {
    clock: hostClock,
    limitMs: LIMIT,
    checks: [
      [
        check("config", async function* () {
          yield ok(`${path} is valid; its name is ${config.name}`);
          yield* warnings;
          yield* mappingFindings(config.group.mapping);
        }),
      ],
      // All at once they might use more connections than a sync does.
      [...sourceChecks(config, host), ...stateChecks(config, host, options), connectionCheck(config, host)],
      [serviceCheck(config, host)],
      daemonChecks(config, host),
      [notifyCheck(config, options)],
    ],
  };
}

/** Where the state of a sync is: ledger and tokens. */
function stateChecks(config: Config, host: Host, { canary }: CheckOptions): readonly Check[] {
  const { name, service, ledger } = config;
  const { baseUrl, update } = service;
  return [
    whileOpen(
      "ledger",
      host,
      (own) => composeLedgerView(config, own),
      (view) =>
        ledgerFindings(
          { ledger: view, clock: hostClock },
          { database: checkedDatabase(ledger.url), baseUrl, update },
        ),
    ),
    whileOpen(
      "tokens",
      host,
      (own) => openStores(config, own),
      (ports) => tokenFindings(ports, { name, baseUrl, canary }),
    ),
  ];
}

function daemonChecks({ name, schedule, http }: Config, { env }: Host): readonly Check[] {
  return [
    check("schedule", () => {
      return scheduleFindings(schedule, nextTicks(tickAfter(schedule), new Date(), TICKS_SHOWN));
    }),
    check("http", () =>
      addressFindings(addressTrial, { name, listen: http.listen ?? defaultListenAddress(env) }),
    ),
  ];
}

async function openStores(config: Config, { uid, stop }: Host) {
  const databases = new Databases(config.name, VIEW_TIMEOUTS, stop);
  const tokens = await openTokens(config, uid, (url) => databases.open(url, VIEW_CONNECTIONS));
  return {
    value: { ledger: await openLedgerView(config, databases), tokens: tokens.value },
    close: async () => {
      await tokens.close();
      await databases.close();
    },
  };
}
