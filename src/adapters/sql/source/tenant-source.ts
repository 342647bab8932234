import type { TenantLookUps, TenantSnapshot, TenantSource } from "../../../ports/tenant-source.ts";
import { explainer, openReader, type SourceDialect } from "./open-reader.ts";
import type { SourceOptions } from "./source-request.ts";
import type { SourceSession } from "./source-session.ts";
import { type LookUpReader, SqlTenantLookUps } from "./tenant-look-ups.ts";
import { SqlTenantSnapshot } from "./tenant-snapshot.ts";

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
    const { session, table, query, explain } = await openReader(this.#dialect, this.#options, asked, before);
    const isIndexed = () => this.#dialect.isIndexed(session, query);
    const role = () => this.#dialect.role(session, this.#options);
    return new SqlTenantSnapshot({ table, session, query, isIndexed, role, explain });
  }

  async lookUps(
    columns: readonly string[],
    seed: string,
    stop: AbortSignal,
    before?: string | null,
  ): Promise<TenantLookUps> {
    const asked = { columns, seed, stop };
    const explain = explainer(this.#dialect, this.#options, asked);
    const open = async (known: string | null | undefined): Promise<LookUpReader> => {
      const reader = await openReader(this.#dialect, this.#options, asked, known);
      const { session, query } = reader;
      try {
        const described = await session.describe(query.columns);
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
}
