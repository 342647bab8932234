import type { FeedOptions } from "../adapters/sql/source/change-feed.ts";
import type { Config } from "../config/config.ts";
import { columnsOf } from "../core/group/group-rules.ts";
import { Noticing, type NoticingFeeds, type NoticingPorts } from "../daemon/changes/noticing.ts";
import type { ChangeChannel, ChangeFeed } from "../ports/change-feed.ts";
import { applicationName } from "./databases.ts";
import { sourceOptions } from "./tenant-source.ts";

/** In milliseconds: how long a channel may take to begin to listen, and a notification to arrive. */
const CHANNEL_LIMIT = 10_000;

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

export async function changeFeed(config: Config, changeColumn: string): Promise<ChangeFeed> {
  const options: FeedOptions = { ...sourceOptions(config), changeColumn, columns: columnsOf(config.group) };
  switch (config.source.url.dialect) {
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

export async function changeChannel({ name, source }: Config, channel: string): Promise<ChangeChannel> {
  const { PostgresChangeChannel } = await import("../adapters/postgres/source/change-channel.ts");
  return new PostgresChangeChannel({
    url: (source.changes.url ?? source.url).url,
    applicationName: applicationName(name),
    channel,
    limitMs: CHANNEL_LIMIT,
  });
}
