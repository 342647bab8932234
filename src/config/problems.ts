import type * as z from "zod";
import { quantity } from "../core/text/quantity.ts";
import type { Problem } from "./document.ts";

/** What the schema finds wrong. `hasList` says whether the file has a list of token stores. */
export const schemaProblems = ({ issues }: z.ZodError, hasList: boolean): Omit<Problem, "line">[] =>
  issues.flatMap(separate).map(({ path: keys, message }) => {
    const path = keys.map((key) => (typeof key === "symbol" ? String(key) : key));
    // The schema makes a list of a single store, so the file has no index for it.
    if (path[0] === "tokens" && !hasList) path.splice(1, 1);
    return { path, message };
  });

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/** Zod has one issue for all unknown keys of a section, and one for all forms that a value may have. */
function separate(issue: z.core.$ZodIssue): Issue[] {
  if (issue.code === "unrecognized_keys") {
    const messages = issue.message.split("\n");
    return issue.keys.map((key, index) => ({ path: [...issue.path, key], message: messages[index] ?? "" }));
  }
  if (issue.code !== "invalid_union") return [issue];
  // The form that was meant is the one of the value's type. If there is none, the union itself has the message.
  const meant = issue.errors.find(
    (found) => !found.some(({ code, path }) => code === "invalid_type" && path.length === 0),
  );
  if (meant === undefined) return [issue];
  return meant.flatMap(separate).map(({ path, message }) => ({ path: [...issue.path, ...path], message }));
}

/** Nobody reads more. If there are more, they are all of the same kind, or the file isn't a config. */
const MOST_SHOWN = 100;

/** The problems as one text, in the order of the file. */
export function problemReport(file: string, problems: readonly Problem[]): string {
  const shown = problems.toSorted((a, b) => a.line - b.line).slice(0, MOST_SHOWN);
  const width = String(shown.at(-1)?.line ?? "").length;
  const lines = shown.map(({ line, path, message }) => {
    const key = path.length === 0 ? "" : `${path.map(segment).join(".")}: `;
    return `  line ${String(line).padEnd(width)}  ${key}${message}`;
  });
  const more = problems.length - shown.length;
  return [
    `${file} has ${quantity(problems.length, "problem")}:`,
    ...lines,
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ].join("\n");
}

/** Hides what follows a colon, because `api_key:abc`, which lacks a space, is a key to YAML. */
const segment = (key: string | number): string => {
  const shown = String(key).replace(/:.*/s, ":…");
  return /^[\w-]+$/.test(shown) ? shown : JSON.stringify(shown);
};
