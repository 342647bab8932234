import type * as z from "zod";
import { isJsonObject } from "../core/text/json.ts";
import type { ConfigDocument, Location } from "./document/document.ts";
import type { Problem } from "./document/problem-report.ts";

/** What the schema finds wrong with the file, each at its line and with the file's own text in its message. */
export function schemaProblems({ tree, locate }: ConfigDocument, { issues }: z.ZodError): Problem[] {
  const hasList = isJsonObject(tree) && Array.isArray(tree.tokens);
  return issues.flatMap(separate).map(({ path: keys, message }) => {
    const path = keys.map((key) => (typeof key === "symbol" ? String(key) : key));
    // The schema makes a list of a single store, so the file has no index for it.
    if (path[0] === "tokens" && !hasList) path.splice(1, 1);
    const location = locate(path);
    return { line: location.line, path, message: fillIn(message, location, locate) };
  });
}

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

/**
 * Puts the file's text into a message. Shows a secret value only as the reference that stands in the file, such as
 * `${NAME}`, and shows nothing that looks like a url.
 */
function fillIn(message: string, { written }: Location, locate: ConfigDocument["locate"]): string {
  const isNamed = typeof written === "string" && /^\$\{(\w+|file:[^}]*)\}$/.test(written);
  const secret = isNamed || written === null ? show(written) : "the value";
  const value = typeof written === "string" && written.includes("://") ? secret : show(written);
  return message
    .replace("{value}", () => value)
    .replace("{secret}", () => secret)
    .replace(/\{line of ([\w.]+)\}/, (_, key: string) => `line ${locate(key.split(".")).line}`);
}

function show(written: Location["written"]): string {
  if (written === undefined) return "this";
  if (written === null || written === "") return "an empty value";
  const text = typeof written === "string" ? JSON.stringify(written) : String(written);
  return text.length <= 60 ? text : `${text.slice(0, 58)}…"`;
}
