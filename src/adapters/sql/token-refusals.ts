import { describe, SyncError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Failures } from "./failures.ts";
import { withoutTokens } from "./token-error.ts";
import type { TokenStatements, TokenTableOptions } from "./token-statements.ts";

/** Why the token of one group stays out of the table, or in it. */
export class TokenRefusals {
  readonly #failures: Pick<Failures, "refusesNull">;
  readonly #statements: Pick<TokenStatements, "allowNull">;
  readonly #options: TokenTableOptions;

  constructor(
    failures: Pick<Failures, "refusesNull">,
    statements: Pick<TokenStatements, "allowNull">,
    options: TokenTableOptions,
  ) {
    this.#failures = failures;
    this.#statements = statements;
    this.#options = options;
  }

  /** The database would not take it. */
  notStored(error: unknown, token: Secret): SyncError {
    const { table, tokenColumn } = this.#options;
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${table} refused the token: ${describe(withoutTokens(error, [token]))}`,
      {
        hint: `look at the type and the constraints of column ${tokenColumn}, and at the triggers and policies of ${table}`,
      },
    );
  }

  /** The database gave up the whole transaction over one of them, and doesn't say which. */
  notStoredTogether(error: unknown, tokens: readonly Secret[]): SyncError {
    return this.#givenUp("TOKEN_NOT_STORED", withoutTokens(error, tokens));
  }

  /** Likewise, of tokens that were to be removed. */
  notRemovedTogether(error: unknown, tokens: readonly Secret[]): SyncError {
    return this.#givenUp("TOKEN_NOT_REMOVED", withoutTokens(error, tokens));
  }

  /** There is no row for it. */
  noRow(id: string): SyncError {
    const { table, idColumn } = this.#options;
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${table} has no row whose ${idColumn} is ${JSON.stringify(id)}`,
      { hint: "with `rows: existing`, every tenant of the source needs a row there" },
    );
  }

  /** Nothing was said, and nothing was written. */
  skipped(id: string): SyncError {
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${this.#options.table} did not take the token of ${this.#row(id)}, and raised no error`,
      { hint: SILENT_CAUSES },
    );
  }

  /** The database would not let it go; several rows may have the id. */
  notRemoved(id: string, error: unknown, tokens: readonly Secret[]): SyncError {
    return new SyncError(
      "TOKEN_NOT_REMOVED",
      `${this.#options.table} keeps the token of ${this.#row(id)}: ${describe(withoutTokens(error, tokens))}`,
      { hint: this.#wayOut(error) },
    );
  }

  /** Nothing was said, and nothing was removed. */
  kept(id: string): SyncError {
    return new SyncError(
      "TOKEN_NOT_REMOVED",
      `${this.#options.table} keeps the token of ${this.#row(id)}, and raised no error`,
      { hint: SILENT_CAUSES },
    );
  }

  #givenUp(code: "TOKEN_NOT_STORED" | "TOKEN_NOT_REMOVED", error: unknown): SyncError {
    const { table } = this.#options;
    return new SyncError(code, `the database gave up a change of ${table}: ${describe(error)}`, {
      hint: `look at what else locks rows of ${table} for long`,
      cause: error,
    });
  }

  #wayOut(error: unknown): string {
    const { table, rows, tokenColumn } = this.#options;
    if (this.#failures.refusesNull(error, tokenColumn)) return this.#statements.allowNull;
    return rows === "own"
      ? `look at the triggers of ${table}, and at the foreign keys that refer to it`
      : `look at the triggers of ${table}, and at the constraints of column ${tokenColumn}: it has to take NULL`;
  }

  #row(id: string): string {
    return `the row whose ${this.#options.idColumn} is ${JSON.stringify(id)}`;
  }
}

const SILENT_CAUSES =
  "look at its triggers and unique keys and, in PostgreSQL, at its row-level security policies and rules";
