import { NO_EVIDENCE, type UpdateEvidence } from "../../../core/apply/update-evidence.ts";
import { NO_READ_HISTORY, type ReadHistory } from "../../../core/plan/read-history.ts";
import type { TokenTable } from "../../../core/tokens/destination.ts";
import type { LeaseHolder } from "../../../ports/ledger/lease.ts";
import type {
  Canary,
  KnownService,
  ScopeReads,
  ScopeState,
  ScopeWrites,
} from "../../../ports/ledger/scope.ts";
import { HOLDER_COLUMNS } from "./lease.ts";
import type { LedgerReader } from "./ledger-reader.ts";
import { type LedgerScope, setScopeRow } from "./scope.ts";

export const scopeReads = (reader: LedgerReader): ScopeReads => ({
  async scope() {
    const row = await reader.read(undefined, async ({ dialect, connection, tables, scope }) => {
      const [found] = await connection.query<ScopeColumns>(
        `SELECT i.id AS "ledgerId", ${dialect.now} AS "readAt", s.*,
           epoch, ${HOLDER_COLUMNS}
         FROM ${tables.identity} AS i
           LEFT JOIN ${tables.scopes} AS s ON s.scope = $1
           LEFT JOIN ${tables.leases} AS l ON l.scope = $1 AND l.expires_at > ${dialect.now}`,
        [scope],
      );
      return found;
    });
    return row ? stateOf(row) : { ...NOTHING_KNOWN, readAt: await reader.now() };
  },
});

/**
 * `read_history` has all of a `ReadHistory` that has no column of its own. The last five are JSON. Without a row of the scope all
 * are null, and so are those of a lease that nobody holds.
 */
interface ScopeColumns extends Nullable<LeaseHolder> {
  readonly ledgerId: string;
  readonly readAt: Date;
  readonly base_url: string | null;
  readonly team_id: string | null;
  readonly answered_at: Date | null;
  readonly healthy_at: Date | null;
  readonly held_code: string | null;
  readonly tokens_verified_at: Date | null;
  readonly update_evidence: string | null;
  readonly read_history: string | null;
  readonly token_places: string | null;
  readonly token_tables: string | null;
  readonly canary: string | null;
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };

const NO_SERVICE: KnownService = { baseUrl: null, teamId: null, evidence: NO_EVIDENCE, answeredAt: null };

const NOTHING_KNOWN: Omit<ScopeState, "readAt"> = {
  service: NO_SERVICE,
  history: NO_READ_HISTORY,
  tokens: { complete: null, verifiedAt: null, tables: [] },
  canary: null,
  lease: null,
  ledgerId: null,
};

function stateOf(row: ScopeColumns): ScopeState {
  const { base_url: baseUrl, team_id, answered_at: answeredAt, healthy_at: healthyAt } = row;
  const teamId = team_id === null ? null : Number(team_id);
  const evidence = (json(row.update_evidence) ?? NO_EVIDENCE) as UpdateEvidence;
  const reads = json(row.read_history) as Omit<ReadHistory, "healthyAt" | "heldCode"> | null;
  return {
    service: baseUrl === null ? NO_SERVICE : { baseUrl, teamId, evidence, answeredAt },
    history: { ...NO_READ_HISTORY, ...reads, healthyAt, heldCode: row.held_code },
    tokens: {
      complete: json(row.token_places) as string[] | null,
      verifiedAt: row.tokens_verified_at,
      tables: (json(row.token_tables) ?? []) as TokenTable[],
    },
    canary: json(row.canary) as Canary | null,
    lease: leaseOf(row),
    ledgerId: row.ledgerId,
    readAt: row.readAt,
  };
}

const leaseOf = ({ epoch, holder, acquiredAt, expiresAt, handOverMs }: ScopeColumns): LeaseHolder | null =>
  epoch !== null && holder !== null && acquiredAt && expiresAt
    ? { epoch, holder, acquiredAt, expiresAt, handOverMs }
    : null;

const json = (text: string | null): unknown => text && JSON.parse(text);

export const scopeWrites = (ledger: LedgerScope): ScopeWrites => ({
  recordScope({ service, answeredAt, history, tokens = {}, canary }) {
    const { complete, verifiedAt, tables } = tokens;
    const { healthyAt = null, heldCode = null, ...reads } = history ?? {};
    return setScopeRow(ledger, {
      ...(service && {
        base_url: service.baseUrl,
        team_id: service.teamId,
        update_evidence: JSON.stringify(service.evidence),
      }),
      ...(answeredAt && { answered_at: answeredAt }),
      ...(history && { healthy_at: healthyAt, held_code: heldCode, read_history: JSON.stringify(reads) }),
      ...(complete !== undefined && { token_places: complete && JSON.stringify(complete) }),
      ...(verifiedAt !== undefined && { tokens_verified_at: verifiedAt }),
      ...(tables && { token_tables: JSON.stringify(tables) }),
      ...(canary !== undefined && { canary: canary && JSON.stringify(canary) }),
    });
  },
});
