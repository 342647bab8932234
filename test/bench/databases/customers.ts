import { randomBytes } from "node:crypto";
import type { TenantQuery } from "../../../src/adapters/sql/source/tenant-query.ts";

/** A name that no other database on the server has. */
export const newName = (): string => `groupsync_bench_${randomBytes(6).toString("hex")}`;

export const ROWS = "SELECT id, company_name, data_source_id, plan, seats FROM customers";

/** SHA-256 of a text in base64url, as SQL. */
type HashOf = (text: string) => string;

/** The JSON by which a group is compared, as SQL. */
const GROUP = `concat('{"mapping":{"40":"', data_source_id, '"},"name":"', company_name, '","properties":{"plan":"', plan,
  '","seats":', seats, '},"user_group_id":"', id, '"}')`;

/** The token of a tenant, as SQL: as long as the service's. */
const TOKEN = "concat('0123456789012345678901234567890123456789-', id)";

export const COUNT_TOKENS = "SELECT count(*) AS count FROM groupsync_tokens";

/** The number of a tenant, as SQL for a text. */
export const NUMBER = "substr(id, 8)";

/**
 * The statements that fill ledger and token table from the rows of the tenants that `isNew`, which is SQL, is true of. The
 * times come from the first tenant's group.
 */
export const fill = (
  row: Pick<TenantQuery, "bucket" | "digest">,
  isNew: string,
  hashOf: HashOf,
): readonly string[] => [
  `INSERT INTO groupsync_groups (scope, user_group_id, bucket, row_digest, fingerprint, confirmed,
     token_fingerprint, token_since, verified_at, at_rest, state)
   SELECT g.scope, id, ${row.bucket}, ${row.digest}, ${hashOf(GROUP)}, ${GROUP},
     ${hashOf(TOKEN)}, g.token_since, g.verified_at, 1, replace(g.state, g.name, company_name)
   FROM customers CROSS JOIN (
     SELECT scope, token_since, verified_at, state, company_name AS name
     FROM groupsync_groups JOIN customers ON id = 'tenant-1' WHERE user_group_id = 'tenant-1') AS g
   WHERE ${isNew} ORDER BY id`,
  `INSERT INTO groupsync_tokens (user_group_id, token, updated_at)
   SELECT id, ${TOKEN}, now() FROM customers WHERE ${isNew} ORDER BY id`,
];
