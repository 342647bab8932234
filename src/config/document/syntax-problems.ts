import type { ErrorCode, LineCounter, YAMLError } from "yaml";
import type { Problem } from "./problem-report.ts";

export const TOO_DEEP = "this is nested too deeply for a config; is a bracket not closed?";

/** Our own messages, because those of the parser quote the text around an error, which may be a password. */
const MESSAGES: Partial<Record<ErrorCode, string>> = {
  BAD_INDENT: "the indentation does not fit, or a bracket or quote above is not closed",
  BAD_SCALAR_START: "a value cannot start with this character; put it in quotes",
  BLOCK_AS_IMPLICIT_KEY: "there is a second “: ” in the line; put the value in quotes",
  MISSING_CHAR: "something is not closed: add the missing quote, bracket, comma or colon",
  MULTIPLE_DOCS: "a second document starts here; a config is one document: remove the line ---",
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAB_AS_INDENT: "a tab is used as indentation; use spaces",
};

/** At most one problem a line. Of unexpected tokens only the first counts, because it makes later ones look wrong. */
export function syntaxProblems(
  errors: readonly YAMLError[],
  text: string,
  lines: LineCounter,
): readonly Problem[] {
  const source = text.split("\n");
  const problems = new Map<number, Problem>();
  const firstUnexpected = errors.find(({ code }) => code === "UNEXPECTED_TOKEN");
  for (const error of errors) {
    const { code, pos } = error;
    const { line } = lines.linePos(pos[0]);
    if (problems.has(line) || (code === "UNEXPECTED_TOKEN" && error !== firstUnexpected)) continue;
    const braces = /\$\{|\{\{/.test(source[line - 1] ?? "");
    const message = braces
      ? `this is not YAML; put a value with braces in it in quotes: "\${NAME}", "{{ column }}"`
      : (MESSAGES[code] ?? "this is not YAML; is a quote, a colon or a space missing?");
    problems.set(line, { line, path: [], message });
  }
  return [...problems.values()];
}
