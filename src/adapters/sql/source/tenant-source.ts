import type { SyncError } from "../../../core/failure/sync-error.ts";
import type { SourceRole, TenantSnapshot, TenantSource } from "../../../ports/tenant-source.ts";
import type { Identifiers, TableName } from "../connection/identifiers.ts";
import type { TablePlace } from "../connection/table-place.ts";
import { type SourceFailures, sourceError } from "./source-checks.ts";
import {
  type SourceOptions,
  type SourceRequest,
  sourceRequest,
  tableOf,
  withTablePlace,
} from "./source-request.ts";
import type { SourceSession } from "./source-session.ts";
import type { TenantQuery } from "./tenant-query.ts";
import { SqlTenantSnapshot } from "./tenant-snapshot.ts";

/** What differs between the databases that can be a source. */
export interface SourceDialect<Session extends SourceSession> {
  readonly identifiers: Identifiers;
  failures(request: SourceRequest, options: SourceOptions): SourceFailures;
  /** Rejects with INTERRUPTED once `stop` aborts, as all methods of the session do. */
  open(options: SourceOptions, stop: AbortSignal): Promise<Session>;
  findTable(session: Session, name: TableName): Promise<TablePlace | undefined>;
  /** Looks the columns up without reading a row. Throws CONFIG_COLUMNS or CONFIG_SOURCE if the config is wrong. */
  tenantQuery(session: Session, request: SourceRequest): Promise<TenantQuery>;
  role(session: Session, options: SourceOptions): Promise<SourceRole>;
}

/** Opens snapshots of the tenants, each over a connection of its own. */
export class SqlTenantSource<Session extends SourceSession> implements TenantSource {
  readonly #dialect: SourceDialect<Session>;
  readonly #options: SourceOptions;

  constructor(dialect: SourceDialect<Session>, options: SourceOptions) {
    this.#dialect = dialect;
    this.#options = options;
  }

  async open(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantSnapshot> {
    const dialect = this.#dialect;
    const options = this.#options;
    const asked = sourceRequest(options, dialect.identifiers, columns, seed);
    const failures = dialect.failures(asked, options);
    const explain = (error: unknown): SyncError => sourceError(asked, failures, error);
    let opened: Session | undefined;
    try {
      const session = await dialect.open(options, stop);
      opened = session;
      const find = (name: TableName) => dialect.findTable(session, name);
      const request = await withTablePlace(asked, options, dialect.identifiers, find, before);
      const query = await dialect.tenantQuery(session, request);
      const role = () => dialect.role(session, options);
      return new SqlTenantSnapshot({ table: tableOf(request), session, query, role, explain });
    } catch (error) {
      await opened?.close();
      throw explain(error);
    }
  }
}
