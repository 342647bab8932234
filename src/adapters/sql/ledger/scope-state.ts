import { NO_EVIDENCE } from "../../../core/apply/update-evidence.ts";
import { NO_READ_HISTORY } from "../../../core/plan/read-history.ts";
import type { LeaseHolder } from "../../../ports/ledger/lease.ts";
import type { KnownService, ScopeReads, ScopeState, ScopeWrites } from "../../../ports/ledger/scope.ts";
import { HOLDER_COLUMNS } from "./lease.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import type { LedgerScope } from "./scope.ts";

/** What the column `state` of a scope's row has, as JSON: its dates are ISO 8601. */
type KnownScope = Omit<ScopeState, "lease" | "ledgerId" | "readAt">;

const NO_SERVICE: KnownService = { baseUrl: null, teamId: null, evidence: NO_EVIDENCE, answeredAt: null };

const NOTHING_KNOWN: KnownScope = {
  service: NO_SERVICE,
  history: NO_READ_HISTORY,
  tokens: { complete: null, verifiedAt: null, tables: [] },
  refreshApproved: null,
};

function knownIn(state: string): KnownScope {
  const known = JSON.parse(state) as KnownScope;
  const { service, history, tokens } = known;
  return {
    ...known,
    service: { ...service, answeredAt: timeOf(service.answeredAt) },
    history: { ...history, healthyAt: timeOf(history.healthyAt) },
    tokens: { ...tokens, verifiedAt: timeOf(tokens.verifiedAt) },
  };
}

const timeOf = (text: Date | string | null): Date | null => (text === null ? null : new Date(text));

export const scopeReads = (reader: LedgerReader): ScopeReads => ({
  async scope() {
    const row = await reader.read(undefined, async ({ dialect, connection, tables, scope }) => {
      const [found] = await connection.query<ScopeColumns>(
        `SELECT i.id AS "ledgerId", ${dialect.now} AS "readAt", state, epoch, ${HOLDER_COLUMNS}
         FROM ${tables.identity} AS i
           LEFT JOIN ${tables.scopes} AS s ON s.scope = $1
           LEFT JOIN ${tables.leases} AS l ON l.scope = $1 AND l.expires_at > ${dialect.now}`,
        [scope],
      );
      return found;
    });
    if (!row) return { ...NOTHING_KNOWN, lease: null, ledgerId: null, readAt: await reader.now() };
    const { state, readAt, ledgerId } = row;
    const known = state === null ? NOTHING_KNOWN : knownIn(state);
    const service = known.service.baseUrl === null ? NO_SERVICE : known.service;
    return { ...known, service, lease: leaseOf(row), ledgerId, readAt };
  },
});

/** Of a scope without a row, and of a lease that nobody holds, all columns are null. */
interface ScopeColumns extends Nullable<LeaseHolder> {
  readonly ledgerId: string;
  readonly readAt: Date;
  readonly state: string | null;
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

const leaseOf = ({ epoch, holder, acquiredAt, expiresAt, handOverMs }: ScopeColumns): LeaseHolder | null =>
  epoch !== null && holder !== null && acquiredAt && expiresAt
    ? { epoch, holder, acquiredAt, expiresAt, handOverMs }
    : null;

export const scopeWrites = (ledger: LedgerScope): ScopeWrites => ({
  async recordScope({ service, answeredAt, tokens, ...more }) {
    const { connection, tables, scope } = ledger;
    const before = await lockedScope(ledger);
    const after: KnownScope = {
      ...before,
      ...more,
      service: { ...before.service, ...service, ...(answeredAt && { answeredAt }) },
      tokens: { ...before.tokens, ...tokens },
    };
    const { baseUrl, teamId } = after.service;
    await connection.query(
      `UPDATE ${tables.scopes} SET base_url = $2, team_id = $3, state = $4 WHERE scope = $1`,
      [scope, baseUrl, teamId, JSON.stringify(after)],
    );
  },
});

/** Two writes of one process may record something of the scope at once: the second one builds on the first. */
async function lockedScope({ dialect, connection, tables, scope }: LedgerScope): Promise<KnownScope> {
  const lock = () =>
    connection.query<{ readonly state: string }>(
      `SELECT state FROM ${tables.scopes} WHERE scope = $1 FOR UPDATE`,
      [scope],
    );
  const [row] = await lock();
  if (row) return knownIn(row.state);
  const columns = ["scope", "state"];
  await connection.query(
    dialect.upsert({ into: tables.scopes, columns, from: "VALUES ($1, $2)", key: ["scope"] }),
    [scope, JSON.stringify(NOTHING_KNOWN)],
  );
  const [made] = await lock();
  return made ? knownIn(made.state) : NOTHING_KNOWN;
}
