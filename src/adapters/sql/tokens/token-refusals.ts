import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import type { Failures } from "../connection/failures.ts";
import type { TokenStatements, TokenTableOptions } from "../dialect/token-statements.ts";

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
  notStoredTogether(error: unknown, tokens: readonly Secret[]): SyncError {
    return this.#givenUp("TOKEN_NOT_STORED", withoutTokens(error, tokens));
  }

  /** Like `notStoredTogether`, for tokens that should have been removed. */
  notRemovedTogether(error: unknown, tokens: readonly Secret[]): SyncError {
    return this.#givenUp("TOKEN_NOT_REMOVED", withoutTokens(error, tokens));
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

  #givenUp(code: "TOKEN_NOT_STORED" | "TOKEN_NOT_REMOVED", error: unknown): SyncError {
    const { table } = this.#options;
    return new SyncError(code, `the database gave up a change of ${table}: ${describe(error)}`, {
      hint: `look at what else locks rows of ${table} for long`,
      cause: error,
    });
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

/** Fields of the drivers' errors that contain no data. */
const NUMBERS = ["code", "errno", "sqlState"];

/** In characters: this much of a token already tells too much. */
const TELLING = 8;

/**
 * The parts of a statement's error that can be shown without showing a token. A database may quote the value that it
 * refuses, in the message or in another field, and a constraint or a trigger may have changed the value before.
 */
export function withoutTokens(error: unknown, tokens: readonly Secret[]): unknown {
  if (!(error instanceof Error)) return error;
  const message = describe(error);
  const tells = tokens.some((token) => quotes(message.toLowerCase(), token.reveal().toLowerCase()));
  return Object.assign(
    new Error(tells ? "the reason quotes the token, and is left out" : message),
    Object.fromEntries(Object.entries(error).filter(([name]) => NUMBERS.includes(name))),
  );
}

/** Whether the text contains the token, or a part of it that tells too much. */
function quotes(text: string, token: string): boolean {
  const size = Math.min(TELLING, token.length);
  for (let start = 0; start + size <= token.length; start++) {
    if (text.includes(token.slice(start, start + size))) return true;
  }
  return false;
}
