import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import type { Secret } from "../../../core/secret/secret.ts";
import type { TokenTableOptions } from "../dialect/token-statements.ts";

export type RefusalCode = "TOKEN_NOT_STORED" | "TOKEN_NOT_REMOVED";

/** Why one group's token could not be stored, or could not be removed. */
export function tokenRefusals(options: TokenTableOptions) {
  function row(id: string): string {
    return `the row whose ${options.idColumn} is ${JSON.stringify(id)}`;
  }

  return {
    /** The database refused to store the token. */
    notStored(error: unknown, token: Secret): SyncError {
      const { table, tokenColumn } = options;
      return new SyncError(
        "TOKEN_NOT_STORED",
        `${table} refused the token: ${describe(withoutTokens(error, [token]))}`,
        {
          hint: `look at the type, the constraints and the encoding of column ${tokenColumn}, and at the triggers and policies of ${table}`,
        },
      );
    },
    /** One of the tokens made the database roll back the whole transaction, and the database doesn't say which token. */
    rolledBack(code: RefusalCode, cause: unknown, tokens: readonly Secret[]): SyncError {
      const { table } = options;
      const error = withoutTokens(cause, tokens);
      return new SyncError(code, `the database gave up a change of ${table}: ${describe(error)}`, {
        hint: `look at what else locks rows of ${table} for long`,
        cause: error,
      });
    },
    /** The database raised no error, and wrote nothing. With `rows: own`, a row that is missing was skipped too. */
    notWritten(id: string, isRowThere: boolean): SyncError {
      const { table, idColumn, rows } = options;
      if (isRowThere || rows === "own")
        return new SyncError(
          "TOKEN_NOT_STORED",
          `${table} did not take the token of ${row(id)}, and raised no error`,
          { hint: SILENT_CAUSES },
        );
      return new SyncError(
        "TOKEN_NOT_STORED",
        `${table} has no row whose ${idColumn} is ${JSON.stringify(id)}`,
        { hint: "with `rows: existing`, every tenant of the source needs a row there" },
      );
    },
    /** The database refused to remove the token. `tokens` are those of all rows with the id. */
    notRemoved(id: string, error: unknown, tokens: readonly Secret[]): SyncError {
      const { table, rows, tokenColumn } = options;
      const cause =
        rows === "own"
          ? "at the foreign keys that refer to it"
          : `at the constraints of column ${tokenColumn}: it has to take NULL`;
      return new SyncError(
        "TOKEN_NOT_REMOVED",
        `${table} keeps the token of ${row(id)}: ${describe(withoutTokens(error, tokens))}`,
        { hint: `look at the triggers of ${table}, and ${cause}` },
      );
    },
    /** The database raised no error, and removed nothing. */
    kept(id: string): SyncError {
      return new SyncError(
        "TOKEN_NOT_REMOVED",
        `${options.table} keeps the token of ${row(id)}, and raised no error`,
        { hint: SILENT_CAUSES },
      );
    },
  };
}

export type TokenRefusals = ReturnType<typeof tokenRefusals>;

const SILENT_CAUSES =
  "look at its triggers and unique keys and, in PostgreSQL, at its row-level security policies and rules";

/** Fields of the drivers' errors that contain no data. */
const NUMBERS = ["code", "errno", "sqlState"];

/** In characters: this much of a token already tells too much. */
const TELLING = 8;

/**
 * The parts of a statement's error that can be shown without showing a token. A database may quote the value that it
 * refuses, in the message or in another field, and a constraint or a trigger may have changed the value before. A SyncError
 * shows no token, and stays as it is.
 */
export function withoutTokens(error: unknown, tokens: readonly Secret[]): unknown {
  if (!(error instanceof Error) || error instanceof SyncError) return error;
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
