import { MissingColumns, SyncError } from "../core/failure/sync-error.ts";
import { columnUses } from "../core/group/group-rules.ts";
import type { ConfigDocument } from "./document/document.ts";
import { type Problem, problemReport } from "./document/problem-report.ts";
import type { Config } from "./model/config.ts";
import { closest } from "./schema/section.ts";

/** The same error with key and line of each column, and with the column that may be meant. Returns any other error as it is. */
export function locatedColumns(
  error: unknown,
  path: string,
  { source, group }: Config,
  { locate }: ConfigDocument,
): unknown {
  if (!(error instanceof MissingColumns)) return error;
  const { column } = source.changes ?? {};
  const uses = [
    ...columnUses(group).map(({ keys, column: name }) => ({ path: ["group", ...keys], name })),
    ...(column ? [{ path: ["source", "changes", "column"], name: column.name }] : []),
  ];
  const problems: Problem[] = uses
    .filter(({ name }) => error.missing.includes(name))
    .map((use) => ({ line: locate(use.path).line, path: use.path, message: messageOf(use.name, error) }));
  return new SyncError("CONFIG_COLUMNS", problemReport(path, problems), {
    ...(error.hint !== undefined && { hint: error.hint }),
    cause: error,
  });
}

function messageOf(name: string, { source, there }: MissingColumns): string {
  const close = closest(name, there);
  const remedy = close === undefined ? `its columns are ${there.join(", ")}` : `did you mean "${close}"?`;
  return `${source} has no column ${name}; ${remedy}`;
}
