import { readTls } from "../core/database-tls.ts";
import { isJsonObject, type Json } from "../core/json.ts";
import { readTlsFiles } from "../core/tls-files.ts";
import type { ConfigDocument } from "./document.ts";
import type { ValueSources } from "./interpolate.ts";
import type { Path, Problem } from "./problems.ts";
import { parseDatabaseUrl } from "./urls.ts";

const urlPaths = (tree: Json | undefined): Path[] => {
  const tokens = valueAt(tree, ["tokens"]);
  const stores: Path[] = Array.isArray(tokens) ? tokens.map((_, n) => ["tokens", n]) : [["tokens"]];
  return [["source"], ["ledger"], ...stores].map((section) => [...section, "url"]);
};

/** Looks into the files that the database urls name. */
export function tlsFileProblems(
  { tree, find }: Pick<ConfigDocument, "tree" | "find">,
  readFile: ValueSources["readFile"],
): Problem[] {
  return urlPaths(tree).flatMap((path) => {
    const text = valueAt(tree, path);
    const parsed = typeof text === "string" ? parseDatabaseUrl(text) : undefined;
    if (parsed === undefined) return [];
    const { tls, problems } = readTls(parsed.dialect, parsed.url.reveal());
    if (tls.kind === "off" || problems.length > 0) return [];
    const { line } = find(path);
    return readTlsFiles(parsed.dialect, tls.files, readFile).problems.map((message) => ({
      line,
      path,
      message,
    }));
  });
}

const valueAt = (tree: Json | undefined, path: Path): Json | undefined =>
  path.reduce<Json | undefined>((node, key) => {
    if (Array.isArray(node) && typeof key === "number") return node[key];
    return isJsonObject(node) ? node[key] : undefined;
  }, tree);
