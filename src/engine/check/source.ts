import { LOOKS_NOT_INDEXED } from "../../core/changes/noticing-trouble.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import { lastTable } from "../../core/plan/read-history.ts";
import { asFinding, type Finding, ok, warning } from "../../core/report/finding.ts";
import { printableId } from "../../core/text/printable.ts";
import { quantity } from "../../core/text/quantity.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";
import { roleWarnings } from "../plan/read-differences.ts";
import { readTenants } from "../plan/read-tenants.ts";
import { type CheckedDatabase, connectionFinding } from "./connection.ts";
import { EXAMPLES, RejectionReasons } from "./rejection-reasons.ts";

interface Ports {
  readonly source: TenantSource;
  readonly ledger: Pick<LedgerView, "readHistory">;
}

export interface SourceSettings {
  readonly rules: GroupRules;
  /** Describes the source, as the ledger remembers it. */
  readonly source: string;
  readonly database: CheckedDatabase;
}

/** Connection, rights, columns and SQL of the source, what its role can do besides, and all of its rows. */
export async function* sourceFindings(
  ports: Ports,
  settings: SourceSettings,
  stop: AbortSignal,
): AsyncGenerator<Finding> {
  const before = await tableBefore(ports, settings);
  yield* snapshotFindings(ports, settings, before, stop);
  const { rules } = settings;
  const lookUps = await ports.source.lookUps(columnsOf(rules), digestSeed(rules), stop, before);
  const { isIndexed } = lookUps;
  await lookUps.close();
  yield isIndexed
    ? ok(`an index finds a tenant by column ${rules.id}`)
    : asFinding("warning", LOOKS_NOT_INDEXED);
}

/** The table that the last run read. Null if the ledger doesn't say: its own check tells why. */
export const tableBefore = (
  { ledger }: Pick<Ports, "ledger">,
  { source }: Pick<SourceSettings, "source">,
): Promise<string | null> =>
  ledger.readHistory().then(
    (history) => lastTable(history, source),
    () => null,
  );

async function* snapshotFindings(
  { source }: Ports,
  { rules, database }: SourceSettings,
  before: string | null,
  stop: AbortSignal,
): AsyncGenerator<Finding> {
  const snapshot = await source.open(columnsOf(rules), digestSeed(rules), stop, before);
  try {
    yield connectionFinding(database);
    for (const warned of roleWarnings(await snapshot.role())) yield asFinding("warning", warned);
    const counts = { desired: 0, flagged: 0, not_ready: 0, rejected: 0 };
    const reasons = new RejectionReasons();
    const padded: string[] = [];
    let paddedIds = 0;
    for await (const tenants of readTenants(snapshot.rows(), rules)) {
      for (const tenant of tenants) {
        counts[tenant.kind]++;
        if (tenant.kind === "rejected") reasons.add(tenant);
        else if (tenant.user_group_id !== null && tenant.user_group_id.trim() !== tenant.user_group_id) {
          paddedIds++;
          if (padded.length < EXAMPLES) padded.push(printableId(tenant.user_group_id));
        }
      }
    }
    const from = snapshot.table ?? "source.query";
    const removed =
      counts.flagged > 0 ? `, and ${counts.flagged} that source.removed_when says are gone` : "";
    const waiting = counts.not_ready > 0 ? `, and ${counts.not_ready} that wait for source.ready_when` : "";
    if (counts.desired + counts.flagged + counts.not_ready > 0)
      yield ok(`${quantity(counts.desired, "tenant")} in ${from}${removed}${waiting}`);
    else
      yield warning(
        `${from} has no row that gives a group`,
        `check the url, and ${snapshot.table === null ? "source.query" : "source.where"}: from such a source a sync makes no group, and deletes none without approval`,
      );
    if (paddedIds > 0)
      yield warning(
        `${quantity(paddedIds, "id")} with a blank at one end: ${padded.join(", ")}${paddedIds > padded.length ? ", …" : ""}`,
        "without the blank it is another tenant's id: correct the rows before the first sync, if the blank is not meant",
      );
    yield* reasons.findings();
  } finally {
    await snapshot.close();
  }
}
