import type { RejectionCode } from "../../../core/group/tenant.ts";
import type { RejectionReads, RejectionWrites } from "../../../ports/ledger/scope.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { jsonBatches, type LedgerScope, possibleIds } from "./scope.ts";

/** In place of the id of rows that are only counted. No row has this id. */
const NO_ID = "";

export const rejectionReads = (reader: LedgerReader): RejectionReads => ({
  rejections: (ids) =>
    reader.read([], async ({ dialect, connection, tables, scope }) => {
      const rows = await connection.query<RejectionColumns>(
        `SELECT user_group_id, bucket, code, message, row_count, since FROM ${tables.rejections}
         WHERE scope = $1 ${ids ? `AND ${dialect.isOneOf("user_group_id", "$2")}` : ""}
         ORDER BY user_group_id, code`,
        ids ? [scope, possibleIds(ids).filter((id) => id !== NO_ID)] : [scope],
      );
      return rows.map(({ user_group_id: id, row_count, ...more }) => {
        return { ...more, user_group_id: id === NO_ID ? null : id, rows: Number(row_count) };
      });
    }),
});

interface RejectionColumns {
  readonly user_group_id: string;
  readonly bucket: number;
  readonly code: RejectionCode;
  readonly message: string;
  readonly row_count: string;
  readonly since: Date;
}

const COLUMNS = { id: "id", code: "text", bucket: "integer", message: "text", row_count: "bigint" } as const;

export const rejectionWrites = ({ dialect, connection, tables, scope }: LedgerScope): RejectionWrites => ({
  async recordRejections(changed, gone, now) {
    const forgotten = gone.map(({ user_group_id, code }) => ({ id: user_group_id ?? NO_ID, code }));
    for (const batch of jsonBatches(forgotten)) {
      await connection.query(
        `DELETE FROM ${tables.rejections} WHERE scope = $1
         AND (user_group_id, code) IN (SELECT t.id, t.code FROM ${dialect.rows("$2", { id: "id", code: "text" })})`,
        [scope, batch],
      );
    }
    const remembered = changed.map(({ user_group_id, code, bucket, message, rows: row_count }) => {
      return { id: user_group_id ?? NO_ID, code, bucket, message, row_count };
    });
    for (const batch of jsonBatches(remembered)) {
      await connection.query(
        dialect.upsert({
          into: tables.rejections,
          columns: ["scope", "user_group_id", "code", "bucket", "message", "row_count", "since"],
          from: `SELECT $1, t.id, t.code, t.bucket, t.message, t.row_count, $3 FROM ${dialect.rows("$2", COLUMNS)}`,
          key: ["scope", "user_group_id", "code"],
          set: ["bucket", "message", "row_count"],
        }),
        [scope, batch, now],
      );
    }
  },
});
