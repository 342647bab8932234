import { readTls, readTlsFiles } from "../core/tls/database-tls.ts";
import { type ConfigDocument, textsIn } from "./document/document.ts";
import type { ValueSources } from "./document/interpolate.ts";
import type { Path, Problem } from "./document/problem-report.ts";
import { parseDatabaseUrl } from "./schema/urls.ts";

const SECTIONS: Path = ["source", "ledger", "tokens"];

/** What is wrong with the certificate and key files that the database urls name. */
export function tlsFileProblems(
  { tree, locate }: Pick<ConfigDocument, "tree" | "locate">,
  readFile: ValueSources["readFile"],
): Problem[] {
  return [...textsIn(tree)].flatMap(({ path, text }) => {
    const isUrl = path.at(-1) === "url" && SECTIONS.includes(path[0] ?? "");
    const parsed = isUrl ? parseDatabaseUrl(text) : undefined;
    if (parsed === undefined) return [];
    const { tls, problems } = readTls(parsed.dialect, parsed.url.reveal());
    if (tls.kind === "off" || problems.length > 0) return [];
    const { line } = locate(path);
    return readTlsFiles(parsed.dialect, tls.files, readFile).problems.map((message) => ({
      line,
      path,
      message,
    }));
  });
}
