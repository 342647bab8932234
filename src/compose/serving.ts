import { hash } from "node:crypto";
import { hostClock } from "../adapters/host/clock.ts";
import { thisInstance } from "../adapters/host/instance.ts";
import { sqlLedger } from "../adapters/sql/ledger/ledger.ts";
import type { Config } from "../config/config.ts";
import type { Notice } from "../core/changes/notice.ts";
import type { ServingFacts } from "../core/report/scope-facts.ts";
import { Secret } from "../core/secret/secret.ts";
import { Noticing, type NoticingFeeds, type NoticingPorts } from "../daemon/changes/noticing.ts";
import { UnnoticedChanges } from "../daemon/changes/unnoticed-changes.ts";
import type { Serving } from "../daemon/session.ts";
import { askHolder } from "../engine/serving/ask-holder.ts";
import { TenantServer } from "../engine/serving/tenant-server.ts";
import type { Log } from "../ports/log.ts";
import type { Observe } from "../ports/observer.ts";
import type { Served, ServeTenant } from "../ports/serve-tenant.ts";
import { Databases, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";
import { changeChannel, changeFeed } from "./tenant-source.ts";

interface ServingPorts {
  /** The config that is in force. */
  readonly config: () => Config;
  readonly host: Host;
  readonly log: Log;
  readonly observe: Observe;
  readonly syncSoon: () => void;
  /** Whether this instance holds the lease. If not, another one may hold it. */
  readonly isHolder: () => boolean;
  /** Names the instance that holds the lease; undefined if this one doesn't know of any. */
  readonly holder: () => string | undefined;
}

export interface ComposedServing {
  /** As the config in force has it; undefined if it names no feed to notice single tenants. */
  serving(): Promise<Serving | undefined>;
  readonly serveTenant: ServeTenant;
  /** How single tenants are served now; null if they aren't, or if no sync has asked for it yet. */
  readonly servingNow: () => ServingFacts | null;
  /** Takes the events of full syncs. */
  readonly observe: Observe;
}

type NoticingConfig = Pick<Config, "name" | "source" | "group" | "http">;

/** Differs if anything differs that the noticing of tenants needs. The config is another object at each sync. */
function sourceOf({ name, source, group, http }: NoticingConfig): string {
  function revealed(this: Readonly<Record<string, unknown>>, key: string, shown: unknown): unknown {
    const value = this[key];
    return value instanceof Secret ? value.reveal() : shown;
  }
  const needed = { name, source, group, isAsked: http.sync_key !== undefined };
  return hash("sha256", JSON.stringify(needed, revealed));
}

const noticesChanges = ({ source: { changes } }: NoticingConfig): boolean =>
  changes.column !== undefined || changes.channel !== undefined;

/** Differs if single tenants are noticed by another feed, or from another source; undefined if the config names no feed. */
export const feedsOf = (config: NoticingConfig): string | undefined =>
  noticesChanges(config) || config.http.sync_key !== undefined ? sourceOf(config) : undefined;

/** How single tenants are noticed and served by one config. */
interface Composition {
  /** The `sourceOf` of that config. */
  readonly source: string;
  /** Undefined if the config names no feed. */
  readonly serving: Serving | undefined;
  /** Null if only `POST /sync` names tenants. */
  readonly noticing: Noticing | null;
  readonly takesRequests: boolean;
}

/** Notices changed tenants by the feeds that `source.changes` names; null if it names none. Contacts nothing yet. */
export async function composeNoticing(config: Config, ports: NoticingPorts): Promise<Noticing | null> {
  const { column, every, channel } = config.source.changes;
  if (column === undefined && channel === undefined) return null;
  const feeds: NoticingFeeds = {
    ...(column !== undefined && { column: { feed: await changeFeed(config, column), everyMs: every } }),
    ...(channel !== undefined && { channel: await changeChannel(config, channel) }),
  };
  return new Noticing(feeds, ports);
}

/** What serves single tenants in a daemon. It outlives the syncs, and the configs that a reload brings. */
export function composeServing(ports: ServingPorts): ComposedServing {
  const { config, log, observe, syncSoon, isHolder } = ports;
  const ask = askThroughLedger(ports);
  const server = new TenantServer({
    clock: hostClock,
    onServed: (user_group_id, served, ms) => observe({ kind: "served", user_group_id, served, ms }),
    onOverflow: syncSoon,
  });
  /** Of the config in force, once a sync has asked for it. */
  let current: Composition | undefined;
  const unnoticed = new UnnoticedChanges(log);
  const onNotice = (notice: Notice): void => {
    if (notice.kind === "anything") {
      syncSoon();
      return;
    }
    unnoticed.noticed(notice.user_group_id);
    server.notice(notice.user_group_id, notice.feed);
  };

  const compose = async (of: Config): Promise<Composition> => {
    const takesRequests = of.http.sync_key !== undefined;
    const noticing = await composeNoticing(of, { clock: hostClock, log, onNotice });
    const serving = feedsOf(of) === undefined ? undefined : { server, noticing: noticing ?? undefined };
    return { source: sourceOf(of), serving, noticing, takesRequests };
  };

  return {
    async serving() {
      const of = config();
      if (current?.source !== sourceOf(of)) {
        current = await compose(of);
        unnoticed.begin(noticesChanges(of));
      }
      return current.serving;
    },
    serveTenant: (id, waitMs, signal) => (isHolder() ? server.serve(id, waitMs, signal) : ask(id)),
    servingNow: () =>
      current?.serving
        ? {
            feeds: current.noticing?.state ?? {},
            takesRequests: current.takesRequests,
            oldestMs: server.oldestMs,
            failing: server.failing,
          }
        : null,
    observe: (event) => {
      unnoticed.observe(event);
      if (event.kind === "finished") current?.noticing?.syncEnded();
    },
  };
}

/** Asks the instance that holds the lease to serve a tenant, by a request in the ledger. */
function askThroughLedger({ config, host, holder }: ServingPorts): (id: string) => Promise<Served> {
  /** One pool for all requests at the same time, so that many sign-ups don't take many connections. */
  let shared: Databases | undefined;
  let underWay = 0;

  return async (id) => {
    const { ledger: location, name, history } = config();
    const databases = shared ?? new Databases(name, VIEW_TIMEOUTS, host.stop);
    shared = databases;
    underWay++;
    try {
      const database = await databases.open(location.url);
      const ledger = sqlLedger(database, location, name, history);
      const requester = await thisInstance(host.pid);
      return await askHolder(id, { ledger, requester, holder: holder() });
    } finally {
      underWay--;
      if (underWay === 0) {
        shared = undefined;
        await databases.close();
      }
    }
  };
}
