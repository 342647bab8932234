import { CHANGES_NOT_INDEXED } from "../../core/changes/noticing-trouble.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import type { ChangeChannel, ChangeFeed } from "../../ports/change-feed.ts";

/** The change column of `source.changes`: whether it is there, has values, and has an index. */
export async function* columnFindings(
  feed: ChangeFeed,
  before: string | null,
  stop: AbortSignal,
): AsyncGenerator<Finding> {
  const reader = await feed.open(stop, before);
  try {
    const newest = await reader.newest();
    if (newest === null) {
      yield warning(
        "source.changes.column has no value in any row, so nobody can tell whether it has an index",
        "see that every insert and update sets it; until then only full syncs find what changes",
      );
      return;
    }
    const hint = await reader.missingIndex({ value: newest.before, isIncluded: true });
    yield hint === null
      ? ok(`source.changes.column is of type ${reader.type}, and has an index`)
      : asFinding("warning", { ...CHANGES_NOT_INDEXED, hint });
  } finally {
    await reader.close();
  }
}

/** The channel of `source.changes`: whether notifications arrive. Notifies itself alone. */
export async function* channelFindings(channel: ChangeChannel, stop: AbortSignal): AsyncGenerator<Finding> {
  await (await channel.open(() => {}, stop)).close();
  yield ok("notifications arrive on source.changes.channel");
}
