import type { Finding } from "../../../src/core/report/finding.ts";

const SIGNS = { ok: "✓", warning: "!", failure: "✗" } as const;

/** Each finding by its sign and code, such as `✗ SERVICE_CHANGED`. */
export const signsOf = (found: readonly Finding[]): string[] =>
  found.map(({ level, code }) => [SIGNS[level], ...(code === undefined ? [] : [code])].join(" "));

export async function allOf(findings: AsyncIterable<Finding>): Promise<Finding[]> {
  const all: Finding[] = [];
  for await (const finding of findings) all.push(finding);
  return all;
}
