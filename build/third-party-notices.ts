import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The licences of all packages among these files of a bundle, which have to come with it. */
export function thirdPartyNotices(files: readonly string[]): string {
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []);
  return [...new Set(folders)]
    .toSorted()
    .map(noticeOf)
    .join(`\n${"-".repeat(80)}\n\n`);
}

function noticeOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(folder, file), "utf8"));
  return [`${name} ${version}: ${license}\n`, ...texts].join("\n");
}
