import { ERROR_CODES } from "../../src/core/failure/error-codes.ts";
import { markdownTable } from "./markdown-table.ts";

/** The codes of one part of the work, which the words name. */
export function errorsTable(...words: readonly string[]): string {
  const part = words.join(" ");
  const codes = Object.entries(ERROR_CODES).find(([name]) => name === part)?.[1];
  if (codes === undefined) throw new Error(`there are no error codes of ${part}`);
  return markdownTable(
    ["code", "what it means", "what to do"],
    Object.entries(codes).map(([code, [meaning, action]]) => [`\`${code}\``, meaning, action]),
  );
}
