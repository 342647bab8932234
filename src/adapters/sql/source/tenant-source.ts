import type { SyncError } from "../../../core/failure/sync-error.ts";
import type {
  SourceRole,
  TenantLookUps,
  TenantSnapshot,
  TenantSource,
} from "../../../ports/tenant-source.ts";
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
import { type LookUpReader, SqlTenantLookUps } from "./tenant-look-ups.ts";
import { selectColumns, type TenantQuery } from "./tenant-query.ts";
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
  /**
   * Whether the plan for a look at one id reads only rows that an index finds by this id. May change settings of the
   * transaction.
   */
  isIndexed(session: Session, query: TenantQuery): Promise<boolean>;
  role(session: Session, options: SourceOptions): Promise<SourceRole>;
}

/** What a reader asks for: the parameters of `TenantSource.open`. */
interface Asked {
  readonly columns: readonly string[];
  readonly seed: string;
  readonly stop: AbortSignal;
}

/** A connection in a transaction that has looked the columns up. */
interface OpenReader<Session> {
  readonly session: Session;
  readonly table: string | null;
  readonly query: TenantQuery;
}

/** Opens snapshots and look-ups of the tenants, each over a connection of its own. */
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
    const asked = { columns, seed, stop };
    const explain = this.#explain(asked);
    const { session, table, query } = await this.#begin(asked, before);
    const role = () => this.#dialect.role(session, this.#options);
    return new SqlTenantSnapshot({ table, session, query, role, explain });
  }

  async lookUps(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantLookUps> {
    const asked = { columns, seed, stop };
    const explain = this.#explain(asked);
    const open = async (known: string | null | undefined): Promise<LookUpReader> => {
      const reader = await this.#begin(asked, known);
      const { session, query } = reader;
      try {
        const described = await session.describe(selectColumns(query));
        const isIndexed = await this.#dialect.isIndexed(session, query);
        await session.commit();
        return { ...reader, columns: described, isIndexed };
      } catch (error) {
        await session.close();
        throw explain(error);
      }
    };
    return SqlTenantLookUps.open({ open, explain }, before);
  }

  /** Opens a connection, begins its transaction, and looks the columns up. */
  async #begin(asked: Asked, before: string | null | undefined): Promise<OpenReader<Session>> {
    const dialect = this.#dialect;
    const options = this.#options;
    let opened: Session | undefined;
    try {
      const session = await dialect.open(options, asked.stop);
      opened = session;
      await session.begin();
      const find = (name: TableName) => dialect.findTable(session, name);
      const request = await withTablePlace(this.#request(asked), options, dialect.identifiers, find, before);
      const query = await dialect.tenantQuery(session, request);
      return { session, table: tableOf(request), query };
    } catch (error) {
      await opened?.close();
      throw this.#explain(asked)(error);
    }
  }

  #explain(asked: Asked): (error: unknown) => SyncError {
    const request = this.#request(asked);
    const failures = this.#dialect.failures(request, this.#options);
    return (error) => sourceError(request, failures, error);
  }

  #request({ columns, seed }: Asked): SourceRequest {
    return sourceRequest(this.#options, this.#dialect.identifiers, columns, seed);
  }
}
