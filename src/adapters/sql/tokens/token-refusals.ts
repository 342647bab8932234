import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import type { Failures } from "../connection/failures.ts";
import type { TokenStatements, TokenTableOptions } from "../dialect/token-statements.ts";
import { withoutTokens } from "./token-redaction.ts";

/** Why one group's token could not be stored, or could not be removed. */
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

  /** The database refused to store the token. */
  notStored(error: unknown, token: Secret): SyncError {
    const { table, tokenColumn } = this.#options;
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${table} refused the token: ${describe(withoutTokens(error, [token]))}`,
      {
        hint: `look at the type, the constraints and the encoding of column ${tokenColumn}, and at the triggers and policies of ${table}`,
      },
    );
  }

  /** One of the tokens made the database roll back the whole transaction, and the database doesn't say which token. */
  rolledBack(
    code: "TOKEN_NOT_STORED" | "TOKEN_NOT_REMOVED",
    cause: unknown,
    tokens: readonly Secret[],
  ): SyncError {
    const { table } = this.#options;
    const error = withoutTokens(cause, tokens);
    return new SyncError(code, `the database gave up a change of ${table}: ${describe(error)}`, {
      hint: `look at what else locks rows of ${table} for long`,
      cause: error,
    });
  }

  /** There is no row for the token. */
  noRow(id: string): SyncError {
    const { table, idColumn } = this.#options;
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${table} has no row whose ${idColumn} is ${JSON.stringify(id)}`,
      { hint: "with `rows: existing`, every tenant of the source needs a row there" },
    );
  }

  /** The database raised no error, and wrote nothing. */
  skipped(id: string): SyncError {
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${this.#options.table} did not take the token of ${this.#row(id)}, and raised no error`,
      { hint: SILENT_CAUSES },
    );
  }

  /** The database refused to remove the token. `tokens` are those of all rows with the id. */
  notRemoved(id: string, error: unknown, tokens: readonly Secret[]): SyncError {
    return new SyncError(
      "TOKEN_NOT_REMOVED",
      `${this.#options.table} keeps the token of ${this.#row(id)}: ${describe(withoutTokens(error, tokens))}`,
      { hint: this.#remedy(error) },
    );
  }

  /** The database raised no error, and removed nothing. */
  kept(id: string): SyncError {
    return new SyncError(
      "TOKEN_NOT_REMOVED",
      `${this.#options.table} keeps the token of ${this.#row(id)}, and raised no error`,
      { hint: SILENT_CAUSES },
    );
  }

  #remedy(error: unknown): string {
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
