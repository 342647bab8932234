import type { Held } from "../../core/clearance.ts";
import type { HealthyTime } from "../../core/ledger-group.ts";
import type { LeftNote, SettledNote } from "../../core/note.ts";
import { type LedgerPlace, ofIds, updateGroups } from "./ledger-place.ts";
import { storable } from "./storable.ts";

const NOTHING_MISSING = {
  missing_since: "NULL",
  missing_kind: "NULL",
  missing_ms: "NULL",
  missing_reads: "NULL",
} as const;
const NOT_MISSING = Object.keys(NOTHING_MISSING)
  .map((column) => `${column} = NULL`)
  .join(", ");

const KIND_COLUMNS = { id: "id", kind: "text" } as const;
const SETTLED_COLUMNS = { id: "id", bucket: "integer", digest: "bigint", data_source_id: "text" } as const;

/** Notes about groups that need no call: whose tenants are gone or back, and which wait for approval. */
export class NoteWriter {
  readonly #place: LedgerPlace;

  constructor(place: LedgerPlace) {
    this.#place = place;
  }

  markLeft(left: readonly LeftNote[], clock: HealthyTime, now: Date): Promise<void> {
    const rows = left.map((note) => ({ id: note.user_group_id, kind: note.absence }));
    return updateGroups(
      this.#place,
      rows,
      KIND_COLUMNS,
      { missing_since: "$4", missing_kind: "t.kind", missing_ms: "$5", missing_reads: "$6" },
      [now, clock.ms, clock.reads],
    );
  }

  async markReturned(ids: readonly string[]): Promise<void> {
    await this.#place.connection.query(
      `UPDATE ${this.#place.tables.groups} SET ${NOT_MISSING}, held = nullif(held, 'delete') WHERE ${ofIds(this.#place)}`,
      [this.#place.scope, ids],
    );
  }

  markSettled(settled: readonly SettledNote[]): Promise<void> {
    const rows = settled.map(({ user_group_id, row, dataSourceId }) => ({
      id: user_group_id,
      bucket: row.bucket,
      digest: row.digest,
      data_source_id: storable(dataSourceId),
    }));
    return updateGroups(this.#place, rows, SETTLED_COLUMNS, {
      bucket: "t.bucket",
      row_digest: "t.digest",
      data_source_id: "t.data_source_id",
      ...NOTHING_MISSING,
      held: "NULL",
      failing_since: "NULL",
      failure_fingerprint: "NULL",
      failure_code: "NULL",
      failure_message: "NULL",
      failure_count: "0",
      retry_at: "NULL",
    });
  }

  async forget(ids: readonly string[]): Promise<void> {
    // What was made, or may have been, is in no other inventory than this one.
    await this.#place.connection.query(
      `DELETE FROM ${this.#place.tables.groups}
       WHERE ${ofIds(this.#place)} AND fingerprint IS NULL AND intent IS NULL`,
      [this.#place.scope, ids],
    );
  }

  /** Writes only what changes: as long as nobody approves them, the same ones are held run after run. */
  async markHeld(held: AsyncIterable<readonly Held[]>): Promise<void> {
    let last = "";
    for await (const batch of held) {
      const end = batch.at(-1)?.user_group_id;
      if (end === undefined) continue;
      const rows = batch.map(({ user_group_id, kind }) => ({ id: user_group_id, kind }));
      const differs = this.#place.dialect.differ("g.held", "t.kind");
      await updateGroups(this.#place, rows, KIND_COLUMNS, { held: "t.kind" }, [], differs);
      await this.#place.connection.query(
        `UPDATE ${this.#place.tables.groups} SET held = NULL
         WHERE scope = $1 AND held IS NOT NULL AND user_group_id > $2 AND user_group_id < $3
           AND NOT (${this.#place.dialect.isOneOf("user_group_id", "$4")})`,
        [this.#place.scope, last, end, batch.map(({ user_group_id }) => user_group_id)],
      );
      last = end;
    }
    await this.#place.connection.query(
      `UPDATE ${this.#place.tables.groups} SET held = NULL
       WHERE scope = $1 AND held IS NOT NULL AND user_group_id > $2`,
      [this.#place.scope, last],
    );
  }
}
