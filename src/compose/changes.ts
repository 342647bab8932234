import type { FeedOptions } from "../adapters/sql/source/change-feed.ts";
import type { ChangesConfig, Config } from "../config/model/config.ts";
import { columnsOf } from "../core/group/group-rules.ts";
import { Noticing, type NoticingPorts, type NoticingWays } from "../daemon/changes/noticing.ts";
import type { ChangeChannel, ChangeFeed } from "../ports/change-feed.ts";
import { applicationName, TIMEOUTS } from "./databases.ts";

/** In milliseconds: how long a channel may take to begin to listen, and a notification to arrive. */
const CHANNEL_LIMIT = 10_000;

/** Notices changed tenants in the ways that `source.changes` names; null if it names none. Contacts nothing yet. */
export async function composeNoticing(config: Config, ports: NoticingPorts): Promise<Noticing | null> {
  const { changes } = config.source;
  if (changes === undefined) return null;
  const { column, channel } = changes;
  const ways: NoticingWays = {
    ...(column && { column: { feed: await changeFeed(config, column.name), everyMs: column.everyMs } }),
    ...(channel && { channel: await changeChannel(config, channel) }),
  };
  return new Noticing(ways, ports);
}

export async function changeFeed({ name, source, group }: Config, changeColumn: string): Promise<ChangeFeed> {
  const options: FeedOptions = {
    ...source,
    url: source.url.url,
    applicationName: applicationName(name),
    timeouts: TIMEOUTS,
    changeColumn,
    columns: columnsOf(group),
  };
  switch (source.url.dialect) {
    case "postgres": {
      const { postgresChangeFeed } = await import("../adapters/postgres/source/change-feed.ts");
      return postgresChangeFeed(options);
    }
    case "mysql": {
      const { mysqlChangeFeed } = await import("../adapters/mysql/source/change-feed.ts");
      return mysqlChangeFeed(options);
    }
  }
}

export async function changeChannel(
  { name }: Config,
  { url: { url }, name: channel }: NonNullable<ChangesConfig["channel"]>,
): Promise<ChangeChannel> {
  const { PostgresChangeChannel } = await import("../adapters/postgres/source/change-channel.ts");
  return new PostgresChangeChannel({
    url,
    applicationName: applicationName(name),
    channel,
    limitMs: CHANNEL_LIMIT,
  });
}
