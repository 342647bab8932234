/** The customers table of a benchmark, with a change column, and the tokens that groupsync stores for it. */
export interface Tenants {
  /** When each token was first seen, on the clock of `performance.now()`, by user_group_id. */
  readonly seenAt: ReadonlyMap<string, number>;
  /** The keys of `tokens` in the config that the watch needs. */
  readonly config: object;
  /** Adds a change column with an index and, on PostgreSQL, the documented trigger. */
  prepare(): Promise<void>;
  /** Makes groups and tokens of all customers but the first, as if syncs had made them. */
  fill(): Promise<void>;
  /** Does the maintenance that the server would do in time. */
  tidy(): Promise<void>;
  /** Watches for tokens from now on. */
  watch(): Promise<void>;
  /** Adds tenants by one INSERT. Resolves when that is committed. */
  insert(ids: readonly string[]): Promise<void>;
  /** The id of the server's first process. */
  serverPid(): Promise<number>;
  close(): Promise<void>;
}

export const FIRST_TENANT = "tenant-1";

export const insertStatement = (ids: readonly string[]): string =>
  `INSERT INTO customers (id, company_name, data_source_id, plan, seats)
   VALUES ${ids.map((id) => `('${id}', 'Company', 'ds', 'basic', 7)`).join(", ")}`;

/** What the service was sent for a customer, as canonical JSON. */
const CONFIRMED = `concat('{"mapping":{"40":"', data_source_id, '"},"name":"', company_name,
  '","properties":{"plan":"', plan, '","seats":', seats, '},"user_group_id":"', id, '"}')`;
const TOKEN = "concat('0123456789012345678901234567890123456789-', id)";

/**
 * The statements of `fill`, of which `fingerprint` is the SHA-256 of a text in base64url. The digests of the rows are left
 * to the next sync.
 */
export const fillStatements = (
  now: string,
  fingerprint: (text: string) => string,
): readonly [string, string] => [
  `INSERT INTO groupsync_tokens (user_group_id, token, updated_at)
   SELECT id, ${TOKEN}, ${now} FROM customers WHERE id <> '${FIRST_TENANT}'`,
  `INSERT INTO groupsync_groups (scope, user_group_id, bucket, fingerprint, confirmed, service_name,
     token_fingerprint, token_since, created_at, updated_at)
   SELECT 'default', id, 0, ${fingerprint(CONFIRMED)}, ${CONFIRMED}, company_name, ${fingerprint(TOKEN)},
     ${now}, ${now}, ${now}
   FROM customers WHERE id <> '${FIRST_TENANT}'`,
];
