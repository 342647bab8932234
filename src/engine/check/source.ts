import { CHANGES_NOT_INDEXED, LOOKS_NOT_INDEXED } from "../../core/changes/notice.ts";
import { remedyOf } from "../../core/failure/remedies.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { RejectedTenant, RejectionCode } from "../../core/group/tenant.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import { printableId } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { ChangeChannel, ChangeFeed } from "../../ports/change-feed.ts";
import type { TenantSnapshot, TenantSource } from "../../ports/tenant-source.ts";
import { roleWarnings } from "../plan/read-differences.ts";
import { readTenants } from "../plan/read-tenants.ts";
import { type CheckedDatabase, connectionFinding } from "./connections.ts";

interface SourceSettings {
  readonly rules: GroupRules;
  /** The table that the last run read. */
  readonly before: string | null;
  readonly database: CheckedDatabase;
}

/** Connection, rights, columns and SQL of the source, what its role can do besides, all of its rows, and the id's index. */
export async function* sourceFindings(
  source: Pick<TenantSource, "open">,
  { rules, before, database }: SourceSettings,
  stop: AbortSignal,
): AsyncGenerator<Finding> {
  const snapshot = await source.open(columnsOf(rules), digestSeed(rules), stop, before);
  try {
    yield connectionFinding(database);
    for (const warned of roleWarnings(await snapshot.role())) yield asFinding("warning", warned);
    yield* rowFindings(snapshot, rules);
    yield (await snapshot.isIndexed())
      ? ok(`an index finds a tenant by column ${rules.id}`)
      : asFinding("warning", LOOKS_NOT_INDEXED);
  } finally {
    await snapshot.close();
  }
}

/** More reasons are no list that somebody reads. */
const SHOWN_REASONS = 10;
/** How many ids a finding names. */
const SHOWN_IDS = 3;
const UNTIL_THEN = "until then their groups stay as they are, and new ones get none";

async function* rowFindings(snapshot: TenantSnapshot, rules: GroupRules): AsyncGenerator<Finding> {
  const counts = { desired: 0, flagged: 0, not_ready: 0, rejected: 0 };
  const padded = new Examples();
  const rejected = new Map<string, { readonly code: RejectionCode; readonly ids: Examples }>();
  const reject = ({ user_group_id, code, message }: RejectedTenant): void => {
    const reason = rejected.get(message) ?? { code, ids: new Examples() };
    rejected.set(message, reason);
    reason.ids.add(user_group_id);
  };
  for await (const tenants of readTenants(snapshot.rows(), rules)) {
    for (const tenant of tenants) {
      const { kind, user_group_id } = tenant;
      counts[kind]++;
      if (kind === "rejected") reject(tenant);
      else if (user_group_id !== null && user_group_id.trim() !== user_group_id) padded.add(user_group_id);
    }
  }
  const from = snapshot.table ?? "source.query";
  const removed = counts.flagged > 0 ? `, and ${counts.flagged} that source.removed_when says are gone` : "";
  const waiting = counts.not_ready > 0 ? `, and ${counts.not_ready} that wait for source.ready_when` : "";
  yield counts.desired + counts.flagged + counts.not_ready > 0
    ? ok(`${quantity(counts.desired, "tenant")} in ${from}${removed}${waiting}`)
    : warning(
        `${from} has no row that gives a group`,
        `check the url, and ${snapshot.table === null ? "source.query" : "source.where"}: from such a source a sync makes no group, and deletes none without approval`,
      );
  if (padded.count > 0)
    yield warning(
      `${quantity(padded.count, "id")} with a blank at one end: ${padded.text}`,
      "without the blank it is another tenant's id: correct the rows before the first sync, if the blank is not meant",
    );
  const reasons = [...rejected].sort(([, a], [, b]) => b.ids.count - a.ids.count);
  for (const [message, { code, ids }] of reasons.slice(0, SHOWN_REASONS))
    yield warning(
      `${quantity(ids.count, "row")} rejected (${code}): ${message}: ${ids.text}`,
      `${remedyOf(code)}; ${UNTIL_THEN}`,
    );
  const others = reasons.slice(SHOWN_REASONS).reduce((sum, [, { ids }]) => sum + ids.count, 0);
  if (others > 0) yield warning(`${quantity(others, "more row")} rejected for other reasons`, UNTIL_THEN);
}

/** Counts ids, and keeps the first of them. */
class Examples {
  count = 0;
  readonly #first: string[] = [];

  add(id: string | null): void {
    this.count++;
    if (this.#first.length < SHOWN_IDS) this.#first.push(printableId(id));
  }

  get text(): string {
    return [...this.#first, ...(this.count > this.#first.length ? ["…"] : [])].join(", ");
  }
}

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
